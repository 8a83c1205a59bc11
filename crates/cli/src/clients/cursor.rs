//! Cursor: a server in `mcp.json`, and a hook in `hooks.json` that shows what came in when a turn
//! ends.

use serde_json::{Value, json};

use super::json_file::{FRESH, Hook, JsonFile, Server};
use super::json_place::{Leaf, Place};
use crate::plugin::word;

/// `mcp.json`.
pub fn servers() -> JsonFile {
    let place = Place { way: &["mcpServers"], leaf: Leaf::Member("legwork") };
    let server = Some(Server { place, says_stdio: false });
    JsonFile { fresh: FRESH, server, hooks: Vec::new() }
}

/// `hooks.json`.
pub fn hooks() -> JsonFile {
    let place = Place { way: &["hooks", "stop"], leaf: Leaf::Item(" hook cursor") };
    let hook = Hook { place, command, item };
    JsonFile { fresh: "{\n  \"version\": 1\n}\n\n", server: None, hooks: vec![hook] }
}

/// Nothing that only a shell understands: it is not known whether there is one.
fn command(program: &str) -> String {
    format!("{} hook cursor", word(program.as_ref()))
}

fn item(command: &str) -> Value {
    json!({ "command": command })
}
