//! `background_cancel`: X1 to X3. Calling a task off is done at once in the records, and pending to
//! the host until nothing runs any more.

use legwork_engine::task::{Stage, StageName};
use legwork_protocol::Ask;
use legwork_protocol::{SessionId, Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::calls::CallNo;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use legwork_sim::world::Faults;
use serde_json::json;

use super::restarts::fails;

/// The stage of a task as saved.
pub(crate) fn stage(story: &mut Story, task: TaskId) -> Option<StageName> {
    story.world.audit().rows.get(&task).map(|row| row.task.stage.name())
}

pub(crate) fn until_stage(story: &mut Story, task: TaskId, wanted: StageName) {
    story.until(wanted.as_str(), |story| stage(story, task) == Some(wanted));
}

/// Whether anything runs in the sessions of a task, deleted ones too.
pub(crate) fn runs(story: &Story, task: TaskId) -> bool {
    let marked = story.world.oc.ever().iter().filter(|session| session.mark == Some(task));
    marked.into_iter().any(|session| story.world.oc.runs(&session.id))
}

/// The result or reason of a task's run.
pub(crate) fn detail(story: &mut Story, task: TaskId, run: u32) -> String {
    let run = story.world.audit().runs.get(&(task, run)).map(|run| run.detail.clone());
    run.unwrap_or_default()
}

/// `main` launches a helper, and the story goes on when its session is being opened: with these
/// faults, which begin when its agent has been asked for.
pub(crate) fn launch_to_opening(
    story: &mut Story,
    script: &str,
    faults: Faults,
) -> (CallNo, TaskId) {
    let main = story.main.clone();
    let asked = story.world.requests;
    let call = story.start(&main, "background_task", launch("Opening", script));
    story.until("a look for the agent", |story| story.world.requests > asked);
    story.world.faults = faults;
    let opening = |story: &mut Story| {
        let mut rows = story.world.audit().rows.values();
        rows.find(|row| row.task.stage == Stage::Opening).map(|row| row.task.id)
    };
    story.until("a session to be opened", |story| opening(story).is_some());
    (call, opening(story).unwrap())
}

/// Nothing that is asked of a host arrives.
pub(crate) fn all_lost() -> Faults {
    Faults { lost_before: 1000, ..Faults::default() }
}

/// Everything that is asked of a host takes long.
pub(crate) fn all_slow() -> Faults {
    Faults { slow: 1000, ..Faults::default() }
}

pub(crate) fn calm() -> Faults {
    Faults::default()
}

fn one_place() -> Settings {
    Settings { max_running: 1, ..Settings::default() }
}

fn two_levels() -> Settings {
    Settings { max_depth: 2, ..Settings::default() }
}

fn cancel_from(story: &mut Story, from: &SessionId, task: TaskId) -> String {
    story.call(from, "background_cancel", json!({ "task_id": task.to_string() }))
}

pub(crate) fn cancel(story: &mut Story, task: TaskId) -> String {
    let main = story.main.clone();
    cancel_from(story, &main, task)
}

/// The task is called off, and everybody sees it at once.
fn is_cancelled(story: &mut Story, task: TaskId) {
    let answer = cancel(story, task);
    assert!(answer.starts_with(&format!("Cancelled {task}")), "{answer}");
    assert_eq!(story.status(task), Some(Status::Cancelled));
    let listed = story.ask("background_list", json!({ "status": "cancelled" }));
    assert!(listed.starts_with(&task.to_string()), "{listed}");
}

#[test]
fn x1_a_queued_task_is_cancelled_and_never_starts() {
    let mut story = Story::with(one_place(), Nasty::calm());
    let first = story.launch("First", "wait 20000; say first");
    let queued = story.launch("Second", "say second");
    assert_eq!(stage(&mut story, queued), Some(StageName::Queued));
    is_cancelled(&mut story, queued);
    story.until_status(first, Status::Completed);
    story.pass(60_000);
    assert_eq!(story.world.oc.ever_marked(queued), 0);
    assert_eq!(story.status(queued), Some(Status::Cancelled));
    story.end();
}

#[test]
fn x1_a_task_that_is_being_opened_leaves_no_session() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let (_, task) = launch_to_opening(&mut story, "hang", all_slow());
    is_cancelled(&mut story, task);
    story.world.faults = calm();
    story.until_settled();
    assert_eq!(story.world.oc.ever_marked(task), 1, "it was opened after all");
    assert_eq!(story.world.oc.sessions_marked(task).count(), 0, "and is gone again");
    assert!(story.told().is_empty());
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_a_prompt_that_arrives_after_the_cancel_does_not_run_on() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let (_, task) = launch_to_opening(&mut story, "hang", calm());
    story.world.faults = all_slow();
    until_stage(&mut story, task, StageName::Prompting);
    let session = story.session_of(task);
    is_cancelled(&mut story, task);
    assert_eq!(story.world.oc.messages(&session).map(<[_]>::len), Ok(0), "it is still on its way");
    story.world.faults = calm();
    story.until_settled();
    assert_eq!(story.world.oc.once(&session).map(|there| there.prompts().count()), Some(1));
    assert!(!runs(&story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_a_session_that_never_got_its_prompt_is_deleted() {
    let mut story = Story::new();
    let (_, task) = launch_to_opening(&mut story, "hang", calm());
    story.world.faults = all_lost();
    until_stage(&mut story, task, StageName::Prompting);
    is_cancelled(&mut story, task);
    story.pass(5_000);
    story.world.faults = calm();
    story.until_settled();
    assert_eq!(story.world.oc.ever_marked(task), 1);
    assert_eq!(story.world.oc.sessions_marked(task).count(), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_a_working_task_is_aborted_and_keeps_its_session() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Work", "tool bash; hang");
    story.pass(8_000);
    assert_eq!(stage(&mut story, task), Some(StageName::Working));
    assert!(runs(&story, task));
    is_cancelled(&mut story, task);
    story.pass(1_000);
    assert!(!runs(&story, task));
    assert_eq!(story.world.oc.sessions_marked(task).count(), 1);
    story.end();
}

#[test]
fn x1_a_resumed_task_is_cancelled_like_a_running_one() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Work", "say one");
    story.until_status(task, Status::Completed);
    story.resume(task, "hang");
    assert_eq!(story.status(task), Some(Status::Resumed));
    until_stage(&mut story, task, StageName::Working);
    story.pass(2_000);
    is_cancelled(&mut story, task);
    story.until_settled();
    assert!(!runs(&story, task));
    assert_eq!(story.told().len(), 1, "of the first run alone");
    story.end();
}

#[test]
fn x1_a_resumed_task_that_waits_in_the_queue_is_never_prompted_again() {
    let mut story = Story::with(one_place(), Nasty::calm());
    let task = story.launch("Work", "say one");
    story.until_status(task, Status::Completed);
    let other = story.launch("Other", "wait 9000; say other");
    story.resume(task, "say two");
    assert_eq!(stage(&mut story, task), Some(StageName::Queued));
    is_cancelled(&mut story, task);
    story.until_status(other, Status::Completed);
    story.pass(10_000);
    let session = story.session_of(task);
    assert_eq!(story.world.oc.get(&session).unwrap().prompts().count(), 1);
    story.end();
}

#[test]
fn x1_a_task_that_waits_for_a_permission_is_cancelled_with_its_question() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Asker", "ask rm; say done");
    story.until("a question", |story| {
        let output = story.ask("background_output", json!({ "task_id": task.to_string() }));
        output.contains("Waiting:") && output.contains("rm")
    });
    is_cancelled(&mut story, task);
    story.until_settled();
    assert!(!runs(&story, task));
    let told = story.told();
    assert!(told.iter().all(|delivery| delivery.headline.starts_with("[BACKGROUND TASK WAITING]")));
    story.end();
}

#[test]
fn x1_a_task_whose_host_ended_is_cancelled_and_its_parent_told_later() {
    let mut story = Story::with(fails(), Nasty::calm());
    let task = story.launch("Cut off", "hang");
    story.pass(3_000);
    story.world.kill_window(0);
    story.pass(10_000);
    assert_eq!(story.status(task), Some(Status::Running), "within the grace time");
    story.person(Ask::Cancel { task: task.to_string() });
    assert_eq!(story.status(task), Some(Status::Cancelled));
    story.pass(120_000);
    assert_eq!(story.status(task), Some(Status::Cancelled), "and not interrupted");
    story.world.boot();
    story.until_settled();
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].headline.starts_with("[BACKGROUND TASK CANCELLED]"));
    story.end();
}

