//! What a person who is elsewhere is told, in one line: words first, no ids.

use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionKind, QuestionView};

use super::words::duration;
use crate::task::{Outcome, Task};

/// A description, a reason or a subject, as far as a desktop shows it.
const PART_CHARS: usize = 200;

/// `Completed: Look at the tests (explore, 12s)`
pub fn ended(task: &Task, detail: &str) -> String {
    let outcome = task.outcome();
    let what = match outcome {
        Some(Outcome::Completed) => "Completed",
        Some(Outcome::Cancelled) => "Cancelled",
        Some(Outcome::Failed) | None => "Failed",
    };
    let took = duration(task.elapsed_ms(task.run.started));
    let name = plain(&task.description, PART_CHARS);
    let reason = match (outcome, detail.lines().next()) {
        (Some(Outcome::Failed), Some(reason)) => format!(": {}", plain(reason, PART_CHARS)),
        _ => String::new(),
    };
    format!("{what}: {name} ({}, {took}){reason}", task.agent)
}

/// `Look at the tests asks for a permission: bash: ls`
pub fn asked(description: &str, question: &QuestionView) -> String {
    let asks = match question.kind {
        QuestionKind::Permission => "asks for a permission",
        QuestionKind::Question => "asks",
    };
    let name = plain(description, PART_CHARS);
    format!("{name} {asks}: {}", plain(&question.subject, PART_CHARS))
}
