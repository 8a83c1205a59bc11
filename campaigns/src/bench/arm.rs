//! Who looks after the helpers: legwork, OpenCode's own background `task`, or nobody. The same
//! helpers do the same work in each; only the words that launch them and tell of them differ.

use legwork_testkit::{Call, Request, call, script};
use serde_json::{Value, json};

use crate::fault::{Done, Fault};
use crate::stage::{Furniture, Stage};
use crate::talk::{self, Notice};

/// No limit is to be measured, so there is none.
pub const CONFIG: &str = "[limits]\nmax_running = 0\nmax_tasks_per_root = 0\n";

/// A tool that does nothing, one that makes one request to the OpenCode that it runs in, and one
/// that opens a session there, which is the least that a launch has to do.
const FLOOR: &str = r#"
const args = { n: { type: "number" } }
export const Floor = async ({ client }) => ({
  tool: {
    floor_nothing: { description: "Does nothing.", args, execute: async () => "nothing" },
    floor_open: {
      description: "Opens a session.",
      args,
      execute: async (_, { sessionID }) => {
        const headers = { "content-type": "application/json" }
        const body = { parentID: sessionID, title: "floor" }
        await client._client.post({ url: "/session", headers, body })
        return "opened"
      },
    },
    floor_request: {
      description: "Makes one request.",
      args,
      execute: async () => {
        const begin = performance.now()
        await client._client.get({ url: "/session/status" })
        return String(performance.now() - begin)
      },
    },
  },
})
"#;

/// Who looks after the helpers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arm {
    /// Nobody: sessions are made and prompted over HTTP.
    Direct,
    /// OpenCode itself.
    Native,
    /// We.
    Legwork,
}

/// A helper that was launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// What a notice calls it.
    pub id: String,
    /// Its session.
    pub session: String,
}

impl Arm {
    /// All of them, the plainest first.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Native, Self::Legwork];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "prompted directly",
            Self::Native => "OpenCode's own",
            Self::Legwork => "legwork",
        }
    }

    /// An OpenCode for it.
    ///
    /// # Errors
    /// When it cannot be furnished.
    pub async fn open(self) -> Done<Stage> {
        let furniture = match self {
            Self::Direct => Furniture { plugins: &[("floor.js", FLOOR)], ..Furniture::default() },
            Self::Native => Furniture {
                env: &[("OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS", "true")],
                ..Furniture::default()
            },
            Self::Legwork => Furniture { config: Some(CONFIG), ..Furniture::default() },
        };
        Stage::open(&furniture).await
    }

    /// The tool that launches.
    pub fn tool(self) -> &'static str {
        if self == Self::Native { "task" } else { "background_task" }
    }

    /// The line of a script that launches a helper.
    pub fn launch(self, name: &str, agent: &str, steps: &[&str]) -> String {
        let prompt = script(steps);
        let arguments = match self {
            Self::Native => json!({
                "description": name, "prompt": prompt, "subagent_type": agent, "background": true,
            }),
            _ => json!({ "description": name, "prompt": prompt, "agent": agent }),
        };
        call(self.tool(), &arguments)
    }

    /// The steps in which a parent launches a helper, waits for it and goes on.
    pub fn wait_for(self, name: &str, steps: &[&str]) -> Vec<String> {
        let free = "say free".to_owned();
        if self == Self::Native {
            let prompt = script(steps);
            let arguments = json!({
                "description": name, "prompt": prompt, "subagent_type": "general",
            });
            return vec![call("task", &arguments), free];
        }
        let wait = json!({ "task_ids": ["{{last_task}}"], "timeout": 60_000 });
        vec![self.launch(name, "general", steps), call("background_block", &wait), free]
    }

    /// The tool that waits.
    pub fn waiting_tool(self) -> &'static str {
        if self == Self::Native { "task" } else { "background_block" }
    }

    /// What notices call the helper that a call has launched.
    ///
    /// # Errors
    /// When it launched none.
    pub fn child(self, call: &Call) -> Done<String> {
        let found = match self {
            Self::Native => call.metadata["sessionId"].as_str(),
            Self::Direct | Self::Legwork => call.line("Task ID:"),
        };
        let found = found.map(str::to_owned);
        found.ok_or_else(|| Fault::trying("launching a helper", &call.text))
    }

    /// The session of such a helper, of these children of its parent, once it is open.
    pub fn session_of(self, id: &str, children: &[Value]) -> Option<Child> {
        let is_its = |child: &&Value| match self {
            Self::Native => child["id"] == id,
            Self::Direct | Self::Legwork => child["metadata"]["legwork"]["task"] == id,
        };
        let session = children.iter().find(is_its)?["id"].as_str()?.to_owned();
        Some(Child { id: id.to_owned(), session })
    }

    /// What a parent was told.
    pub fn notices(self, messages: &[Value]) -> Vec<Notice> {
        match self {
            Self::Direct => Vec::new(),
            Self::Native => talk::native_notices(messages),
            Self::Legwork => talk::notices(messages),
        }
    }

    /// How the text of a notice begins.
    pub fn notice_begin(self) -> &'static str {
        if self == Self::Native { "<task id=" } else { "[BACKGROUND TASK" }
    }

    /// Whether the model was told of a helper in this request.
    pub fn tells(self, request: &Request) -> bool {
        let begins = |text: &str| text.starts_with(self.notice_begin());
        !request.tools.is_empty()
            && request.messages.iter().any(|said| said.role == "user" && begins(&said.text))
    }
}
