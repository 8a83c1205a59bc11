//! The answer to "why is it not done?", in one sentence; of a finished task, what happened.

use legwork_protocol::Time;
use legwork_protocol::amounts::counted;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{TaskView, Waiting};
use serde::{Deserialize, Serialize};

use crate::model::ask;
use crate::model::row::{State, does};
use crate::model::sentences::{QUESTION_MAX_CHARS, not_notified, waiting};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    pub text: String,
    /// Since when that is so, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

pub fn why(task: &TaskView) -> Why {
    let (text, since) = match State::of(task) {
        State::Asks => asks(task),
        State::Queued | State::Working => match task.waiting.first() {
            Some(slot @ Waiting::Slot { .. }) => {
                (format!("It is {}: all slots are in use.", waiting(slot)), None)
            }
            Some(other) => (format!("It waits: {}.", waiting(other)), None),
            None => (format!("It is at work: {}.", does(task)), Some(task.started)),
        },
        over => (ended(task, over), task.ended),
    };
    Why { text: plain(&text, QUESTION_MAX_CHARS), since }
}

fn asks(task: &TaskView) -> (String, Option<Time>) {
    let Some(first) = task.questions.first() else { return Default::default() };
    let more = match task.questions.len() {
        0 | 1 => String::new(),
        all => format!(" It asks {} more.", counted(all - 1, "thing")),
    };
    let since = task.questions.iter().map(|question| question.since).min();
    (format!("It waits for you: {}{more}", ask::in_short(first)), since)
}

fn ended(task: &TaskView, state: State) -> String {
    let calls = counted(task.tool_calls as usize, "tool call");
    let because = task.reason.as_deref().filter(|reason| !reason.trim().is_empty());
    let because = because.map(|reason| format!(": {}", reason.trim_end_matches('.')));
    let because = because.unwrap_or_default();
    let ended = match state {
        State::Failed => format!("It failed after {calls}{because}."),
        State::Cancelled => format!("It was cancelled after {calls}{because}."),
        _ => format!("It completed after {calls}."),
    };
    let pending = not_notified(task).map(|pending| format!(" But {pending}."));
    ended + &pending.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Outcome;

    use super::*;
    use crate::model::example::{finished, permission, task};

    fn said(task: &TaskView) -> String {
        why(task).text
    }

    #[test]
    fn v2_why_it_is_not_done_is_one_sentence_with_what_it_waits_for() {
        let one = TaskView { questions: vec![permission("bash: ls")], ..task(1) };
        assert_eq!(said(&one), "It waits for you: may it run ls?");
        assert_eq!(why(&one).since, Some(Time(5_000)));
        let two = TaskView { questions: vec![permission("a"), permission("b")], ..task(1) };
        assert!(said(&two).ends_with("It asks 1 thing more."), "{}", said(&two));
        let slot = |ahead| TaskView { waiting: vec![Waiting::Slot { ahead }], ..task(1) };
        assert_eq!(said(&slot(0)), "It is queued, next in line: all slots are in use.");
        assert!(said(&slot(1)).contains("queued, 1 task before it"));
        assert!(said(&slot(7)).contains("queued, 7 tasks before it"));
        assert_eq!(said(&task(1)), "It is at work: read.");
        for waiting in [Waiting::Host, Waiting::AnotherHost] {
            assert!(said(&TaskView { waiting: vec![waiting], ..task(1) }).contains("goes on"));
        }
        let why = "overloaded\u{1b}[2J".to_owned();
        let provider = Waiting::Provider { attempt: 2, why, in_ms: 3 };
        let provider = said(&TaskView { waiting: vec![provider], ..task(1) });
        assert_eq!(provider, "It waits: retrying its provider, attempt 2 (overloaded [2J).");
    }

    #[test]
    fn v2_of_a_finished_task_it_is_what_happened() {
        let done = finished(1, Outcome::Completed);
        assert_eq!(said(&done), "It completed after 2 tool calls.");
        assert_eq!(why(&done).since, Some(Time(9_000)));
        let untold = TaskView { notice_pending: true, ..done };
        assert!(said(&untold).ends_with("has not been notified yet."));
        let terminal = TaskView { parent: "term_1".parse().unwrap(), ..untold };
        assert!(!said(&terminal).contains("notified"));
        let failed = finished(1, Outcome::Failed);
        let failed = TaskView { reason: Some("No credit.".to_owned()), ..failed };
        assert_eq!(said(&failed), "It failed after 2 tool calls: No credit.");
    }
}
