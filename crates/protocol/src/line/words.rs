//! What can be said on a line, in either direction.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::environment::Environment;
use crate::ask::Reply;
use crate::ids::{CallKey, HostId, MessageId, Place, QuestionId, SessionId};
use crate::limits::{AGENT_MAX_BYTES, DIRECTORY_MAX_BYTES, WORD_MAX_BYTES};
use crate::status::Status;
use crate::tools::Tool;
use crate::view::News;

/// What a front or a client says to the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ToDaemon {
    /// The first line. `type` and `version` stay where they are in every version, so that peers of
    /// different versions can at least tell each other so.
    Hello {
        /// The sender's [`super::LINE_VERSION`].
        version: u32,
        /// The sender's build, for people.
        #[serde(deserialize_with = "word")]
        build: String,
        /// What the sender is.
        role: Role,
    },
    /// A tool is called. Answered by exactly one `answer` with the same id.
    Call {
        /// Chosen by the sender, unique on this connection.
        id: u64,
        /// The call for good: sent again after a broken pipe, it has another id and this key.
        key: CallKey,
        /// The tool's name, as the caller wrote it.
        tool: String,
        /// Its arguments, as the caller wrote them.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
        /// Where the call comes from; without it a person calls. A client that gives one calls for
        /// a session of its own, which the daemon keeps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<Context>,
    },
    /// A person's program asks. Answered by one `data` or one `answer` with the same id; `watch`
    /// by `news` until it is cancelled.
    Query {
        /// Chosen by the sender, unique on this connection, among calls too.
        id: u64,
        /// What.
        query: Query,
    },
    /// Nobody waits for the answer to this call or query any more.
    Cancel {
        /// The call or query.
        id: u64,
    },
    /// What came of a `host-call`.
    Result(HostResult),
    /// Something happened in the host.
    Event {
        /// The host's name for it.
        #[serde(deserialize_with = "word")]
        name: String,
        /// The host's words about it.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        properties: Value,
    },
}

/// What has connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Role {
    /// A front inside a host: it calls tools for sessions, and the host is reached through it.
    Host {
        /// The host's process.
        host: HostId,
        /// The sessions that it can reach.
        place: Place,
        /// What kind of host: `opencode`.
        #[serde(deserialize_with = "word")]
        kind: String,
        /// How long it stays.
        #[serde(default)]
        lifetime: HostLifetime,
    },
    /// A command or the dashboard.
    Client,
}

/// How long a host stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostLifetime {
    /// Until somebody closes it.
    #[default]
    Interactive,
    /// Until its conversation falls idle, and its helpers end with it: `opencode run`.
    OneShot,
}

/// What a person's program can ask, beside the six tools. What comes of it is in [`crate::view`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Query {
    /// All tasks, newest first, as many as a listing holds. → `TasksView`
    Tasks {
        /// Only these.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Status>,
    },
    /// One task. → `TaskView`
    Task {
        /// Its id.
        task: String,
    },
    /// The result or reason of its last run. → `ResultView`
    Result {
        /// The task's id.
        task: String,
        /// The byte to begin at: 0, or what the view before named as its next.
        #[serde(default, skip_serializing_if = "is_zero")]
        from: u64,
    },
    /// Every decision about a task, in words. → a list of `News`
    Timeline {
        /// The task's id.
        task: String,
    },
    /// Answers a helper's permission or question. → `answer`
    Reply {
        /// Which.
        question: QuestionId,
        /// What to say.
        reply: Reply,
    },
    /// Calls off and forgets these tasks. → `answer`
    Forget {
        /// Their ids.
        tasks: Vec<String>,
    },
    /// What happens from now on. → `news`, again and again
    Watch,
    /// The mail of sessions that the daemon keeps and nobody has read. → a list of `Mail`
    Mail,
    /// These messages have been shown to a person. → `answer`
    MailShown {
        /// Which.
        messages: Vec<MessageId>,
    },
    /// The daemon itself. → `DaemonView`
    Daemon,
    /// The daemon is to end. What runs goes on and is found again by the next one. → `answer`
    Leave,
}

/// The session that a call comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Which.
    pub session: SessionId,
    /// The message that holds the call.
    pub message: MessageId,
    /// The session's agent.
    #[serde(deserialize_with = "agent")]
    pub agent: String,
    /// The directory that it works in.
    #[serde(deserialize_with = "directory")]
    pub directory: String,
    /// The environment that helpers which it launches are to have, if the daemon starts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
}

