//! A home of its own for each test, in which `legwork` is run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub use legwork_testkit::DEADLINE as PATIENCE;
use legwork_testkit::output;
use serde_json::Value;
use tempfile::TempDir;

/// How long a daemon stays that nobody needs, in ms: longer than it is between two commands of a
/// test, also on a busy machine. The home's end is its own.
const LINGER_MS: &str = "60000";

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
        self.command_of(env!("CARGO_BIN_EXE_legwork").as_ref(), args)
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
}

pub fn ran(mut command: Command) -> Ran {
    output(&mut command).into()
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
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
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(so) = is_so() {
            return so;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        // Else looking takes the processor from what is waited for.
        std::thread::sleep(Duration::from_millis(5));
    }
}
