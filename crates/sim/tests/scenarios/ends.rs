//! How the end of a run is known: D1 to D3, D6 and D7. Events make us look, looks tell.

use legwork_engine::Journal;
use legwork_engine::task::Stage;
use legwork_protocol::api::{Ask, Reply};
use legwork_protocol::timeline::Event;
use legwork_protocol::{MessageId, QuestionId, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::books::Keeper;
use legwork_sim::host::{Nasty, Part, ProcessNo, Prompt, Session};
use legwork_store::Store;
use serde_json::json;

/// The process of the first window.
pub fn process(story: &Story) -> ProcessNo {
    story.world.windows[0].process
}

/// What is kept of a run: its result, or why there is none.
pub fn detail(story: &mut Story, task: TaskId, run: u32) -> String {
    story.world.audit().runs[&(task, run)].detail.clone()
}

/// When the task's last run counted as finished.
pub fn ended(story: &mut Story, task: TaskId) -> Time {
    story.world.audit().rows[&task].task.run.ended.unwrap_or_default()
}

/// When the helper's last message was complete in the host.
pub fn answered(story: &mut Story, task: TaskId) -> Time {
    let session = story.session_of(task);
    let there = story.world.oc.once(&session).into_iter();
    there.flat_map(Session::replies).filter_map(|reply| reply.completed).max().unwrap_or_default()
}

/// Lets time pass until the helper's answer is complete in the host.
pub fn until_answered(story: &mut Story, task: TaskId) {
    story.until("an answer in the host", |story| answered(story, task) > Time(0));
}

/// How many lines of the story hold these words.
pub fn count(story: &Story, words: &str) -> usize {
    story.world.trace.text().lines().filter(|line| line.contains(words)).count()
}

/// Every headline that tells of the task, in whatever session.
pub fn told_of(story: &Story, task: TaskId) -> Vec<String> {
    let id = task.to_string();
    let prompts = story.world.oc.ever().iter().flat_map(Session::prompts);
    let lines = prompts.flat_map(|(_, user)| &user.parts).flat_map(|part| part.text.lines());
    let mine = lines.filter(|line| line.starts_with("[BACKGROUND") && line.contains(&id));
    mine.map(str::to_owned).collect()
}

/// The question that waits in the first window.
pub fn question(story: &mut Story) -> QuestionId {
    let process = process(story);
    story.until("a question", |story| !story.world.oc.questions(process).is_empty());
    story.world.oc.questions(process)[0].id.clone()
}

/// The second window says that the helper's session is idle, which works in the first.
fn false_idle(story: &mut Story, task: TaskId) {
    let session = story.session_of(task);
    let other = story.world.windows[1].process;
    assert_eq!(story.world.oc.abort(other, &session), Ok(true));
}

/// Somebody else's message takes this id, so that the host says 204 to ours and then throws it
/// away with two errors and no idle: what it also does with an agent that it does not have.
pub fn occupy(story: &mut Story, message: MessageId) {
    let elsewhere = story.conversation("elsewhere");
    let part = Part { id: message.part(7), text: "Hello".into(), synthetic: false };
    let prompt = Prompt { message, parts: vec![part], agent: None, no_reply: true, ours: false };
    let process = process(story);
    assert_eq!(story.world.oc.prompt_async(process, &elsewhere, prompt), Ok(()));
}

/// The id under which the task's prompt is about to be sent.
pub fn until_prompting(story: &mut Story) -> (TaskId, MessageId) {
    let mut found = None;
    story.until("a prompt", |story| {
        let rows = story.world.audit().rows.values();
        found = rows.map(|row| &row.task).find_map(|task| match &task.stage {
            Stage::Prompting(message) => Some((task.id, message.clone())),
            _ => None,
        });
        found.is_some()
    });
    match found {
        Some(found) => found,
        None => unreachable!("it was found"),
    }
}

#[test]
fn d1_with_every_event_lost_the_end_is_found_by_polling_within_six_seconds() {
    let mut story = Story::new();
    story.world.faults.hint_lost = 1000;
    for ms in [1, 2_600, 4_800, 11_000] {
        let task = story.launch("Explore", &format!("wait {ms}; say found it"));
        story.until_status(task, Status::Completed);
        let late = ended(&mut story, task).since(answered(&mut story, task));
        assert!(late < 6_000, "{late} ms after an answer that took {ms} ms");
    }
    story.end();
}

#[test]
fn d1_an_idle_event_is_followed_at_once() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 1000; say found it");
    story.until_status(task, Status::Completed);
    let late = ended(&mut story, task).since(answered(&mut story, task));
    assert!(late < 50, "{late} ms");
    story.end();
}

