//! `background_task` in launch mode: L1 to L4, L6 and L9. Its limits are in `launch_limits.rs`.

use std::path::Path;

use crate::restarts::fails;
use legwork_engine::record::Origin;
use legwork_engine::text::answers;
use legwork_engine::text::fence::Fence;
use legwork_engine::{
    Caller, Change, Engine, Finding, Hint, Input, Journal, Saved, Say, Serves, Stage, Task,
};
use legwork_protocol::api::ToolCall;
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{Ask, CallId, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::books::Keeper;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use legwork_sim::world::name;
use legwork_store::Store;
use serde_json::{Value, json};

const NO_HOST: &str = "The host could not be reached, so nothing was done. Try again in a moment.";

/// How many sessions were ever opened for tasks.
pub fn helpers(story: &Story) -> usize {
    story.world.oc.ever().iter().filter(|session| session.mark.is_some()).count()
}

/// How many tasks are kept.
pub fn tasks(story: &mut Story) -> usize {
    story.world.audit().rows.len()
}

pub fn record(story: &mut Story, task: TaskId) -> Task {
    story.world.audit().rows[&task].task.clone()
}

pub fn last_answer(story: &Story) -> String {
    story.world.calls.last().and_then(|call| call.text()).unwrap().to_owned()
}

pub fn line<'a>(answer: &'a str, begins: &str) -> &'a str {
    answer.lines().find_map(|line| line.strip_prefix(begins)).unwrap()
}

/// Whatever the window is asked from now on reaches it after so long.
fn delay_host(story: &mut Story, ms: u64) {
    story.world.windows[0].slow_until = story.world.now.plus(ms);
}

/// Lets time pass until the host is asked something.
fn until_asked(story: &mut Story) {
    let before = story.world.requests;
    story.until("a request", |story| story.world.requests > before);
}

/// Nothing of a launch is kept, opened or pending.
fn assert_nothing_is_left(story: &mut Story) {
    assert_eq!(helpers(story), 0);
    let audit = story.world.audit();
    assert!(audit.rows.is_empty() && audit.parents.is_empty());
    assert!(audit.runs.values().all(|run| run.forgotten));
    assert!(audit.stops.is_empty() && audit.pending.is_empty());
    assert_eq!(story.ask("background_list", json!({})), "No background tasks found.");
}

#[test]
fn l1_every_missing_argument_of_a_launch_is_named() {
    let blanks = [Value::Null, json!(""), json!(" \t\n")];
    for mask in 0..7u8 {
        for blank in &blanks {
            let mut arguments = launch("Explore", "say hi");
            let mut missing = Vec::new();
            for (bit, key) in ["description", "prompt", "agent"].into_iter().enumerate() {
                if mask & (1 << bit) == 0 {
                    arguments[key] = blank.clone();
                    missing.push(key);
                }
            }
            let refusal = ToolCall::read("background_task", arguments).unwrap_err().text();
            let (_, named) = refusal.split_once("Missing: ").unwrap();
            assert_eq!(named.split_once(". ").unwrap().0, missing.join(", "));
        }
    }
    let nothing = ToolCall::read("background_task", json!({})).unwrap_err().text();
    assert!(nothing.contains("Missing: description, prompt, agent. "), "{nothing}");
}

#[test]
fn l1_an_empty_resume_is_a_launch_with_all_that_it_needs() {
    for resume in [Value::Null, json!(false), json!("")] {
        let ask = ToolCall::read("background_task", json!({ "prompt": "go", "resume": resume }));
        assert!(ask.unwrap_err().text().contains("Missing: description, agent. "));
        let mut arguments = launch("Explore", "say hi");
        arguments["resume"] = resume;
        let ask = ToolCall::read("background_task", arguments);
        assert!(matches!(&ask, Ok(call) if matches!(call.ask, Ask::Launch { .. })), "{ask:?}");
    }
}

