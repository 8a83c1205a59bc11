//! `background_block`: B1 to B8.

use legwork_protocol::Ask;
use legwork_protocol::api::ToolCall;
use legwork_protocol::{SessionId, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::audit::NoticeFact;
use legwork_sim::calls::CallNo;
use legwork_sim::host::{Body, Nasty};
use serde_json::json;

/// A caller, the daemon and a host are some milliseconds apart.
const AT_ONCE_MS: u64 = 50;

/// `main` waits for these tasks.
fn block(story: &mut Story, tasks: &[TaskId], timeout_ms: u64) -> CallNo {
    let main = story.main.clone();
    block_from(story, &main, tasks, timeout_ms)
}

fn block_from(story: &mut Story, from: &SessionId, tasks: &[TaskId], timeout_ms: u64) -> CallNo {
    let ids: Vec<String> = tasks.iter().map(TaskId::to_string).collect();
    let arguments = json!({ "task_ids": ids, "timeout": timeout_ms });
    story.start(from, "background_block", arguments)
}

/// How long a call took.
fn took(story: &Story, call: CallNo) -> u64 {
    let call = &story.world.calls[call];
    call.answer.as_ref().unwrap().0.since(call.made)
}

/// When the host had written the last answer of a helper.
fn ended(story: &mut Story, task: TaskId) -> Time {
    let session = story.session_of(task);
    let messages = story.world.oc.messages(&session).unwrap();
    let ends = messages.iter().filter_map(|message| match &message.body {
        Body::Assistant(reply) => reply.completed,
        Body::User(_) => None,
    });
    ends.max().unwrap()
}

fn answered(story: &Story, call: CallNo) -> Time {
    story.world.calls[call].answer.as_ref().unwrap().0
}

fn notice(story: &mut Story, task: TaskId, run: u32) -> NoticeFact {
    story.world.audit().runs[&(task, run)].notice
}

/// The line of a summary about a task.
fn line(answer: &str, task: TaskId) -> String {
    let id = task.to_string();
    let mut lines = answer.lines().filter(|line| line.starts_with(&id));
    let only = lines.next().unwrap_or_default().to_owned();
    assert!(!only.is_empty() && lines.next().is_none(), "not one line for {task}:\n{answer}");
    only
}

fn refusal(arguments: serde_json::Value) -> String {
    ToolCall::read("background_block", arguments).unwrap_err().text()
}

fn block_any(story: &mut Story, tasks: &[TaskId], timeout_ms: u64) -> CallNo {
    let (main, ids): (_, Vec<String>) =
        (story.main.clone(), tasks.iter().map(TaskId::to_string).collect());
    let arguments = json!({ "task_ids": ids, "timeout": timeout_ms, "any": true });
    story.start(&main, "background_block", arguments)
}

#[test]
fn b1_a_list_that_is_empty_or_no_list_is_refused() {
    assert!(refusal(json!({ "task_ids": [] })).contains("task_ids"));
    for wrong in [json!({}), json!({ "task_ids": "bg_abc12345" }), json!({ "task_ids": [5] })] {
        assert!(refusal(wrong).contains("task_ids"));
    }
}

#[test]
fn b1_a_timeout_that_is_negative_or_no_number_is_refused() {
    for wrong in [json!(-1), json!(-0.5), json!("60000"), json!(true), json!([1]), json!({})] {
        let text = refusal(json!({ "task_ids": ["bg_abc12345"], "timeout": wrong }));
        assert!(text.contains("timeout"), "{text}");
    }
}

#[test]
fn b1_a_task_named_twice_counts_once() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 2000; say done");
    let call = block(&mut story, &[task, task, task], 10_000);
    let answer = story.answer(call);
    assert!(answer.starts_with("All finished: 1 task."), "{answer}");
    assert!(line(&answer, task).contains("completed"));
    story.end();
}

#[test]
fn b1_a_task_named_twice_with_spaces_counts_once() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 2000; say done");
    let ids = json!({ "task_ids": [task.to_string(), format!(" {task} ")] });
    let answer = story.ask("background_block", ids);
    assert!(answer.starts_with("All finished: 1 task."), "{answer}");
    line(&answer, task);
    story.end();
}

