//! An event of OpenCode, read once for all who act on it.

use legwork_engine::work::Question;
use legwork_protocol::api::Reply;
use legwork_protocol::{QuestionId, SessionId};
use serde_json::Value;

use crate::wire::message::Message;
use crate::wire::question;

/// An event of our own: the front may have missed some of OpenCode's.
pub const MISSED: &str = "legwork.events.missed";
/// An event of our own: the part for the terminal UI draws helpers and shows this session, or none.
pub const SCREEN: &str = "legwork.screen";

#[derive(Debug)]
pub struct Event<'a> {
    pub session: Option<SessionId>,
    pub kind: EventKind<'a>,
}

#[derive(Debug)]
pub enum EventKind<'a> {
    Missed,
    Screen,
    Idle,
    /// A turn has failed with this error.
    Failed(&'a Value),
    SessionDeleted,
    SessionUpdated {
        info: &'a Value,
    },
    MessageUpdated(Message<'a>),
    MessageRemoved {
        message: Option<&'a str>,
    },
    PartUpdated(&'a Value),
    PartRemoved,
    /// A piece of a part, with its text if that was passed on.
    Delta {
        text: Option<DeltaText<'a>>,
    },
    Asked(Question),
    Answered {
        question: QuestionId,
        reply: Option<Reply>,
    },
    /// Another kind, or one that is not understood.
    Other,
}

#[derive(Debug)]
pub struct DeltaText<'a> {
    pub part: &'a str,
    pub text: &'a str,
}

impl<'a> Event<'a> {
    pub fn read(name: &str, properties: &'a Value) -> Self {
        let word = |path: &str| properties.pointer(path).and_then(Value::as_str);
        let id = match name {
            "session.deleted" => word("/sessionID").or_else(|| word("/info/id")),
            _ => word("/sessionID"),
        };
        let session = id.and_then(|id| id.parse().ok());
        Self { session, kind: EventKind::read(name, properties).unwrap_or(EventKind::Other) }
    }
}

impl<'a> EventKind<'a> {
    fn read(name: &str, properties: &'a Value) -> Option<Self> {
        let word = |key: &str| properties[key].as_str();
        Some(match name {
            MISSED => Self::Missed,
            SCREEN => Self::Screen,
            "session.idle" => Self::Idle,
            // A provider that is tried again is shown by the next poll.
            "session.status" if properties["status"]["type"] == "idle" => Self::Idle,
            "session.error" => Self::Failed(&properties["error"]),
            "session.deleted" => Self::SessionDeleted,
            "session.updated" => Self::SessionUpdated { info: properties.get("info")? },
            "message.updated" => Self::MessageUpdated(Message::read(properties)),
            "message.removed" => Self::MessageRemoved { message: word("messageID") },
            "message.part.updated" => Self::PartUpdated(&properties["part"]),
            "message.part.removed" => Self::PartRemoved,
            "message.part.delta" => Self::Delta { text: delta_text(properties) },
            "permission.asked" | "question.asked" => Self::Asked(question::read(properties)?.1),
            "permission.replied" | "question.replied" | "question.rejected" => Self::Answered {
                question: word("requestID")?.parse().ok()?,
                reply: question::reply(name, properties),
            },
            _ => return None,
        })
    }
}

fn delta_text(properties: &Value) -> Option<DeltaText<'_>> {
    let is_text = properties["field"] == "text";
    let part = properties["partID"].as_str().filter(|_| is_text)?;
    Some(DeltaText { part, text: properties["delta"].as_str()? })
}
