//! A screen with its colours, read from the text and the escape sequences in which a terminal tells
//! of it. Only SGR is understood; whatever else is there is skipped.

use unicode_width::UnicodeWidthChar;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
/// The steps of a channel in the cube of 256 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];
/// The first sixteen, as xterm has them.
const SIXTEEN: [Colour; 16] = [
    Colour(0, 0, 0),
    Colour(205, 0, 0),
    Colour(0, 205, 0),
    Colour(205, 205, 0),
    Colour(0, 0, 238),
    Colour(205, 0, 205),
    Colour(0, 205, 205),
    Colour(229, 229, 229),
    Colour(127, 127, 127),
    Colour(255, 0, 0),
    Colour(0, 255, 0),
    Colour(255, 255, 0),
    Colour(92, 92, 255),
    Colour(255, 0, 255),
    Colour(0, 255, 255),
    Colour(255, 255, 255),
];

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour(pub u8, pub u8, pub u8);

/// How a piece of text looks. No colour is the terminal's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Style {
    pub text: Option<Colour>,
    pub ground: Option<Colour>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underlined: bool,
    pub reversed: bool,
}

/// Neighbours in one row that look the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Run {
    /// Where it begins.
    pub column: usize,
    /// How many columns it takes.
    pub width: usize,
    pub text: String,
    pub style: Style,
}

/// One row of a screen, from left to right.
pub type Row = Vec<Run>;

/// The rows of a screen. A style holds until it is changed, also in the next row.
pub fn rows(screen: &str) -> Vec<Row> {
    let mut style = Style::default();
    screen.lines().map(|line| row(line, &mut style)).collect()
}

fn row(line: &str, style: &mut Style) -> Row {
    let mut row: Row = Vec::new();
    let mut column = 0;
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        if next == ESCAPE {
            escape(&mut rest, style);
            continue;
        }
        let Some(width) = next.width() else { continue };
        match row.last_mut().filter(|run| run.style == *style) {
            Some(run) => {
                run.text.push(next);
                run.width += width;
            }
            None => row.push(Run { column, width, text: next.into(), style: *style }),
        }
        column += width;
    }
    row
}

/// Reads one sequence to its end, and does what it says if it is about style.
fn escape(rest: &mut std::str::Chars<'_>, style: &mut Style) {
    match rest.next() {
        Some('[') => {
            let mut words = String::new();
            for next in rest.by_ref() {
                if ('@'..='~').contains(&next) {
                    if next == 'm' {
                        style.apply(&words);
                    }
                    return;
                }
                words.push(next);
            }
        }
        // A link or a title: up to the bell, or to an escape and a backslash.
        Some(']') => {
            while let Some(next) = rest.next().filter(|next| *next != BELL) {
                if next == ESCAPE {
                    rest.next();
                    return;
                }
            }
        }
        _ => {}
    }
}

impl Style {
    fn apply(&mut self, words: &str) {
        let numbers: Vec<u8> =
            words.split([';', ':']).map(|word| word.parse().unwrap_or_default()).collect();
        let mut left = &numbers[..];
        while let Some((first, rest)) = left.split_first() {
            left = rest;
            match first {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underlined = true,
                7 => self.reversed = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underlined = false,
                27 => self.reversed = false,
                30..=37 => self.text = Some(indexed(first - 30)),
                38 => self.text = extended(&mut left),
                39 => self.text = None,
                40..=47 => self.ground = Some(indexed(first - 40)),
                48 => self.ground = extended(&mut left),
                49 => self.ground = None,
                90..=97 => self.text = Some(indexed(first - 90 + 8)),
                100..=107 => self.ground = Some(indexed(first - 100 + 8)),
                _ => {}
            }
        }
    }
}

/// The colour that follows a 38 or 48: `5;N` or `2;R;G;B`.
fn extended(left: &mut &[u8]) -> Option<Colour> {
    let (colour, rest) = match **left {
        [5, number, ref rest @ ..] => (indexed(number), rest),
        [2, red, green, blue, ref rest @ ..] => (Colour(red, green, blue), rest),
        _ => return None,
    };
    *left = rest;
    Some(colour)
}

fn indexed(number: u8) -> Colour {
    match number {
        0..=15 => SIXTEEN[usize::from(number)],
        16..=231 => {
            let place = usize::from(number - 16);
            Colour(CUBE[place / 36], CUBE[place / 6 % 6], CUBE[place % 6])
        }
        232..=255 => {
            let grey = 8 + 10 * (number - 232);
            Colour(grey, grey, grey)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styles(words: &str) -> Style {
        let mut style = Style::default();
        style.apply(words);
        style
    }

    #[test]
    fn i6_colours_of_all_three_kinds_are_read() {
        let text = |words: &str| styles(words).text;
        assert_eq!(text("31"), Some(Colour(205, 0, 0)));
        assert_eq!(text("94"), Some(Colour(92, 92, 255)));
        assert_eq!(text("38;5;9"), Some(Colour(255, 0, 0)));
        assert_eq!(text("38;5;208"), Some(Colour(255, 135, 0)));
        assert_eq!(text("38;5;255"), Some(Colour(238, 238, 238)));
        assert_eq!(text("38;2;1;2;3"), Some(Colour(1, 2, 3)));
        assert_eq!(text("31;39"), None);
        let both = styles("1;38;2;1;2;3;48;5;16;3");
        assert_eq!((both.text, both.ground), (Some(Colour(1, 2, 3)), Some(Colour(0, 0, 0))));
        assert!(both.bold && both.italic, "what follows a colour is read too");
        assert_eq!(styles("107").ground, Some(Colour(255, 255, 255)));
    }

    #[test]
    fn i6_a_style_is_taken_back_alone_or_as_a_whole() {
        assert_eq!(styles("1;2;22"), Style::default());
        assert_eq!(styles("3;4;7;23;24;27"), Style::default());
        assert_eq!(styles("1;31;44;0"), Style::default());
        assert_eq!(styles("1;31;44;"), Style::default(), "nothing means 0");
        assert_eq!(styles("38;5"), styles("5"), "what is cut off is no colour");
    }

    #[test]
    fn i6_rows_are_runs_of_one_style_at_their_columns() {
        let rows = rows("ab\u{1b}[1mcd\u{1b}[0m \u{1b}]8;;x\u{1b}\\日\u{1b}[2me\nf");
        let run = |column, width, text: &str, words| Run {
            column,
            width,
            text: text.to_owned(),
            style: styles(words),
        };
        let first = vec![
            run(0, 2, "ab", "0"),
            run(2, 2, "cd", "1"),
            run(4, 3, " 日", "0"),
            run(7, 1, "e", "2"),
        ];
        assert_eq!(rows, [first, vec![run(0, 1, "f", "2")]]);
    }
}