#[test]
fn b1_without_a_timeout_it_waits_a_minute() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 90000; say done");
    let main = story.main.clone();
    let ids = json!({ "task_ids": [task.to_string()] });
    let call = story.start(&main, "background_block", ids);
    let answer = story.answer(call);
    assert!((60_000..60_000 + AT_ONCE_MS).contains(&took(&story, call)));
    assert!(line(&answer, task).contains("running"));
    assert!(!answer.contains("cut"), "{answer}");
    story.end();
}

#[test]
fn b1_more_than_ten_minutes_are_cut_and_the_answer_says_so() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 700000; say done");
    let call = block(&mut story, &[task], 600_001);
    let exact = block(&mut story, &[task], 600_000);
    let answer = story.answer(call);
    assert!((600_000..600_000 + AT_ONCE_MS).contains(&took(&story, call)));
    assert!(answer.contains("600000"), "{answer}");
    assert!(!story.answer(exact).contains("600000"));
    story.ask("background_cancel", json!({ "task_id": task.to_string() }));
    story.end();
}

#[test]
fn b2_finished_tasks_of_any_kind_are_not_waited_for() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let completed = story.launch("Completed", "say one");
    let error = story.launch("Error", "fail 400");
    let cancelled = story.launch("Cancelled", "hang");
    story.ask("background_cancel", json!({ "task_id": cancelled.to_string() }));
    story.until_settled();
    let call = block(&mut story, &[completed, error, cancelled], 60_000);
    let answer = story.answer(call);
    assert!(took(&story, call) < AT_ONCE_MS);
    assert!(answer.starts_with("All finished: 3 tasks."), "{answer}");
    assert!(line(&answer, completed).contains("completed"));
    assert!(line(&answer, error).contains("error"));
    assert!(line(&answer, cancelled).contains("cancelled"));
    story.end();
}

#[test]
fn b2_of_finished_and_unfinished_only_the_unfinished_are_waited_for() {
    let mut story = Story::new();
    let done = story.launch("Done", "say one");
    story.until_settled();
    let runs = story.launch("Runs", "wait 10000; say two");
    let call = block(&mut story, &[done, runs], 60_000);
    story.pass(5_000);
    assert!(!story.is_answered(call));
    story.answer(call);
    assert_eq!(story.status(runs), Some(Status::Completed));
    story.end();
}

#[test]
fn b3_it_wakes_by_the_event_and_not_by_looking_again() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 23456; say done");
    let call = block(&mut story, &[task], 60_000);
    story.answer(call);
    let late = answered(&story, call).since(ended(&mut story, task));
    assert!(late < AT_ONCE_MS, "{late} ms late");
    let looks = story.transcript().matches("how far is").count();
    assert!(looks <= 2, "{looks} looks at one helper");
    story.end();
}

#[test]
fn b3_it_waits_for_all_of_them_and_wakes_with_the_last() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let quick = story.launch("Quick", "wait 1000; say one");
    let fails = story.launch("Fails", "wait 9000; fail 400");
    let slow = story.launch("Slow", "wait 20000; say three");
    let call = block(&mut story, &[slow, quick, fails], 60_000);
    story.until_status(fails, Status::Error);
    assert_eq!(story.status(quick), Some(Status::Completed));
    assert!(!story.is_answered(call));
    let answer = story.answer(call);
    let late = answered(&story, call).since(ended(&mut story, slow));
    assert!(late < AT_ONCE_MS + 60, "{late} ms late");
    assert!(answer.starts_with("All finished: 3 tasks."), "{answer}");
    insta::assert_snapshot!(story.end());
}

#[test]
fn b3_a_cancel_by_somebody_else_wakes_it_too() {
    let mut story = Story::new();
    let task = story.launch("Explore", "hang");
    let call = block(&mut story, &[task], 60_000);
    story.pass(7_000);
    let cancelled = story.world.now;
    story.person(Ask::Cancel { task: task.to_string() });
    let answer = story.answer(call);
    assert!(answered(&story, call).since(cancelled) < AT_ONCE_MS);
    assert!(line(&answer, task).contains("cancelled"));
    story.end();
}

