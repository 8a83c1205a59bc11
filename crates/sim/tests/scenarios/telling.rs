//! When and how a parent is told: N4 to N7. Turns, gathering, undos, and hosts that lose what
//! they took.

use std::sync::Arc;

use legwork_protocol::{SessionId, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::host::{Nasty, User};
use serde_json::json;

use crate::ends::{count, occupy, process, told_of, until_answered};

/// The messages of ours in a session.
pub fn ours(story: &Story, session: &SessionId) -> Vec<User> {
    let there = story.world.oc.once(session).into_iter();
    let prompts = there.flat_map(|session| session.prompts());
    prompts.map(|(_, user)| user).filter(|user| user.ours).cloned().collect()
}

/// A person writes into `main`, in the first window, to this agent.
pub fn write(story: &mut Story, agent: &str, text: &str) {
    let (process, main) = (process(story), story.main.clone());
    let agent: Arc<str> = agent.into();
    assert!(story.world.oc.used(process, &main, &agent, text).is_ok());
}

pub fn undo(story: &mut Story) {
    let (process, main) = (process(story), story.main.clone());
    assert_eq!(story.world.oc.set_revert(process, &main), Ok(()));
}

pub fn redo(story: &mut Story) {
    let (process, main) = (process(story), story.main.clone());
    assert_eq!(story.world.oc.clear_revert(process, &main), Ok(()));
}

/// The moments at which a delivery was sent.
fn sendings(story: &Story) -> Vec<u64> {
    let text = story.world.trace.text();
    let lines = text.lines().filter(|line| line.contains(": tell ses_"));
    let moment = |line: &str| line.get(..9)?.trim().replace('.', "").parse().ok();
    lines.filter_map(moment).collect()
}

#[test]
fn n4_an_idle_parent_begins_a_turn() {
    let mut story = Story::new();
    let main = story.main.clone();
    let turns = story.turns(&main);
    story.launch("Explore", "say found it");
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    assert!(!story.told()[0].quiet);
    let delivery = &ours(&story, &main)[0];
    assert_eq!((delivery.tally.started, delivery.tally.answered), (1, 1));
    insta::assert_snapshot!(story.end());
}

#[test]
fn n4_a_busy_parent_reads_it_in_the_turn_that_it_is_in() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    story.launch("Explore", "say found it");
    write(&mut story, "build", "tool grep 30000; say all read");
    story.pass(1_500);
    let turns = story.turns(&main);
    story.until_settled();
    assert!(story.world.oc.runs(&main), "told while its turn goes on");
    story.pass(60_000);
    assert_eq!(story.turns(&main), turns);
    let delivery = &ours(&story, &main)[0];
    assert_eq!((delivery.tally.joined, delivery.tally.started, delivery.tally.answered), (1, 0, 1));
    insta::assert_snapshot!(story.end());
}

/// A host that swallows what comes while a turn is failing, and is pleasant otherwise.
pub fn swallows() -> Nasty {
    let nasty = Nasty { error_swallows: true, error_before_message: true, ..Nasty::calm() };
    Nasty { idle_twice: true, second_idle_ms: (300, 300), ..nasty }
}

#[test]
fn n4_a_message_that_a_failing_turn_swallows_is_given_its_turn_once() {
    for ms in (0..650).step_by(50) {
        let mut story = Story::with(Settings::default(), swallows());
        let main = story.main.clone();
        story.launch("Explore", "wait 3000; say found it");
        write(&mut story, "build", &format!("wait {}; fail 401", 3_050 + ms));
        story.until_settled();
        story.pass(60_000);
        let [told] = &ours(&story, &main)[..] else { panic!("told otherwise than once") };
        let tally = told.tally;
        assert_eq!((tally.joined, tally.calls, tally.answered), (1, 1, 1), "{ms}");
        story.end();
    }
}

#[test]
fn n4_it_goes_to_the_agent_that_the_person_last_used() {
    let mut story = Story::new();
    let main = story.main.clone();
    story.launch("Explore", "wait 3000; say found it");
    write(&mut story, "plan", "Hello");
    story.until_settled();
    story.launch("Again", "wait 3000; say found more");
    story.until_settled();
    let agents: Vec<_> = ours(&story, &main).into_iter().map(|user| user.agent).collect();
    assert_eq!(agents, ["plan".into(), Arc::<str>::from("plan")]);
    write(&mut story, "build", "Hello");
    story.launch("Last", "wait 3000; say that is all");
    story.until_settled();
    assert_eq!(&*ours(&story, &main)[2].agent, "build");
    story.end();
}

