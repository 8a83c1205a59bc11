//! Lines at the bottom of a terminal that are drawn anew in their place while something goes on.
//! They go to stderr; where that is no terminal nothing is drawn.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};

use crate::words::duration;

pub const REDRAW: Duration = Duration::from_millis(120);
/// How often what tasks do is asked, only to be shown.
pub const LOOK: Duration = Duration::from_secs(1);

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

pub fn is_live() -> bool {
    io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// How long something has been going on, in whole seconds.
pub fn elapsed(time: Duration) -> String {
    if time < Duration::from_secs(1) { "0s".to_owned() } else { duration(time.as_millis() as u64) }
}

/// The lines at the bottom. They are wiped with this value.
#[derive(Debug, Default)]
pub struct Board {
    drawn: usize,
    frame: usize,
}

impl Board {
    /// The columns and rows that lines may take.
    pub fn room() -> (usize, usize) {
        let size = rustix::termios::tcgetwinsize(io::stderr());
        let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        // The last column is left free: some terminals break the line there already.
        (usize::from(columns.max(20)) - 1, usize::from(rows.max(4)) - 1)
    }

    /// The next picture of something that turns.
    pub fn turn(&mut self) -> char {
        self.frame = (self.frame + 1) % SPINNER.len();
        SPINNER[self.frame]
    }

    /// Draws these lines in the place of the last ones. None of them may be wider than the room.
    pub fn draw(&mut self, lines: &[String]) {
        let mut text = self.wipe();
        text.push_str(&lines.join("\r\n"));
        // Where a key that the terminal shows (Ctrl-C) does not break the line.
        text.push('\r');
        self.drawn = lines.len();
        put(&text);
    }

    /// Takes the lines away, so that something else can be written.
    pub fn clear(&mut self) {
        let text = self.wipe();
        self.drawn = 0;
        put(&text);
    }

    fn wipe(&self) -> String {
        match self.drawn {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            lines => format!("\r\u{1b}[{}A\u{1b}[J", lines - 1),
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.clear();
    }
}

fn put(text: &str) {
    let mut out = io::stderr();
    let plain = AutoStream::choice(&out) == ColorChoice::Never;
    let text = if plain { without_colours(text) } else { text.to_owned() };
    // Progress that cannot be drawn is no reason not to go on.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Leaves what moves the cursor, which is not a matter of taste.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(|c: char| c.is_ascii_alphabetic()) {
            Some((codes, rest)) if piece[codes.len()..].starts_with('m') => plain.push_str(rest),
            _ => {
                plain.push_str("\u{1b}[");
                plain.push_str(piece);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{LIVE, paint};

    #[test]
    fn lines_are_drawn_over_the_last_ones_however_many_they_were() {
        let wiped = |drawn| Board { drawn, frame: 0 }.wipe();
        assert_eq!(wiped(0), "");
        assert_eq!(wiped(1), "\r\u{1b}[J");
        assert_eq!(wiped(3), "\r\u{1b}[2A\u{1b}[J");
    }

    #[test]
    fn without_colours_the_cursor_still_moves() {
        let drawn = format!("\r\u{1b}[2A\u{1b}[J{} and on", paint(LIVE, "x"));
        assert_eq!(without_colours(&drawn), "\r\u{1b}[2A\u{1b}[Jx and on");
    }
}