#[test]
fn x1_an_abort_that_overtakes_the_start_of_the_turn_is_done_again() {
    let nasty = Nasty { store_ms: (40, 40), busy_ms: (800, 800), ..Nasty::scripted() };
    let mut story = Story::with(Settings::default(), nasty);
    let task = story.launch("Gap", "hang");
    until_stage(&mut story, task, StageName::Working);
    let session = story.session_of(task);
    is_cancelled(&mut story, task);
    story.pass(100);
    let first = story.world.oc.get(&session).unwrap().facts.last_abort;
    assert!(first.is_some(), "it was aborted before anything showed");
    story.pass(1_000);
    assert_eq!(story.turns(&session), 1, "and began all the same");
    assert!(runs(&story, task));
    story.until_settled();
    assert!(!runs(&story, task));
    assert!(story.world.oc.get(&session).unwrap().facts.last_abort > first);
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_a_late_answer_cannot_turn_it_back() {
    let mut story = Story::new();
    let task = story.launch("Late", "wait 3000; say too late");
    until_stage(&mut story, task, StageName::Working);
    let session = story.session_of(task);
    story.world.deafen(0, true);
    story.until("the host to have the answer", |story| {
        let replies = story.world.oc.get(&session).unwrap().replies();
        replies.into_iter().any(|reply| &*reply.text == "too late")
    });
    is_cancelled(&mut story, task);
    story.world.deafen(0, false);
    story.until_settled();
    story.pass(60_000);
    assert_eq!(story.status(task), Some(Status::Cancelled));
    assert!(story.told().is_empty());
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_a_look_under_way_when_it_is_cancelled_changes_nothing() {
    let mut story = Story::new();
    let task = story.launch("Slow look", "wait 1000; say too late");
    until_stage(&mut story, task, StageName::Working);
    story.world.faults = all_slow();
    story.until("a look", |story| story.transcript().contains("how far is"));
    is_cancelled(&mut story, task);
    story.world.faults = calm();
    story.until_settled();
    story.pass(60_000);
    assert_eq!(story.status(task), Some(Status::Cancelled));
    assert_eq!(detail(&mut story, task, 0), "Cancelled by the session that asked for it.");
    assert!(story.told().is_empty());
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_the_abort_waits_for_a_link_that_is_down() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Out of reach", "hang");
    story.pass(5_000);
    story.world.cut_link(0);
    story.pass(10);
    story.person(Ask::Cancel { task: task.to_string() });
    assert_eq!(story.status(task), Some(Status::Cancelled), "at once");
    assert!(runs(&story, task), "nobody can stop it yet");
    story.until_settled();
    assert!(!runs(&story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_the_abort_is_tried_until_the_host_has_heard_it() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Deaf host", "hang");
    story.pass(5_000);
    story.world.faults = all_lost();
    is_cancelled(&mut story, task);
    story.pass(60_000);
    assert!(runs(&story, task));
    assert!(story.world.audit().stops.contains_key(&task), "it is pending");
    story.world.faults = calm();
    story.until_settled();
    assert!(!runs(&story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_a_cancel_whose_abort_was_never_sent_survives_the_daemon() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Killed between", "hang");
    story.pass(5_000);
    story.world.faults = all_lost();
    is_cancelled(&mut story, task);
    story.world.kill_daemon();
    story.world.faults = calm();
    story.pass(60_000);
    assert!(runs(&story, task));
    story.world.start_daemon();
    assert_eq!(story.status(task), Some(Status::Cancelled));
    story.until_settled();
    assert!(!runs(&story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn x1_the_tree_below_a_cancelled_task_goes_with_it() {
    let mut story = Story::with(two_levels(), Nasty::scripted());
    let top = story.launch("Top", "hang");
    let beside = story.launch("Beside", "wait 20000; say beside");
    let session = story.session_of(top);
    let below = story.launch_from(&session, "Below", "hang");
    story.pass(5_000);
    assert!(runs(&story, below));
    is_cancelled(&mut story, top);
    assert_eq!(story.status(below), Some(Status::Cancelled));
    story.until("all to be stopped", |story| story.world.audit().stops.is_empty());
    assert!(!runs(&story, top) && !runs(&story, below));
    assert!(story.deliveries(&session).is_empty(), "nobody is left to read it");
    story.until_status(beside, Status::Completed);
    insta::assert_snapshot!(story.end());
}

#[test]
fn x2_a_finished_task_cannot_be_cancelled() {
    let mut story = Story::new();
    let completed = story.launch("Good", "say good");
    let failed = story.launch("Bad", "fail 400");
    let cancelled = story.launch("Off", "hang");
    cancel(&mut story, cancelled);
    story.until_settled();
    for (task, status) in [(completed, "completed"), (failed, "error"), (cancelled, "cancelled")] {
        let answer = cancel(&mut story, task);
        let exact = format!(
            "Cannot cancel task: status is '{status}'. Only running or resumed tasks can be \
             cancelled."
        );
        assert_eq!(answer, exact);
        assert!(story.world.calls.last().unwrap().refused());
        assert_eq!(story.status(task).map(Status::as_str), Some(status));
    }
    story.end();
}

#[test]
fn x2_an_unknown_task_cannot_be_cancelled() {
    let mut story = Story::new();
    let running = story.launch("Bystander", "wait 5000; say here");
    for id in ["bg_00000000", "nonsense", ""] {
        let answer = story.ask("background_cancel", json!({ "task_id": id }));
        let exact = format!("Task not found: {id}. Use background_list to see available tasks.");
        assert_eq!(answer, exact);
        assert!(story.world.calls.last().unwrap().refused());
    }
    assert_eq!(story.status(running), Some(Status::Running));
    story.end();
}

#[test]
fn x3_the_parent_that_cancels_gets_no_notice() {
    let mut story = Story::new();
    let task = story.launch("Mine", "hang");
    let main = story.main.clone();
    story.pass(3_000);
    let turns = story.turns(&main);
    is_cancelled(&mut story, task);
    story.until_settled();
    story.pass(60_000);
    assert!(story.told().is_empty());
    assert_eq!(story.turns(&main), turns);
    story.end();
}

/// The one delivery to `main`, about a task that somebody else called off.
fn told_of_cancel(story: &mut Story, task: TaskId, why: &str) {
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Cancelled));
    let told = story.told();
    assert_eq!(told.len(), 1);
    let head = format!("[BACKGROUND TASK CANCELLED] {task} ");
    assert!(told[0].headline.starts_with(&head), "{}", told[0].headline);
    assert_eq!(told[0].results, [format!("What came of {task}:\n\n{why}")]);
}

#[test]
fn x3_a_task_cancelled_by_another_session_is_told_to_its_parent() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let task = story.launch("Mine", "hang");
    story.pass(3_000);
    cancel_from(&mut story, &other, task);
    told_of_cancel(&mut story, task, "Cancelled by another session of this project.");
    assert!(story.deliveries(&other).is_empty());
    story.end();
}

#[test]
fn x3_a_task_cancelled_by_a_person_is_told_to_its_parent() {
    let mut story = Story::new();
    let task = story.launch("Mine", "hang");
    story.pass(3_000);
    story.person(Ask::Cancel { task: task.to_string() });
    told_of_cancel(&mut story, task, "Cancelled by a person.");
    story.end();
}

#[test]
fn x3_a_task_whose_session_was_deleted_is_told_to_its_parent() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Mine", "tool bash 30000; hang");
    story.pass(5_000);
    let session = story.session_of(task);
    story.world.delete_session(0, &session);
    assert!(runs(&story, task), "deleting does not stop it");
    told_of_cancel(&mut story, task, "Cancelled because its session was deleted.");
    assert!(!runs(&story, task));
    story.end();
}

#[test]
fn x3_who_resumed_it_is_told_when_the_first_parent_cancels_it() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let task = story.launch("Shared", "say one");
    story.until_settled();
    let again = json!({ "resume": task.to_string(), "prompt": "hang" });
    story.call(&other, "background_task", again);
    story.pass(3_000);
    is_cancelled(&mut story, task);
    story.until_settled();
    assert_eq!(story.told().len(), 1, "of the first run alone");
    let told = story.deliveries(&other);
    assert_eq!(told.len(), 1);
    assert!(told[0].headline.starts_with("[BACKGROUND TASK CANCELLED]"));
    story.end();
}
