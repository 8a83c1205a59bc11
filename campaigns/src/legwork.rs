//! legwork as its users know it: a program with a folder. Finds the one that was built beside the
//! campaigns, furnishes its folder and runs its commands to their end.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use legwork_testkit::Home;
use legwork_testkit::legwork::program;
use serde_json::Value;

use crate::fault::{Done, Fault};

/// The longest that a command of ours may take: it may have to start the daemon.
pub const COMMAND: Duration = Duration::from_secs(30);

/// The program.
#[derive(Debug, Clone)]
pub struct Legwork {
    binary: PathBuf,
}

/// What the daemon says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DaemonFacts {
    /// Its process.
    pub pid: u32,
    /// Hosts that are connected.
    pub hosts: usize,
    /// Requests to all of them.
    pub requests: u64,
    /// Unfinished tasks.
    pub unfinished: u64,
    /// Notices that are pending.
    pub pending: u64,
}

impl DaemonFacts {
    /// What `legwork daemon status --json` printed; nothing when there is no daemon.
    pub fn of(status: &Value) -> Option<Self> {
        let daemon = status["daemon"].as_object()?;
        let number = |name: &str| daemon.get(name).and_then(Value::as_u64);
        let hosts = daemon.get("hosts")?.as_array()?;
        Some(Self {
            pid: u32::try_from(number("pid")?).ok()?,
            hosts: hosts.len(),
            requests: hosts.iter().filter_map(|host| host["requests"].as_u64()).sum(),
            unfinished: number("unfinished")?,
            pending: number("pending")?,
        })
    }

    /// Whether nothing is under way and nobody is to be told.
    pub fn is_settled(&self) -> bool {
        self.hosts > 0 && self.unfinished == 0 && self.pending == 0
    }
}

impl Legwork {
    /// The one beside this program, or beside the folder of the tests.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> Done<Self> {
        program().map(|binary| Self { binary }).ok_or_else(|| {
            Fault::new("there is no legwork beside this program; cargo build --release -p legwork")
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.binary
    }

    /// Makes legwork's folder in a home, with these settings, and names it in the environment.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn furnish(&self, home: &Home, config: &str) -> Done<()> {
        let own = own_folder(home);
        let fault = |why| Fault::trying("making legwork's folder", why);
        std::fs::create_dir(&own).map_err(fault)?;
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&own, private).map_err(fault)?;
        std::fs::write(own.join("config.toml"), config).map_err(fault)?;
        home.set_env("LEGWORK_HOME", &own.to_string_lossy());
        Ok(())
    }

    /// Puts the plugin into the project of a home.
    ///
    /// # Errors
    /// When the command says so.
    pub fn install(&self, home: &Home) -> Done<()> {
        let mut command = home.command(&self.binary);
        command.args(["install", "opencode", "--project"]).arg(home.project());
        let done = finish(command).map_err(|why| Fault::trying("legwork install", why))?;
        if !done.status.success() {
            return Err(Fault::trying("legwork install", String::from_utf8_lossy(&done.stderr)));
        }
        Ok(())
    }

    /// A command, to its end.
    ///
    /// # Errors
    /// When it does not start or does not end.
    pub fn run(&self, home: &Home, args: &[&str]) -> Done<Output> {
        let mut command = home.command(&self.binary);
        command.args(args);
        finish(command).map_err(|why| Fault::trying(format!("legwork {}", args.join(" ")), why))
    }
}

/// The folder of legwork in a home.
pub fn own_folder(home: &Home) -> PathBuf {
    home.root().join("legwork")
}

/// Runs a command to its end, but not for ever.
pub fn finish(mut command: Command) -> Result<Output, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|why| why.to_string())?;
    let pid = child.id();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody waits any more when it took too long.
        let _ = tell.send(child.wait_with_output());
    });
    match told.recv_timeout(COMMAND) {
        Ok(output) => output.map_err(|why| why.to_string()),
        Err(_) => Err(format!("process {pid} did not end within {COMMAND:?}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_daemons_own_words_are_read() {
        let status = json!({ "running": true, "daemon": {
            "pid": 7, "unfinished": 0, "pending": 0,
            "hosts": [{ "requests": 3 }, { "requests": 4 }],
        }});
        let facts = DaemonFacts::of(&status).unwrap();
        let expected = DaemonFacts { pid: 7, hosts: 2, requests: 7, unfinished: 0, pending: 0 };
        assert_eq!(facts, expected);
        assert!(facts.is_settled());
        assert!(!DaemonFacts { pending: 1, ..facts.clone() }.is_settled());
        assert!(!DaemonFacts { hosts: 0, ..facts }.is_settled());
        assert_eq!(DaemonFacts::of(&json!({ "running": false, "daemon": null })), None);
    }
}
