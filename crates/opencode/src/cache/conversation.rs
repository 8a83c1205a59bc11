//! What must be known of a session before anything is said in it or on its behalf: what it says of
//! itself, and to whom a person last spoke there.
//!
//! Events tell both as they come about, so mostly they have been event_cache. What was not is read.

use std::sync::Arc;

use legwork_engine::HostError;
use legwork_host::Request;
use legwork_protocol::SessionId;
use serde_json::Value;

use crate::wire::choice::Choice;
use crate::wire::history;
use crate::wire::mark;
use crate::wire::message;
use crate::wire::transport::{Transport, ask, session_path};

/// What is known of a session.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// What it says of itself.
    pub session: Arc<Value>,
    /// To whom a person last spoke in it; where no person ever wrote, to whom it belongs.
    pub choice: Choice,
}

impl Conversation {
    /// EventCache, or else read.
    pub async fn of<T: Transport>(host: &T, session: &SessionId) -> Result<Self, HostError> {
        if let Some(known) = host.cache().and_then(|cache| cache.event_cache.conversation(session))
        {
            return Ok(known);
        }
        let (there, choice) = tokio::join!(
            ask(host, Request::get(session_path(session, "")?)),
            history::last_choice(host, session),
        );
        let there = there?;
        let choice = choice?.unwrap_or_else(|| Choice::read(&there));
        Ok(Self { session: Arc::new(there), choice })
    }

    /// Whether a person has undone something there and not gone on yet.
    pub fn has_undo_pending(&self) -> bool {
        self.session.get("revert").is_some_and(|revert| !revert.is_null())
    }
}

/// What was told of one session so far.
#[derive(Debug)]
pub struct SessionCache {
    session: Arc<Value>,
    /// The newest message that may be a person's: whether it is, its parts tell.
    written: Option<Written>,
    /// The newest that is.
    by_person: Option<Written>,
}

#[derive(Debug)]
struct Written {
    message: String,
    choice: Choice,
}

impl SessionCache {
    /// A session that says this of itself; nothing of one that has a parent, in which no person is
    /// expected: only reading tells that none wrote there.
    pub fn by(info: &Value) -> Option<Self> {
        let is_own = info.is_object() && info.get("parentID").is_none_or(Value::is_null);
        let session = is_own.then(|| Arc::new(info.clone()))?;
        Some(Self { session, written: None, by_person: None })
    }

    /// Takes in an event of the session.
    pub fn hear(&mut self, name: &str, properties: &Value) {
        let word = |path: &str| properties.pointer(path).and_then(Value::as_str);
        match name {
            "session.updated" => {
                if let Some(told) = Self::by(&properties["info"]) {
                    self.session = told.session;
                }
            }
            "message.updated" if word("/info/role") == Some("user") => {
                if let Some(message) = word("/info/id").filter(|id| !mark::is_our_message(id)) {
                    self.wrote(message, Choice::read(&properties["info"]));
                }
            }
            "message.part.updated" if message::is_persons_text(&properties["part"]) => {
                self.shown(word("/part/messageID"));
            }
            "message.removed" => self.removed(word("/messageID")),
            _ => {}
        }
    }

    /// All that must be known.
    pub fn whole(&self) -> Option<Conversation> {
        let choice = self.by_person.as_ref()?.choice.clone();
        Some(Conversation { session: self.session.clone(), choice })
    }

    /// Messages are told of again when their turn ends; ids sort by time.
    fn wrote(&mut self, message: &str, choice: Choice) {
        let written = Written { message: message.to_owned(), choice };
        match &self.by_person {
            Some(newest) if message < newest.message.as_str() => {}
            Some(newest) if message == newest.message => self.by_person = Some(written),
            _ => self.written = Some(written),
        }
    }

    fn shown(&mut self, message: Option<&str>) {
        let is_this = |written: &mut Written| message == Some(&written.message);
        if let Some(written) = self.written.take_if(is_this) {
            self.by_person = Some(written);
        }
    }

    /// Only reading tells which is the newest now.
    fn removed(&mut self, message: Option<&str>) {
        let newest = self.by_person.as_ref().map(|written| written.message.as_str());
        if message.is_none() || message == newest {
            self.by_person = None;
        }
    }
}
