//! One animated SVG from the screens of a terminal. Each row is a strip of all that it has shown,
//! of which a window as high as the row is seen; CSS moves the strip. So a row that does not change
//! is there once, however many screens there were. Without motion it is the last screen.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use super::paint::{Colour, Row, Run, Style};

/// A cell: six tenths of the font's size, as most monospaced fonts have it.
const CELL: (usize, usize) = (9, 19);
/// What of a strip is seen beyond its row, and how far apart its contents are: edges that are cut
/// leave a line between two rows where a page shows the picture smaller than it is.
const BEYOND: usize = 2;
const PITCH: usize = CELL.1 + 3 * BEYOND;
const FONT_SIZE: usize = 15;
/// Where letters stand in their row.
const BASELINE: usize = 14;
const MARGIN: usize = 14;
const BAR: usize = 34;
const PAPER: Colour = Colour(10, 10, 10);
const INK: Colour = Colour(238, 238, 238);
const FRAME: Colour = Colour(30, 30, 30);
const BUTTONS: [Colour; 3] = [Colour(255, 95, 87), Colour(254, 188, 46), Colour(40, 200, 64)];
const FONTS: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

/// A screen, and how long it is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub rows: Vec<Row>,
    pub lasts: Duration,
}

/// What one row shows over time.
struct Strip<'a> {
    /// All that it shows, each once.
    contents: Vec<&'a Row>,
    /// From when on it shows which of them.
    changes: Vec<(Duration, usize)>,
}

/// The picture of these frames, with a text for those who do not see it.
pub fn svg(frames: &[Frame], columns: usize, title: &str) -> String {
    let height = frames.iter().map(|frame| frame.rows.len()).max().unwrap_or_default();
    let whole: Duration = frames.iter().map(|frame| frame.lasts).sum();
    let strips: Vec<Strip<'_>> = (0..height).map(|row| strip(frames, row)).collect();
    let mut style = format!("text{{font:{FONT_SIZE}px {FONTS};white-space:pre}}");
    let mut defined = Defined::default();
    let mut body = String::new();
    for (row, strip) in strips.iter().enumerate() {
        draw(row, columns, strip, whole, &mut style, &mut defined, &mut body);
    }
    // Writing to a string cannot fail.
    let _ = write!(style, "@media(prefers-reduced-motion:reduce){{g{{animation:none!important}}}}");
    let (wide, high) = (columns * CELL.0 + 2 * MARGIN, height * CELL.1 + BAR + MARGIN);
    let title = escaped(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" \
         height=\"{high}\" role=\"img\" xml:space=\"preserve\"><title>{title}</title>\n\
         <style>{style}</style>\n<defs>\n{}</defs>\n\
         <rect width=\"{wide}\" height=\"{high}\" rx=\"9\" fill=\"{}\"/>\n",
        defined.text,
        hex(FRAME)
    );
    for (place, colour) in BUTTONS.iter().enumerate() {
        let (x, fill) = (MARGIN + 8 + 20 * place, hex(*colour));
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"17\" r=\"6\" fill=\"{fill}\"/>");
    }
    let (paper_wide, paper_high, paper) = (columns * CELL.0, height * CELL.1, hex(PAPER));
    // Windows of rows begin above them.
    let _ = write!(
        out,
        "<svg x=\"{MARGIN}\" y=\"{BAR}\" width=\"{paper_wide}\" height=\"{paper_high}\" \
         shape-rendering=\"crispEdges\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{paper}\"/>\n\
         <g transform=\"translate(0 -{BEYOND})\">\n{body}</g></svg>\n</svg>\n"
    );
    out
}

fn strip(frames: &[Frame], row: usize) -> Strip<'_> {
    static EMPTY: Row = Vec::new();
    let mut strip = Strip { contents: Vec::new(), changes: Vec::new() };
    let mut at = Duration::ZERO;
    for frame in frames {
        let content = frame.rows.get(row).unwrap_or(&EMPTY);
        let known = strip.contents.iter().position(|one| *one == content);
        let place = known.unwrap_or(strip.contents.len());
        if known.is_none() {
            strip.contents.push(content);
        }
        if strip.changes.last().is_none_or(|(_, last)| *last != place) {
            strip.changes.push((at, place));
        }
        at += frame.lasts;
    }
    strip
}

