//! One real OpenCode with a scripted model, with legwork in it or without, and a person's command
//! line. Nothing here decides what is measured or checked.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use legwork_testkit::{Client, Home, Model, Serve};
use serde_json::{Value, json};

use crate::fault::{Done, Fault};
use crate::processes::{self, Process};
use crate::progress::until;

/// The longest that a command of ours may take: it may have to start the daemon.
const COMMAND: Duration = Duration::from_secs(30);
/// How long a daemon and a bridge may take to come back.
const BACK: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// What a home is furnished with.
#[derive(Debug, Clone, Default)]
pub struct Furniture<'a> {
    /// The `config.toml` of legwork; nothing: legwork is not installed.
    pub config: Option<&'a str>,
    /// More settings for OpenCode.
    pub settings: Value,
    /// Variables of the environment.
    pub env: &'a [(&'a str, &'a str)],
    /// Plugins beside ours: file and source.
    pub plugins: &'a [(&'a str, &'a str)],
}

/// A running OpenCode and all that belongs to it. Everything ends with it, also when the campaign
/// is killed.
#[derive(Debug)]
pub struct Stage {
    /// The model.
    pub model: Model,
    /// The home; it outlives OpenCode.
    pub home: Home,
    /// OpenCode.
    pub serve: Serve,
    /// A client of it.
    pub client: Client,
    legwork: Option<PathBuf>,
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
    /// Notices that are owed.
    pub owed: u64,
}

impl DaemonFacts {
    /// What `legwork daemon status --json` printed; nothing when there is no daemon.
    fn of(status: &Value) -> Option<Self> {
        let daemon = status["daemon"].as_object()?;
        let number = |name: &str| daemon.get(name).and_then(Value::as_u64);
        let hosts = daemon.get("hosts")?.as_array()?;
        Some(Self {
            pid: u32::try_from(number("pid")?).ok()?,
            hosts: hosts.len(),
            requests: hosts.iter().filter_map(|host| host["requests"].as_u64()).sum(),
            unfinished: number("unfinished")?,
            owed: number("owed")?,
        })
    }

    /// Whether nothing is under way and nobody is to be told.
    pub fn is_settled(&self) -> bool {
        self.hosts > 0 && self.unfinished == 0 && self.owed == 0
    }
}

impl Stage {
    /// Furnishes a home and opens OpenCode in it.
    ///
    /// # Errors
    /// When the binary is not there or cannot be installed.
    pub async fn open(furniture: &Furniture<'_>) -> Done<Self> {
        let model = Model::start();
        let mut home = Home::build(&model).git();
        if furniture.settings.is_object() {
            home = home.settings(furniture.settings.clone());
        }
        for (name, value) in furniture.env {
            home = home.env(name, value);
        }
        for (name, source) in furniture.plugins {
            home = home.plugin(name, source);
        }
        let home = home.make();
        write(&home.project().join("notes.txt"), &notes())?;
        let legwork = furniture.config.map(|config| install(&home, config)).transpose()?;
        let serve = home.serve().await;
        let client = serve.client();
        Ok(Self { model, home, serve, client, legwork })
    }

    /// OpenCode again, in the same home, after its end.
    pub async fn reopen(&mut self) {
        self.serve = self.home.serve().await;
        self.client = self.serve.client();
    }

    /// A new conversation.
    pub async fn parent(&self) -> String {
        self.client.create(json!({ "title": "parent" })).await
    }

    /// The messages of a session.
    pub async fn messages(&self, session: &str) -> Vec<Value> {
        match self.client.messages(session).await.ok() {
            Value::Array(messages) => messages,
            _ => Vec::new(),
        }
    }

    /// A command of ours, to its end.
    ///
    /// # Errors
    /// When it does not start or does not end.
    pub fn legwork(&self, args: &[&str]) -> Done<Output> {
        let binary = self.legwork.as_ref().ok_or_else(|| Fault::new("legwork is not here"))?;
        let mut command = self.home.command(binary);
        command.args(args);
        finish(command).map_err(|why| Fault::trying(format!("legwork {}", args.join(" ")), why))
    }

