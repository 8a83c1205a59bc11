//! One OpenCode process: its turns and the questions that wait in it. All of it is lost when the
//! process ends; what survives is in `storage.rs`.

use std::sync::Arc;

use legwork_protocol::{QuestionId, SessionId};

use super::turn::Turn;

#[derive(Debug, Clone)]
pub(super) struct Process {
    pub alive: bool,
    /// The database that it has open.
    pub database: u8,
    /// At most one for each session; nothing keeps another process from having one too.
    pub turns: Vec<Turn>,
    pub questions: Vec<Question>,
}

/// A permission that a turn waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub id: QuestionId,
    /// The session that asks.
    pub session: SessionId,
    pub text: Arc<str>,
}

impl Process {
    pub fn new(database: u8) -> Self {
        Self { alive: true, database, turns: Vec::new(), questions: Vec::new() }
    }

    pub fn turn(&self, session: usize) -> Option<&Turn> {
        self.turns.iter().find(|turn| turn.session == session)
    }

    pub fn turn_mut(&mut self, session: usize) -> Option<&mut Turn> {
        self.turns.iter_mut().find(|turn| turn.session == session)
    }

    /// Takes a turn away.
    pub fn end(&mut self, session: usize) -> Option<Turn> {
        let place = self.turns.iter().position(|turn| turn.session == session)?;
        Some(self.turns.swap_remove(place))
    }
}
