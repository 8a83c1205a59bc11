//! How far a task is: its public status in five words, the stage of its run, which is finer, and
//! how a run ended. Every layer uses these, and the store keeps their words.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The public status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Its first run is unfinished.
    Running,
    /// Its last run was answered.
    Completed,
    /// Its last run failed. Final.
    Error,
    /// It was called off. Final.
    Cancelled,
    /// A resume of it is unfinished.
    Resumed,
}

impl Status {
    /// All five, in the order in which they are named to a caller.
    pub const ALL: [Status; 5] =
        [Self::Running, Self::Completed, Self::Error, Self::Cancelled, Self::Resumed];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Resumed => "resumed",
        }
    }

    /// Whether a run is going on.
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::Running | Self::Resumed)
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It waits for one of its host's slots.
    Queued,
    /// Its session is being opened.
    Opening,
    /// Its prompt is being sent.
    Prompting,
    /// Its host has the prompt.
    Working,
    /// It was answered.
    Completed,
    /// It failed.
    Failed,
    /// It was called off.
    Cancelled,
}

impl Stage {
    /// All of them, in the order of a life.
    pub const ALL: [Stage; 7] = [
        Self::Queued,
        Self::Opening,
        Self::Prompting,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Opening => "opening",
            Self::Prompting => "prompting",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// How the run ended, if it has.
    pub fn outcome(self) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.stage() == self)
    }

    /// Whether a run may go from this stage to that one, or stay where it is.
    pub fn may_become(self, next: Stage) -> bool {
        use Stage::{Cancelled, Completed, Failed, Opening, Prompting, Queued, Working};
        match self {
            Queued => next != Working && next != Completed,
            Opening => next != Working && next != Completed,
            Prompting => next != Opening,
            Working => next != Opening && next != Prompting,
            // Only a resume leads on from an end, and it is a move of its own.
            Completed | Failed | Cancelled => false,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum Outcome {
    Completed,
    Failed,
    Cancelled,
}

impl Outcome {
    /// All three.
    pub const ALL: [Outcome; 3] = [Self::Completed, Self::Failed, Self::Cancelled];

    /// The stage of a run that ended so.
    pub fn stage(self) -> Stage {
        match self {
            Self::Completed => Stage::Completed,
            Self::Failed => Stage::Failed,
            Self::Cancelled => Stage::Cancelled,
        }
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        self.stage().as_str()
    }
}

impl From<Outcome> for Status {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Failed => Self::Error,
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}

/// The text is none of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such {0}")]
pub struct NoSuchWord(&'static str);

macro_rules! by_word {
    ($($name:ident, $called:literal;)+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = NoSuchWord;
            fn from_str(text: &str) -> Result<Self, NoSuchWord> {
                Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or(NoSuchWord($called))
            }
        }
    )+};
}

by_word! {
    Status, "status";
    Stage, "stage";
    Outcome, "outcome";
}
