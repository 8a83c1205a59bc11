//! The real clients of MCP servers, each in a pinned version, installed once into the target
//! folder; and a home for each in which it asks nothing at its start, asks the scripted model and
//! reaches nobody beyond loopback. Which MCP server a client has is not decided here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::home::Home;
use crate::install::npm;
use crate::model::Model;
use crate::shelf::nowhere;

/// Claude Code asks whether a key that it finds may be used, and keeps the last 20 characters.
const KEY: &str = "scripted-0123456789-0123456789";
const KEY_END: usize = 20;

/// A client of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Goose.
    Goose,
}

impl McpClient {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Goose];

    /// As it is called on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
        }
    }

    /// The version that everything is tested with.
    pub fn version(self) -> &'static str {
        match self {
            Self::Claude => "2.1.325",
            Self::Codex => "0.166.0",
            Self::Gemini => "0.61.0",
            Self::Goose => "1.34.0",
        }
    }

    /// The program. Installs it if it is not there yet, which takes a while and needs npm.
    pub fn program(self) -> PathBuf {
        self.program_of(self.version())
    }

    /// The same of another version.
    pub fn program_of(self, version: &str) -> PathBuf {
        let check = |fresh: &Path| self.check(fresh, version);
        match self {
            Self::Claude => npm("claude-code", "@anthropic-ai/claude-code", version, check),
            Self::Codex => npm("codex", "@openai/codex", version, check),
            Self::Gemini => npm("gemini-cli", "@google/gemini-cli", version, |_| {}),
            // The package that has the program of 1.34.0 bears another number.
            Self::Goose => npm("goose", &goose_package(), "0.20.1", check),
        }
        .join(self.place())
    }

    /// The native program where there is one: a signal to a wrapper does not reach what it wraps.
    fn place(self) -> PathBuf {
        let modules = Path::new("node_modules");
        match self {
            Self::Claude => modules.join("@anthropic-ai/claude-code/bin/claude.exe"),
            Self::Codex => {
                let (os, arch) = platform();
                let triple = if os == "darwin" { "apple-darwin" } else { "unknown-linux-musl" };
                let triple = format!("{}-{triple}", std::env::consts::ARCH);
                modules.join(format!("@openai/codex-{os}-{arch}/vendor/{triple}/bin/codex"))
            }
            Self::Gemini => modules.join(".bin/gemini"),
            Self::Goose => modules.join(goose_package()).join("bin/goose"),
        }
    }

    fn check(self, fresh: &Path, version: &str) {
        let said = Command::new(fresh.join(self.place())).arg("--version").output();
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let right = said.as_ref().is_ok_and(|said| said.contains(version));
        assert!(right, "{} {} does not run here: {said:?}", self.name(), version);
    }

    /// Furnishes a home for it: settings, and variables for what is started from now on.
    pub fn furnish(self, home: &Home, model: &Model) {
        // Whoever would call home finds nobody.
        let nobody = nowhere();
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
            home.set_env(name, &nobody);
        }
        home.set_env("NO_PROXY", "127.0.0.1,localhost");
        home.set_env("no_proxy", "127.0.0.1,localhost");
        match self {
            Self::Claude => claude(home, model),
            Self::Codex => codex(home, model),
            Self::Gemini => gemini(home, model),
            Self::Goose => goose(home, model),
        }
    }

    /// The client in the project of a home, without a screen.
    pub fn command(self, home: &Home, args: &[&str]) -> Command {
        let mut command = home.command(self.program());
        command.args(args);
        command
    }
}

fn platform() -> (&'static str, &'static str) {
    let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    (os, arch)
}

fn goose_package() -> String {
    let (os, arch) = platform();
    format!("@aaif/goose-binary-{os}-{arch}")
}

fn write(home: &Home, path: &str, text: &str) {
    let path = home.root().join("home").join(path);
    let folder = path.parent().expect("a file of the home");
    fs::create_dir_all(folder).expect("a folder of the home");
    fs::write(path, text).expect("a file of the home");
}

