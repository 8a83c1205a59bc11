//! Everything that can happen to the engine, and everything that it does about it.

use legwork_protocol::api::{Answer, Refusal};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{
    Ask, CallId, CallKey, HostId, MessageId, Place, QuestionId, SessionId, TaskId, Time,
};

use crate::record::Change;
use crate::work::{Finding, HostError, Question, Work, WorkId};

/// Everything that can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Somebody asks something. Answered exactly once, now or later.
    Ask {
        call: CallId,
        caller: Caller,
        ask: Ask,
        /// An id for a new task, should one come of it; random, so made outside.
        spare: TaskId,
    },
    /// Nobody waits for the answer any more (ESC, a closed pipe). Ends the waiting, nothing else.
    /// When a host's link breaks, `HostAway` comes first and then its calls are dropped.
    Dropped {
        call: CallId,
    },
    /// A host has news, which may be wrong, late or doubled.
    Hint(Hint),
    Found {
        work: WorkId,
        /// What came of it.
        found: Result<Finding, HostError>,
    },
    Tick,
    /// So much of the time since the last input passed while nothing ran: the machine slept, or its
    /// clock was set forward. Comes before anything else that happens after it.
    Slept {
        ms: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A session, through its host.
    Session {
        host: HostId,
        session: SessionId,
        /// The call, for good.
        key: CallKey,
        /// The message that holds the call.
        message: MessageId,
        agent: String,
        /// The directory that it works in.
        directory: String,
    },
    /// A person, at the command line or the dashboard: sees everything and is nobody's parent.
    Person,
}

/// Who may have helpers on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Sessions of its own place.
    OwnPlace,
    /// Sessions of every place, whose own host does not have the agent that they want.
    Everyone,
}

/// News from a host. Only `HostGone` is a fact; everything else makes us look sooner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A host is there (again). Nothing that was asked of it earlier is still in flight.
    HostCame {
        host: HostId,
        /// The sessions that it can reach.
        place: Place,
        /// How long it stays.
        lifetime: HostLifetime,
        /// Who may have helpers there.
        serves: Serves,
    },
    /// It cannot be reached; its process may well be at work.
    HostAway { host: HostId },
    /// Its process has ended, and with it all that it was doing.
    HostGone { host: HostId },
    /// Something happened in the session: it fell idle, or changed.
    Changed { session: SessionId },
    /// The session was deleted.
    Deleted {
        /// The host that says so.
        host: HostId,
        session: SessionId,
    },
    /// The session had an error.
    Errored { session: SessionId, why: String },
    /// The helper does something.
    Progress {
        session: SessionId,
        /// The tool that it began to use.
        tool: Option<String>,
        /// Tokens used by the session so far.
        tokens: Option<u64>,
        /// Cost of the session so far, in millionths of the host's currency.
        cost_micros: Option<u64>,
    },
    /// The helper asks a person.
    Asked { session: SessionId, question: Question },
    /// The question has its answer.
    Answered { session: SessionId, question: QuestionId },
    /// A person wrote into a session.
    Used { host: HostId, session: SessionId },
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
