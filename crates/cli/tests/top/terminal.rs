//! A terminal on which a command line runs: what is on its screen, and keys for it.

use std::process::{Command, Output};

use rustix::process::{Pid, Signal, kill_process};

use crate::home::{Home, eventually};

pub struct Terminal<'a> {
    home: &'a Home,
}

impl<'a> Terminal<'a> {
    /// Runs a command line in a shell, which then says how it ended and whether the terminal's
    /// settings are as they were.
    pub fn run(home: &'a Home, (columns, rows): (u16, u16), line: &str) -> Self {
        let terminal = Self { home };
        let legwork = env!("CARGO_BIN_EXE_legwork");
        let script = format!(
            "trap : INT TERM HUP; legwork() {{ {legwork:?} \"$@\"; }}; echo before; \
             was=$(stty -g); {line}; code=$?; \
             [ \"$was\" = \"$(stty -g)\" ] && echo \"code $code.\" || echo spoiled; exec cat"
        );
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let size = ["new-session", "-d", "-x", &columns, "-y", &rows, "--"];
        let started = terminal.tmux(&[&size[..], &["sh", "-c", &script]].concat());
        assert!(started.status.success(), "tmux: {}", String::from_utf8_lossy(&started.stderr));
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let socket = self.home.path("tmux");
        // As the program would be run.
        let legwork = self.home.command([""; 0]);
        let variables = legwork.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut tmux = Command::new("tmux");
        tmux.env_clear().envs(variables).env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        tmux.args(["-u", "-f", "/dev/null", "-S", socket.to_str().unwrap()]);
        tmux.args(args).output().unwrap()
    }

    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// The screen with its colours.
    pub fn painted(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-e"]).stdout).into_owned()
    }

    /// What a variable of tmux says of the terminal.
    pub fn says(&self, variable: &str) -> String {
        let said = self.tmux(&["display-message", "-p", &format!("#{{{variable}}}")]);
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    }

    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    pub fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    pub fn resize(&self, (columns, rows): (u16, u16)) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Sends a signal to the `legwork` that runs in it.
    pub fn signal(&self, signal: Signal) {
        let shell = self.says("pane_pid");
        let children = Command::new("pgrep").args(["-P", &shell, "legwork"]).output().unwrap();
        let children = String::from_utf8_lossy(&children.stdout).into_owned();
        let pid = children.trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
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
        assert_eq!(self.says("alternate_on"), "0");
        assert_eq!(self.says("cursor_flag"), "1", "the cursor is hidden");
        screen
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Has the scripted agent do this under a name, and gives the task's id.
pub fn launch(home: &Home, name: &str, script: &str) -> String {
    let args = ["run", "--agent", "rehearsal", "--detach", "--description", name, script];
    home.run(args).with_code(0).out.trim().to_owned()
}

pub fn status(home: &Home, task: &str) -> String {
    home.run(["show", task, "--json"]).with_code(0).json()["status"].as_str().unwrap().to_owned()
}

pub fn until_status(home: &Home, task: &str, wanted: &str) {
    eventually(wanted, || (status(home, task) == wanted).then_some(()));
}
