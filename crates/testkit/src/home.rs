//! A home of its own for OpenCode: HOME, the XDG folders, a project with its settings, and a
//! provider that is the scripted model. Nothing is fetched: what OpenCode would install for plugins
//! at the first request looks installed already. Offline that took 74 s (seen in 1.18.33).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::install::{Installed, VERSION};
use crate::model::Model;
use crate::process::{Run, Serve};
use crate::sweep::Sweep;
use crate::tui::{SIZE, Tui, WIDE};

/// A home that is being made.
#[derive(Debug)]
pub struct HomeBuilder {
    settings: Value,
    env: Vec<(String, String)>,
    plugins: Vec<(String, String)>,
    git: bool,
    catalogue: bool,
}

impl HomeBuilder {
    /// Without OpenCode's catalogue of providers and models, of which the tests use none. To read
    /// it takes 1.7 of the 4.1 s of processor time that a start and a first turn take (seen in
    /// 1.18.33).
    #[must_use]
    pub fn without_catalogue(mut self) -> Self {
        self.catalogue = false;
        self
    }

    /// The project is a git repository with one commit.
    #[must_use]
    pub fn git(mut self) -> Self {
        self.git = true;
        self
    }

    /// A variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// More settings for `opencode.json`; objects are merged, anything else is replaced.
    #[must_use]
    pub fn settings(mut self, more: Value) -> Self {
        merge(&mut self.settings, more);
        self
    }

    /// A plugin in the project: the name of its file and its source.
    #[must_use]
    pub fn plugin(mut self, name: &str, source: &str) -> Self {
        self.plugins.push((name.to_owned(), source.to_owned()));
        self
    }

    /// Makes it.
    pub fn make(self) -> Home {
        let sweep = Sweep::new();
        let home = Home { sweep, env: Mutex::new(self.env), count: AtomicUsize::new(0) };
        if !self.catalogue {
            let empty = home.root().join("models.json");
            fs::write(&empty, "{}").expect("an empty catalogue");
            home.set_env("OPENCODE_MODELS_PATH", &empty.to_string_lossy());
        }
        for folder in ["home/.config/opencode", "project/.opencode/plugin", "logs", "tmp"] {
            fs::create_dir_all(home.root().join(folder)).expect("a folder of the home");
        }
        let settings = home.project().join("opencode.json");
        fs::write(settings, format!("{:#}", self.settings)).expect("the settings");
        pretend_installed(&home.project().join(".opencode"));
        pretend_installed(&home.root().join("home/.config/opencode"));
        for (name, source) in &self.plugins {
            home.add_plugin(name, source);
        }
        if self.git {
            home.git(&["init", "-q", "-b", "main"]);
            home.git(&["add", "opencode.json"]);
            let who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            home.git(&[&who[..], &["commit", "-q", "-m", "first"]].concat());
        }
        home
    }
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

fn pretend_installed(folder: &Path) {
    let dependencies = json!({ "@opencode-ai/plugin": VERSION });
    let package = json!({ "dependencies": dependencies });
    let lock = json!({
        "name": "opencode",
        "lockfileVersion": 3,
        "requires": true,
        "packages": { "": { "dependencies": dependencies } },
    });
    fs::create_dir_all(folder.join("node_modules")).expect("node_modules");
    fs::write(folder.join("package.json"), package.to_string()).expect("package.json");
    fs::write(folder.join("package-lock.json"), lock.to_string()).expect("package-lock.json");
}

/// A private home. Everything that was started in it ends with it, and its folder goes.
#[derive(Debug)]
pub struct Home {
    sweep: Sweep,
    env: Mutex<Vec<(String, String)>>,
    count: AtomicUsize,
}

impl Home {
    /// One with the ordinary settings.
    pub fn new(model: &Model) -> Self {
        Self::build(model).make()
    }

