//! A parent that a window shows counts as used in that window (N4).

use legwork_protocol::{Settings, Status, TaskId, WakeOn};
use legwork_sim::Story;
use legwork_sim::host::Nasty;

use crate::ends::told_of;
use crate::telling::undo;

/// The window is closed under a helper that is done after so long, and the conversation is opened
/// in another one.
fn reopened(story: &mut Story, script: &str) -> TaskId {
    let main = story.main.clone();
    let task = story.launch("Explore", script);
    story.pass(2_000);
    story.world.kill_window(0);
    story.pass(5_000);
    let window = story.world.boot();
    story.pass(200);
    story.world.show_session(window, &main);
    task
}

#[test]
fn n4_what_ends_while_a_window_shows_its_parent_starts_a_turn() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = reopened(&mut story, "wait 60000; say found it");
    let turns = story.turns(&main);
    story.until_settled();
    story.pass(5_000);
    assert_eq!(told_of(&story, task).len(), 1);
    assert!(!story.told()[0].quiet, "somebody looks at it");
    assert_eq!(story.turns(&main), turns + 1);
    story.end();
}

/// A helper ends, its window is closed, and a window shows its parent afterwards, which is told
/// without a turn.
fn shown_afterwards(settings: Settings) -> Story {
    let mut story = Story::with(settings, Nasty::calm());
    let main = story.main.clone();
    let task = story.launch("Explore", "say found it");
    undo(&mut story);
    story.until_status(task, Status::Completed);
    let turns = story.turns(&main);
    story.world.kill_window(0);
    let window = story.world.boot();
    story.world.oc.clear_revert(story.world.windows[window].process, &main).unwrap();
    story.pass(200);
    story.world.show_session(window, &main);
    story.until_settled();
    story.pass(60_000);
    assert!(story.told()[0].quiet);
    assert_eq!(story.turns(&main), turns);
    story
}

#[test]
fn n4_what_ended_before_a_window_shows_its_parent_waits_in_the_history() {
    insta::assert_snapshot!(shown_afterwards(Settings::default()).end());
}

#[test]
fn n9_with_last_what_ended_before_a_window_shows_its_parent_is_owed_no_turn() {
    shown_afterwards(Settings { wake: WakeOn::Last, ..Settings::default() }).end();
}

#[test]
fn n4_a_session_that_is_used_in_one_window_is_not_told_through_another_that_shows_it() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "wait 20000; say found it");
    let second = story.world.boot();
    story.pass(1_000);
    story.world.show_session(second, &main);
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1);
    assert!(story.transcript().contains("→ opencode-1: tell main"));
    story.end();
}

/// A second window shows `main`, whose helper is at work.
fn shown_in_two_windows(script: &str) -> (Story, TaskId, usize) {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", script);
    let second = story.world.boot();
    story.pass(200);
    story.world.show_session(second, &main);
    story.pass(2_000);
    (story, task, second)
}

/// The helper ends, and its end is told with a turn, or without one.
fn ends_with_turns(mut story: Story, task: TaskId, turns: u32) {
    let main = story.main.clone();
    let before = story.turns(&main);
    story.until_settled();
    story.pass(5_000);
    assert_eq!(told_of(&story, task).len(), 1);
    assert_eq!(story.told()[0].quiet, turns == 0);
    assert_eq!(story.turns(&main), before + turns);
    story.end();
}

#[test]
fn n4_a_window_that_goes_on_showing_a_session_is_told_when_the_one_that_used_it_is_closed() {
    let (mut story, task, _) = shown_in_two_windows("wait 60000; say found it");
    story.world.kill_window(0);
    ends_with_turns(story, task, 1);
}

#[test]
fn n4_a_window_that_shows_a_session_before_the_end_of_another_is_noticed_is_told() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "wait 60000; say found it");
    let second = story.world.boot();
    story.pass(200);
    story.world.cut_link(0);
    story.pass(10);
    story.world.show_session(second, &main);
    story.pass(10);
    story.world.kill_window(0);
    ends_with_turns(story, task, 1);
}

#[test]
fn n4_a_window_that_goes_on_showing_a_session_is_told_after_a_restart_of_the_daemon() {
    let (mut story, task, _) = shown_in_two_windows("wait 60000; say found it");
    story.world.restart_daemon();
    story.pass(10_000);
    story.world.kill_window(0);
    ends_with_turns(story, task, 1);
}

#[test]
fn n4_a_window_that_shows_something_else_by_then_is_not_woken() {
    let (mut story, task, second) = shown_in_two_windows("wait 60000; say found it");
    story.world.show_nothing(second);
    story.pass(1_000);
    story.world.kill_window(0);
    ends_with_turns(story, task, 0);
}
