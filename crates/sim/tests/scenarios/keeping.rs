//! What is kept: K1 and K3 to K5. Nothing expires, only a deleted parent takes its tasks along, a
//! full disk is a refusal, and two windows see one truth. Restarts are in `restarts.rs`.

use legwork_protocol::{SessionId, Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::books::Keeper;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use legwork_store::{Fault, Store};
use serde_json::json;

use super::cancel::{all_lost, all_slow, calm, cancel, detail, launch_to_opening, runs};

pub(crate) const MINUTE_MS: u64 = 60_000;
pub(crate) const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

fn on_sqlite() -> Story {
    let folder = tempfile::tempdir().unwrap();
    Story::kept_in(Keeper::File(folder, None), Settings::default(), Nasty::calm())
}

pub(crate) fn output(story: &mut Story, task: TaskId) -> String {
    story.ask("background_output", json!({ "task_id": task.to_string() }))
}

/// The daemon is killed and stays dead for so long.
pub(crate) fn dead_for(story: &mut Story, ms: u64) {
    story.world.kill_daemon();
    story.pass(ms);
    story.world.start_daemon();
}

/// The task ends well, its parent hears of it once, and nothing was done twice on the way.
pub(crate) fn ends_well_once(story: &mut Story, task: TaskId, run: u32, result: &str) {
    story.until_status(task, Status::Completed);
    story.until_settled();
    assert_eq!(detail(story, task, run), result);
    let told: Vec<String> =
        story.told().into_iter().flat_map(|delivery| delivery.results).collect();
    let mine = format!("What came of {task}:\n\n{result}");
    assert_eq!(told.iter().filter(|told| **told == mine).count(), 1, "{told:?}");
    assert_eq!(story.world.oc.ever_marked(task), 1, "one session");
    let session = story.session_of(task);
    let prompts = story.world.oc.get(&session).unwrap().prompts().count();
    assert_eq!(prompts, run as usize + 1, "one prompt a run");
}

#[test]
fn k1_nothing_expires_by_time() {
    let mut story = Story::new();
    let good = story.launch("Good", "say good");
    let bad = story.launch("Bad", "fail 400");
    let off = story.launch("Off", "hang");
    cancel(&mut story, off);
    story.until_settled();
    let before = output(&mut story, good);
    story.pass(45 * DAY_MS);
    dead_for(&mut story, 45 * DAY_MS);
    story.pass(DAY_MS);
    assert_eq!(output(&mut story, good), before);
    let statuses = [good, bad, off].map(|task| story.status(task));
    assert_eq!(statuses, [Status::Completed, Status::Error, Status::Cancelled].map(Some));
    let listed = story.ask("background_list", json!({}));
    assert_eq!(listed.lines().count(), 3, "{listed}");
    story.resume(good, "say still here");
    ends_well_once(&mut story, good, 1, "still here");
    story.end();
}

#[test]
fn k1_a_result_that_was_read_stays() {
    let mut story = Story::new();
    let task = story.launch("Read", "say here");
    story.until_settled();
    let first = output(&mut story, task);
    for ms in [10_000, MINUTE_MS, DAY_MS] {
        story.pass(ms);
        assert_eq!(output(&mut story, task), first);
    }
    story.end();
}

#[test]
fn k3_a_deleted_parent_takes_its_tasks_and_theirs_along_and_no_others() {
    let settings = Settings { max_depth: 2, max_running: 3, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let (main, other) = (story.main.clone(), story.conversation("other"));
    let done = story.launch("Done", "say done");
    story.until_settled();
    let top = story.launch("Top", "tool bash 90000; hang");
    let session = story.session_of(top);
    let below = story.launch_from(&session, "Below", "tool bash 90000; hang");
    let theirs = story.launch_from(&other, "Theirs", "wait 30000; say theirs");
    let queued = story.launch("Queued", "say never");
    story.pass(5_000);
    assert!(runs(&story, top) && runs(&story, below));
    story.world.delete_session(0, &main);
    assert!(runs(&story, top), "deleting does not stop it");
    story.pass(1_000);
    for task in [done, top, below, queued] {
        assert_eq!(story.status(task), None, "{task} is forgotten");
    }
    assert_eq!(story.status(theirs), Some(Status::Running));
    story.until_settled();
    assert!(!runs(&story, top) && !runs(&story, below));
    assert_eq!(story.world.oc.sessions_marked(queued).count(), 0);
    assert_eq!(story.status(theirs), Some(Status::Completed));
    assert_eq!(story.deliveries(&other).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k3_a_deleted_helper_session_takes_only_its_own_helpers_along() {
    let settings = Settings { max_depth: 2, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let top = story.launch("Top", "tool bash 90000; hang");
    let session = story.session_of(top);
    let below = story.launch_from(&session, "Below", "tool bash 90000; hang");
    let beside = story.launch("Beside", "wait 30000; say beside");
    story.pass(5_000);
    story.world.delete_session(0, &session);
    story.pass(2_000);
    assert_eq!(story.status(top), Some(Status::Cancelled));
    assert_eq!(story.status(below), None);
    assert_eq!(story.status(beside), Some(Status::Running));
    ends_well_once(&mut story, beside, 0, "beside");
    assert!(!runs(&story, top) && !runs(&story, below));
    story.end();
}

#[test]
fn k3_a_parent_deleted_during_its_launch_leaves_nothing_running() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let (call, task) = launch_to_opening(&mut story, "tool bash 90000; hang", all_slow());
    story.world.delete_session(0, &main);
    story.pass(20_000);
    story.world.faults = calm();
    story.answer(call);
    story.until("it to be forgotten", |story| story.status(task).is_none());
    story.until_settled();
    assert!(!runs(&story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn k3_a_run_that_a_deleted_session_asked_for_goes_on_under_its_own_parent() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let task = story.launch("Shared", "say one");
    story.until_settled();
    let again = json!({ "resume": task.to_string(), "prompt": "wait 9000; say two" });
    story.call(&other, "background_task", again);
    story.pass(2_000);
    story.world.delete_session(0, &other);
    story.until_status(task, Status::Completed);
    story.until_settled();
    assert!(output(&mut story, task).ends_with("two"));
    story.end();
}

#[test]
fn k3_a_parent_deleted_while_the_daemon_was_dead_takes_its_tasks_along() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let task = story.launch("Orphan", "tool bash 600000; hang");
    story.pass(5_000);
    story.world.kill_daemon();
    story.world.delete_session(0, &main);
    story.pass(1_000);
    story.world.start_daemon();
    story.until("it to be forgotten", |story| story.status(task).is_none());
    story.until_settled();
    assert!(!runs(&story, task));
    story.end();
}

#[test]
fn k3_a_parent_whose_deletion_nobody_heard_of_is_still_found_out() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Done", "say done");
    story.until_settled();
    story.world.kill_daemon();
    story.world.delete_session(0, &main);
    story.world.start_daemon();
    story.until("it to be forgotten", |story| story.status(task).is_none());
    insta::assert_snapshot!(story.end());
}

#[test]
fn k3_a_deletion_is_followed_up_when_the_first_question_about_it_is_lost() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Done", "say done");
    story.until_settled();
    story.world.faults = all_lost();
    story.world.delete_session(0, &main);
    story.pass(30_000);
    assert_eq!(story.status(task), Some(Status::Completed), "no answer proves nothing");
    story.world.faults = calm();
    story.until("it to be forgotten", |story| story.status(task).is_none());
    insta::assert_snapshot!(story.end());
}

#[test]
fn k3_failing_reads_change_nothing() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let other = story.conversation("other");
    let done = story.launch("Done", "say done");
    story.until_settled();
    let mine = story.launch("Mine", "wait 30000; say mine");
    let theirs = story.launch_from(&other, "Theirs", "wait 30000; say theirs");
    story.pass(5_000);
    let settled = story.world.requests;
    story.world.faults = all_lost();
    story.pass(2 * MINUTE_MS);
    assert!(story.world.requests > settled + 5, "it was asked, and asked again");
    assert_eq!(story.status(done), Some(Status::Completed));
    assert_eq!(story.status(mine), Some(Status::Running));
    assert_eq!(story.status(theirs), Some(Status::Running));
    story.world.faults = calm();
    ends_well_once(&mut story, mine, 0, "mine");
    assert_eq!(story.deliveries(&other).len(), 1);
    story.end();
}

#[test]
fn k3_esc_and_new_or_deleted_other_sessions_touch_no_task() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let running = story.launch("Running", "wait 40000; say running");
    let done = story.launch("Done", "say done");
    story.until_status(done, Status::Completed);
    let ids = json!({ "task_ids": [running.to_string()] });
    let block = story.start(&main, "background_block", ids);
    story.pass(2_000);
    story.world.drop_call(block);
    let listing = story.start(&main, "background_list", json!({}));
    story.world.drop_call(listing);
    let other = story.conversation("other");
    story.pass(2_000);
    story.world.use_session(0, &other);
    story.pass(2_000);
    story.world.delete_session(0, &other);
    story.pass(5_000);
    assert_eq!(story.status(running), Some(Status::Running));
    assert!(runs(&story, running));
    assert_eq!(story.status(done), Some(Status::Completed));
    ends_well_once(&mut story, running, 0, "running");
    story.end();
}

const FULL: &str = "legwork cannot save its records (the disk may be full) and takes on nothing \
     new. Tasks that are there stay as they are. Make room, then try again; background_list shows \
     what there is.";

/// New work is refused while the disk is full, and everything from before is kept and goes on.
fn lives_through_a_full_disk(mut story: Story) -> String {
    let done = story.launch("Done", "say done");
    story.until_settled();
    let running = story.launch("Running", "wait 20000; say running");
    story.pass(2_000);
    story.world.set_full(true);
    let sessions = story.world.oc.ever().len();
    for _ in 0..2 {
        let refused = story.ask("background_task", launch("New", "say new"));
        assert_eq!(refused, FULL);
        assert!(story.world.calls.last().unwrap().refused());
    }
    assert_eq!(story.resume(done, "say again"), FULL);
    story.pass(MINUTE_MS);
    assert_eq!(story.world.oc.ever().len(), sessions, "nothing was begun");
    assert_eq!(story.told().len(), 1, "nothing is told that is not saved");
    story.world.set_full(false);
    ends_well_once(&mut story, running, 0, "running");
    assert!(output(&mut story, done).ends_with("done"));
    let new = story.launch("New", "say new");
    ends_well_once(&mut story, new, 0, "new");
    story.end()
}

#[test]
fn k4_a_full_disk_refuses_new_work_and_loses_nothing() {
    insta::assert_snapshot!(lives_through_a_full_disk(Story::new()));
}

#[test]
fn k4_a_full_disk_under_sqlite_refuses_new_work_and_loses_nothing() {
    let in_memory = lives_through_a_full_disk(Story::new());
    assert_eq!(lives_through_a_full_disk(on_sqlite()), in_memory);
}

#[test]
fn k4_what_is_there_can_be_read_while_the_disk_is_full() {
    let mut story = Story::new();
    let done = story.launch("Done", "say done");
    story.until_settled();
    // Read once before, so that reading has nothing to save.
    output(&mut story, done);
    story.world.set_full(true);
    story.ask("background_task", launch("New", "say new"));
    let listed = story.ask("background_list", json!({}));
    assert!(listed.starts_with(&done.to_string()), "{listed}");
    assert!(output(&mut story, done).ends_with("done"));
    story.world.set_full(false);
    story.end();
}

#[test]
fn k4_a_cancel_on_a_full_disk_is_refused_and_can_be_made_good() {
    let mut story = Story::new();
    let task = story.launch("Running", "hang");
    story.pass(2_000);
    story.world.set_full(true);
    assert_eq!(cancel(&mut story, task), FULL);
    assert_eq!(story.status(task), Some(Status::Running));
    assert!(runs(&story, task), "nothing is done that is not saved");
    story.world.set_full(false);
    cancel(&mut story, task);
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Cancelled));
    assert!(!runs(&story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn k4_two_daemons_cannot_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let first = Store::open(folder.path()).unwrap();
    let second = Store::open(folder.path());
    assert!(matches!(second, Err(Fault::Locked { .. })), "{second:?}");
    drop(first);
    assert!(Store::open(folder.path()).is_ok());
}

#[test]
fn k4_a_store_that_cannot_be_read_is_set_aside_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = Store::open(folder.path()).unwrap().store.path().to_owned();
    let rubbish = b"SQLite format 3\0 and then something else altogether".repeat(100);
    std::fs::write(&path, &rubbish).unwrap();
    let opened = Store::open(folder.path()).unwrap();
    let aside = opened.set_aside.unwrap();
    assert_ne!(aside.path, path);
    assert_eq!(std::fs::read(&aside.path).unwrap(), rubbish, "nothing was overwritten");
    assert!(aside.to_string().contains("set aside"), "{aside}");
}

