//! What a person who is elsewhere is told, in one line: words first, no ids.

use legwork_protocol::refusal::plain;
use legwork_protocol::view::QuestionView;

use super::words::{self, duration};
use crate::task::{Outcome, Task};

/// A description, a reason or a subject, as far as a desktop shows it.
const PART_CHARS: usize = 200;

/// `Completed: Look at the tests (explore, 12s)`
pub fn ended(task: &Task, detail: &str) -> String {
    let outcome = task.outcome();
    let took = duration(task.elapsed_ms(task.run.started));
    let name = plain(&task.description, PART_CHARS);
    let reason = match (outcome, detail.lines().next()) {
        (Some(Outcome::Failed), Some(reason)) => format!(": {}", plain(reason, PART_CHARS)),
        _ => String::new(),
    };
    format!("{}: {name} ({}, {took}){reason}", words::ended(outcome), task.agent)
}

/// `Look at the tests asks for a permission: bash: ls`
pub fn asked(description: &str, question: &QuestionView) -> String {
    let name = plain(description, PART_CHARS);
    let subject = plain(&question.subject, PART_CHARS);
    format!("{name} {}: {subject}", words::asks(question.kind))
}
