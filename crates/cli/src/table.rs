//! Columns of text that fit under each other, whatever stands in them.

use anstyle::Style;
use legwork_protocol::refusal::plain;
pub use legwork_views::model::text::{fit, wrap};
use unicode_width::UnicodeWidthStr;

use crate::screen::{BOLD, DIM, paint};

const GAP: usize = 2;
/// No text in a table is longer; hosts' texts are cut at half of it.
const CELL_MAX_CHARS: usize = 1_000;

#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A text of any origin; what would break the line is taken out.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self { text: plain(text.as_ref(), CELL_MAX_CHARS), style: Style::new() }
    }

    /// A text that may have several lines, whole.
    pub fn lines(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(|line| plain(line, usize::MAX)).collect();
        Self { text: lines.join("\n"), style: Style::new() }
    }

    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

pub fn table(rows: &[Vec<Cell>]) -> Vec<String> {
    table_within(rows, None, &[])
}

/// Names and what is to be said of each, a line for each.
pub fn facts(facts: Vec<(&str, Cell)>) -> Vec<String> {
    facts_within(facts, None)
}

/// The same within a screen: what is wider goes on under itself.
pub fn facts_within(facts: Vec<(&str, Cell)>, columns: Option<usize>) -> Vec<String> {
    let names = facts.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(names + GAP).max(GAP));
    let mut lines = Vec::new();
    for (name, fact) in facts {
        for (number, piece) in wrap(&fact.text, room).iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            let gap = " ".repeat(names - name.width() + GAP);
            lines.push(format!("{}{gap}{}", paint(DIM, name), paint(fact.style, piece)));
        }
    }
    lines
}

pub fn headings<const N: usize>(names: [&str; N]) -> Vec<Cell> {
    names.map(|name| Cell::new(name).styled(BOLD)).to_vec()
}

/// The rows within a screen: if they are wider, the columns named by `yielding` are cut, the first
/// one first, each down to its least width.
pub fn table_within(
    rows: &[Vec<Cell>],
    columns: Option<usize>,
    yielding: &[(usize, usize)],
) -> Vec<String> {
    let mut widths = widths(rows);
    for (column, least) in yielding {
        let all = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let over = all.saturating_sub(columns.unwrap_or(usize::MAX));
        if let Some(width) = widths.get_mut(*column) {
            *width = width.saturating_sub(over).max((*least).min(*width));
        }
    }
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn widths(rows: &[Vec<Cell>]) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..count)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.width()).max().unwrap_or(0)
        })
        .collect()
}

fn line(row: &[Cell], widths: &[usize]) -> String {
    let mut line = String::new();
    for (number, (cell, width)) in row.iter().zip(widths).enumerate() {
        let text = fit(&cell.text, *width);
        let is_last = number + 1 == row.len();
        let gap = if is_last { 0 } else { width - text.width() + GAP };
        line.push_str(&paint(cell.style, &text));
        line.extend(std::iter::repeat_n(' ', gap));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[[&str; 3]]) -> Vec<Vec<Cell>> {
        texts.iter().map(|row| row.iter().map(Cell::new).collect()).collect()
    }

    #[test]
    fn columns_stand_under_each_other_whatever_is_in_them() {
        let rows = rows(&[["a", "日本語", "x"], ["bb", "one\ntwo\u{1b}[2J", "y"]]);
        assert_eq!(table(&rows), ["a   日本語       x", "bb  one two [2J  y"]);
    }

    #[test]
    fn columns_give_way_to_the_width_of_the_screen_one_after_the_other() {
        let long = "word ".repeat(20);
        let narrow = rows(&[["a", &long, "x"], ["b", "short", "y"]]);
        let lines = table_within(&narrow, Some(50), &[(1, 20), (2, 20)]);
        assert!(lines.iter().all(|line| line.width() <= 50), "{lines:?}");
        assert!(lines[0].contains('…') && lines[0].ends_with('x'), "{lines:?}");
        let narrower = rows(&[["a", &long, &long]]);
        let lines = table_within(&narrower, Some(50), &[(1, 20), (2, 20)]);
        assert_eq!((lines[0].width(), lines[0].matches('…').count()), (50, 2), "{lines:?}");
        assert_eq!(table_within(&narrower, None, &[(1, 20), (2, 20)]), table(&narrower));
    }
}
