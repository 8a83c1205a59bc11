//! A task and its lifecycle, on one screen.
//!
//! ```text
//!            launch                                    resume
//!              │              slot free                  │
//!              ├──────────► Queued ◄─────────────────────┤
//!              │              │   └───────────┐          │
//!              ▼              ▼               ▼          │
//!           Opening ◄─────────┘           Prompting ◄────┤
//!              │ session found or made        ▲ │        │
//!              └──────────────────────────────┘ │ taken  │
//!                                               ▼        │
//!                    Finished ◄──────────── Working      │
//!              (Completed │ Failed │ Cancelled)          │
//!                    └─── Completed ─────────────────────┘
//! ```
//!
//! A person may resume from any end, a session from Completed only. Every unfinished stage may also
//! go straight to Finished (a failure, a cancel), and a run that was cut off with its host may go
//! back to Queued on another one (`recovery.interrupted`). Nothing else: the store refuses any
//! other move.

use std::sync::Arc;

use legwork_protocol::limits::CONTINUE_MAX;
use legwork_protocol::{
    CallKey, HostId, MessageId, Place, QuestionId, SessionId, Status, TaskId, Time, Usage,
};
pub use legwork_protocol::{Outcome, Stage as StageName};

use crate::record::{About, NoticeId};

/// What is saved of a task. What a restart may forget is in [`crate::Volatile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    /// Its number in the order of launches; listings go by it.
    pub seq: u64,
    /// Where its session is kept: the place of the host that runs it.
    pub place: Place,
    /// The place of the session that launched it. Sessions of this place see the task.
    pub realm: Place,
    pub directory: Arc<str>,
    /// The session at the top of the tree that it belongs to.
    pub root: SessionId,
    /// The session that launched it.
    pub parent: SessionId,
    /// 1 for a helper, 2 for a helper's helper.
    pub depth: u32,
    /// Who does the work.
    pub agent: Arc<str>,
    /// Its name for people: one line, not too long.
    pub description: Arc<str>,
    pub created: Time,
    /// Its session is a copy of its parent's up to this message; without it, it begins empty.
    pub fork_before: Option<Arc<str>>,
    pub session: Option<SessionId>,
    pub stage: Stage,
    pub run: Run,
    pub retrieved: Option<Time>,
}

/// One stretch of work on a task: the launch, or a resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// 0 for the launch; each resume adds one. Also the task's resume count.
    pub number: u32,
    /// The session that asked for it and is told of its end.
    pub asker: SessionId,
    pub key: CallKey,
    pub host: HostId,
    pub order: u64,
    /// What to do; dropped from memory when it is finished.
    pub prompt: Option<Arc<str>>,
    /// How often it was asked to go on after its host ended.
    pub continued: u32,
    /// When its work began: it was accepted, or left the queue.
    pub started: Time,
    /// How much of the time since then nothing ran at all, because the machine slept.
    pub paused_ms: u64,
    pub ended: Option<Time>,
    /// Tool calls, as far as they are known.
    pub tool_calls: u32,
    pub usage: Usage,
    /// What of that was used up before it was last asked to go on, by its earlier prompts.
    pub used_before: Usage,
    pub asked: Asked,
}

/// What a task asked people: the questions of its run, after those of the runs before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// How many questions its earlier runs asked; all that there were, once it is finished.
    pub before: u32,
    /// In order, so that none is told twice. Dropped when the run is finished.
    pub ids: Vec<QuestionId>,
}

impl Asked {
    /// The number of a question among all of the task's, from 1 on; 0 if it has none.
    pub(crate) fn number(&self, question: &QuestionId) -> u32 {
        let at = self.ids.iter().position(|asked| asked == question);
        at.map_or(0, |at| self.before.saturating_add(at as u32 + 1))
    }

    /// What is left of it when the run is finished: the next one counts on.
    pub fn closed(&self) -> Self {
        Self { before: self.before.saturating_add(self.ids.len() as u32), ids: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It waits for one of its host's slots.
    Queued,
    /// Its session is being opened. Saved before the host is asked, so that a session that came
    /// into being unseen is found again.
    Opening,
    /// Its prompt is being handed over, under this id, as often as it takes.
    Prompting(MessageId),
    /// The host has the prompt. Only a look that finds its answer, or its failure, ends this stage.
    Working(MessageId),
    /// The result or the reason is in the store.
    Finished(Outcome),
}

/// Who has a task go on. A session takes an end for what it is; a person may think otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResumedBy {
    Session,
    Person,
}

impl Stage {
    /// The stage without what it carries; guards of the store go by it.
    pub fn name(&self) -> StageName {
        match self {
            Self::Queued => StageName::Queued,
            Self::Opening => StageName::Opening,
            Self::Prompting(_) => StageName::Prompting,
            Self::Working(_) => StageName::Working,
            Self::Finished(outcome) => outcome.stage(),
        }
    }

    /// The prompt of the run, once it is handed over or being so.
    pub fn prompt(&self) -> Option<&MessageId> {
        match self {
            Self::Prompting(message) | Self::Working(message) => Some(message),
            Self::Queued | Self::Opening | Self::Finished(_) => None,
        }
    }

    pub fn holds_slot(&self) -> bool {
        matches!(self, Self::Opening | Self::Prompting(_) | Self::Working(_))
    }
}

impl ResumedBy {
    /// Whether a run that came so far may be resumed.
    pub fn may_resume(self, from: StageName) -> bool {
        match from {
            StageName::Completed => true,
            StageName::Failed | StageName::Cancelled => self == Self::Person,
            StageName::Queued | StageName::Opening | StageName::Prompting | StageName::Working => {
                false
            }
        }
    }
}

impl Task {
    pub fn status(&self) -> Status {
        match self.outcome() {
            Some(outcome) => outcome.into(),
            None if self.run.number == 0 => Status::Running,
            None => Status::Resumed,
        }
    }

    pub fn outcome(&self) -> Option<Outcome> {
        match self.stage {
            Stage::Finished(outcome) => Some(outcome),
            Stage::Queued | Stage::Opening | Stage::Prompting(_) | Stage::Working(_) => None,
        }
    }

    /// The notice of the present run about this.
    pub fn notice(&self, about: About) -> NoticeId {
        NoticeId { task: self.id, run: self.run.number, about }
    }

    /// Whether it may be asked to go on after its host ended.
    pub fn may_go_on(&self) -> bool {
        self.run.continued < CONTINUE_MAX
    }

    pub fn is_finished(&self) -> bool {
        self.outcome().is_some()
    }

    /// How long the run took, or takes so far. Time in which nothing ran does not count.
    pub fn elapsed_ms(&self, now: Time) -> u64 {
        let passed = self.run.ended.unwrap_or(now).since(self.run.started);
        passed.saturating_sub(self.run.paused_ms)
    }
}