#[test]
fn d1_an_error_event_is_followed_at_once() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 1000; fail 400");
    story.until_status(task, Status::Error);
    let late = ended(&mut story, task).since(answered(&mut story, task));
    assert!(late < 50, "{late} ms");
    story.end();
}

#[test]
fn d1_a_deletion_is_followed_at_once() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 60000; say found it");
    let session = story.session_of(task);
    story.pass(1_000);
    let deleted = story.world.now;
    story.world.delete_session(0, &session);
    story.until_status(task, Status::Cancelled);
    assert!(ended(&mut story, task).since(deleted) < 50);
    story.end();
}

/// The requests of a minute in which so many helpers work and nothing happens.
fn requests_of_a_minute(helpers: usize) -> u64 {
    let settings = Settings { max_running: 0, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    for number in 0..helpers {
        story.launch(&format!("Helper {number}"), "wait 200000; say done");
    }
    story.pass(10_000);
    let before = story.world.requests;
    story.pass(60_000);
    let spent = story.world.requests - before;
    story.end();
    spent
}

#[test]
fn d1_polling_fifty_helpers_costs_what_polling_one_does() {
    let one = requests_of_a_minute(1);
    assert!((11..=12).contains(&one), "{one} requests in a minute are not one in five seconds");
    assert_eq!(requests_of_a_minute(50), one);
}

#[test]
fn d1_a_notice_that_is_owed_is_tried_again_without_an_event() {
    let mut story = Story::new();
    let (main, process) = (story.main.clone(), process(&story));
    let task = story.launch("Explore", "say found it");
    story.world.oc.set_revert(process, &main).unwrap();
    story.until_status(task, Status::Completed);
    story.pass(20_000);
    assert!(story.told().is_empty());
    story.world.faults.hint_lost = 1000;
    story.world.oc.clear_revert(process, &main).unwrap();
    story.pass(6_000);
    assert_eq!(story.told().len(), 1);
    story.end();
}

#[test]
fn d2_an_idle_while_the_helper_works_ends_nothing() {
    let mut story = Story::new();
    story.world.boot();
    story.pass(1_000);
    let task = story.launch("Explore", "wait 20000; say found it");
    for _ in 0..5 {
        story.pass(1_000);
        let looks = count(&story, "how far is");
        false_idle(&mut story, task);
        story.pass(1_000);
        assert!(count(&story, "how far is") > looks, "the idle did not come");
        assert_eq!(story.status(task), Some(Status::Running));
    }
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "found it");
    story.end();
}

#[test]
fn d2_text_before_a_tool_call_is_not_the_end() {
    let mut story = Story::new();
    story.world.boot();
    story.pass(1_000);
    let task = story.launch("Explore", "text All done.; tool grep 20000; say really done");
    story.pass(3_000);
    false_idle(&mut story, task);
    story.pass(10_000);
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "really done");
    story.end();
}

#[test]
fn d2_the_idle_of_an_earlier_run_does_not_end_the_next() {
    let mut story = Story::new();
    story.world.faults.hint_doubled = 1000;
    let task = story.launch("Explore", "say one");
    story.until_status(task, Status::Completed);
    story.resume(task, "wait 8000; say two");
    let looks = count(&story, "how far is");
    story.pass(4_000);
    assert!(count(&story, "how far is") > looks, "the old idle did not come");
    assert_eq!(story.status(task), Some(Status::Resumed));
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 1), "two");
    story.end();
}

#[test]
fn d2_late_doubled_and_disordered_events_change_neither_results_nor_notices() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    story.world.faults.hint_late = 700;
    story.world.faults.hint_doubled = 700;
    story.world.faults.hint_lost = 200;
    let script = |n| format!("tool grep 50; text half {n}; tool read 50; say result {n}");
    let tasks: Vec<TaskId> = (0..4).map(|n| story.launch("Explore", &script(n))).collect();
    story.until_settled();
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(story.status(task), Some(Status::Completed));
        assert_eq!(detail(&mut story, task, 0), format!("result {number}"));
        assert_eq!(told_of(&story, task).len(), 1);
    }
    story.end();
}

