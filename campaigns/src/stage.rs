//! One real OpenCode with a scripted model, with legwork in it or without, and a person's command
//! line. Nothing here decides what is measured or checked.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use legwork_testkit::{Client, Home, Model, Serve};
use serde_json::{Value, json};

use crate::fault::{Done, Fault};
use crate::legwork::{DaemonFacts, Legwork, own_folder};
use crate::processes::{self, Process};
use crate::progress::until;

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
    legwork: Option<Legwork>,
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
        let legwork = self.legwork.as_ref().ok_or_else(|| Fault::new("legwork is not here"))?;
        legwork.run(&self.home, args)
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

/// A file for the tools of helpers to read.
fn notes() -> String {
    (0..400).map(|line| format!("Note {line}: nothing of interest.\n")).collect()
}

fn write(path: &Path, text: &str) -> Done<()> {
    std::fs::write(path, text)
        .map_err(|why| Fault::trying(format!("writing {}", path.display()), why))
}

fn install(home: &Home, config: &str) -> Done<Legwork> {
    let legwork = Legwork::find()?;
    legwork.furnish(home, config)?;
    legwork.install(home)?;
    Ok(legwork)
}
