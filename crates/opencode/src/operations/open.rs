//! Finds the session that bears a task's mark, or opens one: an empty child of its parent, or a
//! copy of it.

use legwork_engine::work::Tried;
use legwork_engine::{Finding, HostError};
use legwork_host::Request;
use legwork_protocol::{SessionId, TaskId};
use serde_json::{Value, json};

use crate::cache::conversation::Conversation;
use crate::operations::{agents, stop};
use crate::wire::choice::Model;
use crate::wire::mark;
use crate::wire::rules;
use crate::wire::transport::{Transport, ask, ask_list, session_path};

pub struct Wish<'a> {
    pub tried: Tried,
    pub task: TaskId,
    pub parent: &'a SessionId,
    pub title: &'a str,
    pub agent: &'a str,
    pub nested: bool,
    pub fork_before: Option<&'a str>,
}

pub async fn open<T: Transport>(host: &T, wish: Wish<'_>) -> Result<Finding, HostError> {
    let (known, parent, agents) =
        tokio::join!(known(host, &wish), Conversation::of(host, wish.parent), agents::list(host));
    if let Some(session) = known? {
        return Ok(Finding::Opened { session });
    }
    let fields = fields(&wish, parent?, &agents?);
    let model = Model::read(&fields["metadata"][mark::KEY]["model"]);
    let session = match wish.fork_before {
        None => child(host, &wish, fields).await?,
        Some(message) => copy(host, &wish, message, fields).await?,
    };
    if let Some(cache) = host.cache() {
        cache.opened(session.clone(), model);
    }
    Ok(Finding::Opened { session })
}

async fn child<T: Transport>(
    host: &T,
    wish: &Wish<'_>,
    mut fields: Value,
) -> Result<SessionId, HostError> {
    fields["parentID"] = json!(wish.parent);
    fields["agent"] = json!(wish.agent);
    id(&ask(host, Request::post("/session", fields)).await?)
}

/// OpenCode makes a copy without our mark, and a child of nobody (1.18.33), so it takes two writes.
/// A copy that was never marked is not found again: it stays behind, and nothing runs in it.
async fn copy<T: Transport>(
    host: &T,
    wish: &Wish<'_>,
    message: &str,
    fields: Value,
) -> Result<SessionId, HostError> {
    let body = json!({ "messageID": message });
    let made = ask(host, Request::post(session_path(wish.parent, "/fork")?, body)).await?;
    let session = id(&made)?;
    ask(host, Request::patch(session_path(&session, "")?, fields)).await?;
    Ok(session)
}

/// The session that bears the mark already.
async fn known<T: Transport>(host: &T, wish: &Wish<'_>) -> Result<Option<SessionId>, HostError> {
    if wish.tried == Tried::Never {
        return Ok(None);
    }
    if wish.fork_before.is_some() {
        return stop::marked(host, wish.task).await;
    }
    let children = Request::get(session_path(wish.parent, "/children")?);
    mark::find(wish.task, &ask_list(host, children).await?).map(id).transpose()
}

/// The id of a session that OpenCode tells of.
pub fn id(session: &Value) -> Result<SessionId, HostError> {
    let id = session["id"].as_str().and_then(|id| id.parse().ok());
    id.ok_or(crate::wire::error::NONSENSE)
}

/// What makes a session the helper's.
fn fields(wish: &Wish<'_>, parent: Conversation, agents: &[Value]) -> Value {
    let Conversation { session, choice } = parent;
    let named = |name: Option<&str>| {
        let agent = agents.iter().find(|agent| agent["name"].as_str() == name);
        agent.unwrap_or(&Value::Null)
    };
    let agent = named(Some(wish.agent));
    let mut ours = json!({ "task": wish.task });
    // Kept for good, so that every prompt of the task goes to the same model.
    let model = Model::read(&agent["model"]).or(choice.model);
    if let Some(model) = model {
        ours["model"] = model.told();
    }
    let permission = rules::of_helper(&session, named(choice.agent.as_deref()), agent, wish.nested);
    json!({ "title": wish.title, "metadata": { mark::KEY: ours }, "permission": permission })
}
