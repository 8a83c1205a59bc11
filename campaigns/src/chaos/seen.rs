//! What is left at the end of a history, as plain values, read from OpenCode and from legwork's own
//! commands. Nothing is judged here.

use legwork_testkit::{Call, Client};
use serde_json::Value;
use std::time::Duration;

use super::play::Played;
use crate::fault::{Done, Fault};
use crate::stage::Stage;
use crate::talk::{self, Notice};

const PATIENCE: Duration = Duration::from_secs(20);

/// A task as the command line shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskSeen {
    /// Its id.
    pub id: String,
    /// Its description: the helper's name.
    pub name: String,
    /// Its status.
    pub status: String,
    /// How often it was resumed.
    pub resumes: u32,
    /// Its session.
    pub session: Option<String>,
    /// When its last run ended, in milliseconds since 1970.
    pub ended: Option<u64>,
    /// Whether somebody is still to be told.
    pub pending: bool,
    /// Its result, or why there is none.
    pub text: String,
}

/// A session that is a child of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChildSeen {
    /// The session.
    pub session: String,
    /// The prompts that it has got, without those that only ask it to go on.
    pub prompts: usize,
    /// Those.
    pub go_ons: usize,
    /// Whether it is at work.
    pub busy: bool,
}

impl ChildSeen {
    /// All prompts that it has got.
    pub fn all_prompts(&self) -> usize {
        self.prompts + self.go_ons
    }
}

/// A conversation of the plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemSeen {
    /// When its first turn was begun, in milliseconds since 1970; nothing: never.
    pub began: Option<u64>,
    /// Its tool calls.
    pub calls: Vec<Call>,
    /// What it was told.
    pub notices: Vec<Notice>,
    /// Its tasks.
    pub tasks: Vec<TaskSeen>,
    /// Its children.
    pub children: Vec<ChildSeen>,
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// The conversations, as in the plan.
    pub items: Vec<ItemSeen>,
    /// When OpenCode was killed, in milliseconds since 1970.
    pub host_kills: Vec<u64>,
    /// Processes that should not be there.
    pub strangers: Vec<String>,
}

/// Looks at everything.
///
/// # Errors
/// When OpenCode or the daemon does not answer.
pub async fn look(stage: &Stage, played: &[Played], host_kills: Vec<u64>) -> Done<Seen> {
    let tasks = tasks(stage)?;
    let status = read(&stage.client, "/session/status").await?;
    let mut items = Vec::new();
    for item in played {
        let mut seen = ItemSeen { began: item.began, ..ItemSeen::default() };
        if let Some(parent) = &item.parent {
            let told = messages(&stage.client, parent).await?;
            seen.calls = Call::all(&told);
            seen.notices = talk::notices(&told);
            let ours = tasks.iter().filter(|(of, _)| of == parent);
            seen.tasks = ours.map(|(_, task)| task.clone()).collect();
            let path = format!("/session/{parent}/children");
            for child in list(read(&stage.client, &path).await?) {
                let session = word(&child["id"]);
                let told = messages(&stage.client, &session).await?;
                let (prompts, go_ons) = talk::prompts(&told);
                let (prompts, busy) = (prompts - go_ons, !status[&session].is_null());
                seen.children.push(ChildSeen { session, prompts, go_ons, busy });
            }
        }
        items.push(seen);
    }
    Ok(Seen { items, host_kills, strangers: strangers(stage) })
}

/// The messages of a session.
///
/// # Errors
/// When OpenCode does not answer.
pub async fn messages(client: &Client, session: &str) -> Done<Vec<Value>> {
    Ok(list(read(client, &format!("/session/{session}/message")).await?))
}

async fn read(client: &Client, path: &str) -> Done<Value> {
    let answer = client.try_call("GET", path, None, PATIENCE).await;
    match answer {
        Ok(answer) if answer.status < 300 => Ok(answer.body),
        Ok(answer) => Err(Fault::trying(format!("GET {path}"), format!("{answer:?}"))),
        Err(why) => Err(Fault::trying(format!("GET {path}"), why)),
    }
}

/// All tasks, each with its parent.
fn tasks(stage: &Stage) -> Done<Vec<(String, TaskSeen)>> {
    let listed = stage.legwork_json(&["list"])?;
    let mut found = Vec::new();
    for view in list(listed["tasks"].clone()) {
        let id = word(&view["id"]);
        let output = stage.legwork_json(&["output", &id])?;
        let task = TaskSeen {
            name: word(&view["description"]),
            status: word(&view["status"]),
            resumes: view["resumes"].as_u64().unwrap_or_default() as u32,
            session: view["session"].as_str().map(str::to_owned),
            ended: view["ended"].as_u64(),
            pending: view["notice_pending"] == true,
            text: word(&output["text"]),
            id,
        };
        found.push((word(&view["parent"]), task));
    }
    Ok(found)
}

/// Beside OpenCode there should be one daemon and one bridge, and nothing else.
fn strangers(stage: &Stage) -> Vec<String> {
    let host = stage.serve.pid();
    let (mut daemons, mut bridges) = (0, 0);
    let mut found = Vec::new();
    for process in stage.processes() {
        let expected = if process.is_daemon() {
            daemons += 1;
            daemons == 1
        } else if process.is_bridge() {
            bridges += 1;
            bridges == 1
        } else {
            process.pid == host
        };
        if !expected {
            found.push(format!("process {} {}", process.pid, process.words.join(" ")));
        }
    }
    if (daemons, bridges) == (0, 0) {
        found.push("there is neither daemon nor bridge".to_owned());
    }
    found
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}
