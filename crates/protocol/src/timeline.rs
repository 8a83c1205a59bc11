//! A task's timeline: every decision about it, as a code with values. The store keeps events in
//! this form. The engine makes a sentence of one when somebody reads it.

use serde::{Deserialize, Serialize};

use crate::api::Reply;
use crate::api::view::QuestionView;
use crate::status::{Outcome, Stage};

/// A decision about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Event {
    Launched {
        description: String,
        agent: String,
        stage: Stage,
    },
    Resumed {
        by_person: bool,
        stage: Stage,
    },
    /// Its run has come to this stage.
    Moved {
        stage: Stage,
    },
    /// It is queued on another host than before.
    Requeued,
    /// Its host ended, and it is queued to go on.
    Interrupted,
    /// Its run is over.
    Ended {
        outcome: Outcome,
        took_ms: u64,
        /// The beginning of the result, or the reason why there is none.
        detail: String,
    },
    /// Its result was read for the first time.
    Retrieved,
    /// A person has undone the message that launched it, and it works on.
    LaunchUndone,
    Asked {
        question: QuestionView,
    },
    Answered {
        /// The beginning of the question.
        subject: String,
        how: Settled,
    },
    /// A notice is on its way.
    Notice {
        about: About,
        step: NoticeStep,
    },
    /// A notice is dealt with.
    NoticeDone {
        about: About,
        end: DeliveryEnd,
    },
    /// Its session is being stopped.
    Stopping,
    /// A session that may have been opened for it is being deleted.
    Discarding,
    /// Nothing of it runs any more.
    Stopped,
    Forgotten {
        /// Because the session that launched it was deleted.
        with_parent: bool,
    },
    /// The sentence of an earlier version, which kept no codes.
    Sentence {
        text: String,
        detail: bool,
    },
}

impl Event {
    /// Whether it says how something was done, and not what became of the task: it is of use only
    /// to find a fault.
    pub fn is_detail(&self) -> bool {
        match self {
            Self::Moved { .. }
            | Self::Notice { .. }
            | Self::Stopping
            | Self::Discarding
            | Self::Stopped => true,
            Self::Sentence { detail, .. } => *detail,
            _ => false,
        }
    }
}

/// The subject of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// The end of a run.
    End,
    /// A question, by its number in the run.
    Question(u32),
    /// An end that was told without a turn, which the session is to have when none of its tasks is
    /// unfinished any more.
    Unread,
}

impl About {
    /// Whether it is about a question.
    pub fn is_question(self) -> bool {
        matches!(self, Self::Question(_))
    }
}

/// How far a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeStep {
    /// It is to be sent.
    Queued,
    /// It was withdrawn before it was sent.
    NotNeeded,
    /// It is in a delivery.
    Sending,
    /// Nobody can put it into its session: whoever has that asks for it.
    Pulled,
    /// Its delivery was not sent, and it is queued again.
    Held,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryEnd {
    /// Its session has it.
    Delivered,
    /// Its session does not exist any more.
    ParentGone,
    /// The host refused it too often.
    Refused,
}

/// How a helper's question was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settled {
    /// A person answered it through legwork.
    ByPerson(Reply),
    /// In the host's own dialog, with this answer if the host tells it.
    InHost(Option<Reply>),
    /// The run ended first.
    RunEnded,
    /// The host ended first.
    HostEnded,
}
