//! What can be said on a line, in either direction.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::environment::Environment;
use super::startup::Startup;
use crate::api::view::News;
use crate::api::{Answer, Refusal, Request, Told};
use crate::ids::{CallKey, HostId, MessageId, Place, SessionId, TaskId};
use crate::limits::{AGENT_MAX_BYTES, DIRECTORY_MAX_BYTES, WORD_MAX_BYTES};
use crate::tools::Tool;

/// What a front or a client says to the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum ToDaemon {
    /// The first line. `type` and `version` stay where they are in every version, so that peers of
    /// different versions can at least tell each other so.
    Hello {
        /// The sender's [`super::LINE_VERSION`].
        version: u32,
        #[serde(deserialize_with = "bounded::<_, WORD_MAX_BYTES>")]
        build: String,
        role: Role,
        /// Whether it starts the next daemon if this one ends. A newer build takes over only then:
        /// else hosts would be cut off for nothing.
        #[serde(default = "starts", skip_serializing_if = "is_so")]
        starts: bool,
    },
    /// A model calls a tool. Answered by exactly one `answer` or `refused` with the same id.
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
    /// A program asks. Answered by exactly one `data` or `refused` with the same id; a `follow` by
    /// `news` until it is cancelled.
    Request {
        /// Chosen by the sender, unique on this connection, among calls too.
        id: u64,
        key: CallKey,
        request: Request,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<Context>,
    },
    /// Nobody waits for the answer to this call or request any more.
    Cancel { id: u64 },
    /// What came of a `host-call`.
    Result(HostResult),
    /// Something happened in the host.
    Event {
        #[serde(deserialize_with = "bounded::<_, WORD_MAX_BYTES>")]
        name: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        properties: Value,
    },
}

/// What a hello without the word means: it is as old as the one that reads it, or older.
fn starts() -> bool {
    true
}

fn is_so(starts: &bool) -> bool {
    *starts
}

/// What has connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Role {
    /// A front inside a host: it calls tools for sessions, and the host is reached through it.
    Host {
        host: HostId,
        place: Place,
        /// What kind of host: `opencode`.
        #[serde(deserialize_with = "bounded::<_, WORD_MAX_BYTES>")]
        kind: String,
        #[serde(default)]
        lifetime: HostLifetime,
        /// How to start another without a window, if that can be done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        startup: Option<Box<Startup>>,
        /// The version of the plugin in it, if it says so.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "bounded_or_none::<_, WORD_MAX_BYTES>"
        )]
        plugin: Option<String>,
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
    /// Until its conversation falls idle: `opencode run`.
    OneShot,
    /// Until no helper needs it: legwork started it, and nobody sees it.
    Headless,
}

/// The session that a call comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct Context {
    pub session: SessionId,
    pub message: MessageId,
    #[serde(deserialize_with = "bounded::<_, AGENT_MAX_BYTES>")]
    pub agent: String,
    #[serde(deserialize_with = "bounded::<_, DIRECTORY_MAX_BYTES>")]
    pub directory: String,
    /// The environment that helpers which it launches are to have, if the daemon starts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The model that a person chose for what it launches, if its host lets one choose.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounded_or_none::<_, WORD_MAX_BYTES>"
    )]
    pub model: Option<String>,
    /// How the session is told, if it is one of a client that the daemon keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Box<ClientSession>>,
}

/// How a session of a client over MCP is told of the ends of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSession {
    /// What a launch says about it.
    pub told: Told,
    /// The way to wake its model; without one, what it is told comes with its next call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
}

/// A way to put a message into a session of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Reach {
    /// The inbox of a Claude Code process.
    Claude {
        /// The client's id of the session.
        session: String,
        /// The mark of its process.
        process: String,
        /// The socket of its inbox.
        socket: String,
        /// The folder of its settings and sessions.
        home: String,
    },
    /// The queue of a thread of Codex.
    Codex {
        thread: String,
        /// The folder of its settings and threads.
        home: String,
        /// Its program, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
    },
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

impl FromDaemon {
    /// That a call or request is not done.
    pub fn refused(id: u64, refusal: Refusal) -> Self {
        Self::Refused { id, text: refusal.text(), refusal }
    }
}

/// What the daemon says to a front or a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum FromDaemon {
    /// The daemon's first line. `type` and `version` stay where they are in every version.
    Hello {
        /// The daemon's [`super::LINE_VERSION`].
        version: u32,
        #[serde(deserialize_with = "bounded::<_, WORD_MAX_BYTES>")]
        build: String,
        /// What a front offers to its models.
        tools: Vec<Tool>,
    },
    /// The last line: the daemon leaves, or will not speak with this peer.
    Bye {
        why: String,
        /// Whether the daemon itself ends, so that a peer may start another.
        #[serde(default)]
        leaving: bool,
    },
    /// What came of a request.
    Data { id: u64, data: Answer },
    /// Something happened that a `follow` is told of.
    News { id: u64, news: News },
    /// What came of a call.
    Answer {
        id: u64,
        text: String,
        /// The task that was launched, resumed or looked at. Older daemons do not say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// A call or request is not done.
    Refused {
        id: u64,
        refusal: Refusal,
        /// The same for a model, and for a front that does not know the code.
        text: String,
    },
    /// A sign of life of a call or request whose answer is still to come.
    Progress {
        id: u64,
        left: usize,
        waited_ms: u64,
        /// The same for a model.
        text: String,
    },
    /// A front is to ask its host something. Answered by exactly one `result` with the same id,
    /// unless it is dropped.
    HostCall {
        /// Chosen by the daemon, unique on this connection.
        id: u64,
        method: Method,
        /// What, in the host's terms.
        path: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        query: BTreeMap<String, String>,
        /// What to send; null for nothing.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        body: Value,
    },
    /// Nobody waits for the result of this host call any more.
    Drop { id: u64 },
    /// What a front offers to its models from now on, in the place of what it offered before.
    Tools { tools: Vec<Tool> },
    /// The host's events that the daemon wants from now on, and no others.
    Want { events: Vec<Wanted> },
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
    /// The sessions that somebody follows, of which more is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closely: Option<Closely>,
}

/// All events of some sessions, and more of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closely {
    /// Which.
    pub sessions: Vec<SessionId>,
    /// The properties to pass on.
    pub keep: Vec<String>,
}

impl Wanted {
    /// What to pass on of an event of this session, and how often.
    pub fn of(&self, session: Option<&str>) -> (&[String], u64) {
        let is_it =
            |closely: &&Closely| closely.sessions.iter().any(|s| Some(s.as_str()) == session);
        match self.closely.as_ref().filter(is_it) {
            Some(closely) => (&closely.keep, 0),
            None => (&self.keep, self.every_ms),
        }
    }
}

/// How a host is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

pub(super) fn bounded<'de, D: Deserializer<'de>, const MAX_BYTES: usize>(
    input: D,
) -> Result<String, D::Error> {
    let text = String::deserialize(input)?;
    if text.len() > MAX_BYTES {
        return Err(D::Error::custom(format_args!("a text has at most {MAX_BYTES} bytes here")));
    }
    Ok(text)
}

fn bounded_or_none<'de, D: Deserializer<'de>, const MAX_BYTES: usize>(
    input: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(input)?;
    if text.as_ref().is_some_and(|text| text.len() > MAX_BYTES) {
        return Err(D::Error::custom(format_args!("a text has at most {MAX_BYTES} bytes here")));
    }
    Ok(text)
}