#[test]
fn b3_without_events_it_wakes_by_the_poll() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 7000; say done");
    let call = block(&mut story, &[task], 60_000);
    story.world.deafen(0, true);
    story.answer(call);
    let late = answered(&story, call).since(ended(&mut story, task));
    assert!(late < 5_000 + AT_ONCE_MS, "{late} ms late");
    story.end();
}

#[test]
fn b3_a_block_on_a_task_that_ended_while_the_daemon_was_dead_is_answered() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 3000; say done");
    let call = block(&mut story, &[task], 60_000);
    story.pass(1_000);
    story.world.kill_daemon();
    story.pass(10_000);
    story.world.start_daemon();
    let started = story.world.now;
    let answer = story.answer(call);
    assert!(answered(&story, call).since(started) < 1_000);
    assert!(line(&answer, task).contains("completed"));
    assert_eq!(story.world.calls[call].sent, 2);
    insta::assert_snapshot!(story.end());
}

#[test]
fn b4_at_a_timeout_the_summary_tells_what_finished_and_what_still_runs() {
    let mut story = Story::new();
    let quick = story.launch("Quick", "wait 2000; say one");
    let slow = story.launch("Slow", "wait 60000; say two");
    let main = story.main.clone();
    let ids = [quick.to_string(), "bg_00000000".to_owned(), slow.to_string(), "nonsense".into()];
    let arguments = json!({ "task_ids": ids, "timeout": 10_000 });
    let call = story.start(&main, "background_block", arguments);
    let answer = story.answer(call);
    assert!((10_000..10_000 + AT_ONCE_MS).contains(&took(&story, call)));
    assert!(!story.world.calls[call].refused());
    assert!(
        answer.starts_with("The time is up: 1 finished, 1 still running, 2 not found.\n"),
        "{answer}"
    );
    assert_eq!(line(&answer, quick), format!("{quick}  completed  Quick  2s"));
    assert_eq!(line(&answer, slow), format!("{slow}  running  Slow  10s"));
    assert!(answer.lines().any(|line| line == "bg_00000000  not found"), "{answer}");
    assert!(answer.lines().any(|line| line == "nonsense  not found"), "{answer}");
    assert_eq!(story.status(slow), Some(Status::Running));
    story.end();
}

#[test]
fn b4_unknown_ids_alone_are_answered_at_once_and_not_as_finished() {
    let mut story = Story::new();
    let answer = story.ask("background_block", json!({ "task_ids": ["bg_00000000"] }));
    assert!(took(&story, 0) < AT_ONCE_MS);
    assert!(!story.world.calls[0].refused());
    assert!(answer.contains("bg_00000000  not found"), "{answer}");
    assert!(!answer.contains("finished"), "{answer}");
    story.end();
}

#[test]
fn b4_a_block_that_ends_well_summarises_every_task() {
    let mut story = Story::new();
    let one = story.launch("One", "wait 3000; say 1");
    let two = story.launch("Two", "wait 5000; fail 400");
    let call = block(&mut story, &[two, one], 60_000);
    let answer = story.answer(call);
    assert_eq!(line(&answer, one), format!("{one}  completed  One  3s"));
    assert_eq!(line(&answer, two), format!("{two}  error  Two  5s"));
    let order = answer.find(&two.to_string()) < answer.find(&one.to_string());
    assert!(order, "not in the order of the call:\n{answer}");
    story.end();
}

#[test]
fn b5_after_a_resume_it_waits_for_the_end_of_the_resume() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "say one");
    story.until_settled();
    story.resume(task, "wait 15000; say two");
    let call = block(&mut story, &[task], 60_000);
    story.pass(10_000);
    assert!(!story.is_answered(call));
    let answer = story.answer(call);
    assert!(line(&answer, task).contains("completed"));
    assert_eq!(&*story.world.audit().runs[&(task, 1)].detail, "two");
    story.end();
}

