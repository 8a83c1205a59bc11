//! legwork in the settings of a client: the same entry as a person has after `legwork install`.

use std::fs;
use std::path::Path;

use legwork_testkit::{Home, McpClient};
use serde_json::{Value, json};

use crate::fault::{Done, Fault};

/// Writes the entry of this program into a home.
///
/// # Errors
/// When a file cannot be read or written.
pub fn write(client: McpClient, home: &Home, program: &Path) -> Done<()> {
    let user = home.root().join("home");
    let program = program.to_string_lossy().into_owned();
    match client {
        McpClient::Claude => {
            let server = json!({ "command": program, "args": ["mcp"], "alwaysLoad": true });
            let plugin = json!({
                "name": "legwork", "version": "0.1.0", "description": "Background helpers",
                "mcpServers": { "legwork": server },
            });
            put(&user.join(".claude/skills/legwork/.claude-plugin/plugin.json"), &plugin)
        }
        McpClient::Codex => {
            let entry = format!(
                "\n[mcp_servers.legwork]\ncommand = {program:?}\nargs = [\"mcp\"]\n\
                 env_vars = [\"CODEX_HOME\", \"XDG_RUNTIME_DIR\"]\ntool_timeout_sec = 660\n\
                 default_tools_approval_mode = \"approve\"\n"
            );
            let path = user.join(".codex/config.toml");
            save(&path, &(read(&path)? + &entry))
        }
        McpClient::Gemini => {
            let path = user.join(".gemini/settings.json");
            let mut settings: Value = serde_json::from_str(&read(&path)?)
                .map_err(|why| Fault::trying(path.display(), why))?;
            settings["mcpServers"]["legwork"] =
                json!({ "command": program, "args": ["mcp"], "trust": true });
            put(&path, &settings)
        }
        McpClient::Goose => {
            // JSON is YAML.
            let legwork = json!({
                "type": "stdio", "name": "legwork", "cmd": program, "args": ["mcp"],
                "timeout": 300, "enabled": true, "envs": {},
            });
            let extensions = json!({ "extensions": { "legwork": legwork } });
            put(&user.join(".config/goose/config.yaml"), &extensions)
        }
    }
}

fn read(path: &Path) -> Done<String> {
    fs::read_to_string(path).map_err(|why| Fault::trying(path.display(), why))
}

fn put(path: &Path, value: &Value) -> Done<()> {
    save(path, &format!("{value:#}\n"))
}

fn save(path: &Path, text: &str) -> Done<()> {
    let fault = |why| Fault::trying(format!("writing {}", path.display()), why);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fault)?;
    }
    fs::write(path, text).map_err(fault)
}
