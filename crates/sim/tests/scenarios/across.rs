//! A session of one place with a helper on a host of another: the asker is told, and the task is
//! seen, where the asker is; the helper works, is looked for and is stopped where it is kept.

use legwork_engine::task::StageName;
use legwork_protocol::api::{Ask, Reply};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{SessionId, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::{SHARED, SPECIALIST};
use serde_json::{Value, json};

use crate::cancel::{cancel, detail, runs, until_stage};
use crate::keeping::{dead_for, ends_well_once, output};

/// A window with `main` and a host that serves everyone: its number.
fn two_places() -> (Story, usize) {
    let mut story = Story::new();
    let shared = story.world.boot_shared();
    story.pass(2_000);
    (story, shared)
}

fn with(agent: &str, script: &str) -> Value {
    json!({ "description": "Explore", "prompt": script, "agent": agent })
}

fn launch(story: &mut Story, script: &str) -> TaskId {
    let main = story.main.clone();
    let call = story.start(&main, "background_task", with(SPECIALIST, script));
    let answer = story.answer(call);
    story.world.calls[call].task().unwrap_or_else(|| panic!("not launched: {answer}"))
}

fn at_work(story: &mut Story, script: &str) -> TaskId {
    let task = launch(story, script);
    until_stage(story, task, StageName::Working);
    task
}

fn is_kept_there(story: &mut Story, task: TaskId) -> bool {
    let session = story.session_of(task);
    story.world.oc.once(&session).is_some_and(|session| session.database == SHARED)
}

fn list_all(story: &mut Story, window: usize, session: &SessionId) -> String {
    let call = story.start_in(window, session, "background_list", json!({ "all": true }));
    story.answer(call)
}

/// `main` is told once how the task ended.
fn told_once(story: &mut Story, task: TaskId, kind: &str) {
    story.until_settled();
    let headline = format!("[BACKGROUND TASK {kind}] {task} ");
    let told = story.told();
    let of_it = told.iter().filter(|delivery| delivery.headline.starts_with(&headline)).count();
    assert_eq!(of_it, 1, "{told:?}");
}

#[test]
fn l1_an_agent_that_only_another_host_has_works_there_and_is_told_here() {
    let (mut story, _) = two_places();
    let task = launch(&mut story, "say found it");
    ends_well_once(&mut story, task, 0, "found it");
    assert!(is_kept_there(&mut story, task));
    assert!(!story.told()[0].quiet, "somebody is here");
    insta::assert_snapshot!(story.end());
}

#[test]
fn l4_the_refusal_of_an_unknown_agent_names_those_of_all_hosts_own_first() {
    let (mut story, _) = two_places();
    let answer = story.ask("background_task", with("nobody", "say hello"));
    assert!(answer.contains("build, explore, general, plan, specialist"), "{answer}");
    story.end();
}

#[test]
fn l4_without_that_host_its_agent_is_unknown() {
    let mut story = Story::new();
    let answer = story.ask("background_task", with(SPECIALIST, "say hello"));
    assert!(answer.contains("build, explore, general, plan"), "{answer}");
    assert!(story.world.audit().rows.is_empty());
    story.end();
}

#[test]
fn l3_whether_to_block_first_depends_on_the_askers_host() {
    let (mut story, shared) = two_places();
    story.world.windows[shared].lifetime = HostLifetime::OneShot;
    story.world.cut_link(shared);
    story.pass(6_000);
    let answer = story.ask("background_task", with(SPECIALIST, "say hello"));
    assert!(!answer.contains("background_block"), "{answer}");
    story.world.windows[0].lifetime = HostLifetime::OneShot;
    story.world.cut_link(0);
    story.pass(6_000);
    let answer = story.ask("background_task", with(SPECIALIST, "say hello"));
    assert!(answer.contains("background_block"), "{answer}");
    story.end();
}

#[test]
fn g2_the_task_is_seen_in_the_askers_place_and_not_in_the_helpers() {
    let (mut story, shared) = two_places();
    let stranger = story.conversation_in(shared, "stranger");
    let task = at_work(&mut story, "wait 20000; say found it");
    let main = story.main.clone();
    assert!(list_all(&mut story, 0, &main).starts_with(&task.to_string()));
    assert_eq!(list_all(&mut story, shared, &stranger), "No background tasks found.");
    assert!(output(&mut story, task).contains("Status: running"));
    let arguments = json!({ "task_id": task.to_string() });
    for tool in ["background_output", "background_cancel"] {
        let call = story.start_in(shared, &stranger, tool, arguments.clone());
        assert!(story.answer(call).contains("not found"));
    }
    story.until_status(task, Status::Completed);
    let arguments = json!({ "resume": task.to_string(), "prompt": "say more" });
    let call = story.start_in(shared, &stranger, "background_task", arguments);
    assert!(story.answer(call).contains("not found"));
    story.end();
}

#[test]
fn n1_an_asker_whose_link_breaks_is_told_when_it_is_back() {
    let (mut story, _) = two_places();
    let task = at_work(&mut story, "wait 1500; say found it");
    story.world.cut_link(0);
    ends_well_once(&mut story, task, 0, "found it");
    insta::assert_snapshot!(story.end());
}

#[test]
fn n1_an_asker_whose_host_ends_is_told_through_another_of_its_place() {
    let (mut story, _) = two_places();
    let task = at_work(&mut story, "wait 5000; say found it");
    story.world.kill_window(0);
    story.until_status(task, Status::Completed);
    story.pass(30_000);
    assert!(story.told().is_empty(), "the helper's host does not have the conversation");
    story.world.boot();
    told_once(&mut story, task, "COMPLETED");
    assert!(story.told()[0].quiet, "nobody has used it since");
    insta::assert_snapshot!(story.end());
}

#[test]
fn d1_a_helper_whose_hosts_link_breaks_ends_well() {
    let (mut story, shared) = two_places();
    let task = at_work(&mut story, "wait 1500; say found it");
    story.world.cut_link(shared);
    ends_well_once(&mut story, task, 0, "found it");
    insta::assert_snapshot!(story.end());
}

#[test]
fn d2_a_helper_whose_host_ends_is_interrupted_and_told_where_the_asker_is() {
    let (mut story, shared) = two_places();
    let task = at_work(&mut story, "wait 20000; say found it");
    story.world.kill_window(shared);
    story.until_status(task, Status::Error);
    assert!(detail(&mut story, task, 0).starts_with("interrupted"));
    told_once(&mut story, task, "FAILED");
    assert!(!story.told()[0].quiet, "its own host is there");
    insta::assert_snapshot!(story.end());
}

#[test]
fn d2_an_answer_that_the_ended_host_left_is_read_through_another_of_its_place() {
    let (mut story, shared) = two_places();
    let task = at_work(&mut story, "wait 1500; say found it");
    story.world.deafen(shared, true);
    story.pass(2_000);
    story.world.kill_window(shared);
    story.world.boot_shared();
    ends_well_once(&mut story, task, 0, "found it");
    insta::assert_snapshot!(story.end());
}

#[test]
fn r6_a_resume_goes_on_where_the_session_is_kept() {
    let (mut story, shared) = two_places();
    let task = launch(&mut story, "say first");
    ends_well_once(&mut story, task, 0, "first");
    story.resume(task, "say second");
    ends_well_once(&mut story, task, 1, "second");
    story.world.kill_window(shared);
    story.world.boot_shared();
    story.pass(2_000);
    story.resume(task, "say third");
    ends_well_once(&mut story, task, 2, "third");
    assert!(is_kept_there(&mut story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn r6_a_resume_is_refused_while_no_host_of_the_sessions_place_is_there() {
    let (mut story, shared) = two_places();
    let task = launch(&mut story, "say first");
    ends_well_once(&mut story, task, 0, "first");
    story.world.kill_window(shared);
    story.pass(6_000);
    let answer = story.resume(task, "say second");
    assert!(answer.contains("could not be reached"), "{answer}");
    assert_eq!(story.status(task), Some(Status::Completed));
    story.end();
}

#[test]
fn x2_a_cancel_stops_the_session_where_it_is_kept() {
    let (mut story, _) = two_places();
    let task = at_work(&mut story, "hang");
    cancel(&mut story, task);
    story.until_settled();
    assert!(!runs(&story, task));
    assert!(story.told().is_empty());
    story.end();
}

#[test]
fn c1_a_clear_forgets_the_task_and_stops_its_session() {
    let (mut story, _) = two_places();
    let task = at_work(&mut story, "hang");
    story.ask("background_clear", json!({}));
    story.until_settled();
    assert_eq!(story.status(task), None);
    assert!(!runs(&story, task));
    story.end();
}

#[test]
fn k3_a_deleted_asker_takes_its_helpers_elsewhere_along() {
    let (mut story, _) = two_places();
    let task = at_work(&mut story, "hang");
    let main = story.main.clone();
    story.world.delete_session(0, &main);
    story.until("the task to be forgotten", |story| story.status(task).is_none());
    story.until_settled();
    assert!(!runs(&story, task));
    insta::assert_snapshot!(story.end());
}

#[test]
fn d5_a_question_is_told_where_the_asker_is_and_answered_where_the_helper_is() {
    let (mut story, shared) = two_places();
    let task = launch(&mut story, "ask bash; say found it");
    let process = story.world.windows[shared].process;
    story.until("a question", |story| !story.world.oc.questions(process).is_empty());
    let question = story.world.oc.questions(process)[0].id.clone();
    story.until("the question to be told", |story| story.told().len() == 1);
    assert!(story.told()[0].headline.starts_with(&format!("[BACKGROUND TASK WAITING] {task} ")));
    story.person(Ask::Reply { question, reply: Reply::Once });
    ends_well_once(&mut story, task, 0, "found it");
    story.end();
}

#[test]
fn k2_a_restart_at_every_stage_loses_nothing() {
    for stage in [StageName::Opening, StageName::Prompting, StageName::Working] {
        let (mut story, _) = two_places();
        let main = story.main.clone();
        let arguments = with(SPECIALIST, "wait 1500; say found it");
        let call = story.start(&main, "background_task", arguments);
        let at = |story: &mut Story| {
            let mut rows = story.world.audit().rows.values();
            rows.find(|row| row.task.stage.name() == stage).map(|row| row.task.id)
        };
        story.until(stage.as_str(), |story| at(story).is_some());
        let task = at(&mut story).unwrap();
        dead_for(&mut story, 3_000);
        story.answer(call);
        ends_well_once(&mut story, task, 0, "found it");
        dead_for(&mut story, 3_000);
        assert!(output(&mut story, task).contains("Status: completed"));
        story.resume(task, "say more");
        dead_for(&mut story, 3_000);
        story.until_status(task, Status::Completed);
        assert!(is_kept_there(&mut story, task));
        drop(story.end());
    }
}

#[test]
fn l9_an_agent_of_another_place_cannot_start_with_a_copy() {
    let (mut story, _) = two_places();
    let main = story.main.clone();
    let mut arguments = with(SPECIALIST, "say found it");
    arguments["fork"] = json!(true);
    let answer = story.call(&main, "background_task", arguments);
    assert!(answer.contains("cannot start with a copy of this conversation"), "{answer}");
    assert_eq!(story.world.audit().rows.len(), 0, "nothing is left behind");
    story.end();
}