#[test]
fn d2_an_error_that_cannot_be_read_yet_is_waited_for() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "fail 400");
    story.until_status(task, Status::Error);
    assert_eq!(detail(&mut story, task, 0), "APIError: fake failure 400");
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn d3_a_provider_error_is_an_error_with_its_cause() {
    let mut story = Story::new();
    let task = story.launch("Explore", "text So far so good; fail 400");
    story.until_status(task, Status::Error);
    assert_eq!(detail(&mut story, task, 0), "APIError: fake failure 400");
    let output = story.ask("background_output", json!({ "task_id": task.to_string() }));
    assert!(output.contains("Status: error") && output.contains("fake failure 400"), "{output}");
    story.end();
}

#[test]
fn d3_an_unknown_model_is_an_error_within_seconds() {
    let mut story = Story::new();
    let task = story.launch("Explore", "nomodel");
    story.pass(6_000);
    assert_eq!(story.status(task), Some(Status::Error));
    assert_eq!(detail(&mut story, task, 0), "UnknownError: Model not found: zz/yy.");
    story.end();
}

#[test]
fn d3_an_unknown_model_that_the_host_complains_of_twice_is_told_once() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "nomodel");
    story.pass(6_000);
    assert_eq!(story.status(task), Some(Status::Error));
    assert!(detail(&mut story, task, 0).starts_with("UnknownError: "));
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1);
    story.end();
}

#[test]
fn d3_a_prompt_that_the_host_takes_and_throws_away_is_an_error_within_seconds() {
    let mut story = Story::new();
    let main = story.main.clone();
    story.start(&main, "background_task", legwork_sim::story::launch("Explore", "say found it"));
    let (task, message) = until_prompting(&mut story);
    occupy(&mut story, message);
    story.pass(6_000);
    assert_eq!(story.status(task), Some(Status::Error));
    assert!(detail(&mut story, task, 0).contains("UNIQUE constraint failed"));
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn d3_a_run_that_is_aborted_in_the_host_is_an_error() {
    for nasty in [Nasty::calm(), Nasty::scripted()] {
        let mut story = Story::with(Settings::default(), nasty);
        let task = story.launch("Explore", "text Half of it; tool grep 60000; say found it");
        story.pass(5_000);
        let (session, process) = (story.session_of(task), process(&story));
        assert_eq!(story.world.oc.abort(process, &session), Ok(true));
        story.pass(5_000);
        assert_eq!(story.status(task), Some(Status::Error));
        let why = "The run was aborted in its session.\n\nIts last words:\nHalf of it";
        assert_eq!(detail(&mut story, task, 0), why, "its own words, not the host's for an error");
        story.until_settled();
        assert_eq!(told_of(&story, task).len(), 1);
        story.end();
    }
}

#[test]
fn d3_a_session_that_is_deleted_under_its_helper_is_cancelled_and_stopped() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "tool grep 600000; say found it");
    story.pass(5_000);
    let session = story.session_of(task);
    story.world.delete_session(0, &session);
    assert!(story.world.oc.runs(&session), "this host does not stop what it deletes");
    story.until_status(task, Status::Cancelled);
    assert_eq!(detail(&mut story, task, 0), "Cancelled because its session was deleted.");
    story.until_settled();
    assert!(!story.world.oc.runs(&session));
    assert!(told_of(&story, task)[0].starts_with("[BACKGROUND TASK CANCELLED] "));
    story.end();
}

#[test]
fn d3_a_tool_that_fails_is_no_failure_of_the_run_that_then_answers() {
    let mut story = Story::new();
    let task = story.launch("Explore", "ask bash; say did without");
    let question = question(&mut story);
    story.pass(1_000);
    let reply = Reply::Reject(Some("not here".to_owned()));
    story.person(Ask::Reply { question, reply });
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "did without");
    story.end();
}

#[test]
fn d3_broken_streams_and_provider_retries_are_no_failures() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "text half; drop; retry 2; tool grep 50; say whole");
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "whole");
    story.end();
}

