//! The sessions that somebody follows. OpenCode stores a text when it is complete; until then it is
//! only in its events, of which the front passes on more for these sessions. A session that nobody
//! has asked for in a while is dropped with its next event.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use legwork_machine::lock;
use legwork_protocol::SessionId;
use legwork_protocol::api::transcript::Entry;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::limits::{DELTA_EVERY, FOLLOW_LINGER, FOLLOWED_MAX, LIVE_MAX_BYTES};
use crate::wire::entries::message_of;
use crate::wire::event::{DeltaText, Event, EventKind};

#[derive(Debug, Default)]
pub struct Followed(Mutex<BTreeMap<SessionId, Following>>);

#[derive(Debug)]
struct Following {
    changed: watch::Sender<u64>,
    asked: Instant,
    /// Texts that are being written, by their parts.
    live: BTreeMap<String, LiveText>,
    live_bytes: usize,
    /// What was read last; nothing if it has changed since.
    read: Option<Arc<Vec<Value>>>,
    /// How often that changed.
    version: u64,
    /// When a delta was last passed on as a sign of life.
    passed_on: Option<Instant>,
}

#[derive(Debug, Default)]
struct LiveText {
    text: String,
    is_from_start: bool,
}

/// What follows from an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Other sessions are followed than before.
    pub others: bool,
    /// It is one of many, and says no more than the one before.
    pub is_spare: bool,
}

impl Followed {
    /// Somebody follows this session. Says whether nobody did before.
    pub fn follow(&self, session: &SessionId) -> (watch::Receiver<u64>, bool) {
        let mut all = lock(&self.0);
        if let Some(known) = all.get_mut(session) {
            known.asked = Instant::now();
            return (known.changed.subscribe(), false);
        }
        if all.len() >= FOLLOWED_MAX
            && let Some(oldest) =
                all.iter().min_by_key(|(_, one)| one.asked).map(|(id, _)| id.clone())
        {
            all.remove(&oldest);
        }
        let (changed, changes) = watch::channel(0);
        let following = Following {
            changed,
            asked: Instant::now(),
            live: BTreeMap::new(),
            live_bytes: 0,
            read: None,
            version: 0,
            passed_on: None,
        };
        all.insert(session.clone(), following);
        (changes, true)
    }

    pub fn sessions(&self) -> Vec<SessionId> {
        lock(&self.0).keys().cloned().collect()
    }

    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    pub fn hear(&self, event: &Event<'_>) -> Heard {
        let mut all = lock(&self.0);
        if let EventKind::Missed = event.kind {
            all.values_mut().for_each(Following::missed);
            return Heard::default();
        }
        let Some(session) = &event.session else { return Heard::default() };
        let Some(following) = all.get_mut(session) else { return Heard::default() };
        if following.is_left() {
            all.remove(session);
            return Heard { others: true, is_spare: false };
        }
        Heard { others: false, is_spare: following.hear(&event.kind) }
    }

    /// What was read last, if it holds this message and is still so.
    pub fn known(&self, session: &SessionId, message: &str) -> Option<Arc<Vec<Value>>> {
        let read = lock(&self.0).get(session)?.read.clone()?;
        read.iter().any(|told| told["info"]["id"] == message).then_some(read)
    }

    /// It is about to be read; what changes from now on makes that old.
    pub fn reads(&self, session: &SessionId) -> Option<u64> {
        lock(&self.0).get(session).map(|following| following.version)
    }

    pub fn keep(&self, session: &SessionId, began: Option<u64>, read: Arc<Vec<Value>>) {
        if let Some(following) = lock(&self.0).get_mut(session)
            && Some(following.version) == began
        {
            following.read = Some(read);
        }
    }

    /// Adds the texts that are being written to entries of this session.
    pub fn add_live(&self, session: &SessionId, entries: &mut [Entry]) {
        let all = lock(&self.0);
        let Some(following) = all.get(session) else { return };
        for entry in entries.iter_mut().filter(|entry| entry.open && entry.tool.is_none()) {
            let part = &entry.key[message_of(&entry.key).len()..];
            let Some(live) = following.live.get(part.trim_start_matches('/')) else { continue };
            if live.text.len() > entry.text.text.len() {
                entry.beginning_missing = !live.is_from_start;
                entry.text = live.text.as_str().into();
            }
        }
    }
}

impl Following {
    fn is_left(&self) -> bool {
        self.changed.receiver_count() == 0 && self.asked.elapsed() > FOLLOW_LINGER
    }

