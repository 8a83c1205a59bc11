//! A terminal on which a command line with `legwork` in it runs.

use std::cell::Cell;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Home, eventually, program};
use crate::pty::Terminal;

/// Longer than the time in which a key does not count, so that the next one does.
const PRESS_EVERY: Duration = Duration::from_secs(2);

/// A shell on a terminal.
#[derive(Debug)]
pub struct Shell {
    terminal: Terminal,
}

impl Shell {
    /// Runs a command line in a shell, which then says how it ended and whether the terminal's
    /// settings are as they were.
    pub fn run(home: &Home, size: (u16, u16), line: &str) -> Self {
        let legwork = program().unwrap();
        // Ctrl-C goes to the shell too, which must live on.
        let script = format!(
            "trap : INT TERM HUP; legwork() {{ {legwork:?} \"$@\"; }}; echo before; \
             was=$(stty -g); {line}; code=$?; \
             [ \"$was\" = \"$(stty -g)\" ] && echo \"code $code.\" || echo spoiled; exec cat"
        );
        // As the program would be run.
        let as_legwork = home.command([""; 0]);
        let variables = as_legwork.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env_clear().envs(variables);
        Self { terminal: Terminal::run(shell, size) }
    }

    pub fn screen(&self) -> String {
        self.terminal.screen()
    }

    /// The screen and what has left it at the top.
    pub fn history(&self) -> String {
        self.terminal.history()
    }

    /// The screen with its colours.
    pub fn painted(&self) -> String {
        self.terminal.painted()
    }

    /// Whether the alternate screen is shown, which hides what was there before.
    pub fn is_alternate(&self) -> bool {
        self.terminal.is_alternate()
    }

    /// Whether anything has given the terminal another name or title.
    pub fn was_renamed(&self) -> bool {
        self.terminal.was_renamed()
    }

    pub fn keys(&self, keys: &[&str]) {
        self.terminal.keys(keys);
    }

    pub fn paste(&self, text: &str) {
        self.terminal.paste(text);
    }

    pub fn resize(&self, size: (u16, u16)) {
        self.terminal.resize(size);
    }

    /// Sends a signal to the `legwork` that runs in it.
    pub fn signal(&self, signal: Signal) {
        let shell = self.terminal.pid().unwrap();
        let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        let pid = children.trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Presses a key until the screen has this: right after a text or another question none counts.
    pub fn press_until(&self, key: &str, wanted: &str) -> String {
        let pressed = Cell::new(Instant::now());
        self.keys(&[key]);
        self.until(wanted, |screen| {
            let has = screen.contains(wanted);
            if !has && pressed.get().elapsed() > PRESS_EVERY {
                pressed.set(Instant::now());
                self.keys(&[key]);
            }
            has
        })
    }

    /// Waits until this holds of the screen.
    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        eventually(what, || {
            let now = self.screen();
            if now != last {
                last = now;
                eprintln!("{what}:\n{}", last.trim_end());
            }
            is_so(&last).then(|| last.clone())
        })
    }

    pub fn until_has(&self, wanted: &str) -> String {
        self.until(wanted, |screen| screen.contains(wanted))
    }

    /// Waits for the end of the command, and sees that all is as it was before it.
    pub fn until_left(&self, code: i32) -> String {
        let screen = self.until_has(&format!("code {code}."));
        assert!(screen.starts_with("before\n"), "the screen is another one: {screen}");
        assert!(!self.is_alternate(), "the alternate screen is left: {screen}");
        assert!(self.terminal.shows_cursor(), "the cursor is hidden");
        screen
    }
}
