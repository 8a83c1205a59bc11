//! The clients, a row each: where their settings lie, what of ours is in them, and how their hooks
//! show a model what came in. To add a client is to add a row; one whose sessions can be woken also
//! needs a line in `legwork_mcp`, which hears who calls.
//!
//! Claude Code binds an open task to command, arguments and environment of the server's entry, so
//! these never change. The version of its plugin is not part of that.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::editor::{Format, Settings};
use super::hooks::HookClient;
use super::ours::{ARGS, Hook, Item, Leaf, NAME};
use crate::fault::Fault;

pub struct ClientSpec {
    /// As it is written in a command.
    pub word: &'static str,
    /// As its makers write it.
    pub name: &'static str,
    /// What an install writes, for the help.
    pub writes: &'static str,
    /// What a person does after an install.
    pub next: &'static str,
    home: Folder,
    /// The client makes its folder itself, and would not look into another one.
    pub makes_folder: bool,
    /// Its folder in a project.
    pub project: Option<&'static str>,
    /// The files that name `legwork mcp`, the one with the entry first. OpenCode has none: it has a
    /// plugin.
    pub files: &'static [FileSpec],
    pub hooks: Option<HookClient>,
}

/// The folder of a client in a home.
enum Folder {
    /// In the home, or where a variable says.
    Home { usual: &'static str, moved_by: Option<&'static str> },
    /// In the folder for settings, or where a variable says; on macOS in the home.
    Config { usual: &'static str, macos: Option<&'static str>, moved_by: Option<&'static str> },
}

pub struct FileSpec {
    /// In the client's folder.
    pub path: &'static str,
    format: Format,
    base: fn() -> String,
    items: &'static [Item],
    /// How many of the folders around it are ours alone.
    pub own_folders: usize,
}

const SERVERS: &[&str] = &["mcpServers"];

/// A client without anything of its own.
const ANY: ClientSpec = ClientSpec {
    word: "",
    name: "",
    writes: "",
    next: "",
    home: Folder::Home { usual: "", moved_by: None },
    makes_folder: false,
    project: None,
    files: &[],
    hooks: None,
};

pub static CLIENTS: [ClientSpec; 7] = [
    ClientSpec {
        word: "opencode",
        name: "OpenCode",
        writes: "`plugin/legwork.js`, which OpenCode loads by itself, and `legwork/tui.js`, which \
                 shows helpers in its terminal UI, in $OPENCODE_CONFIG_DIR, \
                 $XDG_CONFIG_HOME/opencode or ~/.config/opencode. For the second one it adds \
                 \"./legwork/tui.js\" to the list \"plugin\" in `tui.json`. With --project only \
                 `plugin/legwork.js` is written, into the project: OpenCode would install a package \
                 of its own into a project whose settings name a part for the terminal UI.",
        next: "Restart OpenCode to use it.",
        home: Folder::Config {
            usual: "opencode",
            macos: None,
            moved_by: Some("OPENCODE_CONFIG_DIR"),
        },
        project: Some(".opencode"),
        ..ANY
    },
    ClientSpec {
        word: "claude",
        name: "Claude Code",
        writes: "the folder ~/.claude/skills/legwork, a plugin with the server and two hooks \
                 ($CLAUDE_CONFIG_DIR in place of ~/.claude).",
        next: "Restart Claude Code; then ask for helpers in your own words.",
        home: Folder::Home { usual: ".claude", moved_by: Some("CLAUDE_CONFIG_DIR") },
        project: Some(".claude"),
        files: &[
            FileSpec {
                path: "skills/legwork/.claude-plugin/plugin.json",
                format: Format::Json,
                base: manifest,
                items: &[server(SERVERS, always_loaded), Item { way: &[], leaf: Leaf::Version }],
                own_folders: 2,
            },
            FileSpec {
                path: "skills/legwork/hooks/hooks.json",
                format: Format::Json,
                base: nothing,
                items: &[
                    hook(&["hooks", "SessionStart"], CLAUDE_HOOK),
                    hook(&["hooks", "UserPromptSubmit"], CLAUDE_HOOK),
                ],
                own_folders: 2,
            },
        ],
        hooks: Some(HookClient {
            wants: |event, _| event == "UserPromptSubmit",
            output: HookClient::in_context,
            nothing: "",
            sessions: Some(legwork_mcp::sessions_of_claude),
        }),
        ..ANY
    },
    ClientSpec {
        word: "codex",
        name: "Codex",
        writes: "a table in ~/.codex/config.toml ($CODEX_HOME).",
        next: "Start Codex again; then ask for helpers in your own words.",
        home: Folder::Home { usual: ".codex", moved_by: Some("CODEX_HOME") },
        project: Some(".codex"),
        files: &[FileSpec {
            path: "config.toml",
            format: Format::Toml,
            base: String::new,
            items: &[server(&["mcp_servers"], with_variables)],
            own_folders: 0,
        }],
        ..ANY
    },
    ClientSpec {
        word: "gemini",
        name: "Gemini CLI",
        writes: "a server and two hooks in ~/.gemini/settings.json.",
        next: "Start Gemini CLI again; then ask for helpers in your own words.",
        home: Folder::Home { usual: ".gemini", moved_by: None },
        project: Some(".gemini"),
        files: &[FileSpec {
            path: "settings.json",
            format: Format::Json,
            base: nothing,
            items: &[
                server(SERVERS, plain),
                hook(&["hooks", "BeforeAgent"], GEMINI_HOOK),
                hook(&["hooks", "AfterTool"], GEMINI_HOOK),
            ],
            own_folders: 0,
        }],
        hooks: Some(HookClient {
            wants: |event, _| matches!(event, "BeforeAgent" | "AfterTool"),
            output: HookClient::in_context,
            nothing: "",
            sessions: None,
        }),
        ..ANY
    },
    ClientSpec {
        word: "goose",
        name: "Goose",
        writes: "an extension in ~/.config/goose/config.yaml.",
        next: "Start a new Goose session; then ask for helpers in your own words.",
        home: Folder::Config { usual: "goose", macos: None, moved_by: None },
        files: &[FileSpec {
            path: "config.yaml",
            format: Format::Yaml,
            base: String::new,
            items: &[server(&["extensions"], extension)],
            own_folders: 0,
        }],
        ..ANY
    },
    ClientSpec {
        word: "cursor",
        name: "Cursor",
        writes: "a server in ~/.cursor/mcp.json, a hook in hooks.json.",
        next: "Restart Cursor; then ask for helpers in your own words.",
        home: Folder::Home { usual: ".cursor", moved_by: None },
        project: Some(".cursor"),
        files: &[
            FileSpec {
                path: "mcp.json",
                format: Format::Json,
                base: nothing,
                items: &[server(SERVERS, plain)],
                own_folders: 0,
            },
            FileSpec {
                path: "hooks.json",
                format: Format::Json,
                base: version_1,
                items: &[hook(&["hooks", "stop"], CURSOR_HOOK)],
                own_folders: 0,
            },
        ],
        // A turn that a person has broken off is not gone on with. An answer is read in any case.
        hooks: Some(HookClient {
            wants: |event, input| event == "stop" && input["status"] == "completed",
            output: |_, text| json!({ "followup_message": text }),
            nothing: "{}\n",
            sessions: None,
        }),
        ..ANY
    },
    ClientSpec {
        word: "vscode",
        name: "VS Code",
        writes: "a server in mcp.json of the user's profile.",
        next: "Reload VS Code and let it start legwork when it asks; then ask for helpers in your \
               own words, in agent mode.",
        home: Folder::Config {
            usual: "Code/User",
            macos: Some("Library/Application Support/Code/User"),
            moved_by: None,
        },
        project: Some(".vscode"),
        files: &[FileSpec {
            path: "mcp.json",
            format: Format::Json,
            base: nothing,
            items: &[server(&["servers"], over_stdio)],
            own_folders: 0,
        }],
        makes_folder: true,
        ..ANY
    },
];

const fn server(way: &'static [&'static str], value: fn(&str) -> Value) -> Item {
    Item { way, leaf: Leaf::Server { value } }
}