#[test]
fn l1_a_launch_that_lacks_something_changes_nothing() {
    let mut story = Story::new();
    let before = (story.world.requests, story.world.oc.ever().len());
    let arguments = json!({ "prompt": "say hi", "agent": "  " });
    assert!(ToolCall::read("background_task", arguments).is_err());
    story.pass(60_000);
    assert_eq!((story.world.requests, story.world.oc.ever().len()), before);
    assert_nothing_is_left(&mut story);
    story.end();
}

/// What is on the disk, read from a copy, as a start would read it.
fn on_disk(folder: &Path) -> (Saved, Vec<u8>) {
    let copy = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        bytes.extend(std::fs::read(&path).unwrap());
    }
    (Store::open(copy.path()).unwrap().store.load().unwrap(), bytes)
}

#[test]
fn l2_everything_about_a_launch_is_on_the_disk_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let keeper = Keeper::File(folder, None);
    let mut story = Story::kept_in(keeper, Settings::default(), Nasty::calm());
    let asked = story.world.now;
    let task = story.launch("Explore", "wait 5000; say found it");
    let call = story.world.calls.len() - 1;
    let (saved, bytes) = on_disk(&path);
    let [kept] = saved.tasks.as_slice() else { panic!("{} tasks are kept", saved.tasks.len()) };
    assert_eq!((kept.id, kept.status(), kept.run.number), (task, Status::Running, 0));
    assert_eq!(
        (&kept.parent, &kept.root, &kept.run.asker),
        (&story.main, &story.main, &story.main)
    );
    assert_eq!(kept.run.key.as_str(), format!("{}:call-{call}", story.main));
    assert!(kept.created.since(asked) < 1_000 && kept.created >= asked);
    assert_eq!((&*kept.agent, &*kept.description), ("general", "Explore"));
    assert_eq!(kept.run.prompt.as_deref(), Some("wait 5000; say found it"));
    assert_eq!(kept.session.as_ref(), Some(&story.session_of(task)));
    // The row of where it came from: message, agent and directory of the caller.
    let row = format!("{task}msg_toolbuildproject").into_bytes();
    assert!(bytes.windows(row.len()).any(|window| window == row));
    story.end();
}

#[test]
fn l2_the_callers_message_agent_call_directory_and_time_are_saved_with_the_task() {
    let (host, place) = (name("opencode-1"), name("project"));
    let caller = Caller::Session {
        host: name("opencode-1"),
        session: name("ses_parent"),
        key: name("ses_parent:call_7"),
        message: name("msg_with_the_call"),
        agent: "plan".to_owned(),
        directory: "/projects/one/part".to_owned(),
        taken_over: Vec::new(),
    };
    let ask = ToolCall::read("background_task", launch("Explore", "look")).unwrap().ask;
    let mut engine = Engine::new(Settings::default());
    let lifetime = HostLifetime::Interactive;
    let came = Hint::HostCame { host, place, lifetime, serves: Serves::OwnPlace };
    drop(engine.on(Input::Hint(came), Time(1_000)));
    let spare = TaskId::from_number(1);
    let check_agent = engine.on(Input::Ask { call: CallId(1), caller, ask, spare }, Time(2_000));
    assert!(check_agent.save.is_empty(), "nothing is kept before the agent is known");
    let found = Input::Found { work: check_agent.work[0].id, found: Ok(Finding::AgentKnown) };
    let accepted = engine.on(found, Time(3_000));
    let launched = accepted.save.iter().find_map(|change| match change {
        Change::Launched { task, origin } => Some((task, origin)),
        _ => None,
    });
    let (task, origin) = launched.unwrap();
    let expected = Origin {
        message: "msg_with_the_call".to_owned(),
        agent: "plan".to_owned(),
        directory: "/projects/one/part".to_owned(),
    };
    assert_eq!(*origin, expected);
    assert_eq!((task.status(), task.run.number), (Status::Running, 0));
    assert_eq!(task.parent.as_str(), "ses_parent");
    assert_eq!(task.run.key.as_str(), "ses_parent:call_7");
    assert_eq!((task.created, task.run.started), (Time(3_000), Time(3_000)));
    assert_eq!(&*task.agent, "general");
}