#[test]
fn n4_a_parent_that_nobody_has_used_since_its_host_came_back_is_told_without_a_turn() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "wait 60000; say found it");
    story.pass(2_000);
    let turns = story.turns(&main);
    story.world.kill_window(0);
    story.pass(5_000);
    story.world.boot();
    story.until_settled();
    story.pass(60_000);
    assert_eq!(told_of(&story, task).len(), 1);
    assert!(story.told()[0].quiet);
    assert_eq!(story.turns(&main), turns);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n4_a_parent_that_is_used_again_begins_turns_again() {
    let mut story = Story::new();
    let main = story.main.clone();
    let first = story.launch("Explore", "say found it");
    undo(&mut story);
    story.until_status(first, Status::Completed);
    story.world.kill_window(0);
    let window = story.world.boot();
    story.pass(100);
    story.world.use_session(window, &main);
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    assert!(!story.told()[0].quiet, "somebody is there");
    story.pass(5_000);
    let turns = story.turns(&main);
    let arguments = legwork_sim::story::launch("Again", "wait 3000; say found more");
    let call = story.start_in(window, &main, "background_task", arguments);
    story.answer(call);
    story.until_settled();
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    story.end();
}

#[test]
fn n4_without_start_turns_every_notice_waits_in_the_history() {
    let settings = Settings { start_turns: false, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let main = story.main.clone();
    let turns = story.turns(&main);
    story.launch("Explore", "say found it");
    story.until_settled();
    story.pass(60_000);
    assert!(story.told()[0].quiet);
    assert_eq!(story.turns(&main), turns);
    story.end();
}

/// Launches so many helpers that end at about the same moment, and lets that pass.
fn end_together(story: &mut Story, helpers: u64) -> Vec<TaskId> {
    let end = story.world.now.plus(10_000);
    let mut tasks = Vec::new();
    for number in 0..helpers {
        let wait = end.since(story.world.now);
        tasks.push(story.launch("Explore", &format!("wait {wait}; say {number}")));
    }
    story.until_settled();
    let ends: Vec<Time> =
        tasks.iter().filter_map(|id| story.world.audit().rows[id].task.run.ended).collect();
    let (first, last) = (ends.iter().min(), ends.iter().max());
    assert!(last.zip(first).is_some_and(|(last, first)| last.since(*first) <= 100));
    tasks
}

#[test]
fn n5_five_that_end_within_100_ms_are_one_message_and_one_turn() {
    let mut story = Story::new();
    let main = story.main.clone();
    let turns = story.turns(&main);
    let tasks = end_together(&mut story, 5);
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].results.len(), 5);
    let lines: Vec<&str> = told[0].headline.lines().collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[5], "5 background tasks finished, 0 still running.");
    for task in tasks {
        assert_eq!(told_of(&story, task).len(), 1);
    }
    story.pass(30_000);
    assert_eq!(story.turns(&main), turns + 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n5_more_than_a_message_holds_are_still_one_turn() {
    let mut story = Story::new();
    let main = story.main.clone();
    let turns = story.turns(&main);
    let tasks = end_together(&mut story, 12);
    for task in tasks {
        assert_eq!(told_of(&story, task).len(), 1);
    }
    assert_eq!(story.told().len(), 2);
    story.pass(30_000);
    assert_eq!(story.turns(&main), turns + 1);
    story.end();
}

#[test]
fn n5_what_came_to_be_owed_while_the_parent_could_not_be_told_is_one_message() {
    let mut story = Story::new();
    let main = story.main.clone();
    for number in 0..3 {
        story.launch("Explore", &format!("wait {}; say {number}", 3_000 * (number + 1)));
    }
    undo(&mut story);
    let turns = story.turns(&main);
    story.pass(30_000);
    redo(&mut story);
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    story.pass(5_000);
    assert_eq!(story.turns(&main), turns + 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n5_two_parents_are_two_messages() {
    let mut story = Story::new();
    let (main, other) = (story.main.clone(), story.conversation("other"));
    story.pass(1_000);
    for _ in 0..2 {
        story.launch_from(&main, "Ours", "wait 3000; say ours");
        story.launch_from(&other, "Theirs", "wait 3000; say theirs");
    }
    story.until_settled();
    for (session, word) in [(&main, "Ours"), (&other, "Theirs")] {
        let deliveries = story.deliveries(session);
        assert_eq!(deliveries.len(), 1);
        let lines: Vec<&str> = deliveries[0].headline.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[..2].iter().all(|line| line.contains(word)), "{lines:?}");
        assert_eq!(lines[2], "2 background tasks finished, 0 still running.");
    }
    story.end();
}

#[test]
fn n6_an_undo_that_is_pending_is_waited_for() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    undo(&mut story);
    story.until_status(task, Status::Completed);
    story.pass(60_000);
    assert!(story.told().is_empty());
    assert_eq!(story.world.oc.undos_destroyed(), 0);
    redo(&mut story);
    story.pass(200);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n6_an_undo_that_the_person_makes_permanent_is_over_too() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "say found it");
    undo(&mut story);
    story.until_status(task, Status::Completed);
    story.pass(60_000);
    story.world.use_session(0, &main);
    story.pass(200);
    assert_eq!(told_of(&story, task).len(), 1);
    assert_eq!(story.world.oc.undos_destroyed(), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n6_what_waits_for_an_undo_can_still_be_withdrawn() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    undo(&mut story);
    story.until_status(task, Status::Completed);
    story.pass(20_000);
    let read = story.ask("background_output", json!({ "task_id": task.to_string() }));
    assert!(read.ends_with("found it"), "{read}");
    redo(&mut story);
    story.until_settled();
    story.pass(30_000);
    assert_eq!(told_of(&story, task).len(), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n6_an_undo_is_respected_by_a_daemon_that_was_killed_at_any_moment() {
    for steps in 0..25 {
        let mut story = Story::new();
        let task = story.launch("Explore", "say found it");
        undo(&mut story);
        until_answered(&mut story, task);
        for _ in 0..steps {
            story.world.step();
        }
        story.world.kill_daemon();
        story.pass(500);
        story.world.start_daemon();
        story.pass(30_000);
        assert!(story.told().is_empty(), "killed after {steps} steps");
        redo(&mut story);
        story.pass(6_000);
        assert_eq!(told_of(&story, task).len(), 1, "killed after {steps} steps");
        story.end();
    }
}

/// Requests are lost from the first telling on.
fn lose_the_telling(story: &mut Story, task: TaskId) {
    until_answered(story, task);
    story.until("the look", |story| count(story, "how far is") == 1);
    story.world.faults.lost_before = 1000;
}

#[test]
fn n7_a_sending_that_is_lost_twice_arrives_with_the_third_and_once() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    lose_the_telling(&mut story, task);
    story.until("two sendings", |story| sendings(story).len() == 2);
    story.world.faults.lost_before = 0;
    assert!(story.told().is_empty());
    story.until("the third", |story| sendings(story).len() == 3);
    story.pass(100);
    assert_eq!(told_of(&story, task).len(), 1);
    story.pass(60_000);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n7_a_sending_whose_answer_is_lost_is_not_told_twice() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let turns = story.turns(&main);
    let task = story.launch("Explore", "say found it");
    lose_the_telling(&mut story, task);
    story.world.faults.lost_before = 0;
    story.world.faults.lost_after = 1000;
    story.until("two sendings", |story| sendings(story).len() == 2);
    story.world.faults.lost_after = 0;
    story.until_settled();
    story.pass(60_000);
    assert_eq!(told_of(&story, task).len(), 1);
    assert_eq!(story.turns(&main), turns + 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n7_the_pauses_grow() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    until_answered(&mut story, task);
    story.until("the delivery", |story| !story.world.audit().deliveries.is_empty());
    let delivery = story.world.audit().deliveries.first().cloned().unwrap();
    occupy(&mut story, delivery);
    story.until("ten sendings", |story| sendings(story).len() == 10);
    let sent = sendings(&story);
    let pauses: Vec<u64> = sent.windows(2).map(|two| two[1] - two[0]).collect();
    let seconds: Vec<u64> = pauses.iter().map(|ms| ms / 1000).collect();
    assert_eq!(seconds, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(told_of(&story, task).len(), 0);
    assert!(story.world.audit().told.is_empty(), "taken is not told");
}

#[test]
fn n7_a_delivery_that_the_host_took_and_never_stored_is_sent_again() {
    let nasty = Nasty { store_ms: (60, 60), ..Nasty::calm() };
    let mut story = Story::with(Settings::default(), nasty);
    let main = story.main.clone();
    let task = story.launch("Explore", "say found it");
    story.until("the attempt", |story| story.world.is_being_told(&main));
    story.pass(40);
    assert!(story.told().is_empty());
    story.world.kill_window(0);
    story.pass(1_000);
    assert!(story.told().is_empty(), "the host took it along");
    story.world.boot();
    story.until_settled();
    story.pass(60_000);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n7_a_parent_that_is_gone_ends_the_debt() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "say found it");
    undo(&mut story);
    story.until_status(task, Status::Completed);
    story.pass(7_000);
    story.world.faults.hint_lost = 1000;
    story.world.delete_session(0, &main);
    story.pass(6_000);
    assert!(story.world.audit().pending.is_empty());
    assert_eq!(story.status(task), None);
    let requests = story.world.requests;
    story.pass(10 * 60_000);
    assert_eq!(story.world.requests, requests);
    assert_eq!(told_of(&story, task).len(), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n7_a_host_that_cannot_be_reached_for_long_loses_no_notice() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    lose_the_telling(&mut story, task);
    story.pass(3 * 3_600_000);
    assert!(story.told().is_empty());
    story.world.faults.lost_before = 0;
    story.pass(70_000);
    assert_eq!(told_of(&story, task).len(), 1);
    story.end();
}
