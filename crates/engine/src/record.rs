//! What is kept beside the tasks, and the changes to all of it. A reaction's changes are one
//! transaction; a store that honours them has everything that a restart needs.

use std::fmt;

pub use legwork_protocol::timeline::{About, DeliveryEnd, Settled};
use legwork_protocol::view::{BudgetView, QuestionView};
use legwork_protocol::{
    CallKey, Currency, HostId, MessageId, Place, SessionId, TaskId, Time, Usage,
};

use crate::task::{ResumedBy, StageName, Task};

/// Where a launch came from; kept for people, not needed for decisions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    pub message: String,
    pub agent: String,
    pub directory: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoticeId {
    pub task: TaskId,
    pub run: u32,
    pub about: About,
}

/// Something that a session is to be told, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub id: NoticeId,
    pub to: SessionId,
    pub headline: String,
    pub made: Time,
    pub delivery: Option<MessageId>,
}

/// One message with one notice or several. Saved before it is sent; sent again under the same id
/// until the host shows it, or kept under it until its reader has been shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: MessageId,
    pub to: SessionId,
    pub notices: Vec<NoticeId>,
    /// The line that says how many tasks are finished and how many still run. Empty in one that is
    /// pulled: its reader is told how many there are then.
    pub counts: String,
}

impl Delivery {
    /// Whether nobody can put it into the session, so that it waits until somebody asks for it.
    pub fn is_pulled(&self) -> bool {
        self.counts.is_empty()
    }
}

/// A session that must not go on. It stays on record until the host shows the session quiet, and
/// outlives its task, so that a forgotten task is stopped all the same. A task has at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub task: TaskId,
    pub place: Place,
    pub host: HostId,
    pub target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Abort what runs in this session. The session stays for people to read.
    Session(SessionId),
    /// The same, but it may not have got its prompt yet: one with nothing in it is deleted.
    Opened(SessionId),
    /// The same for the session that bears the task's mark, if there is one.
    Marked,
}

/// What is known of a session that has asked for tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    pub session: SessionId,
    pub place: Place,
    /// The host through which a person last used it. While that host is there, notices go through
    /// it and may start turns.
    pub active_host: Option<HostId>,
}

/// What the ended runs of one root session have cost, in one currency. It outlives its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    pub root: SessionId,
    pub currency: Currency,
    pub micros: u64,
    /// The `limits.max_cost` of which the person was told that it is nearly used up; 0 for none.
    pub warned_micros: u64,
    /// When it last changed. The oldest are forgotten when there are too many.
    pub at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Forget {
    /// Somebody asked for it, or it never began.
    Cleared,
    /// The session that launched it was deleted. What it found is kept for a while, for a person
    /// who did not mean to delete that too.
    ParentDeleted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Launched {
        task: Task,
        origin: Origin,
    },
    /// A task has a new run: `task.run`. Fails if it is not at this end, at the run before, or if
    /// whoever resumes it may not do so from there.
    Resumed {
        task: Task,
        from: StageName,
        by: ResumedBy,
    },
    /// A run is further than it was. Fails if the stage or the run number is another.
    Moved {
        task: Task,
        from: StageName,
    },
    /// A run is over. Fails as `Moved` does.
    Ended {
        task: Task,
        from: StageName,
        /// The result, or the reason why there is none.
        detail: String,
    },
    /// What a run used up so far. Fails if the run is over or another.
    Used {
        task: TaskId,
        run: u32,
        tool_calls: u32,
        usage: Usage,
    },
    /// A helper asks a person something. Kept for people.
    Asked {
        task: TaskId,
        run: u32,
        question: QuestionView,
    },
    /// A helper's question is settled. Kept for people.
    Answered {
        task: TaskId,
        run: u32,
        question: QuestionView,
        how: Settled,
    },
    /// A person has undone the message that launched it, and it works on. Kept for people.
    LaunchUndone {
        task: TaskId,
        run: u32,
    },
    LedgerKept {
        ledger: Ledger,
        /// What the person is told with it, once.
        warning: Option<BudgetView>,
    },
    /// The ledgers of a root session, in every currency.
    LedgerForgotten {
        root: SessionId,
    },
    /// The result was read for the first time.
    Retrieved {
        task: TaskId,
        at: Time,
    },
    /// A task is forgotten with its runs, results and notices.
    Forgotten {
        task: TaskId,
        why: Forget,
    },
    /// Several are, because a person asked for it. One change, because there may be a hundred
    /// thousand of them.
    Cleared {
        tasks: Vec<TaskId>,
    },
    /// A session is to be told something. Fails if there was a notice with this id before.
    Enqueued(Notice),
    /// A notice that is in no delivery, or in one that is pulled, is not needed any more: its
    /// result was read, its question was answered, or nobody is left to be told.
    Withdrawn(NoticeId),
    /// These notices go out in this delivery. Fails if one of them is not pending or in another
    /// delivery.
    DeliveryCreated(Delivery),
    /// The delivery was certainly not sent; its notices are pending as before.
    DeliveryWithdrawn {
        delivery: MessageId,
        notices: Vec<NoticeId>,
    },
    /// The delivery waits from now on until somebody asks for it.
    DeliveryPulled {
        delivery: MessageId,
        notices: Vec<NoticeId>,
    },
    /// The delivery and its notices are dealt with.
    DeliveryDone {
        delivery: MessageId,
        notices: Vec<NoticeId>,
        end: DeliveryEnd,
    },
    StopRequested(Stop),
    /// The session was stopped, or nobody can reach it any more.
    StopDone {
        task: TaskId,
    },
    ParentKnown(Parent),
    /// A parent without tasks, which was told everything.
    ParentForgotten {
        session: SessionId,
    },
}

/// Everything that a restart needs. Results stay in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Saved {
    /// All tasks, in the order of `seq`; prompts of unfinished runs only.
    pub tasks: Vec<Task>,
    pub notices: Vec<Notice>,
    pub deliveries: Vec<Delivery>,
    pub stops: Vec<Stop>,
    pub parents: Vec<Parent>,
    pub ledgers: Vec<Ledger>,
    /// The calls that earlier runs of resumed tasks came of, in the order of task and run.
    pub earlier_calls: Vec<(TaskId, CallKey)>,
    /// Earlier records could not be read and lie beside these: what is not in here may be in there.
    pub incomplete: bool,
}

/// Whatever keeps the records: the store, or the simulation's copy of it.
pub trait Journal {
    type Fault: fmt::Debug + fmt::Display;

    /// Saves all of the changes or none.
    fn save(&mut self, at: Time, changes: &[Change]) -> Result<(), Self::Fault>;

    /// The result or reason of a run.
    fn detail(&mut self, task: TaskId, run: u32) -> Result<Option<String>, Self::Fault>;

    /// The first so many characters of it, for a line of a listing.
    fn excerpt(
        &mut self,
        task: TaskId,
        run: u32,
        max_chars: usize,
    ) -> Result<Option<String>, Self::Fault> {
        let cut = |detail: String| detail.chars().take(max_chars).collect();
        self.detail(task, run).map(|detail| detail.map(cut))
    }

    fn load(&mut self) -> Result<Saved, Self::Fault>;

    /// Whether a change could be saved now; asked after one could not.
    fn probe(&mut self) -> Result<(), Self::Fault>;
}