/// Adds one row of the screen: its window, what moves in it, and when.
fn draw<'a>(
    row: usize,
    columns: usize,
    strip: &Strip<'a>,
    whole: Duration,
    style: &mut String,
    defined: &mut Defined<'a>,
    body: &mut String,
) {
    let mut uses = String::new();
    for (place, content) in strip.contents.iter().enumerate() {
        if let Some(id) = defined.id(content) {
            let _ = write!(uses, "<use href=\"#{id}\" y=\"{}\"/>", BEYOND + place * PITCH);
        }
    }
    if uses.is_empty() {
        return;
    }
    let (wide, high) = (columns * CELL.0, CELL.1 + 2 * BEYOND);
    let window = format!("y=\"{}\" width=\"{wide}\" height=\"{high}\"", row * CELL.1);
    let _ = write!(body, "<svg {window}>");
    let shift = |place: usize| format!("{{transform:translateY(-{}px)}}", place * PITCH);
    match strip.changes[..] {
        [] | [_] => body.push_str(&uses),
        [.., (_, last)] => {
            let _ = write!(body, "<g class=\"k{row}\">{uses}</g>");
            let _ = write!(style, ".k{row}{}", shift(last));
            let seconds = whole.as_secs_f64();
            let _ = write!(style, ".k{row}{{animation:k{row} {seconds:.2}s step-end infinite}}");
            let _ = write!(style, "@keyframes k{row}{{");
            for (at, place) in &strip.changes {
                let percent = at.as_secs_f64() / seconds * 100.0;
                let _ = write!(style, "{}%{}", rounded(percent), shift(*place));
            }
            style.push_str("}\n");
        }
    }
    body.push_str("</svg>\n");
}

