//! What every part of the host shares: the time, the dice, the agenda of things that will happen
//! and the events that wait to be taken. Decides nothing.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use legwork_protocol::{MessageId, SessionId, Time};

use super::dice::Dice;
use super::events::{Event, Kind, ProcessNo, Status};
use super::nasty::{Nasty, Span};
use super::prompt::Prompt;

/// A place in the agenda; of two things at the same moment the one planned first comes first.
pub(super) type Key = (Time, u64);

#[derive(Debug, Clone)]
pub(super) struct World {
    pub now: Time,
    pub dice: Dice,
    pub nasty: Nasty,
    pub agenda: BTreeMap<Key, Due>,
    pub out: Vec<Event>,
    pub words: Words,
    /// Counts everything that needs an order or a name.
    count: u64,
    /// Where these ids come from, so that two places never share one.
    place: u8,
}

/// Texts that are used so often that they are made once.
#[derive(Debug, Clone)]
pub(super) struct Words {
    pub ok: Arc<str>,
    pub empty: Arc<str>,
    pub aborted: Arc<str>,
    pub no_model: Arc<str>,
    pub twice: Arc<str>,
}

/// Something that will happen in a session, if its process lives to see it.
#[derive(Debug, Clone)]
pub(super) struct Due {
    pub process: ProcessNo,
    pub session: usize,
    pub what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    /// A prompt is looked at and stored.
    Accept(Box<Prompt>),
    /// The turn goes on.
    Step,
    /// What was left open gets its error, and the session says idle once more.
    Rest { open: Option<MessageId>, why: Arc<str> },
    /// An error is told.
    Error(Arc<str>),
}

impl World {
    pub fn new(place: u8, seed: u64, nasty: Nasty) -> Self {
        Self {
            now: Time(0),
            dice: Dice::new(seed),
            nasty,
            agenda: BTreeMap::new(),
            out: Vec::new(),
            words: Words {
                ok: "ok".into(),
                empty: "".into(),
                aborted: "MessageAbortedError: Aborted".into(),
                no_model: "UnknownError: Model not found: zz/yy.".into(),
                twice: "UnknownError: the same once more, with a stack trace".into(),
            },
            count: 0,
            place,
        }
    }

    pub fn emit(&mut self, process: ProcessNo, session: &SessionId, kind: Kind) {
        self.out.push(Event { at: self.now, process, session: session.clone(), kind });
    }

    /// A session is quiet: always both events, in this order (seen in 1.18.33).
    pub fn emit_idle(&mut self, process: ProcessNo, session: &SessionId) {
        self.emit(process, session, Kind::Status(Status::Idle));
        self.emit(process, session, Kind::Idle);
    }

    pub fn plan(&mut self, ms: u64, process: ProcessNo, session: usize, what: What) -> Key {
        self.count += 1;
        let key = (self.now.plus(ms), self.count);
        self.agenda.insert(key, Due { process, session, what });
        key
    }

    pub fn within(&mut self, span: Span) -> u64 {
        self.dice.between(span.0, span.1)
    }

    /// A new id in OpenCode's form: prefix, 12 hex digits of time and count, 14 characters.
    pub fn fresh<T: FromStr>(&mut self, prefix: &[u8; 4]) -> T {
        self.count += 1;
        let mut text = [b'0'; 30];
        text[..4].copy_from_slice(prefix);
        let mut stamp = (self.now.0 << 12) | (self.count & 0xfff);
        for slot in text[4..16].iter_mut().rev() {
            *slot = b"0123456789abcdef"[(stamp & 15) as usize];
            stamp >>= 4;
        }
        // A capital, which no client of ours uses: its ids and the host's never meet.
        text[16] = b'A' + self.place % 26;
        let mut count = self.count;
        for slot in text[17..].iter_mut().rev() {
            *slot = b'0' + (count % 10) as u8;
            count /= 10;
        }
        match std::str::from_utf8(&text).map(str::parse) {
            Ok(Ok(id)) => id,
            _ => unreachable!("thirty letters and digits are an id"),
        }
    }
}