/// Furnishes the folder of a person in which Claude Code asks nothing at its start, the scripted
/// model only, and trusts this project; and the variables that have to be set.
pub fn claude_settings(
    folder: &Path,
    model: &Model,
    project: &Path,
) -> Vec<(&'static str, String)> {
    let known = json!({
        "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
        "projectOnboardingSeenCount": 4, "allowedTools": [],
    });
    let mut projects = json!({});
    projects[project.to_string_lossy().as_ref()] = known;
    let state = json!({
        "hasCompletedOnboarding": true,
        "lastOnboardingVersion": McpClient::Claude.version(),
        "theme": "dark",
        "numStartups": 5,
        "autoUpdates": false,
        "bypassPermissionsModeAccepted": true,
        "hasSeenAutoDefaultNotice": true,
        "hasResetAutoModeOptInForDefaultOffer": true,
        "customApiKeyResponses": { "approved": [&KEY[KEY.len() - KEY_END..]], "rejected": [] },
        "projects": projects,
    });
    let settings = json!({ "permissions": { "allow": [] }, "spinnerTipsEnabled": false });
    fs::create_dir_all(folder.join(".claude")).expect("a folder of the home");
    fs::write(folder.join(".claude.json"), state.to_string()).expect("a file of the home");
    fs::write(folder.join(".claude/settings.json"), settings.to_string())
        .expect("a file of the home");
    let off = [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
    ];
    let model = [("ANTHROPIC_BASE_URL", model.origin()), ("ANTHROPIC_API_KEY", KEY.to_owned())];
    model.into_iter().chain(off.map(|name| (name, "1".to_owned()))).collect()
}

fn claude(home: &Home, model: &Model) {
    let folder = home.root().join("home");
    for (name, value) in claude_settings(&folder, model, &home.project()) {
        home.set_env(name, &value);
    }
}

/// Settings with which Codex asks the scripted model, and nobody else, and trusts this project. The
/// variable `SCRIPTED_KEY` has to be set.
pub fn codex_settings(model: &Model, project: &Path) -> String {
    format!(
        "model = \"scripted\"\n\
         model_provider = \"scripted\"\n\
         approval_policy = \"on-request\"\n\
         sandbox_mode = \"read-only\"\n\
         check_for_update_on_startup = false\n\n\
         [model_providers.scripted]\n\
         name = \"scripted\"\n\
         base_url = \"{}\"\n\
         wire_api = \"responses\"\n\
         env_key = \"SCRIPTED_KEY\"\n\n\
         [projects.\"{}\"]\n\
         trust_level = \"trusted\"\n\n\
         [analytics]\n\
         enabled = false\n\n\
         [notice]\n\
         hide_full_access_warning = true\n",
        model.url(),
        project.display()
    )
}

fn codex(home: &Home, model: &Model) {
    write(home, ".codex/config.toml", &codex_settings(model, &home.project()));
    home.set_env("SCRIPTED_KEY", KEY);
}

fn gemini(home: &Home, model: &Model) {
    let settings = json!({
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "security": { "auth": { "selectedType": "gemini-api-key" } },
    });
    write(home, ".gemini/settings.json", &settings.to_string());
    home.set_env("GEMINI_API_KEY", KEY);
    home.set_env("GOOGLE_GEMINI_BASE_URL", &model.origin());
    home.set_env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    // Else another model is asked first which one is to answer.
    home.set_env("GEMINI_MODEL", "gemini-2.5-flash");
}

fn goose(home: &Home, model: &Model) {
    write(home, ".config/goose/config.yaml", "GOOSE_MODE: auto\n");
    home.set_env("GOOSE_PROVIDER", "openai");
    home.set_env("GOOSE_MODEL", "gpt-4o");
    home.set_env("OPENAI_HOST", &model.origin());
    home.set_env("OPENAI_API_KEY", KEY);
    home.set_env("GOOSE_DISABLE_KEYRING", "1");
    home.set_env("GOOSE_TELEMETRY_ENABLED", "false");
    home.set_env("GOOSE_MODE", "auto");
}