/// A second window, in which a person uses the same conversation.
fn second_window(story: &mut Story, session: &SessionId) -> usize {
    let window = story.world.boot();
    story.pass(500);
    story.world.use_session(window, session);
    story.pass(2_000);
    window
}

#[test]
fn k5_two_windows_on_one_session_get_one_notice() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let task = story.launch("Once", "wait 20000; say once");
    let second = second_window(&mut story, &main);
    let turns = story.turns(&main);
    story.pass(1_000);
    let ids = json!({ "task_ids": [task.to_string()], "timeout": 600_000 });
    let block = story.start_in(second, &main, "background_block", ids);
    let answer = story.answer(block);
    assert!(answer.contains(&format!("{task}  completed")), "{answer}");
    ends_well_once(&mut story, task, 0, "once");
    assert_eq!(story.told().len(), 1);
    assert_eq!(story.turns(&main), turns + 1, "one turn");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k5_a_window_that_is_used_later_gets_the_later_notices() {
    let mut story = Story::new();
    let main = story.main.clone();
    let first = story.launch("First", "wait 2000; say first");
    story.until_status(first, Status::Completed);
    story.until_settled();
    assert!(story.transcript().contains("→ opencode-1: tell main"));
    let later = story.launch("Later", "wait 9000; say later");
    second_window(&mut story, &main);
    story.until_settled();
    ends_well_once(&mut story, later, 0, "later");
    let transcript = story.transcript();
    let after = transcript.split("opencode-2 starts").nth(1).unwrap();
    assert!(after.contains("→ opencode-2: tell main"), "{after}");
    assert!(!after.contains("→ opencode-1: tell main"), "{after}");
    story.end();
}

