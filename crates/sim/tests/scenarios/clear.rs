//! `background_clear`: C1 to C3. A session's own tasks are stopped and forgotten, and nothing of
//! anybody else's.

use legwork_engine::task::StageName;
use legwork_protocol::Ask;
use legwork_protocol::{SessionId, Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use serde_json::json;

use super::cancel::{
    all_lost, all_slow, calm, cancel, launch_to_opening, runs, stage, until_stage,
};

fn clear(story: &mut Story) -> String {
    story.ask("background_clear", json!({}))
}

fn is_unknown(story: &mut Story, task: TaskId) {
    let answer = story.ask("background_output", json!({ "task_id": task.to_string() }));
    let exact = format!("Task not found: {task}. Use background_list to see available tasks.");
    assert_eq!(answer, exact);
}

fn resume_from(story: &mut Story, from: &SessionId, task: TaskId, script: &str) -> String {
    let arguments = json!({ "resume": task.to_string(), "prompt": script });
    story.call(from, "background_task", arguments)
}

#[test]
fn c1_everything_of_the_caller_is_stopped_forgotten_and_counted() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let good = story.launch("Good", "say good");
    let bad = story.launch("Bad", "fail 400");
    let off = story.launch("Off", "hang");
    cancel(&mut story, off);
    story.until_settled();
    let first = story.launch("First", "hang");
    let second = story.launch("Second", "hang");
    story.pass(5_000);
    let deliveries = story.told().len();
    assert_eq!(clear(&mut story), "Cancelled 2 unfinished tasks and cleared 5 tasks.");
    let listed = story.ask("background_list", json!({ "all": true }));
    assert_eq!(listed, "No background tasks found.");
    for task in [good, bad, off, first, second] {
        is_unknown(&mut story, task);
    }
    story.until_settled();
    assert!(!runs(&story, first) && !runs(&story, second));
    story.pass(60_000);
    assert_eq!(story.told().len(), deliveries, "nothing more is told");
    story.end();
}

#[test]
fn c1_one_task_is_counted_as_one() {
    let mut story = Story::new();
    story.launch("Only", "hang");
    story.pass(1_000);
    assert_eq!(clear(&mut story), "Cancelled 1 unfinished task and cleared 1 task.");
    story.end();
}

#[test]
fn c1_tasks_of_other_sessions_are_not_touched() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let done = story.launch_from(&other, "Theirs, done", "say theirs");
    let theirs = story.launch_from(&other, "Theirs", "wait 20000; say still theirs");
    story.until_status(done, Status::Completed);
    let mine = story.launch("Mine", "hang");
    story.pass(2_000);
    assert_eq!(clear(&mut story), "Cancelled 1 unfinished task and cleared 1 task.");
    assert_eq!(story.status(mine), None);
    assert_eq!(story.status(done), Some(Status::Completed));
    assert_eq!(story.status(theirs), Some(Status::Running));
    assert!(runs(&story, theirs));
    story.until_status(theirs, Status::Completed);
    story.until_settled();
    assert_eq!(story.deliveries(&other).len(), 2);
    story.end();
}

