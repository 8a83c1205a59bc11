//! What a process announces. An event is made at the moment when it happens; whether, when and how
//! often it arrives is the business of whoever carries it.

use std::sync::Arc;

use legwork_protocol::{MessageId, QuestionId, SessionId, Time};

use super::storage::Spent;

/// One OpenCode process, for good: a restarted one has another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessNo(pub u32);

/// Something that a process announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Time,
    /// Which process announces it.
    pub process: ProcessNo,
    /// In which session; known to the host or not.
    pub session: SessionId,
    pub kind: Kind,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `session.idle`.
    Idle,
    /// `session.status`.
    Status(Status),
    /// `session.error`.
    Error {
        /// Its name and message.
        why: Arc<str>,
    },
    /// `session.deleted`.
    Deleted,
    /// `session.updated`: an undo was begun, taken back or made permanent.
    Updated,
    /// A message or a part of one changed.
    Progress {
        /// The tool that was begun.
        tool: Option<Arc<str>>,
        /// What a prompt used up so far, if a call for it is over.
        spent: Option<(MessageId, Spent)>,
    },
    /// `permission.asked`.
    Asked { question: QuestionId, text: Arc<str> },
    /// `permission.replied`.
    Replied { question: QuestionId },
    /// A person wrote into the session.
    Used,
}

/// What a session does, as far as one process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing. Announced, but never listed: a quiet session is absent (seen in 1.18.33).
    Idle,
    Busy,
    /// Its provider will be tried again.
    Retry {
        /// The how-manieth time.
        attempt: u32,
        next: Time,
    },
}
