//! Questions of helpers, when events and answers to polls overtake each other.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod desk;

use desk::{Desk, parent, session_id};
use legwork_engine::input::Hint;
use legwork_engine::record::Change;
use legwork_engine::work::{Action, Finding, HostError, Question, Scope};
use legwork_protocol::Settings;
use legwork_protocol::limits::POLL_EVERY_MS;

fn question() -> Question {
    Question::permission("per_1".parse().unwrap(), "bash: cargo test")
}

fn polled(questions: Vec<Question>) -> Result<Finding, HostError> {
    let session = || session_id("ses_one");
    let questions = questions.into_iter().map(|question| (session(), question)).collect();
    Ok(Finding::Polled { busy: vec![(session(), None)], questions })
}

/// A helper that asks while the answer to a poll is on its way.
fn asks_during_a_poll() -> Desk {
    let mut desk = Desk::new(Settings::default());
    desk.host_comes("host_1");
    let _ = desk.working(parent("call_1"), "Explore", "ses_one");
    let is_poll = |action: &Action| matches!(action, Action::Poll { scope: Scope::Questions });
    desk.pass(POLL_EVERY_MS);
    while !desk.under_way.iter().any(|work| is_poll(&work.action)) {
        let _ = desk.found("poll", polled(Vec::new()));
        desk.pass(POLL_EVERY_MS);
    }
    desk.pass(1);
    desk.hint(Hint::Asked { session: session_id("ses_one"), question: question() });
    assert_eq!(desk.pending.len(), 1);
    desk
}

#[test]
fn d5_a_poll_that_was_asked_before_a_question_came_does_not_settle_it() {
    let mut desk = asks_during_a_poll();
    let _ = desk.found("poll", polled(Vec::new()));
    assert_eq!(desk.pending.len(), 1, "its asker is told");
    assert!(!desk.saved.iter().any(|change| matches!(change, Change::Answered { .. })));
}

#[test]
fn d5_the_next_poll_settles_a_question_that_is_gone() {
    let mut desk = asks_during_a_poll();
    for questions in [vec![question()], Vec::new()] {
        let _ = desk.found("poll", polled(questions));
        desk.pass(POLL_EVERY_MS);
    }
    assert!(desk.saved.iter().any(|change| matches!(change, Change::Answered { .. })));
}