#[test]
fn l3_the_answer_comes_when_the_task_is_saved_and_not_when_its_session_is_open() {
    let mut story = Story::new();
    let main = story.main.clone();
    let call = story.start(&main, "background_task", launch("Explore", "say found it"));
    until_asked(&mut story);
    delay_host(&mut story, 5_000);
    let answer = story.answer(call);
    let task = story.world.calls[call].task().unwrap();
    assert!(answer.lines().any(|line| line == format!("Task ID: {task}")));
    assert!(answer.contains("notification"));
    assert_eq!(record(&mut story, task).stage, Stage::Opening);
    assert_eq!(helpers(&story), 0, "no session is open yet");
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    let session = story.session_of(task);
    let again = story.launch("Look", "wait 5000; say found it");
    let session_of_another = story.session_of(again);
    let shown = story.ask("background_output", json!({ "task_id": again.to_string() }));
    assert!(shown.contains(&format!("Session ID: {session_of_another}")), "{shown}");
    assert_ne!(session, session_of_another);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l3_a_helper_that_never_comes_back_keeps_no_caller_waiting() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let before = story.world.now;
    let task = story.launch("Explore", "hang");
    assert!(story.world.now.since(before) < 100);
    story.pass(10 * 60_000);
    assert_eq!(story.status(task), Some(Status::Running));
    story.ask("background_cancel", json!({ "task_id": task.to_string() }));
    story.end();
}

