//! `background_task` in resume mode: R1 to R6. The rest is in `resume_ends.rs`.

use legwork_engine::{Stage, Task};
use legwork_protocol::api::ToolCall;
use legwork_protocol::{Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use serde_json::{Value, json};

use crate::ends::process;
use crate::launch::times_answered;
use crate::telling::swallows;

const BEING_RESUMED: &str = "Task is currently being resumed. Wait for completion.";
const EXPIRED: &str = "Session expired or was deleted. Start a new background_task to continue.";

pub fn record(story: &mut Story, task: TaskId) -> Task {
    story.world.audit().rows[&task].task.clone()
}

fn resume(task: TaskId, script: &str) -> Value {
    json!({ "resume": task.to_string(), "prompt": script })
}

/// A task that is completed, and whose parent knows.
pub fn completed(story: &mut Story, script: &str) -> TaskId {
    let task = story.launch("Explore", script);
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Completed));
    task
}

/// The agents that the task's session was prompted for, with the prompts.
pub fn prompts(story: &mut Story, task: TaskId) -> Vec<(String, String)> {
    let session = story.session_of(task);
    let session = story.world.oc.once(&session).unwrap();
    let prompts = session.prompts();
    prompts.map(|(_, user)| (user.agent.to_string(), user.parts[0].text.to_string())).collect()
}

pub fn refused(story: &Story) -> bool {
    story.world.calls.last().unwrap().refused()
}

/// Whatever the window is asked from now on reaches it after so long.
fn delay_host(story: &mut Story, ms: u64) {
    story.world.windows[0].slow_until = story.world.now.plus(ms);
}

pub fn until_asked(story: &mut Story) {
    let before = story.world.requests;
    story.until("a request", |story| story.world.requests > before);
}

pub fn output(story: &mut Story, task: TaskId) -> String {
    story.ask("background_output", json!({ "task_id": task.to_string() }))
}

#[test]
fn r1_a_resume_without_a_prompt_is_refused_and_changes_nothing() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let before = (story.world.requests, record(&mut story, task));
    let id = task.to_string();
    for id in [id.as_str(), "bg_zzzzzzzz", "no id at all"] {
        for arguments in [
            json!({ "resume": id }),
            json!({ "resume": id, "prompt": null }),
            json!({ "resume": id, "prompt": "" }),
            json!({ "resume": id, "prompt": " \n\t", "agent": "general", "description": "More" }),
        ] {
            let refusal = ToolCall::read("background_task", arguments).unwrap_err();
            assert_eq!(refusal.text(), "Prompt is required when resuming a task");
        }
    }
    story.pass(60_000);
    assert_eq!((story.world.requests, record(&mut story, task)), before);
    story.end();
}

#[test]
fn r2_an_unknown_id_is_refused() {
    let mut story = Story::new();
    let forgotten = completed(&mut story, "say one");
    story.ask("background_clear", json!({}));
    let requests = story.world.requests;
    for id in ["bg_zzzzzzzz", "ses_1", "true", &forgotten.to_string()] {
        let answer = story.ask("background_task", json!({ "resume": id, "prompt": "say two" }));
        assert!(refused(&story));
        let text = format!("Task not found: {id}. Use background_list to see available tasks.");
        assert_eq!(answer, text);
    }
    assert_eq!(story.world.requests, requests);
    story.end();
}

#[test]
fn r3_of_two_resumes_in_one_moment_one_wins() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let (main, other) = (story.main.clone(), story.conversation("other"));
    story.pass(2_000);
    let calls = [
        story.start(&main, "background_task", resume(task, "say two")),
        story.start(&other, "background_task", resume(task, "say two")),
    ];
    let answers = calls.map(|call| story.answer(call));
    let refused = calls.map(|call| story.world.calls[call].refused());
    assert_ne!(refused[0], refused[1]);
    assert_eq!(answers[usize::from(refused[1])], BEING_RESUMED);
    story.until_settled();
    assert_eq!(record(&mut story, task).run.number, 1);
    assert_eq!(prompts(&mut story, task).len(), 2);
    insta::assert_snapshot!(story.end());
}

