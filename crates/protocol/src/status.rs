//! What anybody sees of a task: five words, no sixth. Finer facts stand beside the status.

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

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// The text is none of the five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such status")]
pub struct NoSuchStatus;

impl FromStr for Status {
    type Err = NoSuchStatus;
    fn from_str(text: &str) -> Result<Self, NoSuchStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(NoSuchStatus)
    }
}
