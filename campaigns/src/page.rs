//! Tables as text and as Markdown, and the places in a document that a campaign fills in. What
//! stands outside of the markers is written by people and never touched.

use std::fs;
use std::path::Path;

use crate::fault::{Done, Fault};

/// A table: a head and rows of as many cells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// One without rows.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// With one more row.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let all = || std::iter::once(&self.head).chain(&self.rows);
        let width = |place: usize| {
            all().filter_map(|row| row.get(place)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..self.head.len()).filter_map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(place, (cell, width))| {
                if place == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        all().map(line).collect::<Vec<_>>().join("\n")
    }

    /// For a document.
    pub fn markdown(&self) -> String {
        let line = |row: &[String]| {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<String> = (0..self.head.len())
            .map(|place| if place == 0 { "---" } else { "---:" }.to_owned())
            .collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.head) + &line(&rule) + &rows
    }
}

/// Puts a text between the markers of this name.
///
/// # Errors
/// When the markers are not there, each once and in order.
pub fn fill(document: &str, name: &str, text: &str) -> Done<String> {
    let (begin, end) = (format!("<!-- begin {name} -->"), format!("<!-- end {name} -->"));
    let once = |mark: &str| document.matches(mark).count() == 1;
    let place = document.find(&begin).map(|at| at + begin.len()).zip(document.find(&end));
    match place {
        Some((from, to)) if from <= to && once(&begin) && once(&end) => Ok(format!(
            "{}\n\n{}\n\n{}",
            &document[..from],
            text.trim_matches('\n'),
            &document[to..]
        )),
        _ => Err(Fault::new(format!("there is no one place between `{begin}` and `{end}`"))),
    }
}

/// Fills several places of the page of this name, and writes plots into a folder beside it.
///
/// # Errors
/// When the file cannot be read or written, or a place is missing; then nothing is written.
pub fn publish(
    folder: &Path,
    name: &str,
    places: &[(&str, String)],
    plots: &[(&str, String)],
) -> Done<()> {
    let page = folder.join(format!("{name}.md"));
    let fault = |what: &Path, why| Fault::trying(format!("writing {}", what.display()), why);
    let mut text = fs::read_to_string(&page)
        .map_err(|why| Fault::trying(format!("reading {}", page.display()), why))?;
    for (name, inside) in places {
        text = fill(&text, name, inside)?;
    }
    let beside = folder.join(name);
    if !plots.is_empty() {
        fs::create_dir_all(&beside).map_err(|why| fault(&beside, why))?;
    }
    for (name, plot) in plots {
        let file = beside.join(name);
        fs::write(&file, plot).map_err(|why| fault(&file, why))?;
    }
    fs::write(&page, text).map_err(|why| fault(&page, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["what", "ms"]);
        table.push(vec!["launch".to_owned(), "7".to_owned()]);
        table.push(vec!["a|b".to_owned(), "12.5".to_owned()]);
        table
    }

    #[test]
    fn a_table_is_lined_up_on_a_terminal() {
        assert_eq!(table().text(), "what      ms\nlaunch     7\na|b     12.5");
    }

    #[test]
    fn a_table_is_markdown_in_a_document() {
        let expected = "| what | ms |\n| --- | ---: |\n| launch | 7 |\n| a\\|b | 12.5 |\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let page = "before\n<!-- begin a -->\nold\n<!-- end a -->\nafter";
        let filled = fill(page, "a", "new\n").unwrap();
        assert_eq!(filled, "before\n<!-- begin a -->\n\nnew\n\n<!-- end a -->\nafter");
        assert_eq!(fill(&filled, "a", "new\n").unwrap(), filled);
        for wrong in ["", "<!-- end a -->\n<!-- begin a -->", &format!("{page}{page}")] {
            assert!(fill(wrong, "a", "x").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_page_with_a_missing_place_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("performance.md");
        fs::write(&page, "<!-- begin a -->\n<!-- end a -->").unwrap();
        let places = [("a", "x".to_owned()), ("b", "y".to_owned())];
        assert!(publish(folder.path(), "performance", &places, &[]).is_err());
        assert!(!fs::read_to_string(&page).unwrap().contains('x'));
        publish(folder.path(), "performance", &places[..1], &[("p.svg", "<svg/>".to_owned())])
            .unwrap();
        assert!(fs::read_to_string(&page).unwrap().contains('x'));
        assert_eq!(fs::read_to_string(folder.path().join("performance/p.svg")).unwrap(), "<svg/>");
    }
}