    /// Returns whether the event is one of many.
    fn hear(&mut self, event: &EventKind<'_>) -> bool {
        let EventKind::Delta { text } = event else {
            self.outdate();
            if let EventKind::PartUpdated(part) = event {
                self.part(part);
            }
            self.tell();
            return false;
        };
        if let Some(DeltaText { part, text }) = text
            && self.live_bytes + text.len() <= LIVE_MAX_BYTES
        {
            self.live_bytes += text.len();
            self.live.entry((*part).to_owned()).or_default().text.push_str(text);
            self.tell();
        }
        let is_due = self.passed_on.is_none_or(|at| at.elapsed() >= DELTA_EVERY);
        if is_due {
            self.passed_on = Some(Instant::now());
        }
        !is_due
    }

    /// A part is told of when it begins, without a text, and when it is stored.
    fn part(&mut self, part: &Value) {
        let Some(id) = part["id"].as_str() else { return };
        if part["text"].as_str() == Some("") {
            let begun = LiveText { text: String::new(), is_from_start: true };
            self.live.insert(id.to_owned(), begun);
        } else if let Some(over) = self.live.remove(id) {
            self.live_bytes -= over.text.len();
        }
    }

    fn outdate(&mut self) {
        self.read = None;
        self.version += 1;
    }

    fn missed(&mut self) {
        self.outdate();
        self.live_bytes = 0;
        self.live.clear();
        self.tell();
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session() -> SessionId {
        "ses_1".parse().unwrap()
    }

    fn delta(text: &str) -> Value {
        json!({ "sessionID": "ses_1", "partID": "prt_1", "field": "text", "delta": text })
    }

    fn begun() -> Value {
        json!({ "sessionID": "ses_1", "part": { "id": "prt_1", "type": "text", "text": "" } })
    }

    fn shown(followed: &Followed) -> Entry {
        let mut entries = [Entry { key: "msg_1/prt_1".to_owned(), open: true, ..Entry::default() }];
        followed.add_live(&session(), &mut entries);
        entries[0].clone()
    }

    #[tokio::test]
    async fn p3_a_text_is_there_while_it_is_written() {
        let followed = Followed::default();
        followed.hear(&Event::read("message.part.delta", &delta("unheard")));
        let (mut changes, is_new) = followed.follow(&session());
        assert!(is_new && !followed.follow(&session()).1);
        followed.hear(&Event::read("message.part.updated", &begun()));
        followed.hear(&Event::read("message.part.delta", &delta("one ")));
        followed.hear(&Event::read("message.part.delta", &delta("two")));
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        let entry = shown(&followed);
        assert_eq!((entry.text.text.as_str(), entry.beginning_missing), ("one two", false));
    }

    #[tokio::test]
    async fn p3_who_comes_late_is_told_that_the_beginning_is_missing() {
        let followed = Followed::default();
        let _changes = followed.follow(&session()).0;
        followed.hear(&Event::read("message.part.delta", &delta("the end")));
        assert!(shown(&followed).beginning_missing);
        let stored = json!({ "id": "prt_1", "type": "text", "text": "this is the end" });
        followed.hear(&Event::read(
            "message.part.updated",
            &json!({ "sessionID": "ses_1", "part": stored }),
        ));
        assert!(shown(&followed).text.is_empty(), "it is read from now on");
    }

    #[tokio::test(start_paused = true)]
    async fn p3_what_nobody_follows_is_dropped_with_its_next_event() {
        let followed = Followed::default();
        let (changes, _) = followed.follow(&session());
        tokio::time::advance(FOLLOW_LINGER * 2).await;
        assert!(
            !followed.hear(&Event::read("message.part.delta", &delta("x"))).others,
            "somebody waits"
        );
        drop(changes);
        assert!(followed.hear(&Event::read("message.part.delta", &delta("x"))).others);
        assert!(followed.sessions().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn g3_what_is_followed_is_bounded() {
        let followed = Followed::default();
        let _changes = followed.follow(&session()).0;
        for _ in 0..9 {
            followed.hear(&Event::read("message.part.delta", &delta(&"x".repeat(1 << 20))));
        }
        assert_eq!(shown(&followed).text.text.len(), LIVE_MAX_BYTES);
        for number in 0..100 {
            tokio::time::advance(DELTA_EVERY).await;
            followed.follow(&format!("ses_x{number}").parse().unwrap());
        }
        assert_eq!(followed.sessions().len(), FOLLOWED_MAX);
    }

    #[tokio::test]
    async fn p3_what_changed_while_it_was_read_is_read_again() {
        let followed = Followed::default();
        let _changes = followed.follow(&session()).0;
        let read = || Arc::new(vec![json!({ "info": { "id": "msg_1" } })]);
        let began = followed.reads(&session());
        followed.keep(&session(), began, read());
        assert!(followed.known(&session(), "msg_1").is_some());
        assert!(followed.known(&session(), "msg_0").is_none());
        followed.hear(&Event::read("message.updated", &json!({ "sessionID": "ses_1" })));
        assert!(followed.known(&session(), "msg_1").is_none());
        followed.keep(&session(), began, read());
        assert!(followed.known(&session(), "msg_1").is_none(), "it was read before that");
    }
}
