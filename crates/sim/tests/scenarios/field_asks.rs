//! Faults that were seen in programs of this kind, in what callers ask, wait for and call off, and
//! in who holds a place. Each test is one of them that must not be ours.

use legwork_engine::task::Stage;
use legwork_protocol::Ask;
use legwork_protocol::{Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use serde_json::json;

use crate::ends::{count, detail, ended, process, told_of};

fn one_place() -> Story {
    Story::with(Settings { max_running: 1, ..Settings::default() }, Nasty::calm())
}

fn cancel(story: &mut Story, task: TaskId) -> String {
    story.ask("background_cancel", json!({ "task_id": task.to_string() }))
}

#[test]
fn field_esc_and_the_end_of_another_session_abort_nothing() {
    let mut story = Story::new();
    let (main, other) = (story.main.clone(), story.conversation("other"));
    story.pass(1_000);
    let ours = story.launch("Ours", "wait 30000; say ours");
    let theirs = story.launch_from(&other, "Theirs", "wait 30000; say theirs");
    let session = story.session_of(theirs);
    let call = story.start(&main, "background_block", json!({ "task_ids": [ours.to_string()] }));
    story.pass(1_000);
    story.world.drop_call(call);
    story.pass(1_000);
    assert_eq!(story.status(ours), Some(Status::Running));
    story.world.delete_session(0, &other);
    story.pass(10_000);
    assert_eq!(story.status(theirs), None);
    assert!(!story.world.oc.runs(&session));
    assert_eq!(story.status(ours), Some(Status::Running));
    story.until_settled();
    assert_eq!(detail(&mut story, ours, 0), "ours");
    story.end();
}

/// A task at each of the unfinished stages that last: running, resumed, both also in the queue.
fn unfinished(stage: &str) -> (Story, TaskId) {
    let mut story = one_place();
    let resumed = stage.starts_with("resumed");
    let first = resumed.then(|| {
        let task = story.launch("Explore", "say one");
        story.until_settled();
        task
    });
    if stage.ends_with("queued") {
        story.launch("In the way", "wait 20000; say out of the way");
    }
    let task = match first {
        Some(task) => {
            story.resume(task, "wait 20000; say two");
            task
        }
        None => story.launch("Explore", "wait 20000; say one"),
    };
    story.pass(1_000);
    (story, task)
}

#[test]
fn field_every_command_works_in_every_unfinished_state() {
    for stage in ["running", "running, queued", "resumed", "resumed, queued"] {
        let status = if stage.starts_with("resumed") { Status::Resumed } else { Status::Running };
        let (mut story, task) = unfinished(stage);
        let list = story.ask("background_list", json!({ "status": status.as_str() }));
        assert!(list.contains(&task.to_string()), "{stage}: {list}");
        let output = story.ask("background_output", json!({ "task_id": task.to_string() }));
        assert!(output.contains(&format!("Status: {status}")), "{stage}: {output}");
        let block = json!({ "task_ids": [task.to_string()], "timeout": 100 });
        let block = story.ask("background_block", block);
        assert!(block.contains("0 finished, 1 still running"), "{stage}: {block}");
        let answer = cancel(&mut story, task);
        assert!(answer.starts_with(&format!("Cancelled {task} ")), "{stage}: {answer}");
        assert_eq!(story.status(task), Some(Status::Cancelled));
        story.end();

        let (mut story, task) = unfinished(stage);
        let unfinished = if stage.ends_with("queued") { 2 } else { 1 };
        let cleared = story.ask("background_clear", json!({}));
        assert!(cleared.starts_with(&format!("Cancelled {unfinished} unfinished")), "{cleared}");
        assert_eq!(story.status(task), None);
        story.end();
    }
}

#[test]
fn field_a_cancelled_helper_stops_with_its_helpers() {
    let settings = Settings { max_depth: 2, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let outer = story.launch("Outer", "tool grep 600000; say never");
    let outside = story.session_of(outer);
    story.pass(5_000);
    let inner = story.launch_from(&outside, "Inner", "tool grep 600000; say never");
    let inside = story.session_of(inner);
    story.pass(5_000);
    assert!(story.world.oc.runs(&outside) && story.world.oc.runs(&inside));
    story.world.faults.lost_before = 1000;
    cancel(&mut story, outer);
    story.pass(20_000);
    assert!(story.world.oc.runs(&outside), "the host has not heard of it");
    assert_eq!(story.world.audit().stops.len(), 2, "the aborts are pending");
    story.world.faults.lost_before = 0;
    story.until_settled();
    assert!(!story.world.oc.runs(&outside) && !story.world.oc.runs(&inside));
    assert_eq!(story.status(inner), Some(Status::Cancelled));
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_a_blocked_caller_wakes_in_milliseconds_and_costs_nothing() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "wait 40000; say found it");
    story.pass(1_000);
    let ids = json!({ "task_ids": [task.to_string()] });
    let call = story.start(&main, "background_block", ids);
    let before = story.world.requests;
    story.pass(30_000);
    assert!(story.world.requests - before <= 6, "only the poll of every five seconds");
    story.answer(call);
    let woken = story.world.calls[call].answer.as_ref().map(|(at, _)| *at).unwrap();
    assert!(woken.since(ended(&mut story, task)) < 10);
    story.end();
}

#[test]
fn field_a_blocked_caller_that_is_aborted_leaves_the_task() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "wait 40000; say found it");
    let ids = json!({ "task_ids": [task.to_string()] });
    let call = story.start(&main, "background_block", ids);
    story.pass(5_000);
    story.world.drop_call(call);
    story.until_status(task, Status::Completed);
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1, "nobody holds its notice any more");
    story.end();
}

