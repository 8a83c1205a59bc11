//! What must be known of a session before a message is sent to it or a helper is opened for it: its
//! own fields, and the agent and model that the person last chose there.
//!
//! Events announce both, so they are mostly in the cache. What is not there is read.

use std::sync::Arc;

use legwork_engine::HostError;
use legwork_host::Request;
use legwork_protocol::SessionId;
use serde_json::Value;

use crate::wire::choice::Choice;
use crate::wire::event::EventKind;
use crate::wire::history;
use crate::wire::message;
use crate::wire::transport::{Transport, ask, session_path};

#[derive(Debug, Clone)]
pub struct Conversation {
    pub session: Arc<Value>,
    /// To whom a person last spoke in it; where no person ever wrote, to whom it belongs.
    pub choice: Choice,
}

impl Conversation {
    /// From the cache, else read.
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

/// What events have told of one session so far.
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
    /// A session with these fields. None for a child session: no person is expected there, and only
    /// reading shows that none wrote.
    pub fn by(info: &Value) -> Option<Self> {
        let is_own = info.is_object() && info["parentID"].is_null();
        let session = is_own.then(|| Arc::new(info.clone()))?;
        Some(Self { session, written: None, by_person: None })
    }

    pub fn hear(&mut self, event: &EventKind<'_>) {
        match event {
            EventKind::SessionUpdated { info } => {
                if let Some(told) = Self::by(info) {
                    self.session = told.session;
                }
            }
            EventKind::MessageUpdated(message) if message.is_by_another_user() => {
                self.wrote(message.id().unwrap_or_default(), message.choice());
            }
            EventKind::PartUpdated(part) if message::is_persons_text(part) => {
                self.shown(part["messageID"].as_str());
            }
            EventKind::MessageRemoved { message } => self.removed(*message),
            _ => {}
        }
    }

    /// The conversation, if all of it is known.
    pub fn whole(&self) -> Option<Conversation> {
        let choice = self.by_person.as_ref()?.choice.clone();
        Some(Conversation { session: self.session.clone(), choice })
    }

    /// A message is announced again when its turn ends; ids sort by time.
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

    /// Only reading shows which is the newest now.
    fn removed(&mut self, message: Option<&str>) {
        let newest = self.by_person.as_ref().map(|written| written.message.as_str());
        if message.is_none() || message == newest {
            self.by_person = None;
        }
    }
}
