//! What must be known of a session before anything is said in it or on its behalf: what it says of
//! itself, and to whom a person last spoke there.
//!
//! Events tell both as they come about, so mostly they have been overheard. What was not is read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legwork_engine::HostError;
use legwork_protocol::SessionId;
use serde_json::Value;

use crate::choice::Choice;
use crate::history;
use crate::limits::CONVERSATIONS_KEPT;
use crate::mark;
use crate::message;
use crate::transport::{Request, Transport, ask, session_path};

/// What is known of a session.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// What it says of itself.
    pub session: Arc<Value>,
    /// To whom a person last spoke in it; where no person ever wrote, to whom it belongs.
    pub choice: Choice,
}

impl Conversation {
    /// Overheard, or else read.
    pub async fn of<T: Transport>(host: &T, session: &SessionId) -> Result<Self, HostError> {
        if let Some(known) = host.memory().and_then(|memory| memory.overheard.get(session)) {
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

/// What the events of every OpenCode have told of conversations between a person and an agent. One
/// session may be open in two windows, so all of them are heard together; and whoever misses some
/// events, because a link comes or goes, has to forget everything.
#[derive(Debug, Default)]
pub struct Overheard(Mutex<BTreeMap<SessionId, Told>>);

/// What was told of one session so far.
#[derive(Debug, Default)]
struct Told {
    session: Option<Arc<Value>>,
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

impl Overheard {
    /// Takes in an event.
    pub fn hear(&self, name: &str, properties: &Value) {
        let word = |path: &str| properties.pointer(path).and_then(Value::as_str);
        let session = word("/sessionID").or_else(|| word("/info/id"));
        let Some(session) = session.and_then(|id| id.parse().ok()) else { return };
        match name {
            "session.updated" => {
                // In a helper's session no person is expected.
                let Some(info) = properties.get("info").filter(|info| !has_parent(info)) else {
                    return;
                };
                self.told(session, |told| told.session = Some(Arc::new(info.clone())));
            }
            "message.updated" if word("/info/role") == Some("user") => {
                let Some(message) = word("/info/id").filter(|id| !mark::is_our_message(id)) else {
                    return;
                };
                let choice = Choice::read(&properties["info"]);
                self.told(session, |told| told.wrote(message, choice));
            }
            "message.part.updated" => {
                let (Some(part), Some(message)) = (properties.get("part"), word("/part/messageID"))
                else {
                    return;
                };
                if message::is_persons_text(part) {
                    self.told(session, |told| told.shown(message));
                }
            }
            "message.removed" => {
                let removed = word("/messageID");
                self.told(session, |told| told.removed(removed));
            }
            "session.deleted" => drop(self.all().remove(&session)),
            _ => {}
        }
    }

    /// Events may have been missed.
    pub fn forget(&self) {
        self.all().clear();
    }

    fn get(&self, session: &SessionId) -> Option<Conversation> {
        let all = self.all();
        let Told { session: Some(session), by_person: Some(written), .. } = all.get(session)?
        else {
            return None;
        };
        Some(Conversation { session: session.clone(), choice: written.choice.clone() })
    }

    fn told(&self, session: SessionId, tell: impl FnOnce(&mut Told)) {
        let mut all = self.all();
        if all.len() >= CONVERSATIONS_KEPT && !all.contains_key(&session) {
            all.clear();
        }
        tell(all.entry(session).or_default());
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<SessionId, Told>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Told {
    /// Messages are told of again when their turn ends; ids sort by time.
    fn wrote(&mut self, message: &str, choice: Choice) {
        let written = Written { message: message.to_owned(), choice };
        match &self.by_person {
            Some(newest) if message < newest.message.as_str() => {}
            Some(newest) if message == newest.message => self.by_person = Some(written),
            _ => self.written = Some(written),
        }
    }

    fn shown(&mut self, message: &str) {
        if let Some(written) = self.written.take_if(|written| written.message == message) {
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

fn has_parent(info: &Value) -> bool {
    info.get("parentID").is_some_and(|parent| !parent.is_null())
}