#[test]
fn l3_an_opening_whose_answer_is_lost_is_found_again() {
    let mut story = Story::new();
    let main = story.main.clone();
    let call = story.start(&main, "background_task", launch("Explore", "say hi"));
    until_asked(&mut story);
    story.world.faults.lost_after = 1_000;
    until_asked(&mut story);
    story.world.faults.lost_after = 0;
    story.pass(2_000);
    assert_eq!((helpers(&story), story.is_answered(call)), (1, true));
    let opened = story.world.oc.ever().last().unwrap().id.clone();
    let task = story.world.calls[call].task().unwrap();
    story.until_settled();
    assert_eq!(story.session_of(task), opened);
    assert_eq!(helpers(&story), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l3_a_session_that_cannot_be_opened_is_a_failed_run_with_its_notice() {
    let mut story = Story::new();
    let main = story.main.clone();
    let call = story.start(&main, "background_task", launch("Explore", "say hi"));
    until_asked(&mut story);
    story.world.faults.lost_before = 1_000;
    story.answer(call);
    let task = story.world.calls[call].task().unwrap();
    story.until_status(task, Status::Error);
    story.world.faults.lost_before = 0;
    story.until_settled();
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].headline.starts_with(&format!("[BACKGROUND TASK FAILED] {task} ")));
    assert_eq!(helpers(&story), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l4_unknown_agent_is_refused_and_leaves_nothing_behind() {
    let mut story = Story::new();
    for agent in ["nobody", "title", "General"] {
        let mut arguments = launch("Explore", "say hi");
        arguments["agent"] = json!(agent);
        let answer = story.ask("background_task", arguments);
        assert!(story.world.calls.last().unwrap().refused());
        let expected = format!(
            "There is no agent named {agent}. Agents here: build, explore, general, plan. Call \
             again with one of them."
        );
        assert_eq!(answer, expected);
    }
    assert_nothing_is_left(&mut story);
    story.end();
}

#[test]
fn l4_a_host_that_is_lost_while_the_agent_is_looked_up_leaves_nothing_behind() {
    let mut story = Story::new();
    let main = story.main.clone();
    story.world.faults.lost_before = 1_000;
    let call = story.start(&main, "background_task", launch("Explore", "say hi"));
    assert_eq!(story.answer(call), NO_HOST);
    story.world.faults.lost_before = 0;
    story.pass(10_000);
    assert_nothing_is_left(&mut story);
    insta::assert_snapshot!(story.end());
}

/// The answer gets lost in the pipe, and the call is sent again under the same key.
fn lose_and_send_again(story: &mut Story, call: usize) -> String {
    story.world.calls[call].answer = None;
    story.world.send_call(call);
    story.answer(call)
}

/// How many of a call's sendings were answered.
pub fn times_answered(story: &Story, call: usize) -> usize {
    story.transcript().matches(&format!("call {call} hears")).count()
}

/// One task, one session, one run, whatever was sent how often.
fn assert_one_task(story: &mut Story) {
    let runs = story.world.audit().runs.len();
    assert_eq!((tasks(story), helpers(story), runs), (1, 1, 1));
}

#[test]
fn l6_the_same_call_again_while_its_agent_is_looked_up_makes_one_task() {
    let mut story = Story::new();
    let main = story.main.clone();
    let call = story.start(&main, "background_task", launch("Explore", "say hi"));
    delay_host(&mut story, 500);
    until_asked(&mut story);
    story.world.send_call(call);
    story.pass(100);
    assert_eq!((tasks(&mut story), story.is_answered(call)), (0, false));
    story.answer(call);
    assert_eq!((tasks(&mut story), times_answered(&story, call)), (1, 2));
    story.until_settled();
    assert_one_task(&mut story);
    assert_eq!(story.told().len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l6_the_same_call_again_while_its_session_is_opened_makes_one_task() {
    let mut story = Story::new();
    let main = story.main.clone();
    let call = story.start(&main, "background_task", launch("Explore", "say hi"));
    until_asked(&mut story);
    delay_host(&mut story, 500);
    let first = story.answer(call);
    assert_eq!(lose_and_send_again(&mut story, call), first);
    let task = story.world.calls[call].task().unwrap();
    assert_eq!(record(&mut story, task).stage, Stage::Opening);
    story.until_settled();
    assert_one_task(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l6_the_same_call_again_after_it_was_accepted_gets_the_same_answer() {
    // A second task would also be over the limit.
    let settings = Settings { max_tasks_per_root: 1, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    story.launch("Explore", "wait 2000; say hi");
    let call = story.world.calls.len() - 1;
    let first = last_answer(&story);
    story.pass(500);
    assert_eq!(lose_and_send_again(&mut story, call), first);
    story.until_settled();
    let after = lose_and_send_again(&mut story, call);
    assert_eq!(line(&after, "Task ID: "), line(&first, "Task ID: "));
    assert!(!story.world.calls[call].refused() && after.contains("completed"), "{after}");
    assert_one_task(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l6_the_same_call_again_while_it_is_queued_makes_one_task() {
    let mut story = Story::with(Settings { max_running: 1, ..Settings::default() }, Nasty::calm());
    story.launch("First", "wait 2000; say one");
    let second = story.launch("Second", "say two");
    let call = story.world.calls.len() - 1;
    let first = last_answer(&story);
    assert_eq!(lose_and_send_again(&mut story, call), first);
    assert_eq!(story.world.calls[call].task(), Some(second));
    story.until_settled();
    assert_eq!((tasks(&mut story), helpers(&story)), (2, 2));
    insta::assert_snapshot!(story.end());
}

#[test]
fn l6_the_same_call_again_after_a_restart_makes_one_task() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 5000; say hi");
    let call = story.world.calls.len() - 1;
    story.world.kill_daemon();
    story.world.start_daemon();
    story.pass(1_000);
    let answer = lose_and_send_again(&mut story, call);
    assert_eq!(line(&answer, "Task ID: "), task.to_string());
    story.until_settled();
    assert_one_task(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l6_a_daemon_killed_at_any_moment_of_a_launch_makes_one_task() {
    for ms in 0..40 {
        let mut story = Story::with(Settings::default(), Nasty::scripted());
        let main = story.main.clone();
        let call = story.start(&main, "background_task", launch("Explore", "say hi"));
        story.pass(ms);
        story.world.kill_daemon();
        story.world.start_daemon();
        story.answer(call);
        assert!(!story.world.calls[call].refused());
        story.until_settled();
        assert_one_task(&mut story);
        assert_eq!(story.told().len(), 1, "killed after {ms} ms");
        story.end();
    }
}

#[test]
fn l6_the_launch_again_after_its_task_was_resumed_makes_no_second_task() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say one");
    let call = story.world.calls.len() - 1;
    story.until_settled();
    story.resume(task, "say two");
    story.until_settled();
    let answer = lose_and_send_again(&mut story, call);
    story.until_settled();
    assert_eq!(line(&answer, "Task ID: "), task.to_string());
    assert_eq!((tasks(&mut story), helpers(&story)), (1, 1));
    insta::assert_snapshot!(story.end());
}

#[test]
fn l6_two_calls_that_only_look_alike_are_two_tasks() {
    let mut story = Story::new();
    let first = story.launch("Explore", "say hi");
    let second = story.launch("Explore", "say hi");
    assert_ne!(first, second);
    story.until_settled();
    assert_eq!((tasks(&mut story), helpers(&story)), (2, 2));
    story.end();
}

/// `opencode run` ends with its conversation.
#[test]
fn l3_where_the_host_ends_with_the_conversation_the_answer_says_what_becomes_of_the_helper() {
    let text = answer_to_one_shot(Settings::default());
    assert!(text.contains("goes on without it"), "{text}");
    assert!(text.contains("call background_block before you finish"), "{text}");
    let text = answer_to_one_shot(fails());
    assert!(text.contains("its helpers end with it"), "{text}");
    assert!(text.contains("background_block"), "{text}");
}

fn answer_to_one_shot(settings: Settings) -> String {
    let (host, place) = (name("opencode-1"), name("project"));
    let caller = Caller::Session {
        host: name("opencode-1"),
        session: name("ses_parent"),
        key: name("ses_parent:call_7"),
        message: name("msg_1"),
        agent: "build".to_owned(),
        directory: "/projects/one".to_owned(),
        taken_over: Vec::new(),
    };
    let ask = ToolCall::read("background_task", launch("Explore", "look")).unwrap().ask;
    let mut engine = Engine::new(settings);
    let lifetime = HostLifetime::OneShot;
    let came = Hint::HostCame { host, place, lifetime, serves: Serves::OwnPlace };
    drop(engine.on(Input::Hint(came), Time(1_000)));
    let spare = TaskId::from_number(1);
    let mut reaction = engine.on(Input::Ask { call: CallId(1), caller, ask, spare }, Time(2_000));
    let work = reaction.work[0].id;
    let found = Ok(Finding::AgentKnown);
    reaction = engine.on(Input::Found { work, found }, Time(3_000));
    let [(_, Say::Answer(answer))] = &reaction.says[..] else { panic!("{:?}", reaction.says) };
    let text = answers::text(answer, None, Fence::of("", ""));
    assert!(text.starts_with("Task ID: bg_00000001\n"), "{text}");
    assert!(text.contains("notification"), "{text}");
    text
}

fn fork(script: &str) -> serde_json::Value {
    let mut arguments = launch("Explore", script);
    arguments["fork"] = json!(true);
    arguments
}

#[test]
fn l9_a_fork_is_a_copy_of_the_conversation_that_ends_and_is_told_like_any_other() {
    let mut story = Story::new();
    let answer = story.ask("background_task", fork("wait 2000; say found it"));
    assert!(answer.starts_with("Task ID: "), "{answer}");
    story.until_settled();
    assert!(story.transcript().contains("as a copy of main"), "{}", story.transcript());
    assert_eq!(story.told()[0].results.len(), 1);
    insta::assert_snapshot!(story.end());
}

/// That it is a fork is saved with it.
#[test]
fn l9_a_fork_that_waits_in_the_queue_is_one_after_a_restart() {
    let mut story = Story::with(Settings { max_running: 1, ..Settings::default() }, Nasty::calm());
    story.launch("First", "wait 20000; say one");
    story.ask("background_task", fork("say two"));
    story.world.restart_daemon();
    story.until_settled();
    assert!(story.transcript().contains("as a copy of main"), "{}", story.transcript());
    story.end();
}
