//! Lines of a terminal that are drawn anew in their place while something goes on. Where stderr is
//! no terminal, or moves no cursor, nothing is drawn there.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use rustix::termios::{Winsize, tcgetwinsize};
use unicode_width::UnicodeWidthStr;

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

/// The lines, on stderr unless it is said otherwise. They are wiped with this value.
#[derive(Debug, Default)]
pub struct Live {
    is_stdout: bool,
    /// The widths of the lines that are drawn.
    drawn: Vec<usize>,
    frame: usize,
}

impl Live {
    pub fn on_stdout() -> Self {
        Self { is_stdout: true, drawn: Vec::new(), frame: 0 }
    }

    /// The columns and rows of stderr that lines may take.
    pub fn room() -> (usize, usize) {
        let (columns, rows) = Self::default().size();
        // The last column is left free: some terminals break the line there already.
        (columns.max(20) - 1, rows.max(4) - 1)
    }

    /// The columns and rows of the terminal.
    pub fn size(&self) -> (usize, usize) {
        let size =
            if self.is_stdout { tcgetwinsize(io::stdout()) } else { tcgetwinsize(io::stderr()) };
        let (columns, rows) =
            size.map_or((80, 24), |Winsize { ws_col, ws_row, .. }| (ws_col, ws_row));
        (usize::from(columns).max(1), usize::from(rows).max(1))
    }

    /// The next picture of something that turns.
    pub fn turn(&mut self) -> char {
        self.frame = (self.frame + 1) % SPINNER.len();
        SPINNER[self.frame]
    }

    /// Draws these lines in the place of the last ones. None of them may be wider than the room.
    pub fn draw(&mut self, lines: &[String]) {
        let bare: Vec<String> = lines.iter().map(|line| strip_str(line).to_string()).collect();
        let choice = match self.is_stdout {
            true => AutoStream::choice(&io::stdout()),
            false => AutoStream::choice(&io::stderr()),
        };
        let shown = if choice == ColorChoice::Never { &bare[..] } else { lines };
        // The cursor stands where a key that the terminal shows (Ctrl-C) does not break the line.
        self.put(&format!("{}{}\r", self.wipe(), shown.join("\r\n")));
        self.drawn = bare.iter().map(|line| line.width()).collect();
    }

    /// Takes the lines away, so that something else can be written.
    pub fn clear(&mut self) {
        self.put(&self.wipe());
        self.drawn.clear();
    }

    /// Leaves the lines where they are, and goes on below them.
    pub fn leave(&mut self) {
        self.put("\r\n");
        self.drawn.clear();
    }

    /// What goes back to where the lines begin. On a terminal that has become narrower nobody knows
    /// where that is: some break its lines anew and some do not. Then all but the last one stay, so
    /// that nothing of the person's is taken away.
    fn wipe(&self) -> String {
        let columns = self.size().0;
        let is_narrower = self.drawn.iter().any(|width| *width > columns);
        match self.drawn.len() {
            0 => String::new(),
            lines if lines == 1 || is_narrower => "\r\u{1b}[J".to_owned(),
            lines => format!("\r\u{1b}[{}A\u{1b}[J", lines - 1),
        }
    }

    fn put(&self, text: &str) {
        let mut out: Box<dyn Write> =
            if self.is_stdout { Box::new(io::stdout()) } else { Box::new(io::stderr()) };
        // Lines that cannot be drawn are no reason not to go on.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_over_the_last_ones_however_many_they_were_but_not_over_what_is_above() {
        let wiped =
            |drawn: &[usize]| Live { is_stdout: false, drawn: drawn.to_vec(), frame: 0 }.wipe();
        assert_eq!(wiped(&[]), "");
        assert_eq!(wiped(&[5]), "\r\u{1b}[J");
        assert_eq!(wiped(&[5, 0, 5]), "\r\u{1b}[2A\u{1b}[J");
        assert_eq!(wiped(&[usize::MAX, 0, 5]), "\r\u{1b}[J");
    }
}
