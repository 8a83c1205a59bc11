//! OpenCode's events: which we want, what of them, and what each hints at.
//!
//! Nothing is remembered here, so an event that comes twice is two hints. Where OpenCode announces
//! one thing several times, the announcement is taken that comes once.

use legwork_engine::Hint;
use legwork_machine::epoch_ms;
use legwork_protocol::ids::made_at;
use legwork_protocol::line::{Closely, Wanted};
use legwork_protocol::view::Activity;
use legwork_protocol::{HostId, SessionId, Time};
use serde_json::{Value, json};

use crate::limits::{DELTA_EVERY, REPLY_MAX_BYTES};
use crate::wire::entries::{self, SUBJECTS};
use crate::wire::error;
use crate::wire::event::{Event, EventKind, SCREEN};

/// The events to pass on, and what of each.
pub fn wanted() -> Vec<Wanted> {
    wanted_following(&[])
}

/// The same, and more of these sessions.
pub fn wanted_following(followed: &[SessionId]) -> Vec<Wanted> {
    let all = |name: &str, keep: &str| Wanted {
        name: name.to_owned(),
        keep: keep.split_whitespace().map(str::to_owned).collect(),
        every_ms: 0,
        closely: None,
    };
    let mut delta = all("message.part.delta", "sessionID");
    if !followed.is_empty() {
        let keep = ["sessionID", "partID", "field", "delta"].map(str::to_owned).to_vec();
        delta.closely = Some(Closely { sessions: followed.to_vec(), keep });
    }
    let mut parts = all(
        "message.part.updated",
        "sessionID part.id part.type part.tool part.state.status part.state.title part.text
         part.messageID part.synthetic part.metadata.legwork",
    );
    parts.keep.extend(SUBJECTS.map(|key| format!("part.state.input.{key}")));
    vec![
        all("session.idle", "sessionID"),
        all("session.status", "sessionID status.type"),
        all("session.error", "sessionID error.name error.data.message error.data.statusCode"),
        all("session.deleted", "sessionID info.id"),
        all(
            "session.updated",
            "sessionID info.parentID
             info.permission info.agent info.model info.revert.messageID",
        ),
        all(
            "message.updated",
            "sessionID info.id info.role info.agent info.model info.parentID info.mode
             info.time info.finish info.error.name
             info.tokens info.cost info.providerID info.modelID",
        ),
        all("message.removed", "sessionID messageID"),
        parts,
        all("message.part.removed", "sessionID messageID partID"),
        Wanted { every_ms: u64::try_from(DELTA_EVERY.as_millis()).unwrap_or(1_000), ..delta },
        all("permission.asked", "id sessionID permission patterns always metadata.command"),
        all("permission.replied", "sessionID requestID reply"),
        all("question.asked", "id sessionID questions"),
        all("question.replied", "sessionID requestID answers"),
        all("question.rejected", "sessionID requestID"),
        all(SCREEN, "sessionID"),
    ]
}

/// What is to be passed on of an event; nothing if it is not wanted. A long text is left out, as
/// the plugin does it: whoever needs it reads it.
pub fn project(wanted: &[Wanted], name: &str, properties: &Value) -> Option<Value> {
    let wanted = wanted.iter().find(|wanted| wanted.name == name)?;
    let (keep, _) = wanted.of(properties["sessionID"].as_str());
    let mut kept = json!({});
    for path in keep {
        let found = path.split('.').try_fold(properties, |inside, key| inside.get(key));
        let fits = |found: &&Value| found.as_str().is_none_or(|text| text.len() <= REPLY_MAX_BYTES);
        if let Some(found) = found.filter(fits) {
            put(&mut kept, path, found);
        }
    }
    Some(kept)
}

fn put(kept: &mut Value, path: &str, found: &Value) {
    let mut place = kept;
    for key in path.split('.') {
        let Some(inside) = place.as_object_mut() else { return };
        place = inside.entry(key).or_insert_with(|| json!({}));
    }
    *place = found.clone();
}

/// The hints that follow from an event of this host.
pub fn hints(host: &HostId, event: &Event<'_>) -> Vec<Hint> {
    let host = host.clone();
    if let EventKind::Screen = event.kind {
        return vec![Hint::Shown { host, session: event.session.clone() }];
    }
    let Some(session) = event.session.clone() else { return Vec::new() };
    let hint = match &event.kind {
        EventKind::Idle => Hint::Changed { session },
        EventKind::Failed(error) => Hint::Errored { session, why: error::reason(error) },
        EventKind::SessionDeleted => Hint::Deleted { host, session },
        EventKind::SessionUpdated { info } => return updated(host, session, info),
        // The turn is over, or nearly: the answer can be read.
        EventKind::MessageUpdated(message) if message.is_last_reply() => Hint::Changed { session },
        EventKind::MessageUpdated(message) if message.is_by_another_user() => {
            Hint::Used { host, session }
        }
        EventKind::PartUpdated(part) => part_hint(session, part),
        EventKind::Delta { .. } => Hint::Progress { session, tool: None, used: None },
        EventKind::Asked(question) => Hint::Asked { session, question: question.clone() },
        EventKind::Answered { question, reply } => {
            Hint::Answered { session, question: question.clone(), reply: reply.clone() }
        }
        _ => return Vec::new(),
    };
    vec![hint]
}

/// A tool call is announced as pending once, as running again and again.
fn part_hint(session: SessionId, part: &Value) -> Hint {
    let tool = part["tool"].as_str().filter(|_| part["type"] == "tool");
    let state = part["state"]["status"].as_str();
    match (tool, state, entries::subject(&part["state"])) {
        (Some(tool), Some("running"), Some(subject)) => {
            let what = Activity { tool: tool.to_owned(), subject: subject.to_owned() };
            Hint::Doing { session, what }
        }
        _ => {
            let tool = tool.filter(|_| state == Some("pending")).map(str::to_owned);
            Hint::Progress { session, tool, used: None }
        }
    }
}

/// A session with a parent is a helper's, and says at every step that it goes on. One without may
/// say that something was undone there, or that an undo is over; no other event says that.
fn updated(host: HostId, session: SessionId, info: &Value) -> Vec<Hint> {
    if !info["parentID"].is_null() {
        return vec![Hint::Progress { session, tool: None, used: None }];
    }
    let since =
        info["revert"]["messageID"].as_str().and_then(|message| made_at(message, Time(epoch_ms())));
    let undone = Hint::Undone { host, session: session.clone(), since };
    vec![Hint::Changed { session }, undone]
}
