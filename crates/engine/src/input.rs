//! Everything that can happen to the engine, and everything that it does about it.

use legwork_protocol::api::{Answer, Refusal};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{
    Ask, CallId, CallKey, HostId, MessageId, Place, QuestionId, SessionId, TaskId, Time,
};

use crate::record::Change;
use crate::work::{Finding, HostError, Question, Work, WorkId};

/// What can happen. Closed on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Somebody asks something. Answered exactly once, now or later.
    Ask {
        /// The question's number.
        call: CallId,
        /// Who asks.
        caller: Caller,
        /// What.
        ask: Ask,
        /// An id for a new task, should one come of it; made outside, where dice are allowed.
        spare: TaskId,
    },
    /// Nobody waits for the answer any more (ESC, a closed pipe). Ends the waiting, nothing else.
    /// When a host's link breaks, `HostAway` comes first and then its calls are dropped.
    Dropped {
        /// The question's number.
        call: CallId,
    },
    /// A host has news, which may be wrong, late or doubled.
    Hint(Hint),
    /// A host answers.
    Found {
        /// Which work.
        work: WorkId,
        /// What came of it.
        found: Result<Finding, HostError>,
    },
    /// Time has passed.
    Tick,
    /// So much of the time since the last input passed while nothing ran: the machine slept, or its
    /// clock was set forward. Comes before anything else that happens after it.
    Slept {
        /// How much.
        ms: u64,
    },
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A session, through its host.
    Session {
        /// The host.
        host: HostId,
        /// The session.
        session: SessionId,
        /// The call, for good.
        key: CallKey,
        /// The message that holds the call.
        message: MessageId,
        /// The session's agent.
        agent: String,
        /// The directory that it works in.
        directory: String,
    },
    /// A person, at the command line or the dashboard: sees everything and is nobody's parent.
    Person,
}

/// News from a host. Only `HostGone` is a fact; everything else makes us look sooner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A host is there (again). Nothing that was asked of it earlier is still under way.
    HostCame {
        /// Which.
        host: HostId,
        /// The sessions that it can reach.
        place: Place,
        /// How long it stays.
        lifetime: HostLifetime,
    },
    /// It cannot be reached; its process may well be at work.
    HostAway {
        /// Which.
        host: HostId,
    },
    /// Its process has ended, and with it all that it was doing.
    HostGone {
        /// Which.
        host: HostId,
    },
    /// Something happened in the session: it fell idle, or changed.
    Changed {
        /// Which.
        session: SessionId,
    },
    /// The session was deleted.
    Deleted {
        /// The host that says so.
        host: HostId,
        /// Which.
        session: SessionId,
    },
    /// The session had an error.
    Errored {
        /// Which.
        session: SessionId,
        /// The host's words.
        why: String,
    },
    /// The helper does something.
    Progress {
        /// In which session.
        session: SessionId,
        /// The tool that it began to use.
        tool: Option<String>,
        /// Tokens used by the session so far.
        tokens: Option<u64>,
        /// Cost of the session so far, in millionths of the host's currency.
        cost_micros: Option<u64>,
    },
    /// The helper asks a person.
    Asked {
        /// In which session.
        session: SessionId,
        /// What.
        question: Question,
    },
    /// The question has its answer.
    Answered {
        /// In which session.
        session: SessionId,
        /// Which question.
        question: QuestionId,
    },
    /// A person wrote into a session.
    Used {
        /// Through which host.
        host: HostId,
        /// Which.
        session: SessionId,
    },
}

impl Hint {
    /// The session that it is about, if it is about one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::HostCame { .. } | Self::HostAway { .. } | Self::HostGone { .. } => None,
            Self::Changed { session }
            | Self::Deleted { session, .. }
            | Self::Errored { session, .. }
            | Self::Progress { session, .. }
            | Self::Asked { session, .. }
            | Self::Answered { session, .. }
            | Self::Used { session, .. } => Some(session),
        }
    }
}

/// What the shell has to do, in the order of the fields.
#[must_use]
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// To be saved, all or nothing, before anything else.
    pub save: Vec<Change>,
    /// To be said to callers.
    pub says: Vec<(CallId, Say)>,
    /// To be done by hosts.
    pub work: Vec<Work>,
    /// When to send a `Tick` at the latest.
    pub wake_at: Option<Time>,
}

/// Something said to a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    /// A sign of life; the answer is still to come.
    Progress(Progress),
    /// The answer, without the result that it may name: the shell reads that from the records.
    Answer(Result<Answer, Refusal>),
}

/// How far a wait is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Tasks that it still waits for.
    pub left: usize,
    /// How long it has waited.
    pub waited_ms: u64,
}
