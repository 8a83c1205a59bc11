//! Everything that can happen to the engine, and everything that it does about it.

use legwork_protocol::api::{Answer, Refusal, Reply};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::view::Activity;
use legwork_protocol::{
    Ask, CallId, CallKey, HostId, MessageId, Place, QuestionId, SessionId, TaskId, Time,
};

use crate::record::Change;
use crate::work::PromptUsage;
use crate::work::{Finding, HostError, Question, Work, WorkId};

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
    Session {
        host: HostId,
        session: SessionId,
        /// The call, for good.
        key: CallKey,
        message: MessageId,
        agent: String,
        directory: String,
        /// Tasks of other sessions that its client has gone on with in this one.
        taken_over: Vec<TaskId>,
    },
    /// A person, at the command line or the dashboard: sees everything and is nobody's parent.
    Person,
}

impl Caller {
    /// The session that asks; a person is none.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Session { session, .. } => Some(session),
            Self::Person => None,
        }
    }
}

/// Who may have helpers on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    OwnPlace,
    /// Sessions of every place, whose own host does not have the agent that they want.
    Everyone,
    /// It only has sessions that ask, of programs that fetch ends themselves.
    Nobody,
}

/// News from a host. Only `HostGone` is a fact; everything else makes us look sooner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A host is there (again). Nothing that was asked of it earlier is still in flight.
    HostCame {
        host: HostId,
        place: Place,
        lifetime: HostLifetime,
        serves: Serves,
    },
    /// The directory of a host that is about to come: it sees what goes on there and nowhere else.
    HostIn {
        host: HostId,
        directory: String,
    },
    /// It cannot be reached; its process may well be at work.
    HostAway {
        host: HostId,
    },
    /// Its process has ended, and with it all that it was doing.
    HostGone {
        host: HostId,
    },
    /// No headless host could be started in this directory of the place.
    NotStarted {
        place: Place,
        directory: String,
        why: String,
        lasts: NotStarted,
    },
    /// Something happened in the session: it fell idle, or changed.
    Changed {
        session: SessionId,
    },
    Deleted {
        host: HostId,
        session: SessionId,
    },
    Errored {
        session: SessionId,
        why: String,
    },
    Progress {
        session: SessionId,
        tool: Option<String>,
        /// What the prompt that is worked on used up so far.
        used: Option<PromptUsage>,
    },
    /// The tool call that was last announced.
    Doing {
        session: SessionId,
        what: Activity,
    },
    Asked {
        session: SessionId,
        question: Question,
    },
    Answered {
        session: SessionId,
        question: QuestionId,
        /// How, if the host tells.
        reply: Option<Reply>,
    },
    Used {
        host: HostId,
        session: SessionId,
    },
    /// A window shows the session, so that somebody is there to read what happens in it; none: it
    /// shows something else from now on.
    Shown {
        host: HostId,
        session: Option<SessionId>,
    },
    /// A reader was given these deliveries, and will say when it has shown them.
    Read {
        messages: Vec<MessageId>,
    },
    /// A person has undone what happened in the session since this moment; none: nothing is undone.
    Undone {
        host: HostId,
        session: SessionId,
        since: Option<Time>,
    },
}

impl Hint {
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::HostCame { .. }
            | Self::HostIn { .. }
            | Self::HostAway { .. }
            | Self::HostGone { .. }
            | Self::NotStarted { .. }
            | Self::Read { .. } => None,
            Self::Shown { session, .. } => session.as_ref(),
            Self::Changed { session }
            | Self::Deleted { session, .. }
            | Self::Errored { session, .. }
            | Self::Progress { session, .. }
            | Self::Doing { session, .. }
            | Self::Asked { session, .. }
            | Self::Answered { session, .. }
            | Self::Used { session, .. }
            | Self::Undone { session, .. } => Some(session),
        }
    }
}

/// How long no headless host can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted {
    /// Another try may do better.
    ForNow,
    /// Only a host that comes by itself can go on.
    AtAll,
    /// No host can go on: the directory is not there any more.
    DirectoryGone,
}

/// What the shell has to do, in the order of the fields.
#[must_use]
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// To be saved, all or nothing, before anything else.
    pub save: Vec<Change>,
    pub says: Vec<(CallId, Say)>,
    pub work: Vec<Work>,
    pub headless: Vec<Headless>,
    /// When to send a `Tick` at the latest.
    pub wake_at: Option<Time>,
}

/// What is to become of a headless host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Headless {
    /// One is to be started for the place. `HostCame` or `NotStarted` follows; asked twice, there
    /// may be two, and the idle one is ended.
    Start {
        place: Place,
        /// Of the helper that it is for.
        directory: String,
    },
    /// Nothing needs it. Asked again while it is there, it is to be ended by force.
    End { host: HostId },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    /// A sign of life; the answer is still to come.
    Progress(Progress),
    /// The answer, without the result that it may name: the shell reads that from the records.
    Answer(Result<Answer, Refusal>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub left: usize,
    pub waited_ms: u64,
}
