//! legwork as its users know it, for end-to-end tests: the program in a home of its own for each
//! test, a terminal on which it runs, and a host behind its bridge. It knows the program by its
//! command line and its output alone.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test tool reports by panicking and printing"
)]

mod host;
mod script;
mod shell;

pub use host::Host;
pub use script::script_agent;
pub use shell::Shell;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::child::output;
use crate::kit::DEADLINE;

/// How long a daemon stays that nobody needs, in ms: longer than it is between two commands of a
/// test, also on a busy machine. The home's end is its own.
const LINGER_MS: &str = "60000";

/// A folder in which legwork keeps everything; its daemon ends with this value.
#[derive(Debug)]
pub struct Home(TempDir);

/// What a run of the program gave.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// What it printed, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// The program under test: the one that Cargo names, or the one beside this program or beside the
/// folder of the tests.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CARGO_BIN_EXE_legwork") {
        return Some(named.into());
    }
    let own = env::current_exe().ok()?;
    let mut places = own.ancestors().skip(1).take(2).map(|folder| folder.join("legwork"));
    places.find(|place| place.is_file())
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        // The program shows paths without links in them.
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// Writes the settings, before there is a daemon.
    pub fn configure(&self, settings: &str) {
        fs::DirBuilder::new().mode(0o700).create(self.path("legwork")).unwrap();
        fs::write(self.path("legwork/config.toml"), settings).unwrap();
    }

    pub fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        self.command_of(&program().expect("legwork is built"), args)
    }

    /// The same with another program.
    pub fn command_of(
        &self,
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("LEGWORK_HOME", self.path("legwork"))
            .env("LEGWORK_LINGER_MS", LINGER_MS)
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run<const N: usize>(&self, args: [&str; N]) -> Ran {
        ran(self.command(args))
    }

    /// Has the scripted agent do this under a name, and gives the task's id.
    pub fn launch(&self, name: &str, script: &str) -> String {
        let args = ["run", "--agent", "rehearsal", "--detach", "--description", name, script];
        self.run(args).with_code(0).out.trim().to_owned()
    }

    pub fn status(&self, task: &str) -> String {
        let shown = self.run(["show", task, "--json"]).with_code(0).json();
        shown["status"].as_str().unwrap().to_owned()
    }

    pub fn until_status(&self, task: &str, wanted: &str) {
        eventually(wanted, || (self.status(task) == wanted).then_some(()));
    }
}

/// Runs a command to its end.
pub fn ran(mut command: Command) -> Ran {
    output(&mut command).into()
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: without_delays(&String::from_utf8(output.stderr).unwrap()),
        }
    }
}

/// What was said on stderr, but for the remark that the daemon is slow, which a busy machine makes.
pub fn without_delays(err: &str) -> String {
    let is_delay = |line: &str| line.trim_end_matches(['\n', '}', '"']).ends_with("Still waiting.");
    err.split_inclusive('\n').filter(|line| !is_delay(line)).collect()
}

impl Drop for Home {
    fn drop(&mut self) {
        let mut stop = self.command(["daemon", "stop", "--yes"]);
        if !std::thread::panicking() {
            output(&mut stop);
            return;
        }
        // A second panic would end all tests.
        let stopped = std::thread::spawn(move || output(&mut stop)).join();
        eprintln!("{stopped:?}");
        let log = fs::read_to_string(self.path("legwork/daemon.log"));
        eprintln!("{}", log.unwrap_or_default());
    }
}

/// Waits until something is so.
pub fn eventually<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(so) = is_so() {
            return so;
        }
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        // Else looking takes the processor from what is waited for.
        std::thread::sleep(Duration::from_millis(5));
    }
}