#[test]
fn d3_a_helper_that_a_refused_permission_stops_is_an_error() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "text Let me look; ask bash; say found it");
    let question = question(&mut story);
    story.pass(1_000);
    story.person(Ask::Reply { question, reply: Reply::Reject(None) });
    story.pass(20_000);
    assert_eq!(story.status(task), Some(Status::Error));
    let why = detail(&mut story, task, 0);
    assert!(why.starts_with("The helper stopped without an answer."), "{why}");
    assert!(why.contains("Let me look"), "{why}");
    story.end();
}

#[test]
fn d6_what_a_deaf_stream_missed_is_looked_up() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 3000; say found it");
    story.world.deafen(0, true);
    story.until_status(task, Status::Completed);
    let late = ended(&mut story, task).since(answered(&mut story, task));
    assert!(late < 6_000, "{late} ms");
    story.world.deafen(0, false);
    let next = story.launch("Again", "wait 1000; say found more");
    story.until_status(next, Status::Completed);
    assert!(ended(&mut story, next).since(answered(&mut story, next)) < 50);
    insta::assert_snapshot!(story.end());
}

#[test]
fn d6_a_stream_that_broke_is_opened_again_and_what_it_missed_is_looked_up_at_once() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 1000; say found it");
    story.pass(1_050);
    story.world.cut_link(0);
    story.pass(49);
    assert!(!story.world.windows[0].linked);
    story.until("the link", |story| story.world.windows[0].linked);
    assert_eq!(story.status(task), Some(Status::Running));
    assert!(answered(&mut story, task) > Time(0), "it was to end while the link was down");
    story.pass(50);
    assert_eq!(story.status(task), Some(Status::Completed));
    insta::assert_snapshot!(story.end());
}

/// Books on the disk, and where. The snapshots' one call of another program is made first: a file
/// lock that is passed on to it would still hold when the daemon comes back.
pub fn on_disk() -> (std::path::PathBuf, Keeper) {
    insta::allow_duplicates! { insta::assert_snapshot!("on disk", @"on disk") };
    let folder = tempfile::tempdir().unwrap();
    (folder.path().to_owned(), Keeper::File(folder, None))
}

/// The records as they are on the disk, read by somebody else.
fn copy_of(folder: &std::path::Path) -> (tempfile::TempDir, Store) {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let opened = Store::open(copy.path()).unwrap();
    assert!(opened.set_aside.is_none());
    (copy, opened.store)
}

#[test]
fn d7_the_end_is_stored_with_its_time_and_its_result_or_error() {
    let (path, keeper) = on_disk();
    let mut story = Story::kept_in(keeper, Settings::default(), Nasty::calm());
    let good = story.launch("Explore", "wait 4000; say found it");
    let bad = story.launch("Fail", "fail 400");
    story.until_settled();
    let times = [good, bad].map(|task| ended(&mut story, task));
    assert!(times[0].since(answered(&mut story, good)) < 50);
    let (_copy, mut store) = copy_of(&path);
    assert_eq!(store.detail(good, 0).unwrap().as_deref(), Some("found it"));
    assert_eq!(store.detail(bad, 0).unwrap().as_deref(), Some("APIError: fake failure 400"));
    let kept: Vec<Option<Time>> =
        store.load().unwrap().tasks.iter().map(|task| task.run.ended).collect();
    assert_eq!(kept, times.map(Some));
    let history = store.timeline(bad).unwrap();
    let end = history.iter().find(|(_, _, event)| matches!(event, Event::Ended { .. }));
    assert_eq!(end.map(|(at, _, _)| *at), Some(times[1]));
    story.end();
}

#[test]
fn d7_every_run_keeps_its_own_result() {
    let (path, keeper) = on_disk();
    let mut story = Story::kept_in(keeper, Settings::default(), Nasty::calm());
    let task = story.launch("Explore", "say one");
    story.until_status(task, Status::Completed);
    story.resume(task, "fail 400");
    story.until_settled();
    story.world.kill_daemon();
    story.world.start_daemon();
    let (_copy, mut store) = copy_of(&path);
    assert_eq!(store.detail(task, 0).unwrap().as_deref(), Some("one"));
    assert_eq!(store.detail(task, 1).unwrap().as_deref(), Some("APIError: fake failure 400"));
    story.pass(5_000);
    let output = story.ask("background_output", json!({ "task_id": task.to_string() }));
    assert!(output.contains("APIError: fake failure 400"), "{output}");
    story.end();
}