#[test]
fn r3_the_first_wins_also_while_its_session_is_looked_up() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let main = story.main.clone();
    delay_host(&mut story, 500);
    let first = story.start(&main, "background_task", resume(task, "say first"));
    until_asked(&mut story);
    assert_eq!(story.resume(task, "say second"), BEING_RESUMED);
    assert!(refused(&story) && !story.is_answered(first));
    assert_eq!(story.status(task), Some(Status::Completed));
    assert!(story.answer(first).starts_with(&format!("Task ID: {task}\n")));
    story.until_settled();
    let asked: Vec<String> = prompts(&mut story, task).into_iter().map(|(_, text)| text).collect();
    assert_eq!(asked, ["say one", "say first"]);
    insta::assert_snapshot!(story.end());
}

#[test]
fn r3_a_task_that_is_resumed_is_not_resumed_again_before_its_end() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    story.resume(task, "wait 5000; say two");
    assert_eq!(story.status(task), Some(Status::Resumed));
    assert_eq!(story.resume(task, "say three"), BEING_RESUMED);
    assert!(refused(&story));
    story.world.kill_daemon();
    story.world.start_daemon();
    story.pass(1_000);
    assert_eq!(story.resume(task, "say three"), BEING_RESUMED);
    assert_eq!(record(&mut story, task).run.number, 1);
    story.until_settled();
    assert_eq!(prompts(&mut story, task).len(), 2);
    story.end();
}

#[test]
fn r4_only_completed_tasks_are_resumed() {
    let settings = Settings { max_running: 1, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let failed = story.launch("Failed", "fail 400");
    story.until_settled();
    let cancelled = story.launch("Cancelled", "hang");
    story.ask("background_cancel", json!({ "task_id": cancelled.to_string() }));
    let running = story.launch("Running", "wait 5000; say one");
    let queued = story.launch("Queued", "say two");
    for (task, status) in
        [(failed, "error"), (cancelled, "cancelled"), (running, "running"), (queued, "running")]
    {
        let before = record(&mut story, task);
        let text = format!("Only completed tasks can be resumed. Current status: {status}");
        assert_eq!(story.resume(task, "say more"), text);
        assert!(refused(&story));
        assert_eq!(record(&mut story, task), before);
    }
    story.until_settled();
    assert!(story.world.audit().runs.keys().all(|(_, run)| *run == 0));
    story.end();
}

#[test]
fn r5_a_task_whose_session_was_deleted_stays_completed() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = completed(&mut story, "say one");
    let session = story.session_of(task);
    story.world.delete_session(0, &session);
    story.pass(10_000);
    for _ in 0..2 {
        assert_eq!(story.resume(task, "say two"), EXPIRED);
        assert!(refused(&story));
        let kept = record(&mut story, task);
        assert_eq!((kept.status(), kept.run.number), (Status::Completed, 0));
    }
    assert!(output(&mut story, task).ends_with("\n\none"));
    assert_eq!(story.told().len(), 1);
    story.end();
}

#[test]
fn r5_holds_when_nobody_heard_of_the_deletion() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    story.resume(task, "say two");
    story.until_settled();
    let session = story.session_of(task);
    story.world.kill_daemon();
    story.world.delete_session(0, &session);
    story.pass(1_000);
    story.world.start_daemon();
    story.pass(1_000);
    assert_eq!(story.resume(task, "say three"), EXPIRED);
    let kept = record(&mut story, task);
    assert_eq!((kept.status(), kept.run.number), (Status::Completed, 1));
    insta::assert_snapshot!(story.end());
}

