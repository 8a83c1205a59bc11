//! The list of tools, in the form of the protocol.

use legwork_protocol::tools::{OfferedAgent, Telling, Tool, tools_with};
use serde_json::{Value, json};

/// All six, for a model that can ask these agents.
pub fn list(agents: &[OfferedAgent]) -> Value {
    let tools = tools_with(agents, Telling::AsAnswered);
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    json!({ "tools": tools, "ttlMs": 0, "cacheScope": "private" })
}

/// None, for a helper.
pub fn none() -> Value {
    json!({ "tools": [], "ttlMs": 0, "cacheScope": "private" })
}

fn tool(tool: &Tool) -> Value {
    let Tool { name, description, schema } = tool;
    let reads = matches!(name.as_str(), "background_output" | "background_list");
    let waits = name == "background_block";
    let destroys = name == "background_clear";
    let mut schema = json!(schema);
    // No host can copy the conversation of a client.
    if let Some(arguments) = schema["properties"].as_object_mut() {
        arguments.remove("fork");
    }
    json!({
        "name": name,
        "description": description,
        "inputSchema": schema,
        // Codex asks the person before a call that is not said to be harmless (0.166.0).
        "annotations": {
            "readOnlyHint": reads || waits,
            "destructiveHint": destroys,
            "idempotentHint": reads || waits,
            "openWorldHint": false,
        },
        // Else Claude Code hides it behind its search for tools (2.1.325).
        "_meta": { "anthropic/alwaysLoad": true },
    })
}