    /// What a command printed as JSON; null if it printed none.
    ///
    /// # Errors
    /// When it does not start or does not end.
    pub fn legwork_json(&self, args: &[&str]) -> Done<Value> {
        let output = self.legwork(&[args, &["--json"]].concat())?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    /// What a command printed.
    pub fn printed(&self, args: &[&str]) -> String {
        match self.legwork(args) {
            Ok(output) => format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ),
            Err(fault) => format!("{fault}\n"),
        }
    }

    /// The daemon; nothing when there is none. Starts none.
    ///
    /// # Errors
    /// When the command does not work.
    pub fn daemon(&self) -> Done<Option<DaemonFacts>> {
        Ok(DaemonFacts::of(&self.legwork_json(&["daemon", "status"])?))
    }

    /// Waits for a daemon that is connected with this OpenCode.
    ///
    /// # Errors
    /// When there is none in time.
    pub async fn until_connected(&self) -> Done<DaemonFacts> {
        let look = async || self.daemon().ok()?.filter(|daemon| daemon.hosts > 0);
        until("a daemon that is connected", BACK, LOOK, look).await
    }

    /// Waits until no task is unfinished and nobody is to be told of one.
    ///
    /// # Errors
    /// When that does not happen in time.
    pub async fn until_settled(&self, within: Duration) -> Done<DaemonFacts> {
        let look = async || self.daemon().ok()?.filter(DaemonFacts::is_settled);
        until("everything is settled", within, LOOK, look).await
    }

    /// The bridge, if there is exactly one.
    pub fn bridge(&self) -> Option<u32> {
        let ours = processes::in_home(self.home.root());
        let bridges: Vec<u32> =
            ours.iter().filter(|one| one.is_bridge()).map(|one| one.pid).collect();
        (bridges.len() == 1).then(|| bridges[0])
    }

    /// All processes of the home.
    pub fn processes(&self) -> Vec<Process> {
        processes::in_home(self.home.root())
    }

    /// The folder of legwork.
    pub fn own_folder(&self) -> PathBuf {
        own_folder(&self.home)
    }
}

fn own_folder(home: &Home) -> PathBuf {
    home.root().join("legwork")
}

/// A file for the tools of helpers to read.
fn notes() -> String {
    (0..400).map(|line| format!("Note {line}: nothing of interest.\n")).collect()
}

fn write(path: &Path, text: &str) -> Done<()> {
    std::fs::write(path, text)
        .map_err(|why| Fault::trying(format!("writing {}", path.display()), why))
}

fn install(home: &Home, config: &str) -> Done<PathBuf> {
    let binary = binary()?;
    let own = own_folder(home);
    let fault = |why| Fault::trying("making legwork's folder", why);
    std::fs::create_dir(&own).map_err(fault)?;
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&own, private).map_err(fault)?;
    write(&own.join("config.toml"), config)?;
    home.set_env("LEGWORK_HOME", &own.to_string_lossy());
    let mut command = home.command(&binary);
    command.args(["install", "opencode", "--project"]).arg(home.project());
    let done = finish(command).map_err(|why| Fault::trying("legwork install", why))?;
    if !done.status.success() {
        return Err(Fault::trying("legwork install", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(binary)
}

/// The binary beside this one, or beside the folder of the tests.
fn binary() -> Done<PathBuf> {
    let own = std::env::current_exe().map_err(|why| Fault::trying("finding itself", why))?;
    let places = own.ancestors().skip(1).take(2).map(|folder| folder.join("legwork"));
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        Fault::new("there is no legwork beside this program; cargo build --release -p legwork")
    })
}

/// Runs a command to its end, but not for ever.
fn finish(mut command: Command) -> Result<Output, String> {
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
    use super::*;

    #[test]
    fn the_daemons_own_words_are_read() {
        let status = json!({ "running": true, "daemon": {
            "pid": 7, "unfinished": 0, "owed": 0, "hosts": [{ "requests": 3 }, { "requests": 4 }],
        }});
        let facts = DaemonFacts::of(&status).unwrap();
        let expected = DaemonFacts { pid: 7, hosts: 2, requests: 7, unfinished: 0, owed: 0 };
        assert_eq!(facts, expected);
        assert!(facts.is_settled());
        assert!(!DaemonFacts { owed: 1, ..facts.clone() }.is_settled());
        assert!(!DaemonFacts { hosts: 0, ..facts }.is_settled());
        assert_eq!(DaemonFacts::of(&json!({ "running": false, "daemon": null })), None);
    }
}
