//! Markdown as lines: headings in bold, lists with their margins, code as it was written, tables in
//! columns as far as there is room, links with their address behind them.

use crate::model::markdown::{Block, Cell, Span, blocks};
use crate::model::text::fit;
use unicode_width::UnicodeWidthStr;

use super::{Ink, Line, Piece, flow, line, plain_lines};

/// The narrowest column of a table.
const COLUMN_MIN: usize = 4;

pub fn markdown_lines(text: &str, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    write(&blocks(text), columns, &mut lines);
    lines
}

fn write(blocks: &[Block], columns: usize, lines: &mut Vec<Line>) {
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 && !follows_words(&blocks[number - 1..]) {
            lines.push(vec![]);
        }
        write_block(block, columns, lines);
    }
}

/// Whether a list comes right after the words that introduce it: then no line stands between them.
fn follows_words(blocks: &[Block]) -> bool {
    matches!(blocks, [Block::Paragraph { .. }, Block::List { .. }, ..])
}

fn write_block(block: &Block, columns: usize, lines: &mut Vec<Line>) {
    match block {
        Block::Paragraph { of } => words(of, Ink::Plain, columns, lines),
        Block::Heading { of, .. } => words(of, Ink::Heading, columns, lines),
        Block::Code { text, .. } => {
            lines.extend(plain_lines(text, columns, Ink::Code, &Piece::new("  ", Ink::Plain)));
        }
        Block::List { ordered, start, items } => {
            for (number, item) in (*start..).zip(items) {
                let mark = if *ordered { format!("{number}. ") } else { "• ".to_owned() };
                indented(item, columns, &mark, lines);
            }
        }
        Block::Quote { of } => {
            let margin = Piece::new("▏ ", Ink::Faint);
            let mut inner = Vec::new();
            write(of, columns.saturating_sub(2).max(1), &mut inner);
            lines.extend(inner.into_iter().map(|line| [vec![margin.clone()], line].concat()));
        }
        Block::Table { head, rows } => table(head, rows, columns, lines),
        Block::Rule => lines.push(line(&"─".repeat(columns.min(40)), Ink::Faint)),
    }
}

/// Spans on as many lines as they need, at least one for each break.
fn words(of: &[Span], ink: Ink, columns: usize, lines: &mut Vec<Line>) {
    let none = Piece::default();
    for part in pieces(of, ink).split(|piece| piece.text == "\n") {
        lines.extend(flow(part, columns, &none, &none));
    }
}

/// The blocks of an item behind its mark.
fn indented(item: &[Block], columns: usize, mark: &str, lines: &mut Vec<Line>) {
    let wide = mark.width();
    let mut inner = Vec::new();
    write(item, columns.saturating_sub(wide).max(1), &mut inner);
    if inner.is_empty() {
        inner.push(vec![]);
    }
    for (number, line) in inner.into_iter().enumerate() {
        let margin = if number == 0 { mark.to_owned() } else { " ".repeat(wide) };
        lines.push([vec![Piece::new(&margin, Ink::Plain)], line].concat());
    }
}

fn table(head: &[Cell], rows: &[Vec<Cell>], columns: usize, lines: &mut Vec<Line>) {
    let count = head.len().max(1);
    let text = |cell: &Cell| -> String {
        let pieces = pieces(cell, Ink::Plain);
        pieces.iter().map(|piece| piece.text.replace('\n', " ")).collect()
    };
    let all: Vec<Vec<String>> = std::iter::once(head)
        .chain(rows.iter().map(Vec::as_slice))
        .map(|row| row.iter().map(text).collect())
        .collect();
    let mut widths: Vec<usize> = (0..count)
        .map(|at| {
            all.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max().unwrap_or(0)
        })
        .collect();
    let room = columns.saturating_sub(2 * (count - 1));
    // The widest give way first.
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { break };
        if *widest <= COLUMN_MIN {
            break;
        }
        *widest -= 1;
    }
    for (number, row) in all.iter().enumerate() {
        let ink = if number == 0 { Ink::Strong } else { Ink::Plain };
        let mut cells = String::new();
        for (cell, wide) in row.iter().zip(&widths) {
            let cell = fit(cell, *wide);
            let gap = wide.saturating_sub(cell.width()) + 2;
            cells.push_str(&cell);
            cells.push_str(&" ".repeat(gap));
        }
        lines.push(line(cells.trim_end(), ink));
    }
}

/// The spans, one after the other; a break is a piece of its own.
fn pieces(spans: &[Span], ink: Ink) -> Vec<Piece> {
    let mut all = Vec::new();
    for span in spans {
        match span {
            Span::Text { text } => all.push(Piece::new(text, ink)),
            Span::Code { text } => all.push(Piece::new(text, Ink::Code)),
            Span::Strong { of } => all.extend(pieces(of, Ink::Strong)),
            Span::Emphasis { of } => all.extend(pieces(of, Ink::Emphasis)),
            Span::Struck { of } => all.extend(pieces(of, Ink::Struck)),
            Span::Link { to, of } => {
                let words = pieces(of, Ink::Link);
                let said: String = words.iter().map(|piece| piece.text.as_str()).collect();
                all.extend(words);
                // A link is not where it says it is, but where it leads.
                if said != *to && format!("mailto:{said}") != *to {
                    all.push(Piece::new(&format!(" ({to})"), Ink::Faint));
                }
            }
            Span::Break => all.push(Piece { text: "\n".to_owned(), ink }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use legwork_protocol::refusal::steers;
    use proptest::prelude::*;

    use super::*;
    use crate::terminal::paper::width;

    fn shown(text: &str, columns: usize) -> String {
        let one = |line: &Line| line.iter().map(|piece| piece.text.as_str()).collect::<String>();
        markdown_lines(text, columns).iter().map(one).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn v4_markdown_reads_well_as_lines() {
        let text = "# Findings\n\nTwo tests *share* a clock:  \nit is `static`.\n\n\
            1. the first one, which is long enough for two lines\n   - deep\n2. two\n\n\
            > quoted\n\n```rust\nfn main() {\n\tx();\n}\n```\n\n\
            | file | lines |\n|---|---|\n| clock.rs | 14 |\n\n\
            See [the book](https://example.org/book) or <https://example.org>.";
        insta::assert_snapshot!(shown(text, 40));
    }

    #[test]
    fn v4_a_break_in_a_heading_ends_its_line() {
        assert_eq!(shown("one\\\ntwo\n---", 40), "one\ntwo");
    }

    proptest! {
        #[test]
        fn v7_no_line_is_wider_than_the_screen_by_more_than_its_marks(
            text in "[ -~\n*>|`#é日\u{1b}\u{202e}]{0,200}", columns in 1usize..60,
        ) {
            for line in markdown_lines(&text, columns) {
                // Margins within margins need room on a screen that is too narrow for any text.
                prop_assert!(columns < 20 || width(&line) <= columns + 60, "{line:?}");
                let is_harmless = |piece: &Piece| !piece.text.chars().any(steers);
                prop_assert!(line.iter().all(is_harmless), "{line:?}");
            }
        }
    }
}