    /// One with more than that.
    pub fn build(model: &Model) -> HomeBuilder {
        let fake = json!({
            "name": "Fake",
            "tool_call": true,
            "limit": { "context": 200_000, "output": 8_000 },
            "cost": { "input": 1, "output": 2 },
        });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": "Fake",
            "options": { "baseURL": model.url(), "apiKey": "none" },
            "models": { "fake": fake },
        });
        let settings = json!({
            "autoupdate": false,
            "share": "disabled",
            "model": "fake/fake",
            "small_model": "fake/fake",
            "enabled_providers": ["fake"],
            // Three git commands in every step otherwise.
            "snapshot": false,
            "provider": { "fake": provider },
        });
        HomeBuilder { settings, env: Vec::new(), plugins: Vec::new(), git: false, catalogue: true }
    }

    /// The folder that holds all of it.
    pub fn root(&self) -> &Path {
        self.sweep.folder()
    }

    /// The project.
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Sets a variable for what is started from now on.
    pub fn set_env(&self, name: &str, value: &str) {
        let mut env = self.env.lock().expect("not poisoned");
        env.push((name.to_owned(), value.to_owned()));
    }

    /// Puts a plugin into the project, for what is started from now on.
    pub fn add_plugin(&self, name: &str, source: &str) {
        let file = self.project().join(".opencode/plugin").join(name);
        fs::write(file, source).expect("a plugin");
    }

    /// Any program in the project, with the home's environment.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let home = self.root().join("home");
        let mut command = Command::new(program);
        // `opencode run` believes PWD rather than its working folder (seen in 1.18.33).
        command.current_dir(self.project()).env("PWD", self.project()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let known = name.to_string_lossy();
            let foreign = ["OPENCODE", "XDG_", "TMUX"].iter().any(|begin| known.starts_with(begin));
            if foreign || known.to_ascii_lowercase().ends_with("_proxy") {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            // Every start leaves some 10 MB of unpacked libraries there (seen in 1.18.33).
            .env("TMPDIR", self.root().join("tmp"));
        for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE"] {
            command.env(format!("OPENCODE_DISABLE_{name}"), "1");
        }
        command.envs(self.env.lock().expect("not poisoned").iter().cloned());
        command
    }

    /// OpenCode in the project, with these arguments.
    pub fn opencode(&self, args: &[&str]) -> Command {
        let mut command = self.command(Installed::get().binary());
        command.args(args);
        command
    }

    /// `opencode serve`, ready for requests.
    pub async fn serve(&self) -> Serve {
        Serve::start(self, None).await
    }

    /// `opencode serve` that wants a password.
    pub async fn serve_with_password(&self, password: &str) -> Serve {
        Serve::start(self, Some(password)).await
    }

    /// `opencode run` with these arguments, begun.
    pub fn run(&self, args: &[&str]) -> Run {
        let args = [&["run"], args].concat();
        Run::start(self, self.opencode(&args), "run")
    }

    /// The terminal UI on a screen of its own.
    pub async fn tui(&self, args: &[&str]) -> Tui<'_> {
        self.tui_of(SIZE.0, SIZE.1, args).await
    }

    /// The same on a screen with so many columns and rows.
    pub async fn tui_of(&self, columns: u16, rows: u16, args: &[&str]) -> Tui<'_> {
        let binary = Installed::get().binary().to_string_lossy().into_owned();
        Tui::start(self, (columns, rows), &[&[&*binary], args].concat()).await
    }

    /// Any program on a screen of its own, by its command line.
    pub async fn screen(&self, words: &[&str]) -> Tui<'_> {
        Tui::start(self, WIDE, words).await
    }

    /// A file for the output of something that is started.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        self.root().join("logs").join(format!("{number}-{name}"))
    }

    pub(crate) fn remember(&self, leader: u32) {
        self.sweep.remember(leader);
    }

    fn git(&self, args: &[&str]) {
        let done = self.command("git").args(args).status().expect("git is there");
        assert!(done.success(), "git {args:?}");
    }
}