#[test]
fn field_a_resume_that_cannot_be_handed_over_ends_and_can_be_looked_at() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "say one");
    story.until_settled();
    let resume = json!({ "resume": task.to_string(), "prompt": "say two" });
    let call = story.start(&main, "background_task", resume);
    story.until("the probe", |story| count(story, " there?") == 1);
    story.world.faults.lost_before = 1000;
    story.answer(call);
    story.pass(5 * 60_000);
    assert_eq!(story.status(task), Some(Status::Error));
    story.world.faults.lost_before = 0;
    story.until_settled();
    let output = story.ask("background_output", json!({ "task_id": task.to_string() }));
    assert!(output.contains("Status: error") && output.contains("could not be"), "{output}");
    assert_eq!(told_of(&story, task).len(), 2);
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_a_helper_that_only_takes_time_is_not_read_over_and_over() {
    let mut story = Story::new();
    story.launch("Explore", "wait 600000; say found it");
    story.pass(1_000);
    let (looks, before) = (count(&story, "how far is"), story.world.requests);
    story.pass(590_000);
    assert_eq!(count(&story, "how far is"), looks, "no history is read while it works");
    assert!(story.world.requests - before <= 590 / 5);
    story.end();
}

#[test]
fn field_a_task_is_kept_after_its_result_was_read() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    story.until_settled();
    for days in 0..3 {
        let read = story.ask("background_output", json!({ "task_id": task.to_string() }));
        assert!(read.ends_with("found it"), "after {days} days: {read}");
        story.pass(24 * 3_600_000);
        story.world.restart_daemon();
        story.pass(10_000);
    }
    story.ask("background_clear", json!({}));
    assert_eq!(story.status(task), None);
    story.end();
}

#[test]
fn field_an_unknown_id_in_a_wait_is_not_found_and_not_completed() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    let ids = json!({ "task_ids": ["bg_00000000", task.to_string(), "nonsense"] });
    let answer = story.ask("background_block", ids);
    assert!(answer.contains("bg_00000000  not found"), "{answer}");
    assert!(answer.contains("nonsense  not found"), "{answer}");
    assert!(answer.contains(&format!("{task}  completed")), "{answer}");
    let none = story.ask("background_block", json!({ "task_ids": ["bg_00000000"] }));
    assert!(!none.contains("finished") && none.contains("not found"), "{none}");
    story.end();
}

#[test]
fn field_a_follow_up_that_had_to_wait_is_run() {
    let mut story = one_place();
    let task = story.launch("Explore", "say one");
    story.until_settled();
    story.launch("In the way", "wait 20000; say out of the way");
    story.resume(task, "say two");
    story.pass(5_000);
    assert_eq!(story.status(task), Some(Status::Resumed));
    story.world.restart_daemon();
    story.until_settled();
    assert_eq!(detail(&mut story, task, 1), "two");
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_a_new_session_ends_nothing() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 20000; say found it");
    for name in ["one", "two", "three"] {
        story.pass(1_000);
        story.conversation(name);
    }
    story.world.boot();
    story.pass(5_000);
    story.conversation_in(1, "four");
    story.pass(5_000);
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Completed);
    story.end();
}

