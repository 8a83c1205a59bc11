//! Finds the session that bears a task's mark, or opens one.

use legwork_engine::{Finding, HostError};
use legwork_protocol::{SessionId, TaskId};
use serde_json::{Value, json};

use crate::choice::{Choice, Model};
use crate::history;
use crate::mark;
use crate::rules;
use crate::transport::{Request, Transport, ask, ask_list, session_path};

/// The session to open.
pub struct Wish<'a> {
    pub task: TaskId,
    pub parent: &'a SessionId,
    pub title: &'a str,
    pub agent: &'a str,
    pub nested: bool,
}

pub async fn open<T: Transport>(host: &T, wish: Wish<'_>) -> Result<Finding, HostError> {
    let (children, parent, agents, chosen) = tokio::join!(
        ask_list(host, Request::get(session_path(wish.parent, "/children")?)),
        ask(host, Request::get(session_path(wish.parent, "")?)),
        ask_list(host, Request::get("/agent")),
        history::last_choice(host, wish.parent),
    );
    if let Some(known) = mark::find(wish.task, &children?) {
        return opened(known);
    }
    let (parent, agents) = (parent?, agents?);
    let chosen = chosen?.unwrap_or_else(|| Choice::read(&parent));
    let made = ask(host, Request::post("/session", body(&wish, &parent, &agents, chosen))).await?;
    opened(&made)
}

fn opened(session: &Value) -> Result<Finding, HostError> {
    Ok(Finding::Opened { session: id(session)? })
}

/// The id of a session that OpenCode tells of.
pub fn id(session: &Value) -> Result<SessionId, HostError> {
    let id = session.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok());
    id.ok_or(crate::error::NONSENSE)
}

fn body(wish: &Wish<'_>, parent: &Value, agents: &[Value], chosen: Choice) -> Value {
    let named = |name: Option<&str>| {
        let agent = agents.iter().find(|agent| agent.get("name").and_then(Value::as_str) == name);
        agent.unwrap_or(&Value::Null)
    };
    let agent = named(Some(wish.agent));
    let mut ours = json!({ "task": wish.task });
    // Kept for good, so that every prompt of the task goes to the same model.
    let model = agent.get("model").and_then(Model::read).or(chosen.model);
    if let Some(model) = model {
        ours["model"] = model.told();
    }
    let permission = rules::of_helper(parent, named(chosen.agent.as_deref()), agent, wish.nested);
    json!({
        "parentID": wish.parent,
        "title": wish.title,
        "agent": wish.agent,
        "metadata": { mark::KEY: ours },
        "permission": permission,
    })
}
