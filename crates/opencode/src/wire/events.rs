//! OpenCode's events: which we want, what of them, and what each hints at.
//!
//! Nothing is remembered here, so an event that comes twice is two hints. Where OpenCode announces
//! one thing several times, the announcement is taken that comes once.

use legwork_engine::Hint;
use legwork_machine::epoch_ms;
use legwork_protocol::ids::made_at;
use legwork_protocol::line::{Closely, Wanted};
use legwork_protocol::view::Activity;
use legwork_protocol::{HostId, QuestionId, SessionId, Time};
use serde_json::{Value, json};

use crate::limits::{DELTA_EVERY, REPLY_MAX_BYTES};
use crate::wire::entries::{self, SUBJECTS};
use crate::wire::error;
use crate::wire::mark;
use crate::wire::message::Message;
use crate::wire::question;

/// An event of our own: the part for the terminal UI draws helpers and shows this session, or none.
pub const SCREEN: &str = "legwork.screen";

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
        all("permission.asked", "id sessionID permission patterns metadata.command"),
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

/// What an event of this host hints at. Of one that is not known, or not understood, nothing.
pub fn hints(host: &HostId, name: &str, properties: &Value) -> Vec<Hint> {
    match name {
        "session.updated" => updated(host, properties).unwrap_or_default(),
        _ => hint(host, name, properties).into_iter().collect(),
    }
}

fn hint(host: &HostId, name: &str, properties: &Value) -> Option<Hint> {
    let word = |path: &str| properties.pointer(path).and_then(Value::as_str);
    let session = || -> Option<SessionId> { word("/sessionID")?.parse().ok() };
    Some(match name {
        "session.idle" => Hint::Changed { session: session()? },
        // A provider that is tried again is shown by the next poll.
        "session.status" if word("/status/type") == Some("idle") => {
            Hint::Changed { session: session()? }
        }
        "session.error" => {
            let why = error::reason(&properties["error"]);
            Hint::Errored { session: session()?, why }
        }
        "session.deleted" => {
            let session = word("/sessionID").or(word("/info/id"))?.parse().ok()?;
            Hint::Deleted { host: host.clone(), session }
        }
        // Its turn is over, or nearly: the answer can be read.
        "message.updated" if Message::read(properties).is_last_reply() => {
            Hint::Changed { session: session()? }
        }
        "message.updated" if word("/info/role") == Some("user") => {
            if mark::is_our_message(word("/info/id")?) {
                return None;
            }
            Hint::Used { host: host.clone(), session: session()? }
        }
        SCREEN => Hint::Shown { host: host.clone(), session: session()? },
        // A call is announced as pending once, as running again and again.
        "message.part.updated" => {
            let (name, state) = (word("/part/tool"), word("/part/state/status"));
            let name = name.filter(|_| word("/part/type") == Some("tool"));
            let about = entries::subject(&properties["part"]["state"]);
            match (name, state, about) {
                (Some(name), Some("running"), Some(about)) => {
                    let what = Activity { tool: name.to_owned(), subject: about.to_owned() };
                    Hint::Doing { session: session()?, what }
                }
                _ => {
                    let tool = name.filter(|_| state == Some("pending")).map(str::to_owned);
                    Hint::Progress { session: session()?, tool, used: None }
                }
            }
        }
        "message.part.delta" => Hint::Progress { session: session()?, tool: None, used: None },
        "permission.asked" | "question.asked" => {
            let (session, question) = question::read(properties)?;
            Hint::Asked { session, question }
        }
        "permission.replied" | "question.replied" | "question.rejected" => {
            let question: QuestionId = word("/requestID")?.parse().ok()?;
            Hint::Answered {
                session: session()?,
                question,
                reply: question::reply(name, properties),
            }
        }
        _ => return None,
    })
}

/// A session with a parent is a helper's, and says at every step that it goes on. One without may
/// say that something was undone there, or is no more: that is not told in any other way.
fn updated(host: &HostId, properties: &Value) -> Option<Vec<Hint>> {
    let session: SessionId = properties["sessionID"].as_str()?.parse().ok()?;
    let info = properties.get("info")?;
    if !info["parentID"].is_null() {
        return Some(vec![Hint::Progress { session, tool: None, used: None }]);
    }
    let undone = info["revert"]["messageID"].as_str();
    let since = undone.and_then(|message| made_at(message, Time(epoch_ms())));
    let undone = Hint::Undone { host: host.clone(), session: session.clone(), since };
    Some(vec![Hint::Changed { session }, undone])
}
