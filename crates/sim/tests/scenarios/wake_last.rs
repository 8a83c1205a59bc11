//! `wake = "last"`: only a failure or the last result starts a turn (N9), however the last helper
//! goes.

use legwork_protocol::{Ask, Settings, Status, TaskId, WakeOn};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use serde_json::json;

use crate::telling::{redo, undo};

fn wake_last() -> Story {
    let settings = Settings { wake: WakeOn::Last, ..Settings::default() };
    Story::with(settings, Nasty::scripted())
}

#[test]
fn n9_with_last_only_the_notice_after_which_none_is_unfinished_starts_a_turn() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    for number in 1..=4 {
        story.launch("Explore", &format!("wait {}; say r{number}", number * 5_000));
    }
    story.until("three to be told", |story| story.told().len() == 3);
    assert_eq!(story.turns(&main), turns, "nobody is woken yet");
    story.until_settled();
    story.pass(5_000);
    let quiet: Vec<bool> = story.told().iter().map(|told| told.quiet).collect();
    assert_eq!(quiet, [true, true, true, false]);
    assert_eq!(story.turns(&main), turns + 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n9_with_last_a_failure_and_a_task_that_was_called_off_start_a_turn_at_once() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    let called_off = story.launch("Called off", "hang");
    story.launch("Completes", "wait 5000; say r1");
    story.launch("Fails", "wait 20000; fail 400");
    story.launch("Works on", "wait 90000; say r2");
    story.until("a result to be told", |story| story.told().len() == 1);
    assert_eq!(story.turns(&main), turns);
    story.until("the failure to be told", |story| story.told().len() == 2);
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    story.person(Ask::Cancel { task: called_off.to_string() });
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 2);
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 3);
    insta::assert_snapshot!(story.end());
}

/// What the others found waits in the history meanwhile.
#[test]
fn n9_with_last_a_restart_of_the_daemon_loses_no_turn() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    story.launch("Early", "wait 5000; say r1");
    story.launch("Late", "wait 30000; say r2");
    story.until("the early one to be told", |story| story.told().len() == 1);
    story.world.restart_daemon();
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    assert!(!story.told()[1].quiet);
    insta::assert_snapshot!(story.end());
}

/// What was found before waits in the history, and nothing else would make the model read it.
#[test]
fn n9_with_last_a_last_helper_that_is_cleared_starts_the_turn() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    story.launch("First", "wait 5000; say r1");
    story.launch("Second", "wait 9000; say r2");
    let last = story.launch("Hangs", "hang");
    story.until("two to be told", |story| story.told().len() == 2);
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns);
    story.person(Ask::Forget { tasks: vec![last.to_string()] });
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n9_with_last_a_restart_before_the_last_helper_is_cleared_loses_no_turn() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    let (_, last) = told_and_last(&mut story);
    story.world.restart_daemon();
    story.pass(5_000);
    forget(&mut story, &[last]);
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    story.end();
}

/// A helper whose result was told without a turn, and the last one, which hangs.
fn told_and_last(story: &mut Story) -> (TaskId, TaskId) {
    let first = story.launch("First", "wait 5000; say r1");
    let last = story.launch("Hangs", "hang");
    story.until("one to be told", |story| story.told().len() == 1);
    story.pass(5_000);
    (first, last)
}

fn forget(story: &mut Story, tasks: &[TaskId]) {
    let tasks = tasks.iter().map(ToString::to_string).collect();
    story.person(Ask::Forget { tasks });
}

/// Everything is cleared, and what the parent was told has its turn, which is one.
fn ends_with_one_turn(mut story: Story, turns: u32) {
    let main = story.main.clone();
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    assert!(story.world.audit().rows.is_empty(), "what was cleared is gone");
    story.end();
}

#[test]
fn n9_with_last_a_result_that_is_cleared_before_the_last_helper_is_has_its_turn() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    let (first, last) = told_and_last(&mut story);
    forget(&mut story, &[first]);
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns, "one is at work yet");
    forget(&mut story, &[last]);
    ends_with_one_turn(story, turns);
}

#[test]
fn n9_with_last_a_result_that_is_cleared_with_the_last_helper_has_its_turn() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    let (first, last) = told_and_last(&mut story);
    forget(&mut story, &[first, last]);
    ends_with_one_turn(story, turns);
}

/// A turn cannot begin while an undo is pending.
#[test]
fn n9_with_last_what_is_cleared_stays_until_the_turn_that_it_is_owed_can_begin() {
    let mut story = wake_last();
    let main = story.main.clone();
    let turns = story.turns(&main);
    let (first, last) = told_and_last(&mut story);
    undo(&mut story);
    forget(&mut story, &[first, last]);
    story.pass(5_000);
    forget(&mut story, &[first]);
    story.pass(5_000);
    assert_eq!(story.status(first), Some(Status::Completed));
    redo(&mut story);
    ends_with_one_turn(story, turns);
}

#[test]
fn n9_with_last_a_cleared_result_has_its_turn_when_a_run_of_another_session_is_the_last() {
    let mut story = wake_last();
    let main = story.main.clone();
    let other = story.conversation("other");
    let resumed = story.launch("Resumed", "say r1");
    story.until_settled();
    let turns = story.turns(&main);
    let first = story.launch("First", "wait 5000; say r2");
    let arguments = json!({ "resume": resumed.to_string(), "prompt": "wait 40000; say r3" });
    story.call(&other, "background_task", arguments);
    story.until("the first to be told", |story| story.told().len() == 2);
    story.pass(5_000);
    forget(&mut story, &[first]);
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    story.end();
}

/// The notice of that run is for whoever asked for it.
#[test]
fn n9_with_last_a_last_run_that_another_session_asked_for_starts_the_turn() {
    let mut story = wake_last();
    let main = story.main.clone();
    let other = story.conversation("other");
    let resumed = story.launch("Resumed", "say r1");
    story.until_settled();
    let turns = story.turns(&main);
    story.launch("First", "wait 5000; say r2");
    let arguments = json!({ "resume": resumed.to_string(), "prompt": "wait 20000; say r3" });
    story.call(&other, "background_task", arguments);
    story.until("the first to be told", |story| story.told().len() == 2);
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    story.end();
}

/// Who reads what it was told meanwhile needs no turn for it.
#[test]
fn n9_with_last_a_session_that_was_used_meanwhile_is_not_woken_for_what_it_has_read() {
    let mut story = wake_last();
    let main = story.main.clone();
    story.launch("First", "wait 5000; say r1");
    let last = story.launch("Hangs", "hang");
    story.until("one to be told", |story| story.told().len() == 1);
    story.pass(5_000);
    story.ask("background_list", json!({}));
    let turns = story.turns(&main);
    story.person(Ask::Forget { tasks: vec![last.to_string()] });
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns);
    story.end();
}
