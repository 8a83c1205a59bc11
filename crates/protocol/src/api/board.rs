//! The board: every unfinished task and the ones that ended last, as a front shows them live.
//!
//! It is read as conversations are: each page names a position, and with it the next page has what
//! changed since, as soon as something did. So a front that looks asks again and again, one page at
//! a time. One that reads slowly misses nothing, because a page has what is so now; one that stops
//! asking costs nothing.

use serde::{Deserialize, Serialize};

use super::view::TaskView;
use crate::ids::{TaskId, Time};

/// Which part of the board is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Glance {
    /// The `next` of the page before; nothing for the whole board.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<BoardPosition>,
    /// How long to wait for a change; at most [`crate::limits::BOARD_WAIT_MAX_MS`]. The answer may
    /// come earlier and have nothing.
    pub wait_ms: u64,
    /// How many finished tasks a whole board has, the newest ones; at most
    /// [`crate::limits::LIST_MAX_TASKS`]. Older ones are on the pages of a listing.
    pub finished: usize,
}

/// What a front has seen of the board. Nobody but the daemon looks into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardPosition {
    /// The board that it belongs to: another daemon, or one at which nobody looked for a while, has
    /// another.
    pub board: u64,
    /// The changes of it that were told.
    pub revision: u64,
}

/// The board, or what has changed of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardPage {
    /// Whether this is the whole board: what a front has from before, and is not on it, is gone or
    /// older than the finished tasks that it has.
    pub whole: bool,
    /// The tasks that changed, in the order of their launches. Each has its runs, without their
    /// prompts.
    pub tasks: Vec<TaskView>,
    /// The tasks that were forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<TaskId>,
    /// How many tasks there are of each kind.
    pub counts: Counts,
    /// When the page was made, by the daemon's clock.
    pub now: Time,
    /// What to ask for the next changes with.
    pub next: BoardPosition,
    /// Whether records can be saved at the moment; if not, nothing new is taken on.
    pub healthy: bool,
    /// Whether earlier records could not be read: what is in them is not on the board.
    #[serde(default)]
    pub incomplete: bool,
}

/// Tasks by whom they need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct Counts {
    /// At work, and waiting for a person's answer.
    pub asking: usize,
    /// At work, and waiting for nobody.
    pub working: usize,
    pub queued: usize,
    pub completed: usize,
    pub failed: usize,
    pub cancelled: usize,
    /// How many may be at work at once on one host (`limits.max_running`); 0 for any number.
    pub slots: u32,
}

impl Counts {
    /// All of them.
    pub fn tasks(&self) -> usize {
        self.unfinished() + self.completed + self.failed + self.cancelled
    }

    /// Those that are not over.
    pub fn unfinished(&self) -> usize {
        self.asking + self.working + self.queued
    }
}
