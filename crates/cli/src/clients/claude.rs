//! What a person has told Claude Code about a project's server. Claude Code asks before it starts
//! one, and keeps a refusal for good; 2.1.327 asks with the refusal preselected.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Target, json};

const WORD: &str = "claude";
/// What it calls our server: that of a plugin, by the names of both.
const SERVER: &str = "plugin:legwork:legwork";
/// The list of what was refused.
const REFUSED: &str = "disabledMcpjsonServers";

/// What a person should know before Claude Code asks, or after it has been refused.
pub fn note(target: &Target) -> Option<String> {
    let is_asked = target.client.word == WORD && target.project.is_some();
    let refused = refused_in(target).map(|file| {
        format!("This project's server was refused in Claude Code. {}", take_back(&file))
    });
    refused.or_else(|| is_asked.then(|| ASKS.to_owned()))
}

const ASKS: &str = "The next start of Claude Code in this project asks about a \"New MCP server \
                        found in this project: legwork (from plugin legwork)\". Choose \"Use this \
                        MCP server\": the answer that is preselected refuses it for good, and so \
                        does Esc.";

/// The settings of Claude Code in which our server of this project is refused.
pub fn refused_in(target: &Target) -> Option<PathBuf> {
    let folder = target.folder().ok()?;
    if target.client.word != WORD || target.project.is_none() {
        return None;
    }
    let own = target.client.own_folder().ok();
    let local = ["settings.local.json", "settings.json"].map(|name| folder.join(name));
    let files = local.into_iter().chain(own.map(|own| own.join("settings.json")));
    let is_refused = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        json::first_words(&text, REFUSED).iter().any(|server| server == SERVER)
    };
    files.into_iter().find(is_refused)
}

/// How a refusal is taken back.
pub fn take_back(file: &Path) -> String {
    format!(
        "Take {SERVER:?} out of {REFUSED:?} in {}, then restart Claude Code and choose \"Use this MCP \
         server\".",
        file.display()
    )
}