#[test]
fn k5_two_windows_see_and_change_one_truth() {
    let mut story = Story::new();
    let second = story.world.boot();
    let other = story.conversation_in(second, "other");
    story.pass(1_000);
    let task = story.launch("Shared", "say one");
    story.until_settled();
    let all = json!({ "all": true });
    let here = story.ask("background_list", all.clone());
    let there = story.start_in(second, &other, "background_list", all);
    assert_eq!(story.answer(there), here);
    let again = json!({ "resume": task.to_string(), "prompt": "wait 5000; say two" });
    let main = story.main.clone();
    let calls = [
        story.start_in(second, &other, "background_task", again.clone()),
        story.start(&main, "background_task", again),
    ];
    let answers = calls.map(|call| story.answer(call));
    let refused = calls.map(|call| story.world.calls[call].refused());
    assert_eq!(refused.iter().filter(|refused| **refused).count(), 1, "{answers:?}");
    let busy = "Task is currently being resumed. Wait for completion.";
    assert!(answers.iter().any(|answer| answer == busy), "{answers:?}");
    story.until_settled();
    let session = story.session_of(task);
    assert_eq!(story.world.oc.get(&session).unwrap().prompts().count(), 2, "no doubled work");
    assert_eq!(story.told().len() + story.deliveries(&other).len(), 2, "one notice a run");
    story.end();
}

#[test]
fn k5_two_cancels_at_once_are_one_cancel() {
    let mut story = Story::new();
    let second = story.world.boot();
    let main = story.main.clone();
    story.pass(1_000);
    let task = story.launch("Shared", "hang");
    story.pass(2_000);
    let id = json!({ "task_id": task.to_string() });
    let calls = [
        story.start(&main, "background_cancel", id.clone()),
        story.start_in(second, &main, "background_cancel", id),
    ];
    let answers = calls.map(|call| story.answer(call));
    let late = "Cannot cancel task: status is 'cancelled'. Only running or resumed tasks can be \
                cancelled.";
    assert_eq!(answers.iter().filter(|answer| *answer == late).count(), 1, "{answers:?}");
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Cancelled));
    assert!(story.told().is_empty());
    story.end();
}