fn rounded(percent: f64) -> String {
    let text = format!("{percent:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Contents of rows that are in the picture, each once, wherever it is seen.
#[derive(Default)]
struct Defined<'a> {
    known: HashMap<&'a Row, Option<usize>>,
    text: String,
}

impl<'a> Defined<'a> {
    /// The id of a content; none if there is nothing to see.
    fn id(&mut self, row: &'a Row) -> Option<String> {
        let next = self.known.len();
        let id = *self.known.entry(row).or_insert_with(|| {
            let drawn = drawn(row);
            if drawn.is_empty() {
                return None;
            }
            let _ = writeln!(self.text, "<g id=\"r{next}\">{drawn}</g>");
            Some(next)
        });
        id.map(|id| format!("r{id}"))
    }
}

/// What a row looks like: the grounds first, then what stands on them.
fn drawn(row: &Row) -> String {
    let mut grounds: Vec<(usize, usize, Colour)> = Vec::new();
    for run in row {
        let Some(ground) = run.style.colours().1.filter(|ground| *ground != PAPER) else {
            continue;
        };
        match grounds.last_mut() {
            Some((column, width, last)) if *last == ground && *column + *width == run.column => {
                *width += run.width;
            }
            _ => grounds.push((run.column, run.width, ground)),
        }
    }
    let ground = |&(column, width, fill): &(usize, usize, Colour)| {
        rect((column * CELL.0, 0), (width * CELL.0, CELL.1), fill)
    };
    grounds.iter().map(ground).chain(row.iter().map(pieces)).collect()
}

/// The text of a run, cut where something is to be drawn that fonts do not do well.
fn pieces(run: &Run) -> String {
    let (fill, _) = run.style.colours();
    let mut out = String::new();
    let mut column = run.column;
    let mut left = &run.text[..];
    while let Some(first) = left.chars().next() {
        let shape = block(first);
        let ends = |next: char| match shape {
            Some(_) => next != first,
            None => block(next).is_some(),
        };
        let (piece, rest) = left.split_at(left.find(ends).unwrap_or(left.len()));
        let width = piece.width();
        match shape {
            Some(shape) => out.push_str(&shaped(shape, column, width, fill)),
            None => out.push_str(&letters(piece, column, width, fill, run.style)),
        }
        column += width;
        left = rest;
    }
    out
}

impl Style {
    /// The colour of the text, and of its ground if that is not the terminal's own.
    fn colours(self) -> (Colour, Option<Colour>) {
        match self.reversed {
            false => (self.text.unwrap_or(INK), self.ground),
            true => (self.ground.unwrap_or(PAPER), Some(self.text.unwrap_or(INK))),
        }
    }
}

/// Lines and blocks are drawn, because fonts leave gaps between them: left, top, right and bottom
/// within the cell.
fn block(character: char) -> Option<[usize; 4]> {
    let (wide, high) = CELL;
    let (middle, centre) = (wide / 2, high / 2);
    Some(match character {
        '█' => [0, 0, wide, high],
        '▀' => [0, 0, wide, centre],
        '▄' => [0, centre, wide, high],
        '▌' => [0, 0, middle, high],
        '▐' => [middle, 0, wide, high],
        '┃' => [middle - 1, 0, middle + 2, high],
        '╹' => [middle - 1, 0, middle + 2, centre],
        '│' => [middle, 0, middle + 1, high],
        '■' => [1, centre - 4, wide - 1, centre + 3],
        '⬝' => [middle - 1, centre - 1, middle + 1, centre + 1],
        '─' => [0, centre, wide, centre + 1],
        _ => return None,
    })
}

fn shaped(
    [left, top, right, bottom]: [usize; 4],
    column: usize,
    count: usize,
    fill: Colour,
) -> String {
    let one = |column: usize, width: usize| {
        rect((column * CELL.0 + left, top), (width, bottom - top), fill)
    };
    if (left, right) == (0, CELL.0) {
        return one(column, count * CELL.0);
    }
    (column..column + count).map(|column| one(column, right - left)).collect()
}

fn letters(text: &str, column: usize, width: usize, fill: Colour, style: Style) -> String {
    let shown = text.trim_end();
    if shown.is_empty() && !style.underlined {
        return String::new();
    }
    // Spaces at both ends are left out: their columns are known.
    let begin = shown.len() - shown.trim_start().len();
    let column = column + begin;
    let width = width - begin - (text.len() - shown.len());
    let mut out = format!(
        "<text x=\"{}\" y=\"{BASELINE}\" textLength=\"{}\" fill=\"{}\"",
        column * CELL.0,
        width * CELL.0,
        hex(fill)
    );
    for (is, words) in [
        (style.bold, " font-weight=\"700\""),
        (style.dim, " opacity=\".6\""),
        (style.italic, " font-style=\"italic\""),
        (style.underlined, " text-decoration=\"underline\""),
    ] {
        out.push_str(if is { words } else { "" });
    }
    let _ = write!(out, ">{}</text>", escaped(&shown[begin..]));
    out
}

fn rect((x, y): (usize, usize), (width, height): (usize, usize), fill: Colour) -> String {
    let y = if y == 0 { String::new() } else { format!(" y=\"{y}\"") };
    let fill = hex(fill);
    format!("<rect x=\"{x}\"{y} width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>")
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::paint::rows;
    use super::*;

    fn frame(screen: &str, ms: u64) -> Frame {
        Frame { rows: rows(screen), lasts: Duration::from_millis(ms) }
    }

    fn drawn(screen: &str) -> String {
        rows(screen).iter().map(super::drawn).collect()
    }

    #[test]
    fn i6_a_row_that_stays_is_there_once_and_does_not_move() {
        let picture = svg(&[frame("same\none", 500), frame("same\ntwo", 500)], 10, "t");
        assert_eq!(picture.matches(">same</text>").count(), 1, "{picture}");
        assert!(!picture.contains("@keyframes k0"), "{picture}");
        let moves = "@keyframes k1{0%{transform:translateY(-0px)}50%{transform:translateY(-25px)}}";
        assert!(picture.contains(moves), "{picture}");
    }

    #[test]
    fn i6_what_was_shown_before_is_moved_back_to_and_what_is_seen_twice_is_written_once() {
        let frames = [frame("a\nb", 250), frame("b\nb", 250), frame("a\nb", 500)];
        let picture = svg(&frames, 10, "t");
        assert_eq!(picture.matches("<text ").count(), 2, "{picture}");
        let back = "25%{transform:translateY(-25px)}50%{transform:translateY(-0px)}";
        assert!(picture.contains(back), "{picture}");
    }

    #[test]
    fn i6_without_motion_it_is_the_last_screen() {
        let frames = [frame("a", 100), frame("b", 100), frame("c", 100)];
        let picture = svg(&frames, 10, "t");
        assert!(picture.contains(".k0{transform:translateY(-50px)}"), "{picture}");
        let still = "@media(prefers-reduced-motion:reduce){g{animation:none!important}}";
        assert!(picture.contains(still), "{picture}");
    }

    #[test]
    fn i6_text_stands_at_its_columns_whatever_the_font() {
        let expected = "<text x=\"18\" y=\"14\" textLength=\"27\" fill=\"#eeeeee\">a&lt;b</text>";
        assert_eq!(drawn("  a<b  "), expected);
        let cut = drawn("a██b");
        assert!(cut.contains("<rect x=\"9\" width=\"18\" height=\"19\""), "{cut}");
        assert!(cut.contains("<text x=\"27\""), "{cut}");
        assert_eq!(drawn("┃┃").matches("width=\"3\"").count(), 2);
    }

    #[test]
    fn i6_styles_are_drawn() {
        let bold = drawn("\u{1b}[1;2;3;4ma");
        for word in ["font-weight", "opacity", "font-style", "text-decoration"] {
            assert!(bold.contains(word), "{bold}");
        }
        let reversed = drawn("\u{1b}[7;38;2;1;2;3ma");
        assert!(reversed.starts_with("<rect x=\"0\" width=\"9\" height=\"19\" fill=\"#010203\""));
        assert!(reversed.contains("fill=\"#0a0a0a\">a<"), "{reversed}");
        assert_eq!(drawn("\u{1b}[48;2;10;10;10m  "), "", "paper on paper");
        let grounds = drawn("\u{1b}[41ma\u{1b}[1mb\u{1b}[42mc\u{1b}[0md");
        assert_eq!(grounds.matches("<rect ").count(), 2, "one for neighbours: {grounds}");
    }
}
