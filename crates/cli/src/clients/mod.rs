//! The clients that start `legwork mcp`: which files of theirs name it, and what stands there. One
//! file a client; how each kind of file is changed is in files of its own.
//!
//! An entry is the absolute path of the program and `mcp`, in every version.

mod claude;
mod codex;
mod cursor;
mod gemini;
mod goose;
mod install;
mod json_file;
mod json_place;
mod json_tree;
mod notation;
mod part;
mod vscode;

use std::path::{Path, PathBuf};

use serde_json::Value;

use self::codex::CodexFile;
use self::goose::GooseFile;
use self::part::Part;
use crate::fault::Fault;
use crate::plugin::{Host, check_way, word};

pub use self::install::{Change, Installed, UP_TO_DATE, add, installed, program_of, remove};
pub use self::notation::Entry;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Claude,
    Codex,
    Gemini,
    Goose,
    Cursor,
    Vscode,
}

pub const CLIENTS: [Client; 6] =
    [Client::Claude, Client::Codex, Client::Gemini, Client::Goose, Client::Cursor, Client::Vscode];

/// A client, for one project or for all.
#[derive(Debug, Clone)]
pub struct Target {
    pub client: Client,
    /// The folder of the project.
    pub project: Option<PathBuf>,
}

impl Client {
    /// Nothing for OpenCode, which has a plugin of its own.
    pub fn of(host: Host) -> Option<Self> {
        Some(match host {
            Host::Opencode => return None,
            Host::Claude => Self::Claude,
            Host::Codex => Self::Codex,
            Host::Gemini => Self::Gemini,
            Host::Goose => Self::Goose,
            Host::Cursor => Self::Cursor,
            Host::Vscode => Self::Vscode,
        })
    }

    /// As it is written in a command.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
        }
    }

    /// As its makers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Goose => "Goose",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
        }
    }

    /// What a person does after an install.
    pub fn next(self) -> &'static str {
        match self {
            Self::Claude => "Restart Claude Code; then ask for helpers in your own words.",
            Self::Codex => "Start Codex again; then ask for helpers in your own words.",
            Self::Gemini => "Start Gemini CLI again; then ask for helpers in your own words.",
            Self::Goose => "Start a new Goose session; then ask for helpers in your own words.",
            Self::Cursor => "Restart Cursor; then ask for helpers in your own words.",
            Self::Vscode => {
                "Reload VS Code and let it start legwork when it asks; then ask for helpers in \
                 your own words, in agent mode."
            }
        }
    }

    /// Its folder in a home.
    fn own_folder(self) -> Result<PathBuf, Fault> {
        let var = |name| legwork_machine::var(name).map(PathBuf::from);
        let home = || var("HOME").ok_or(legwork_machine::Fault::NoHome);
        let config = || -> Result<PathBuf, legwork_machine::Fault> {
            let xdg = var("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            xdg.map_or_else(|| Ok(home()?.join(".config")), Ok)
        };
        let moved = |name, usual: &str| match var(name) {
            Some(moved) => Ok(moved),
            None => home().map(|home| home.join(usual)),
        };
        let folder = match self {
            Self::Claude => moved("CLAUDE_CONFIG_DIR", ".claude")?,
            Self::Codex => moved("CODEX_HOME", ".codex")?,
            Self::Gemini => home()?.join(".gemini"),
            Self::Goose => config()?.join("goose"),
            Self::Cursor => home()?.join(".cursor"),
            Self::Vscode if cfg!(target_os = "macos") => {
                home()?.join("Library/Application Support/Code/User")
            }
            Self::Vscode => config()?.join("Code/User"),
        };
        std::path::absolute(&folder).map_err(Fault::file("find", &folder))
    }

    /// Its folder in a project.
    fn project_folder(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(".claude"),
            Self::Codex => Some(".codex"),
            Self::Gemini => Some(".gemini"),
            Self::Goose => None,
            Self::Cursor => Some(".cursor"),
            Self::Vscode => Some(".vscode"),
        }
    }
}

impl Target {
    /// The folder of the client that everything lies in.
    pub fn folder(&self) -> Result<PathBuf, Fault> {
        match (&self.project, self.client.project_folder()) {
            (None, _) => self.client.own_folder(),
            (Some(project), Some(folder)) => Ok(project.join(folder)),
            (Some(_), None) => Err(Fault::Usage(format!(
                "{} has no settings for a project. Leave --project out.",
                self.client.name()
            ))),
        }
    }

    /// The command that installs it or takes it out.
    pub fn command(&self, verb: &str) -> String {
        let client = self.client.word();
        match &self.project {
            None => format!("legwork {verb} {client}"),
            Some(project) => format!("legwork {verb} {client} --project {}", word(project)),
        }
    }

    /// Its files, the one with the entry first.
    fn parts(&self) -> Result<Vec<Part>, Fault> {
        let folder = self.folder()?;
        let plugin = folder.join("skills/legwork");
        let part = |file: PathBuf, notation| Part { file, notation };
        let parts = match self.client {
            Client::Claude => vec![
                part(plugin.join(".claude-plugin/plugin.json"), Box::new(claude::Manifest) as _),
                part(plugin.join("hooks/hooks.json"), Box::new(claude::Hooks)),
            ],
            Client::Codex => vec![part(folder.join("config.toml"), Box::new(CodexFile))],
            Client::Gemini => {
                vec![part(folder.join("settings.json"), Box::new(gemini::settings()))]
            }
            Client::Goose => vec![part(folder.join("config.yaml"), Box::new(GooseFile))],
            Client::Cursor => vec![
                part(folder.join("mcp.json"), Box::new(cursor::servers())),
                part(folder.join("hooks.json"), Box::new(cursor::hooks())),
            ],
            Client::Vscode => vec![part(folder.join("mcp.json"), Box::new(vscode::servers()))],
        };
        if let Some(project) = &self.project {
            parts.iter().try_for_each(|part| check_way(project, &part.file))?;
        }
        Ok(parts)
    }
}

/// The command of a hook, for a shell. It ends with 0 even if the program is gone: a client would
/// hold back what its person has typed.
fn hook_command(client: &str, program: &str) -> String {
    format!("{} hook {client} 2>/dev/null || :", word(Path::new(program)))
}

/// A whole file.
fn pretty(value: &Value) -> String {
    // A value that was made here can be written.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
