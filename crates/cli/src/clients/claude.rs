//! Claude Code: a folder that it loads as a plugin, with the server and two hooks. Both files are
//! ours alone.
//!
//! Claude Code binds an open task to command, arguments and environment of the server's entry, so
//! these never change. The version of the plugin is not part of that.

use serde_json::{Value, json};

use super::json_file::entry_of;
use super::json_place::is_hook;
use super::notation::{ARGS, Entry, Left, Notation, Unclear};
use super::{hook_command, pretty};

/// In seconds. The command takes at most one.
const HOOK_MAX: u64 = 5;

/// `.claude-plugin/plugin.json`.
#[derive(Debug)]
pub struct Manifest;

/// `hooks/hooks.json`.
#[derive(Debug)]
pub struct Hooks;

fn manifest(program: &str) -> Value {
    let server = json!({ "command": program, "args": ARGS, "alwaysLoad": true });
    json!({
        "name": "legwork",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Background helpers: hand over a piece of work, go on, and be told once \
                        when it is done",
        "mcpServers": { "legwork": server },
    })
}

fn hooks(program: &str) -> Value {
    let command = hook_command("claude", program);
    let hook = json!({ "type": "command", "command": command, "timeout": HOOK_MAX });
    let always = json!([{ "hooks": [hook] }]);
    json!({ "hooks": { "SessionStart": always, "UserPromptSubmit": always } })
}

impl Notation for Manifest {
    fn entry(&self, text: &str) -> Result<Option<Entry>, Unclear> {
        let file: Value = serde_json::from_str(text).map_err(|_| Unclear::Foreign)?;
        let entry = entry_of(&file["mcpServers"]["legwork"]).filter(|_| file["name"] == "legwork");
        entry.filter(Entry::is_ours).map(Some).ok_or(Unclear::Foreign)
    }

    fn add(&self, text: Option<&str>, program: &str, force: bool) -> Result<String, Unclear> {
        match text.map(|text| self.entry(text)) {
            Some(Err(why)) if !force => Err(why),
            _ => Ok(pretty(&manifest(program))),
        }
    }

    fn remove(&self, text: &str) -> Result<Option<Left>, Unclear> {
        self.entry(text).map(|_| Some(Left::Nothing))
    }

    fn by_hand(&self, program: &str) -> String {
        pretty(&manifest(program)).trim_end().to_owned()
    }
}

impl Notation for Hooks {
    fn entry(&self, text: &str) -> Result<Option<Entry>, Unclear> {
        let file: Value = serde_json::from_str(text).map_err(|_| Unclear::Foreign)?;
        let events = file["hooks"].as_object().ok_or(Unclear::Foreign)?;
        let is_ours = |item: &Value| is_hook(item, " hook claude");
        let mut items = events.values().flat_map(|items| items.as_array().into_iter().flatten());
        if items.all(is_ours) { Ok(None) } else { Err(Unclear::Foreign) }
    }

    fn add(&self, text: Option<&str>, program: &str, force: bool) -> Result<String, Unclear> {
        match text.map(|text| self.entry(text)) {
            Some(Err(why)) if !force => Err(why),
            _ => Ok(pretty(&hooks(program))),
        }
    }

    fn remove(&self, text: &str) -> Result<Option<Left>, Unclear> {
        self.entry(text).map(|_| Some(Left::Nothing))
    }

    fn by_hand(&self, program: &str) -> String {
        pretty(&hooks(program)).trim_end().to_owned()
    }
}
