//! Gemini CLI: a server and two hooks in `settings.json`.

use serde_json::{Value, json};

use super::hook_command;
use super::json_file::{FRESH, Hook, JsonFile, Server};
use super::json_place::{Leaf, Place};

/// In milliseconds. The command takes at most a second.
const HOOK_MAX: u64 = 5_000;
const MARK: &str = " hook gemini";

/// `settings.json`.
pub fn settings() -> JsonFile {
    let place = Place { way: &["mcpServers"], leaf: Leaf::Member("legwork") };
    let hook = |way| {
        let place = Place { way, leaf: Leaf::Item(MARK) };
        Hook { place, command: |program| hook_command("gemini", program), item }
    };
    JsonFile {
        fresh: FRESH,
        server: Some(Server { place, says_stdio: false }),
        hooks: vec![hook(&["hooks", "BeforeAgent"]), hook(&["hooks", "AfterTool"])],
    }
}

fn item(command: &str) -> Value {
    let hook =
        json!({ "name": "legwork", "type": "command", "command": command, "timeout": HOOK_MAX });
    json!({ "hooks": [hook] })
}