#[test]
fn b5_a_resume_that_is_not_over_in_time_is_shown_as_resumed() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say one");
    story.until_settled();
    story.resume(task, "wait 15000; say two");
    let call = block(&mut story, &[task], 5_000);
    let answer = story.answer(call);
    assert_eq!(line(&answer, task), format!("{task}  resumed  Explore  5s"));
    story.end();
}

#[test]
fn b5_a_task_resumed_while_others_are_waited_for_is_waited_for_again() {
    let mut story = Story::new();
    let first = story.launch("First", "wait 1000; say one");
    let second = story.launch("Second", "wait 10000; say two");
    let call = block(&mut story, &[first, second], 60_000);
    story.until_status(first, Status::Completed);
    let other = story.conversation("other");
    let arguments = json!({ "resume": first.to_string(), "prompt": "wait 20000; say more" });
    story.call(&other, "background_task", arguments);
    let answer = story.answer(call);
    assert!(!answer.contains("time is up"), "{} ms: {answer}", took(&story, call));
    assert!(line(&answer, first).contains("completed"));
    assert!(line(&answer, second).contains("completed"));
    insta::assert_snapshot!(story.end());
}

#[test]
fn b6_while_a_parent_is_blocked_the_notices_of_what_it_waits_for_are_held() {
    let mut story = Story::new();
    let first = story.launch("First", "wait 1000; say one");
    let second = story.launch("Second", "wait 20000; say two");
    let turns = story.turns(&story.main);
    let call = block(&mut story, &[first, second], 60_000);
    story.pass(15_000);
    assert_eq!(story.status(first), Some(Status::Completed));
    assert_eq!(notice(&mut story, first, 0), NoticeFact::Pending);
    assert!(story.told().is_empty());
    story.answer(call);
    story.until_settled();
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].results.len(), 2);
    assert_eq!(story.turns(&story.main), turns + 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn b6_notices_of_other_tasks_are_not_held() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let awaited = story.launch("Awaited", "wait 20000; say one");
    let aside = story.launch("Aside", "wait 1000; say two");
    let foreign = story.launch_from(&other, "Foreign", "wait 1000; say three");
    let call = block(&mut story, &[awaited, foreign], 60_000);
    story.pass(10_000);
    assert!(!story.is_answered(call));
    assert!(story.told()[0].headline.contains(&aside.to_string()));
    assert!(story.deliveries(&other)[0].headline.contains(&foreign.to_string()));
    story.end();
}

#[test]
fn b6_a_dropped_call_leaves_the_task_alone_and_the_held_notices_follow() {
    let mut story = Story::new();
    let first = story.launch("First", "wait 1000; say one");
    let second = story.launch("Second", "wait 20000; say two");
    let call = block(&mut story, &[first, second], 60_000);
    story.pass(10_000);
    assert!(story.told().is_empty());
    story.world.drop_call(call);
    story.pass(500);
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].headline.contains(&first.to_string()));
    let helper = story.session_of(second);
    assert_eq!(story.status(second), Some(Status::Running));
    assert!(story.world.oc.runs(&helper));
    story.until_settled();
    assert!(!story.is_answered(call));
    assert_eq!(story.told().len(), 2);
    assert_eq!(story.status(second), Some(Status::Completed));
    assert_eq!(story.world.oc.once(&helper).unwrap().facts.last_abort, None);
    insta::assert_snapshot!(story.end());
}

