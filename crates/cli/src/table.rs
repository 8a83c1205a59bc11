//! Columns of text that fit under each other, whatever stands in them.

use anstyle::Style;
use legwork_protocol::refusal::plain;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::screen::paint;

const GAP: usize = 2;
/// No text in a table is longer; hosts' texts are cut at half of it.
const CELL_MAX_CHARS: usize = 1_000;
/// A column is not made narrower than this to fit the terminal.
const LEAST_WIDTH: usize = 16;

/// One text in a table.
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

    /// The same in a style.
    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

/// The rows under each other. If they are wider than the screen, the column `yields` is cut.
pub fn table(rows: &[Vec<Cell>], columns: Option<usize>, yields: usize) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..count)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.width()).max().unwrap_or(0)
        })
        .collect();
    if let (Some(columns), Some(width)) = (columns, widths.get(yields)) {
        let all = widths.iter().sum::<usize>() + GAP * count.saturating_sub(1);
        let over = all.saturating_sub(columns);
        let least = LEAST_WIDTH.min(*width);
        widths[yields] = width.saturating_sub(over).max(least);
    }
    rows.iter().map(|row| line(row, &widths)).collect()
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

/// At most so many columns wide, with `…` where something was cut.
pub fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        fitted.push(c);
    }
    fitted.push('…');
    fitted
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
        assert_eq!(table(&rows, None, 1), ["a   日本語       x", "bb  one two [2J  y"]);
    }

    #[test]
    fn one_column_gives_way_to_the_width_of_the_screen() {
        let long = "word ".repeat(20);
        let rows = rows(&[["a", &long, "x"], ["b", "short", "y"]]);
        let lines = table(&rows, Some(40), 1);
        assert!(lines.iter().all(|line| line.width() <= 40), "{lines:?}");
        assert!(lines[0].contains('…'));
        assert_eq!(lines[0].find('x').is_some(), lines[1].find('y').is_some());
    }

    #[test]
    fn a_wide_character_is_not_cut_in_half() {
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 6), "日本語");
    }
}