#[test]
fn field_a_daemon_that_dies_while_it_opens_a_session_leaves_no_zombie() {
    for steps in 0..20 {
        let mut story = Story::with(Settings::default(), Nasty::scripted());
        let main = story.main.clone();
        let call = story.start(&main, "background_task", launch("Explore", "say found it"));
        story.until("the intent", |story| {
            let mut rows = story.world.audit().rows.values();
            rows.any(|row| row.task.stage == Stage::Opening)
        });
        for _ in 0..steps {
            story.world.step();
        }
        story.world.kill_daemon();
        story.pass(500);
        story.world.start_daemon();
        story.answer(call);
        let task = story.world.calls[call].task().unwrap();
        story.until_settled();
        assert_eq!(story.status(task), Some(Status::Completed));
        assert_eq!(story.world.oc.ever_marked(task), 1, "killed after {steps} steps");
        story.end();
    }
}

#[test]
fn field_a_session_that_cannot_be_opened_is_told_as_a_failure() {
    let mut story = Story::new();
    let main = story.main.clone();
    let call = story.start(&main, "background_task", launch("Explore", "say found it"));
    story.until("the agent", |story| count(story, "is there an agent") == 1);
    story.world.faults.lost_before = 1000;
    story.answer(call);
    let task = story.world.calls[call].task().unwrap();
    story.until_status(task, Status::Error);
    story.world.faults.lost_before = 0;
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    assert_eq!(story.world.oc.children(&main).count(), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_a_short_id_is_refused_and_never_taken_for_the_newest() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 5000; say found it");
    for short in ["bg_", &task.to_string()[..6], "explore", ""] {
        let answer = story.ask("background_cancel", json!({ "task_id": short }));
        let refusal =
            format!("Task not found: {short}. Use background_list to see available tasks.");
        assert_eq!(answer, refusal);
    }
    assert_eq!(story.status(task), Some(Status::Running));
    story.end();
}

#[test]
fn field_helpers_of_helpers_are_bounded_by_depth_and_by_number() {
    let settings = Settings { max_depth: 2, max_tasks_per_root: 3, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let first = story.launch("First", "wait 60000; say one");
    let below = story.session_of(first);
    let second = story.launch_from(&below, "Second", "wait 60000; say two");
    let deepest = story.session_of(second);
    let deep = story.call(&deepest, "background_task", launch("Third", "say three"));
    assert!(deep.contains("limits.max_depth = 2"), "{deep}");
    story.launch_from(&below, "Third", "wait 60000; say three");
    let many = story.call(&below, "background_task", launch("Fourth", "say four"));
    assert!(many.contains("3 of 3 tasks (limits.max_tasks_per_root)"), "{many}");
    assert_eq!(story.world.audit().rows.len(), 3);
    assert_eq!(story.world.oc.children(&deepest).count(), 0);
    story.end();
}

#[test]
fn field_a_finished_task_holds_no_place_though_it_is_not_told_yet() {
    let mut story = one_place();
    let (main, process) = (story.main.clone(), process(&story));
    let first = story.launch("First", "wait 3000; say one");
    let second = story.launch("Second", "wait 3000; say two");
    story.world.oc.set_revert(process, &main).unwrap();
    story.until_status(first, Status::Completed);
    story.pass(100);
    assert!(story.world.oc.sessions_marked(second).count() == 1, "the place is free at the end");
    assert!(!story.world.audit().pending.is_empty());
    story.until_status(second, Status::Completed);
    story.world.oc.clear_revert(process, &main).unwrap();
    story.end();
}

#[test]
fn field_a_person_who_cancels_is_told_of_by_a_notice_and_only_one() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "tool grep 600000; say never");
    story.pass(5_000);
    for _ in 0..2 {
        story.world.person(Ask::Cancel { task: task.to_string() });
    }
    story.until_settled();
    let told = told_of(&story, task);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("[BACKGROUND TASK CANCELLED] "), "{told:?}");
    story.end();
}
