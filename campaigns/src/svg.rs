//! Plots as SVG, written by hand: lines over x, and spans from median to p95 and max. Plain shapes
//! on white, so that they can be read in a light and in a dark page. No interaction, no fonts.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 160.0;
const TOP: f64 = 44.0;
const PANEL: f64 = 220.0;
const BELOW: f64 = 46.0;
const COLOURS: [&str; 5] = ["#1f6fb4", "#d1662c", "#3d8f5f", "#7d55a8", "#8a8a8a"];

/// A named row of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
}

/// One plot of lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What x is.
    pub x: String,
    /// The unit of y, which begins at 0.
    pub y: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// One bar: a dot at the median, thick to p95, thin to the largest.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it stands for.
    pub name: String,
    /// Bars of one kind have one colour.
    pub kind: usize,
    /// Median, p95, max.
    pub values: [f64; 3],
}

/// Plots of lines below each other.
pub fn lines(panels: &[Panel]) -> String {
    let height = panels.len() as f64 * (TOP + PANEL + BELOW);
    let mut out = begin(height);
    for (number, panel) in panels.iter().enumerate() {
        draw_panel(&mut out, panel, number as f64 * (TOP + PANEL + BELOW) + TOP);
    }
    out + "</svg>\n"
}

fn draw_panel(out: &mut String, panel: &Panel, top: f64) {
    let all = || panel.series.iter().flat_map(|series| &series.points);
    let x_ticks = ticks(all().fold(0.0, |most, (x, _)| x.max(most)));
    let y_ticks = ticks(all().fold(0.0, |most, (_, y)| y.max(most)));
    let (x_end, y_end) = (last(&x_ticks), last(&y_ticks));
    let right = WIDTH - RIGHT;
    let place_x = |x: f64| LEFT + x / x_end * (right - LEFT);
    let place_y = |y: f64| top + PANEL - y / y_end * PANEL;
    text(out, LEFT, top - 16.0, "start", 14, &format!("{} ({})", panel.title, panel.y));
    for tick in &y_ticks {
        let y = place_y(*tick);
        rule(out, (LEFT, y), (right, y), "#e2e2e2", 1.0);
        text(out, LEFT - 6.0, y + 4.0, "end", 11, &number(*tick));
    }
    for tick in &x_ticks {
        text(out, place_x(*tick), top + PANEL + 16.0, "middle", 11, &number(*tick));
    }
    text(out, right, top + PANEL + 32.0, "end", 11, &panel.x);
    for (place, series) in panel.series.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        let points: Vec<String> = series
            .points
            .iter()
            .map(|(x, y)| format!("{:.1},{:.1}", place_x(*x), place_y(*y)))
            .collect();
        let points = points.join(" ");
        let _ = writeln!(
            out,
            r#"<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>"#
        );
        for (x, y) in series.points.iter().filter(|_| series.points.len() <= 30) {
            dot(out, place_x(*x), place_y(*y), colour);
        }
        let y = top + 12.0 + place as f64 * 18.0;
        rule(out, (right + 12.0, y - 4.0), (right + 28.0, y - 4.0), colour, 3.0);
        text(out, right + 34.0, y, "start", 11, &series.name);
    }
}

/// Bars below each other, on one axis.
pub fn bars(title: &str, x: &str, bars: &[Bar]) -> String {
    const ROW: f64 = 24.0;
    const NAMES: f64 = 400.0;
    let inside = bars.len() as f64 * ROW;
    let mut out = begin(TOP + inside + BELOW);
    let right = WIDTH - 30.0;
    let most = bars.iter().map(|bar| bar.values[2]).fold(0.0, f64::max);
    let ticks = ticks(most);
    let place = |value: f64| NAMES + value / last(&ticks) * (right - NAMES);
    text(&mut out, 10.0, 24.0, "start", 14, title);
    for tick in &ticks {
        rule(&mut out, (place(*tick), TOP), (place(*tick), TOP + inside), "#e2e2e2", 1.0);
        text(&mut out, place(*tick), TOP + inside + 16.0, "middle", 11, &number(*tick));
    }
    text(&mut out, right, TOP + inside + 34.0, "end", 11, x);
    for (row, bar) in bars.iter().enumerate() {
        let y = TOP + (row as f64 + 0.5) * ROW;
        let colour = COLOURS[bar.kind % COLOURS.len()];
        let [median, p95, max] = bar.values.map(place);
        text(&mut out, NAMES - 8.0, y + 4.0, "end", 11, &bar.name);
        rule(&mut out, (median, y), (max, y), colour, 1.0);
        rule(&mut out, (median, y), (p95, y), colour, 5.0);
        dot(&mut out, median, y, colour);
    }
    out + "</svg>\n"
}