const fn hook(way: &'static [&'static str], hook: Hook) -> Item {
    Item { way, leaf: Leaf::Hook(hook) }
}

/// In seconds, as Claude Code has it. The command takes at most one.
const CLAUDE_HOOK: Hook = Hook {
    client: "claude",
    is_grouped: true,
    in_shell: true,
    value: |command| json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] }),
};

/// In milliseconds, as Gemini has it.
const GEMINI_HOOK: Hook = Hook {
    client: "gemini",
    is_grouped: true,
    in_shell: true,
    value: |command| {
        let hook = json!({ "name": NAME, "type": "command", "command": command, "timeout": 5_000 });
        json!({ "hooks": [hook] })
    },
};

/// Nothing that only a shell understands: it is not known whether there is one.
const CURSOR_HOOK: Hook = Hook {
    client: "cursor",
    is_grouped: false,
    in_shell: false,
    value: |command| json!({ "command": command }),
};

/// In seconds: a call that waits for helpers may take eleven minutes. Codex ends others after five.
const CODEX_CALL_MAX: u64 = 660;
/// Goose's own default.
const GOOSE_CALL_MAX: u64 = 300;

/// Codex starts its servers with a dozen variables. These say where legwork keeps its files and
/// what its agents need; one that is not set is not passed on.
const VARIABLES: [&str; 18] = [
    "CODEX_HOME",
    "LEGWORK_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "OPENCODE_CONFIG_DIR",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

fn plain(program: &str) -> Value {
    json!({ "command": program, "args": ARGS })
}

fn always_loaded(program: &str) -> Value {
    json!({ "command": program, "args": ARGS, "alwaysLoad": true })
}

fn over_stdio(program: &str) -> Value {
    json!({ "type": "stdio", "command": program, "args": ARGS })
}

fn with_variables(program: &str) -> Value {
    json!({
        "command": program,
        "args": ARGS,
        "env_vars": VARIABLES,
        "tool_timeout_sec": CODEX_CALL_MAX,
    })
}

fn extension(program: &str) -> Value {
    json!({
        "type": "stdio",
        "name": NAME,
        "description": "Background helpers",
        "enabled": true,
        "cmd": program,
        "args": ARGS,
        "timeout": GOOSE_CALL_MAX,
        "envs": {},
    })
}

fn nothing() -> String {
    "{}".to_owned()
}

fn version_1() -> String {
    "{\n  \"version\": 1\n}".to_owned()
}

fn manifest() -> String {
    let manifest = json!({
        "name": NAME,
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Background helpers: hand over a piece of work, go on, and be told once \
                        when it is done",
    });
    format!("{manifest:#}")
}

impl ClientSpec {
    /// Its folder in a home.
    pub fn own_folder(&self) -> Result<PathBuf, Fault> {
        let var = |name| legwork_machine::var(name).map(PathBuf::from);
        let home = || var("HOME").ok_or(legwork_machine::Fault::NoHome);
        let config = || var("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let (Folder::Home { moved_by, .. } | Folder::Config { moved_by, .. }) = self.home;
        let folder = match (moved_by.and_then(var), &self.home) {
            (Some(moved), _) => moved,
            (None, Folder::Home { usual, .. }) => home()?.join(usual),
            (None, Folder::Config { macos: Some(usual), .. }) if cfg!(target_os = "macos") => {
                home()?.join(usual)
            }
            (None, Folder::Config { usual, .. }) => match config() {
                Some(config) => config.join(usual),
                None => home()?.join(".config").join(usual),
            },
        };
        std::path::absolute(&folder).map_err(Fault::file("find", &folder))
    }
}

impl FileSpec {
    pub fn settings(&self) -> Settings {
        Settings {
            format: self.format,
            items: self.items.to_vec(),
            base: (self.base)(),
            is_own: self.own_folders > 0,
        }
    }
}