/// What came of a `host-call`: `status` and `body`, or `error`, never both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ResultFields", into = "ResultFields")]
pub struct HostResult {
    /// The host call's id.
    pub id: u64,
    /// The host's answer, or why there is none.
    pub reply: Result<HostReply, String>,
}

/// A host's answer over HTTP or its SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostReply {
    /// The HTTP status.
    pub status: u16,
    /// The body; null where there is none.
    pub body: Value,
}

#[derive(Serialize, Deserialize)]
struct ResultFields {
    id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    body: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl TryFrom<ResultFields> for HostResult {
    type Error = &'static str;
    fn try_from(fields: ResultFields) -> Result<Self, &'static str> {
        let reply = match (fields.status, fields.error) {
            (Some(status), None) => Ok(HostReply { status, body: fields.body }),
            (None, Some(error)) => Err(error),
            _ => return Err("a result has either a status or an error"),
        };
        Ok(Self { id: fields.id, reply })
    }
}

impl From<HostResult> for ResultFields {
    fn from(result: HostResult) -> Self {
        let (status, body, error) = match result.reply {
            Ok(reply) => (Some(reply.status), reply.body, None),
            Err(error) => (None, Value::Null, Some(error)),
        };
        Self { id: result.id, status, body, error }
    }
}

/// What the daemon says to a front or a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromDaemon {
    /// The daemon's first line. `type` and `version` stay where they are in every version.
    Hello {
        /// The daemon's [`super::LINE_VERSION`].
        version: u32,
        /// The daemon's build, for people.
        #[serde(deserialize_with = "word")]
        build: String,
        /// What a front offers to its models.
        tools: Vec<Tool>,
    },
    /// The last line: the daemon leaves, or will not speak with this peer.
    Bye {
        /// Why, for people.
        why: String,
        /// Whether the daemon itself ends, so that a peer may start another.
        #[serde(default)]
        leaving: bool,
    },
    /// What a query found.
    Data {
        /// The query.
        id: u64,
        /// One of [`crate::view`].
        data: Value,
    },
    /// Something happened that a `watch` is told of.
    News {
        /// The query.
        id: u64,
        /// What.
        news: News,
    },
    /// The answer to a call.
    Answer {
        /// The call.
        id: u64,
        /// Whether it was not done; the text then says why.
        refused: bool,
        /// For the caller.
        text: String,
    },
    /// A sign of life of a call whose answer is still to come.
    Progress {
        /// The call.
        id: u64,
        /// For the caller.
        text: String,
    },
    /// A front is to ask its host something. Answered by exactly one `result` with the same id,
    /// unless it is dropped.
    HostCall {
        /// Chosen by the daemon, unique on this connection.
        id: u64,
        /// How.
        method: Method,
        /// What, in the host's terms.
        path: String,
        /// Its parameters.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        query: BTreeMap<String, String>,
        /// What to send; null for nothing.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        body: Value,
    },
    /// Nobody waits for the result of this host call any more.
    Drop {
        /// The host call.
        id: u64,
    },
    /// The host's events that the daemon wants from now on, and no others.
    Want {
        /// Which, and what of them.
        events: Vec<Wanted>,
    },
}

/// A kind of event that the daemon wants, and what of it: fronts pass on no more, because a host's
/// events can be long and many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Its name in the host.
    pub name: String,
    /// The properties to pass on, as dotted paths (`part.state.status`); those that are not there
    /// are left out.
    pub keep: Vec<String>,
    /// At most one in this time for each `sessionID`; 0 for all.
    #[serde(default)]
    pub every_ms: u64,
}

/// How a host is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Read.
    Get,
    /// Make or do.
    Post,
    /// Change.
    Patch,
    /// Remove.
    Delete,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn bounded<'de, D: Deserializer<'de>>(input: D, max_bytes: usize) -> Result<String, D::Error> {
    let text = String::deserialize(input)?;
    if text.len() > max_bytes {
        return Err(D::Error::custom(format_args!("a text has at most {max_bytes} bytes here")));
    }
    Ok(text)
}

fn word<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    bounded(input, WORD_MAX_BYTES)
}

fn agent<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    bounded(input, AGENT_MAX_BYTES)
}

fn directory<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    bounded(input, DIRECTORY_MAX_BYTES)
}