#[test]
fn c1_queued_tasks_of_the_caller_never_start_and_others_move_up() {
    let mut story = Story::with(Settings { max_running: 1, ..Settings::default() }, Nasty::calm());
    let other = story.conversation("other");
    story.launch("Running", "hang");
    let queued = story.launch("Queued", "say never");
    let theirs = story.launch_from(&other, "Theirs", "say at last");
    assert_eq!(stage(&mut story, queued), Some(StageName::Queued));
    assert_eq!(stage(&mut story, theirs), Some(StageName::Queued));
    assert_eq!(clear(&mut story), "Cancelled 2 unfinished tasks and cleared 2 tasks.");
    story.until_status(theirs, Status::Completed);
    story.until_settled();
    assert_eq!(story.world.oc.ever_marked(queued), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn c1_a_task_that_is_being_opened_leaves_nothing() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let (_, task) = launch_to_opening(&mut story, "hang", all_slow());
    assert_eq!(clear(&mut story), "Cancelled 1 unfinished task and cleared 1 task.");
    story.world.faults = calm();
    story.until_settled();
    assert_eq!(story.world.oc.sessions_marked(task).count(), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn c1_the_tree_below_goes_too() {
    let mut story =
        Story::with(Settings { max_depth: 2, ..Settings::default() }, Nasty::scripted());
    let top = story.launch("Top", "hang");
    let session = story.session_of(top);
    let below = story.launch_from(&session, "Below", "hang");
    story.pass(5_000);
    assert!(runs(&story, below));
    assert_eq!(clear(&mut story), "Cancelled 1 unfinished task and cleared 1 task.");
    assert_eq!((story.status(top), story.status(below)), (None, None));
    story.until_settled();
    assert!(!runs(&story, top) && !runs(&story, below));
    story.end();
}

#[test]
fn c1_a_resumed_task_is_stopped_as_well() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Work", "say one");
    story.until_settled();
    story.resume(task, "hang");
    until_stage(&mut story, task, StageName::Working);
    story.pass(2_000);
    assert!(runs(&story, task));
    assert_eq!(clear(&mut story), "Cancelled 1 unfinished task and cleared 1 task.");
    story.until_settled();
    assert!(!runs(&story, task));
    story.end();
}

/// A session waits for these tasks and for one that hangs until they are done, so that their
/// notices are held; then it is freed, and the delivery that goes out is lost.
fn lose_the_delivery_of(story: &mut Story, session: &SessionId, tasks: &[TaskId], hung: TaskId) {
    let mut ids: Vec<String> = tasks.iter().map(TaskId::to_string).collect();
    ids.push(hung.to_string());
    let block = story.start(session, "background_block", json!({ "task_ids": ids }));
    for task in tasks {
        story.until_status(*task, Status::Completed);
    }
    story.world.faults = all_lost();
    story.world.drop_call(block);
    story.until("a delivery", |story| !story.world.audit().deliveries.is_empty());
    story.pass(2_000);
    assert!(story.deliveries(session).is_empty(), "it was lost");
}

#[test]
fn c1_a_notice_on_its_way_is_not_sent_any_more() {
    let mut story = Story::new();
    let first = story.launch("First", "wait 2000; say first");
    let hung = story.launch("Hung", "hang");
    let main = story.main.clone();
    lose_the_delivery_of(&mut story, &main, &[first], hung);
    assert_eq!(clear(&mut story), "Cancelled 1 unfinished task and cleared 2 tasks.");
    story.world.faults = calm();
    story.until_settled();
    story.pass(300_000);
    assert!(story.told().is_empty());
    insta::assert_snapshot!(story.end());
}

#[test]
fn c1_a_delivery_to_somebody_else_loses_only_what_was_cleared() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let shared = story.launch("Shared", "say one");
    story.until_settled();
    resume_from(&mut story, &other, shared, "wait 4000; say two");
    let own = story.launch_from(&other, "Own", "wait 4000; say own");
    let hung = story.launch_from(&other, "Hung", "hang");
    lose_the_delivery_of(&mut story, &other, &[shared, own], hung);
    assert_eq!(clear(&mut story), "Cleared 1 task; none was unfinished.");
    story.world.faults = calm();
    story.call(&other, "background_cancel", json!({ "task_id": hung.to_string() }));
    story.until_settled();
    let told = story.deliveries(&other);
    let all: Vec<&String> = told.iter().flat_map(|delivery| &delivery.results).collect();
    assert_eq!(all, [&format!("What came of {own}:\n\nown")]);
    assert!(!told.iter().any(|delivery| delivery.headline.contains(&shared.to_string())));
    story.end();
}

#[test]
fn c1_what_was_cleared_stays_cleared_after_a_restart() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let done = story.launch("Done", "say done");
    story.until_settled();
    let running = story.launch("Running", "hang");
    story.pass(5_000);
    story.world.faults = all_lost();
    clear(&mut story);
    story.world.kill_daemon();
    story.world.faults = calm();
    story.world.start_daemon();
    story.pass(1_000);
    is_unknown(&mut story, done);
    is_unknown(&mut story, running);
    story.until_settled();
    assert!(!runs(&story, running), "the abort was still pending");
    insta::assert_snapshot!(story.end());
}