#[test]
fn b6_a_call_dropped_before_the_end_gives_way_to_the_notice() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 5000; say done");
    let call = block(&mut story, &[task], 60_000);
    story.pass(1_000);
    story.world.drop_call(call);
    story.until_settled();
    assert_eq!(notice(&mut story, task, 0), NoticeFact::Told);
    assert_eq!(story.told().len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn b6_with_two_blocks_of_one_session_the_last_one_frees_the_notices() {
    let mut story = Story::new();
    let first = story.launch("First", "wait 1000; say one");
    let second = story.launch("Second", "wait 20000; say two");
    let short = block(&mut story, &[first], 60_000);
    let long = block(&mut story, &[first, second], 60_000);
    story.answer(short);
    story.pass(5_000);
    assert!(!story.is_answered(long));
    assert!(story.told().is_empty());
    let dropped = block(&mut story, &[first, second], 60_000);
    story.pass(100);
    story.world.drop_call(dropped);
    story.pass(5_000);
    assert!(story.told().is_empty(), "the other block holds it");
    story.answer(long);
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    assert_eq!(story.told()[0].results.len(), 2);
    insta::assert_snapshot!(story.end());
}

#[test]
fn b6_notices_stay_held_through_a_restart_of_the_daemon() {
    for (dead_ms, first_ms) in [(200, 1_000), (10_000, 8_000)] {
        let mut story = Story::new();
        let first = story.launch("First", &format!("wait {first_ms}; say one"));
        let second = story.launch("Second", "wait 30000; say two");
        let call = block(&mut story, &[first, second], 60_000);
        story.pass(5_000);
        story.world.kill_daemon();
        story.pass(dead_ms);
        story.world.start_daemon();
        story.pass(10_000);
        assert_eq!(story.status(first), Some(Status::Completed));
        assert_eq!(notice(&mut story, first, 0), NoticeFact::Pending);
        assert!(story.told().is_empty());
        assert!(!story.is_answered(call));
        story.answer(call);
        story.until_settled();
        assert_eq!(story.told().len(), 1);
        assert_eq!(story.told()[0].results.len(), 2);
        story.end();
    }
}

#[test]
fn b6_a_call_dropped_while_the_daemon_is_dead_holds_nothing_afterwards() {
    let mut story = Story::new();
    let first = story.launch("First", "wait 1000; say one");
    let second = story.launch("Second", "wait 30000; say two");
    let call = block(&mut story, &[first, second], 60_000);
    story.pass(5_000);
    story.world.kill_daemon();
    story.world.drop_call(call);
    story.pass(1_000);
    story.world.start_daemon();
    story.pass(5_000);
    assert_eq!(story.told().len(), 1);
    assert!(story.told()[0].headline.contains(&first.to_string()));
    assert_eq!(story.status(second), Some(Status::Running));
    insta::assert_snapshot!(story.end());
}

#[test]
fn b6_a_call_that_was_sent_again_over_a_new_link_and_then_dropped_holds_nothing() {
    let mut story = Story::new();
    let first = story.launch("First", "wait 1000; say one");
    let second = story.launch("Second", "wait 90000; say two");
    let call = block(&mut story, &[first, second], 600_000);
    story.pass(3_000);
    story.world.cut_link(0);
    story.pass(10_000);
    assert_eq!(story.world.calls[call].sent, 2);
    assert!(story.told().is_empty());
    story.world.drop_call(call);
    story.pass(10_000);
    assert_eq!(story.told().len(), 1);
    assert!(story.told()[0].headline.contains(&first.to_string()));
    insta::assert_snapshot!(story.end());
}

#[test]
fn b6_the_end_of_the_callers_window_leaves_a_task_of_another_window_alone() {
    let mut story = Story::new();
    let second = story.world.boot();
    story.pass(1_000);
    let other = story.conversation_in(second, "other");
    let task = story.launch("Explore", "wait 10000; say done");
    let ids = json!({ "task_ids": [task.to_string()] });
    let call = story.start_in(second, &other, "background_block", ids);
    story.pass(2_000);
    story.world.kill_window(second);
    story.pass(2_000);
    assert!(!story.is_answered(call));
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Completed));
    assert_eq!(story.told().len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn b7_a_blocked_caller_is_given_signs_of_life() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 300000; say done");
    let call = block(&mut story, &[task], 180_000);
    let person = story.world.person(Ask::Wait {
        tasks: vec![task.to_string()],
        any: false,
        timeout_ms: 180_000,
    });
    let mut heard = 0;
    while !story.is_answered(call) {
        story.pass(30_000);
        let now = story.world.calls[call].progress;
        assert!(story.is_answered(call) || now > heard, "silent for half a minute");
        heard = now;
    }
    assert!((6..=36).contains(&heard), "{heard} signs in three minutes");
    assert!(story.world.calls[person].progress >= 6);
    story.pass(60_000);
    assert_eq!(story.world.calls[call].progress, heard, "nothing follows the answer");
    story.end();
}