#[test]
fn r5_a_host_that_cannot_be_reached_does_not_mean_that_the_session_is_gone() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let main = story.main.clone();
    story.world.faults.lost_before = 1_000;
    let call = story.start(&main, "background_task", resume(task, "say two"));
    let answer = story.answer(call);
    story.world.faults.lost_before = 0;
    assert!(story.world.calls[call].refused());
    assert!(answer.starts_with("The host could not be reached"), "{answer}");
    let kept = record(&mut story, task);
    assert_eq!((kept.status(), kept.run.number), (Status::Completed, 0));
    story.pass(10_000);
    story.resume(task, "say two");
    assert_eq!(story.status(task), Some(Status::Resumed));
    story.end();
}

#[test]
fn r6_the_helper_goes_on_in_its_session_with_its_history_and_its_agent() {
    let mut story = Story::new();
    let mut arguments = launch("Explore", "count; say 1");
    arguments["agent"] = json!("explore");
    story.ask("background_task", arguments);
    let task = story.world.calls.last().unwrap().task().unwrap();
    story.until_settled();
    let session = story.session_of(task);
    for count in 1..=3 {
        let before = story.world.now;
        // Answers with the number of prompts that it has seen.
        let answer = story.resume(task, &format!("wait 2000; count; say {}", count + 1));
        assert!(story.world.now.since(before) < 100, "it waits for no work");
        let lines: Vec<&str> = answer.lines().collect();
        assert_eq!(lines[0], format!("Task ID: {task}"));
        let counts: Vec<&str> =
            lines.into_iter().filter(|line| line.starts_with("Resume count")).collect();
        let expected = format!("Resume count: {count}");
        let expected: &[&str] = if count > 1 { &[&expected] } else { &[] };
        assert_eq!(counts, expected);
        let kept = record(&mut story, task);
        assert_eq!((kept.status(), kept.run.number), (Status::Resumed, count));
        story.until_settled();
        let results = story.told().pop().unwrap().results;
        assert_eq!(results, [format!("What came of {task}:\n\n{}", count + 1)]);
    }
    assert_eq!(story.session_of(task), session);
    assert!(prompts(&mut story, task).iter().all(|(agent, _)| agent == "explore"));
    assert_eq!(story.world.oc.ever_marked(task), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn r6_the_same_resume_sent_twice_is_one_run() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let main = story.main.clone();
    delay_host(&mut story, 500);
    let call = story.start(&main, "background_task", resume(task, "wait 2000; say two"));
    until_asked(&mut story);
    story.world.send_call(call);
    let first = story.answer(call);
    assert!(!story.world.calls[call].refused(), "{first}");
    assert_eq!(times_answered(&story, call), 2);
    story.world.calls[call].answer = None;
    story.world.send_call(call);
    assert_eq!(story.answer(call), first);
    story.until_settled();
    story.world.calls[call].answer = None;
    story.world.send_call(call);
    assert_eq!(story.answer(call), format!("Task ID: {task}\nIts status is completed by now."));
    assert_eq!(record(&mut story, task).run.number, 1);
    assert_eq!((prompts(&mut story, task).len(), story.told().len()), (2, 2));
    insta::assert_snapshot!(story.end());
}

#[test]
fn r6_an_old_resume_sent_again_after_a_later_one_is_no_third_run() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    story.resume(task, "say two");
    let call = story.world.calls.len() - 1;
    story.until_settled();
    story.resume(task, "say three");
    story.until_settled();
    story.world.calls[call].answer = None;
    story.world.send_call(call);
    story.answer(call);
    story.until_settled();
    assert_eq!(record(&mut story, task).run.number, 2);
    let asked: Vec<String> = prompts(&mut story, task).into_iter().map(|(_, text)| text).collect();
    assert_eq!(asked, ["say one", "say two", "say three"]);
    insta::assert_snapshot!(story.end());
}