#[test]
fn c2_nothing_to_clear_is_said_exactly() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let theirs = story.launch_from(&other, "Theirs", "wait 5000; say theirs");
    assert_eq!(clear(&mut story), "No background tasks to clear.");
    assert!(!story.world.calls.last().unwrap().refused());
    story.launch("Mine", "hang");
    clear(&mut story);
    assert_eq!(clear(&mut story), "No background tasks to clear.");
    assert_eq!(story.status(theirs), Some(Status::Running));
    story.end();
}

#[test]
fn c2_a_person_has_no_tasks_to_clear() {
    let mut story = Story::new();
    let task = story.launch("Mine", "wait 5000; say mine");
    let answer = story.person(Ask::Clear);
    assert!(story.world.calls.last().unwrap().refused());
    assert!(answer.contains("Only a session"), "{answer}");
    assert_eq!(story.status(task), Some(Status::Running));
    story.end();
}

#[test]
fn c3_callers_blocked_on_a_cleared_task_are_answered_at_once() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let task = story.launch("Mine", "hang");
    let ids = json!({ "task_ids": [task.to_string()], "timeout": 600_000 });
    let main = story.main.clone();
    let own = story.start(&main, "background_block", ids.clone());
    let theirs = story.start(&other, "background_block", ids);
    let tasks = vec![task.to_string()];
    let person = story.world.person(Ask::Wait { tasks, any: false, timeout_ms: 600_000 });
    story.pass(5_000);
    assert!([own, theirs, person].iter().all(|call| !story.is_answered(*call)));
    let at = story.world.now;
    clear(&mut story);
    for call in [own, theirs, person] {
        let answer = story.answer(call);
        assert!(answer.lines().any(|line| line == format!("{task}  not found")), "{answer}");
    }
    assert!(story.world.now.since(at) < 10, "at once");
    story.end();
}

#[test]
fn c3_who_waits_for_more_than_was_cleared_waits_on() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let mine = story.launch("Mine", "hang");
    let theirs = story.launch_from(&other, "Theirs", "wait 20000; say theirs");
    let ids = json!({ "task_ids": [mine.to_string(), theirs.to_string()], "timeout": 600_000 });
    let block = story.start(&other, "background_block", ids);
    story.pass(5_000);
    clear(&mut story);
    story.pass(2_000);
    assert!(!story.is_answered(block));
    let answer = story.answer(block);
    assert_eq!(story.status(theirs), Some(Status::Completed));
    assert!(answer.contains(&format!("{mine}  not found")), "{answer}");
    story.end();
}

#[test]
fn c1_a_person_forgets_the_tasks_that_were_named_and_no_others() {
    let mut story = Story::new();
    let running = story.launch("Running", "wait 60000; say late");
    let finished = story.launch("Finished", "say done");
    let other = story.launch("Other", "say other");
    story.until_status(finished, Status::Completed);
    story.until_status(other, Status::Completed);
    let tasks = vec![running.to_string(), finished.to_string(), "bg_nobody00".to_owned()];
    let answer = story.person(Ask::Forget { tasks });
    assert_eq!(answer, "Cancelled 1 unfinished task and cleared 2 tasks.");
    assert_eq!(story.status(running), None);
    assert_eq!(story.status(finished), None);
    assert_eq!(story.status(other), Some(Status::Completed));
    let nobody = vec!["bg_nobody00".to_owned()];
    assert_eq!(story.person(Ask::Forget { tasks: nobody }), "No background tasks to clear.");
    story.end();
}