fn begin(height: f64) -> String {
    format!(
        concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" "#,
            r#"height="{h}" font-family="sans-serif" fill="{ink}">"#,
            "\n",
            r#"<rect width="{w}" height="{h}" fill="{paper}"/>"#,
            "\n"
        ),
        w = WIDTH,
        h = height,
        ink = "#222222",
        paper = "#ffffff"
    )
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, size: u8, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        out,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}">{words}</text>"#
    );
}

fn rule(out: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, thick: f64) {
    let ((x, y), (x2, y2)) = (from, to);
    let _ = writeln!(
        out,
        concat!(
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" "#,
            r#"stroke="{}" stroke-width="{}"/>"#
        ),
        x, y, x2, y2, colour, thick
    );
}

fn dot(out: &mut String, x: f64, y: f64, colour: &str) {
    let _ = writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" fill="{colour}"/>"#);
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// From 0 to at least `most` in four to ten round steps.
fn ticks(most: f64) -> Vec<f64> {
    let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
    let tenth = 10_f64.powf((most / 4.0).log10().floor());
    let step = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|digit| digit * tenth)
        .find(|step| most / step >= 4.0)
        .unwrap_or(tenth);
    let count = (most / step - 1e-9).ceil() as usize;
    (0..=count).map(|place| place as f64 * step).collect()
}

fn last(ticks: &[f64]) -> f64 {
    ticks.last().copied().unwrap_or(1.0)
}

/// A number without needless digits.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size == 0.0 || size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_largest() {
        assert_eq!(ticks(100.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(7.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(ticks(0.0).len(), 6);
        for most in [0.013, 0.9, 3.0, 41.0, 163.0, 99_999.0] {
            let ticks = ticks(most);
            assert!(last(&ticks) >= most && (5..=11).contains(&ticks.len()), "{most}: {ticks:?}");
        }
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown = [0.0, 0.0126, 1.5, 12.34, 163.4, 20.0, 100.0].map(number);
        assert_eq!(shown, ["0", "0.013", "1.5", "12.3", "163", "20", "100"]);
    }

    #[test]
    fn a_plot_has_its_lines_and_names_and_is_well_formed() {
        let series =
            |name: &str| Series { name: name.to_owned(), points: vec![(1.0, 2.0), (10.0, 4.0)] };
        let panel = Panel {
            title: "a < b & c".to_owned(),
            x: "helpers".to_owned(),
            y: "s".to_owned(),
            series: vec![series("one"), series("two")],
        };
        let plot = lines(&[panel.clone(), panel]);
        assert_eq!(plot.matches("<polyline").count(), 4);
        assert_eq!(plot.matches("<circle").count(), 8);
        assert!(plot.contains("a &lt; b &amp; c") && plot.contains(">two</text>"));
        assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"));
        // The largest y is at the top of its panel, and x ends where the axis does.
        assert!(plot.contains("600.0,44.0"), "{plot}");
    }

    #[test]
    fn bars_go_from_the_median_to_the_largest() {
        let bar = Bar { name: "launch".to_owned(), kind: 0, values: [0.0, 50.0, 100.0] };
        let plot = bars("Latency", "ms", &[bar]);
        assert!(plot.contains(r#"<circle cx="400.0""#), "{plot}");
        assert!(plot.contains(r#"x1="400.0" y1="56.0" x2="730.0" y2="56.0""#), "{plot}");
        assert!(plot.contains(r#"x2="565.0" y2="56.0" stroke="#), "{plot}");
    }

    #[test]
    fn a_plot_of_nothing_is_a_plot() {
        let empty = Panel {
            title: "none".to_owned(),
            x: String::new(),
            y: String::new(),
            series: Vec::new(),
        };
        assert!(!lines(&[empty]).contains("NaN"));
        assert!(!bars("none", "", &[]).contains("NaN"));
    }
}