#[test]
fn r6_a_daemon_killed_at_any_moment_of_a_resume_makes_one_run() {
    for ms in 0..40 {
        let mut story = Story::with(Settings::default(), Nasty::scripted());
        let task = completed(&mut story, "say one");
        let main = story.main.clone();
        let call = story.start(&main, "background_task", resume(task, "say two"));
        story.pass(ms);
        story.world.kill_daemon();
        story.world.start_daemon();
        story.answer(call);
        assert!(!story.world.calls[call].refused(), "killed after {ms} ms");
        story.until_settled();
        assert_eq!(record(&mut story, task).run.number, 1, "killed after {ms} ms");
        assert_eq!((prompts(&mut story, task).len(), story.told().len()), (2, 2));
        story.end();
    }
}

/// A person writes into the helper's session, and that turn is failing when the resume comes.
#[test]
fn r6_a_prompt_that_a_failing_turn_swallows_is_run_once() {
    let mut story = Story::with(Settings::default(), swallows());
    let task = completed(&mut story, "say one");
    let (window, helper) = (process(&story), story.session_of(task));
    assert!(story.world.oc.used(window, &helper, &"general".into(), "fail 401").is_ok());
    story.until("the first idle", |story| {
        let (host, helper) = (&story.world.oc, &helper);
        host.runs(helper) && host.status(window).all(|(at, _)| at != helper)
    });
    story.resume(task, "say two");
    story.until_settled();
    story.pass(60_000);
    assert_eq!(story.status(task), Some(Status::Completed));
    let there = story.world.oc.once(&helper).unwrap();
    let tally = there.prompts().next_back().unwrap().1.tally;
    assert_eq!((tally.stored, tally.calls, tally.answered), (2, 1, 1));
    insta::assert_snapshot!(story.end());
}

#[test]
fn r6_a_resume_waits_in_the_queue_when_all_places_are_taken() {
    let settings = Settings { max_running: 1, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let task = completed(&mut story, "say one");
    let busy = story.launch("Busy", "wait 5000; say busy");
    let answer = story.resume(task, "say two");
    assert!(answer.starts_with(&format!("Task ID: {task}\n")) && !refused(&story));
    let later = story.launch("Later", "say later");
    let kept = record(&mut story, task);
    assert_eq!((kept.status(), &kept.stage), (Status::Resumed, &Stage::Queued));
    assert!(output(&mut story, task).contains("queued, next in line"));
    assert_eq!(prompts(&mut story, task).len(), 1);
    story.until_status(busy, Status::Completed);
    story.until_status(task, Status::Completed);
    assert_eq!(record(&mut story, later).session, None, "it came after the resume");
    story.until_settled();
    assert_eq!(prompts(&mut story, task).len(), 2);
    assert_eq!(story.status(later), Some(Status::Completed));
    insta::assert_snapshot!(story.end());
}

#[test]
fn r6_another_session_of_the_project_that_resumes_is_the_one_that_is_told() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let other = story.conversation("other");
    story.pass(2_000);
    let answer = story.call(&other, "background_task", resume(task, "say two"));
    assert!(answer.starts_with(&format!("Task ID: {task}\n")), "{answer}");
    story.until_settled();
    assert_eq!(record(&mut story, task).parent, story.main);
    assert_eq!(story.told().len(), 1, "the parent is told of the launch alone");
    let deliveries = story.deliveries(&other);
    assert_eq!(deliveries.len(), 1);
    assert!(deliveries[0].headline.starts_with(&format!("[BACKGROUND RESUME COMPLETED] {task} ")));
    assert_eq!(deliveries[0].results, [format!("What came of {task}:\n\ntwo")]);
    story.end();
}

#[test]
fn r6_a_resume_through_another_window_is_done_there() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let window = story.world.boot();
    story.pass(1_000);
    let other = story.conversation_in(window, "other");
    story.pass(2_000);
    let arguments = resume(task, "wait 3000; say two");
    let call = story.start_in(window, &other, "background_task", arguments);
    story.answer(call);
    story.pass(1_000);
    let session = story.session_of(task);
    let process = story.world.windows[window].process;
    assert!(story.world.oc.running_sessions(process).any(|at| *at == session));
    story.until_settled();
    assert_eq!((story.told().len(), story.deliveries(&other).len()), (1, 1));
    story.end();
}
