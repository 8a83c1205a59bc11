//! Texts as lines of a certain width: pieces with an ink each, no colours and no escapes yet. All
//! that helpers wrote goes through here on its way to the screen.

mod entries;
mod markdown;

pub use entries::{Saying, entry_lines};
pub use markdown::markdown_lines;

use crate::model::text::{harmless, wrap_line};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a piece of text is, from which follows how it looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ink {
    #[default]
    Plain,
    Strong,
    Emphasis,
    Struck,
    Faint,
    Code,
    Heading,
    Link,
    Good,
    Bad,
    Mind,
    Live,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub ink: Ink,
}

impl Piece {
    /// A text of any origin: what could steer the terminal is left out, and a tab is spaces.
    pub fn new(text: &str, ink: Ink) -> Self {
        let text = harmless(text).replace('\t', "    ").replace('\n', " ");
        Self { text: text.chars().filter(|c| c.width().is_some()).collect(), ink }
    }
}

/// One line.
pub type Line = Vec<Piece>;

pub fn line(text: &str, ink: Ink) -> Line {
    vec![Piece::new(text, ink)]
}

pub fn width(line: &[Piece]) -> usize {
    line.iter().map(|piece| piece.text.width()).sum()
}

/// Puts pieces on lines of at most so many columns, broken between words where that is possible.
/// The first line begins with one margin, the others with the other.
pub fn flow(pieces: &[Piece], columns: usize, first: &Piece, rest: &Piece) -> Vec<Line> {
    let margin = first.text.width().max(rest.text.width());
    // On a screen without room for both, the text counts.
    let (margins, room) = match columns.checked_sub(margin) {
        Some(room) if room >= 8 || margin == 0 => (true, room.max(1)),
        _ => (false, columns.max(1)),
    };
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let mut inks = pieces.iter().flat_map(|piece| piece.text.chars().map(|c| (c, piece.ink)));
    let mut broken = Vec::new();
    wrap_line(&text, room, &mut broken);
    let mut lines = Vec::new();
    for (number, text) in broken.iter().enumerate() {
        let mut line = Line::new();
        for c in text.chars() {
            // A space at the end of a line was left out.
            let ink = inks.find(|(of, _)| *of == c).map_or(Ink::Plain, |(_, ink)| ink);
            match line.last_mut() {
                Some(last) if last.ink == ink => last.text.push(c),
                _ => line.push(Piece { text: c.to_string(), ink }),
            }
        }
        let margin = if number == 0 { first } else { rest };
        if margins && !margin.text.is_empty() {
            line.insert(0, margin.clone());
        }
        lines.push(line);
    }
    lines
}

/// Lines of a text as they were written, each broken where it is too long.
pub fn plain_lines(text: &str, columns: usize, ink: Ink, margin: &Piece) -> Vec<Line> {
    let lines =
        text.lines().flat_map(|line| flow(&[Piece::new(line, ink)], columns, margin, margin));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use legwork_protocol::refusal::steers;

    use super::*;

    fn text(lines: &[Line]) -> Vec<String> {
        let one = |line: &Line| line.iter().map(|piece| piece.text.as_str()).collect();
        lines.iter().map(one).collect()
    }

    #[test]
    fn v4_pieces_flow_into_lines_that_fit() {
        let none = Piece::default();
        let pieces =
            [Piece::new("one two ", Ink::Plain), Piece::new("three 日本語日本", Ink::Strong)];
        assert_eq!(text(&flow(&pieces, 9, &none, &none)), ["one two ", "three ", "日本語日", "本"]);
        let bar = Piece::new("| ", Ink::Faint);
        let dot = Piece::new("* ", Ink::Faint);
        assert_eq!(text(&flow(&pieces[..1], 10, &dot, &bar)), ["* one two "]);
        for columns in 0..30 {
            for line in flow(&pieces, columns, &dot, &bar) {
                assert!(width(&line) <= columns.max(2), "{columns} {line:?}");
            }
        }
    }

    #[test]
    fn v7_a_piece_has_nothing_that_steers() {
        let piece = Piece::new("a\u{1b}[2J\u{7}\u{9b}\u{202e}\tb\nc\u{200f}", Ink::Plain);
        assert_eq!(piece.text, "a[2J    b c");
        assert!(!piece.text.chars().any(steers));
    }
}
