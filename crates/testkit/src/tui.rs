//! A terminal UI, OpenCode's or another's, on a screen that a test can read and type on: a tmux
//! server of its own, with its socket in the home, so that it meets no other tmux and goes with the
//! home even if the test forgets it.

use std::process::Output;

use rustix::process::{Pid, Signal, kill_process};

use crate::home::Home;
use crate::kit::{self, DEADLINE};

/// Columns and rows of a screen for which nobody says otherwise.
pub const SIZE: (u16, u16) = (120, 40);

/// Wide enough that clients do not break the lines that tests look for.
pub const WIDE: (u16, u16) = (160, 50);

/// A running terminal UI; it is killed with this value.
#[derive(Debug)]
pub struct Tui<'a> {
    home: &'a Home,
    socket: String,
    size: (u16, u16),
}

impl<'a> Tui<'a> {
    pub(crate) async fn start(home: &'a Home, size: (u16, u16), words: &[&str]) -> Self {
        let log = home.log("tmux");
        let socket = log.file_name().expect("a name").to_string_lossy().into_owned();
        let tui = Self { home, socket, size };
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let size = ["-x", &*columns, "-y", &*rows];
        let new = [&["new-session", "-d"], &size[..], &["--"], words].concat();
        let started = tui.tmux(&new);
        assert!(started.status.success(), "tmux: {}", String::from_utf8_lossy(&started.stderr));
        tui.until("the first screen", |screen| !screen.trim().is_empty()).await;
        tui
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut command = self.home.command("tmux");
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command.args(["-u", "-L", &self.socket, "-f", "/dev/null"]).args(args);
        command.output().unwrap_or_else(|why| panic!("tmux is needed: {why}"))
    }

    /// What is on the screen now; empty when the program has ended.
    pub fn screen(&self) -> String {
        let captured = self.tmux(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&captured.stdout).into_owned()
    }

    /// The same with its colours, as escape sequences, and with the spaces at the ends of lines.
    pub fn painted(&self) -> String {
        let captured = self.tmux(&["capture-pane", "-e", "-N", "-p"]);
        String::from_utf8_lossy(&captured.stdout).into_owned()
    }

    /// Types keys by their tmux names: `Enter`, `Escape`, `C-c`.
    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a text as it is. Line breaks go as one paste, not as so many Enters.
    pub fn text(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// Waits until this holds of the screen.
    pub async fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let look = || Some(self.screen()).filter(|screen| wanted(screen));
        let found = kit::poll(DEADLINE, look).await;
        found.unwrap_or_else(|| panic!("no screen: {what}\n{}", self.screen()))
    }

    /// Has the program draw everything again, by another size for a moment: what anybody else has
    /// printed on the screen is gone afterwards.
    pub fn redraw(&self) {
        let (columns, rows) = self.size;
        self.resize(columns - 20, rows);
        self.resize(columns, rows);
    }

    /// Gives the screen another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &*columns, "-y", &*rows]);
    }

    /// Closes the terminal under the program, as who closes its window does.
    pub fn hang_up(self) {
        self.tmux(&["kill-server"]);
    }

    /// The process id of the program.
    pub fn pid(&self) -> Option<u32> {
        let panes = self.tmux(&["list-panes", "-F", "#{pane_pid}"]);
        String::from_utf8_lossy(&panes.stdout).trim().parse().ok()
    }
}

impl Drop for Tui<'_> {
    fn drop(&mut self) {
        // With its terminal gone it would take a while to end in good order.
        if let Some(pid) = self.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        self.tmux(&["kill-server"]);
    }
}
