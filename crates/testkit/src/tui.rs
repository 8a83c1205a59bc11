//! A terminal UI in a home, OpenCode's or another's, on a screen that a test can read and type on.

use crate::home::Home;
use crate::kit::{self, DEADLINE};
use crate::pty::Terminal;

/// Columns and rows of a screen for which nobody says otherwise.
pub const SIZE: (u16, u16) = (120, 40);

/// Wide enough that clients do not break the lines that tests look for.
pub const WIDE: (u16, u16) = (160, 50);

/// A running terminal UI; it is killed with this value.
#[derive(Debug)]
pub struct Tui<'a> {
    _home: &'a Home,
    terminal: Terminal,
    size: (u16, u16),
}

impl<'a> Tui<'a> {
    pub(crate) async fn start(home: &'a Home, size: (u16, u16), words: &[&str]) -> Self {
        let mut command = home.command(words[0]);
        command.args(&words[1..]);
        let tui = Self { _home: home, terminal: Terminal::run(command, size), size };
        tui.until("the first screen", |screen| !screen.trim().is_empty()).await;
        tui
    }

    /// What is on the screen now; empty when the program has ended.
    pub fn screen(&self) -> String {
        if self.pid().is_some() { self.terminal.screen() } else { String::new() }
    }

    /// The same with its colours, as escape sequences, and with the spaces at the ends of lines.
    pub fn painted(&self) -> String {
        self.terminal.painted()
    }

    /// Types keys by their names: `Enter`, `Escape`, `C-c`.
    pub fn keys(&self, keys: &[&str]) {
        self.terminal.keys(keys);
    }

    /// Types a text as it is. Line breaks go as one paste, not as so many Enters.
    pub fn text(&self, text: &str) {
        self.terminal.paste(text);
    }

    /// Waits until this holds of the screen.
    pub async fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let look = || Some(self.screen()).filter(|screen| wanted(screen));
        let found = kit::poll(DEADLINE, look).await;
        found.unwrap_or_else(|| panic!("no screen: {what}\n{}", self.terminal.screen()))
    }

    /// Has the program draw everything again, by another size until it has drawn for it: what
    /// anybody else has printed on the screen is gone afterwards.
    pub async fn redraw(&self) {
        let (columns, rows) = self.size;
        for size in [(columns - 20, rows), (columns, rows)] {
            self.terminal.resize_empty(size);
            self.until("drawn for another size", |screen| !screen.trim().is_empty()).await;
        }
    }

    /// Gives the screen another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.terminal.resize((columns, rows));
    }

    /// Closes the terminal under the program, as who closes its window does.
    pub fn hang_up(self) {
        self.terminal.hang_up();
    }

    /// The process id of the program; nothing when it has ended.
    pub fn pid(&self) -> Option<u32> {
        self.terminal.pid()
    }
}