#[test]
fn b7_a_short_block_and_a_dropped_one_are_left_in_peace() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 60000; say done");
    let short = block(&mut story, &[task], 5_000);
    let dropped = block(&mut story, &[task], 50_000);
    story.pass(12_000);
    let heard = story.world.calls[dropped].progress;
    story.world.drop_call(dropped);
    story.until_settled();
    assert_eq!(story.world.calls[short].progress, 0);
    assert_eq!(story.world.calls[dropped].progress, heard);
    story.end();
}

#[test]
fn b7_a_call_sent_again_after_a_restart_is_kept_awake_and_answered() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "wait 60000; say done");
    let call = block(&mut story, &[task], 120_000);
    story.pass(15_000);
    let before = story.world.calls[call].progress;
    story.world.restart_daemon();
    story.pass(30_000);
    assert_eq!(story.world.calls[call].sent, 2);
    assert!(!story.is_answered(call));
    assert!(story.world.calls[call].progress > before);
    let answer = story.answer(call);
    assert!(answer.starts_with("All finished: 1 task."), "{answer}");
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn b8_any_returns_with_the_first_that_is_finished_and_says_which() {
    let mut story = Story::new();
    let slow = story.launch("Slow", "wait 20000; say one");
    let quick = story.launch("Quick", "wait 3000; say two");
    let call = block_any(&mut story, &[slow, quick], 60_000);
    let answer = story.answer(call);
    let late = answered(&story, call).since(ended(&mut story, quick));
    assert!(late < AT_ONCE_MS, "{late} ms late");
    assert!(answer.starts_with(&format!("Finished: {quick}. 1 still running.")), "{answer}");
    assert!(line(&answer, slow).contains("running") && line(&answer, quick).contains("completed"));
    story.until_settled();
    assert_eq!(notice(&mut story, quick, 0), NoticeFact::Told);
    assert_eq!(notice(&mut story, slow, 0), NoticeFact::Told);
    story.end();
}

/// It may have ended between the decision to wait and the call.
#[test]
fn b8_any_returns_at_once_if_one_is_finished_already_and_a_failure_counts() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let failed = story.launch("Fails", "fail 400");
    story.until_status(failed, Status::Error);
    let slow = story.launch("Slow", "wait 20000; say one");
    let call = block_any(&mut story, &[slow, failed], 60_000);
    let answer = story.answer(call);
    assert!(took(&story, call) < AT_ONCE_MS);
    assert!(answer.starts_with(&format!("Finished: {failed}. 1 still running.")), "{answer}");
    story.until_settled();
    story.end();
}

/// One that was cleared meanwhile is not one that is finished.
#[test]
fn b8_any_goes_on_waiting_when_one_of_them_is_forgotten() {
    let mut story = Story::new();
    let cleared = story.launch("Cleared", "wait 50000; say one");
    let slow = story.launch("Slow", "wait 9000; say two");
    let call = block_any(&mut story, &[cleared, slow], 60_000);
    story.pass(1_000);
    story.person(Ask::Forget { tasks: vec![cleared.to_string()] });
    story.pass(1_000);
    assert!(!story.is_answered(call));
    let answer = story.answer(call);
    assert!(answer.starts_with("All finished: 1 task, 1 not found."), "{answer}");
    insta::assert_snapshot!(story.end());
}

#[test]
fn b8_any_ends_in_words_when_the_time_is_up() {
    let mut story = Story::new();
    let tasks =
        [story.launch("One", "wait 9000; say one"), story.launch("Two", "wait 9000; say b")];
    let call = block_any(&mut story, &tasks, 5_000);
    let answer = story.answer(call);
    assert!(answer.starts_with("The time is up: 0 finished, 2 still running."), "{answer}");
    story.until_settled();
    story.end();
}
