//! Faults that were seen in programs of this kind, in how a run ends and how its parent is told.
//! Each test is one of them that must not be ours.

use legwork_protocol::api::{Ask, Reply};
use legwork_protocol::limits::PROVIDER_WAIT_MAX_MS;
use legwork_protocol::{Settings, Status};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use legwork_store::{Fault, Store};
use serde_json::json;

use crate::ends::{
    answered, count, detail, ended, occupy, on_disk, process, question, told_of, until_answered,
    until_prompting,
};
use crate::restarts::fails;

#[test]
fn field_an_unknown_agent_is_refused_and_does_not_stay_running() {
    let mut story = Story::new();
    let arguments = json!({ "description": "Explore", "prompt": "say hi", "agent": "nobody" });
    let answer = story.ask("background_task", arguments);
    assert!(answer.starts_with("There is no agent named nobody. Agents here: "), "{answer}");
    assert!(story.world.audit().runs.is_empty());
    story.end();
}

#[test]
fn field_a_prompt_that_the_host_throws_away_with_two_errors_is_told_once() {
    let nasty = Nasty { busy_ms: (0, 0), store_ms: (30, 30), ..Nasty::scripted() };
    let mut story = Story::with(Settings::default(), nasty);
    let main = story.main.clone();
    story.start(&main, "background_task", launch("Explore", "say hi"));
    let (task, message) = until_prompting(&mut story);
    occupy(&mut story, message);
    story.pass(6_000);
    assert_eq!(story.status(task), Some(Status::Error));
    assert!(detail(&mut story, task, 0).starts_with("UnknownError: "));
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1);
    story.end();
}

#[test]
fn field_a_provider_error_is_not_completed_without_text() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "fail 401");
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Error));
    assert!(told_of(&story, task)[0].starts_with("[BACKGROUND TASK FAILED] "));
    story.end();
}

#[test]
fn field_a_resume_is_not_done_on_the_old_text() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say old");
    story.until_settled();
    story.resume(task, "wait 30000; say new");
    for _ in 0..25 {
        story.pass(1_000);
        assert_eq!(story.status(task), Some(Status::Resumed));
    }
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 1), "new");
    story.end();
}

#[test]
fn field_an_event_and_a_poll_that_both_see_the_end_make_one_notice() {
    // At 4,880 ms the answer comes about when the host is polled.
    for ms in (4_700..5_100).step_by(10) {
        let mut story = Story::new();
        story.world.faults.hint_doubled = 500;
        let task = story.launch("Explore", "say one");
        story.until_settled();
        story.resume(task, &format!("wait {ms}; say two"));
        story.until_settled();
        story.pass(20_000);
        assert_eq!(told_of(&story, task).len(), 2, "after {ms} ms");
        story.end();
    }
}

#[test]
fn field_a_late_idle_of_the_run_before_does_not_complete_the_resumed_one() {
    let mut story = Story::new();
    story.world.faults.hint_late = 1000;
    let task = story.launch("Explore", "say one");
    story.until_status(task, Status::Completed);
    story.resume(task, "wait 20000; say two");
    story.pass(10_000);
    assert_eq!(story.status(task), Some(Status::Resumed));
    story.until_settled();
    assert_eq!(detail(&mut story, task, 1), "two");
    story.end();
}

#[test]
fn field_an_answer_that_a_slow_look_brings_does_not_undo_a_cancel() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say found it");
    until_answered(&mut story, task);
    story.world.faults.slow = 1000;
    story.until("the look", |story| count(story, "how far is") == 1);
    story.world.faults.slow = 0;
    story.ask("background_cancel", json!({ "task_id": task.to_string() }));
    assert_eq!(story.status(task), Some(Status::Cancelled));
    story.pass(60_000);
    assert_eq!(story.status(task), Some(Status::Cancelled));
    assert_eq!(told_of(&story, task).len(), 0);
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_text_before_a_tool_call_does_not_count_as_the_end() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    story.world.faults.hint_lost = 1000;
    let task = story.launch("Explore", "text I am done.; tool grep 40000; say now I am");
    story.pass(30_000);
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "now I am");
    story.end();
}

#[test]
fn field_reads_that_fail_for_a_while_change_nothing() {
    let mut story = Story::new();
    let other = story.conversation("other");
    story.pass(1_000);
    let tasks = [
        story.launch("Explore", "wait 90000; say one"),
        story.launch("Explore", "tool grep 20000; wait 60000; say two"),
        story.launch_from(&other, "Explore", "wait 30000; say three"),
    ];
    story.pass(1_000);
    story.world.faults.lost_before = 1000;
    story.pass(60_000);
    for task in tasks {
        assert_eq!(story.status(task), Some(Status::Running));
    }
    story.world.faults.lost_before = 0;
    story.until_settled();
    for (task, result) in tasks.into_iter().zip(["one", "two", "three"]) {
        assert_eq!(story.status(task), Some(Status::Completed));
        assert_eq!(detail(&mut story, task, 0), result);
    }
    story.end();
}

#[test]
fn field_a_notice_whose_sending_failed_is_sent_until_it_is_there_and_once() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "say found it");
    until_answered(&mut story, task);
    story.until("the look", |story| count(story, "how far is") == 1);
    story.world.faults.lost_before = 1000;
    story.until("two sendings", |story| count(story, ": tell ses_") == 2);
    assert!(!story.world.audit().pending.is_empty(), "a delivery ends when it is paid");
    story.world.faults.lost_before = 0;
    story.until_settled();
    story.pass(60_000);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_five_tasks_are_not_five_turns_of_the_parent() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let turns = story.turns(&main);
    for _ in 0..5 {
        story.launch("Explore", "hang");
    }
    story.pass(3_000);
    let list = story.ask("background_list", json!({}));
    for task in list.lines().filter_map(|line| line.split_whitespace().next()) {
        story.world.person(Ask::Cancel { task: task.to_owned() });
    }
    story.until_settled();
    story.pass(30_000);
    assert_eq!(story.told().len(), 1);
    assert_eq!(story.turns(&main), turns + 1);
    story.end();
}

#[test]
fn field_a_stream_that_was_closed_cleanly_is_opened_again() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 1000; say found it");
    for _ in 0..3 {
        story.pass(200);
        story.world.cut_link(0);
        story.until("the link", |story| story.world.windows[0].linked);
    }
    story.until_status(task, Status::Completed);
    let next = story.launch("Again", "wait 2000; say more");
    story.until_status(next, Status::Completed);
    assert!(ended(&mut story, next).since(answered(&mut story, next)) < 50);
    story.end();
}

#[test]
fn field_counts_do_not_mix_parents() {
    let mut story = Story::new();
    let other = story.conversation("other");
    story.pass(1_000);
    for _ in 0..3 {
        story.launch_from(&other, "Theirs", "wait 60000; say theirs");
    }
    story.launch("Ours", "say ours");
    story.until("a delivery", |story| !story.told().is_empty());
    let told = story.told();
    let counts = told[0].headline.lines().last();
    assert_eq!(counts, Some("1 background task finished, 0 still running."));
    story.end();
}

#[test]
fn field_a_restart_leaves_nothing_running_by_mistake() {
    let mut story = Story::new();
    let done = story.launch("Done meanwhile", "wait 5000; say done");
    let failed = story.launch("Failed meanwhile", "wait 5000; fail 400");
    let works = story.launch("Still at it", "wait 60000; say at last");
    story.pass(2_000);
    story.world.kill_daemon();
    story.pass(20_000);
    story.world.start_daemon();
    story.pass(1_000);
    assert_eq!(story.status(done), Some(Status::Completed));
    assert_eq!(story.status(failed), Some(Status::Error));
    assert_eq!(story.status(works), Some(Status::Running));
    story.until_settled();
    assert_eq!(detail(&mut story, works, 0), "at last");
    for task in [done, failed, works] {
        assert_eq!(told_of(&story, task).len(), 1);
    }
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_a_restart_of_everything_leaves_nothing_running_by_mistake() {
    let mut story = Story::with(fails(), Nasty::scripted());
    let task = story.launch("Cut off", "tool grep 600000; say never");
    story.pass(5_000);
    story.world.kill_daemon();
    story.world.kill_window(0);
    story.pass(60_000);
    story.world.start_daemon();
    story.world.boot();
    story.pass(10_000);
    assert_eq!(story.status(task), Some(Status::Error));
    assert!(detail(&mut story, task, 0).starts_with("interrupted"));
    story.until_settled();
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_a_permission_is_shown_told_and_answerable() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "ask bash; say found it");
    let question = question(&mut story);
    story.pass(1_000);
    let list = story.ask("background_list", json!({}));
    assert!(list.contains("person to answer question 1"), "{list}");
    assert!(told_of(&story, task)[0].starts_with("[BACKGROUND TASK WAITING] "));
    story.person(Ask::Reply { question, reply: Reply::Once });
    story.until_status(task, Status::Completed);
    story.end();
}

#[test]
fn field_a_provider_that_is_tried_again_is_shown_with_its_next_time() {
    let mut story = Story::new();
    let task = story.launch("Explore", "fail 429");
    story.pass(12_000);
    let output = story.ask("background_output", json!({ "task_id": task.to_string() }));
    let shown = |line: &str| {
        line.starts_with("Waiting: provider retry ") && line.ends_with("s (the provider failed)")
    };
    assert!(output.lines().any(shown), "{output}");
    story.until_status(task, Status::Error);
    assert_eq!(detail(&mut story, task, 0), "APIError: fake failure 429");
    story.end();
}

#[test]
fn field_a_provider_that_is_tried_again_for_ever_is_bounded() {
    let settings = Settings { max_run_minutes: 3, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let task = story.launch("Explore", "retry 100000; say never");
    story.pass(PROVIDER_WAIT_MAX_MS);
    story.until_status(task, Status::Error);
    assert!(detail(&mut story, task, 0).contains("waited for its provider for 24 hours"));
    let session = story.session_of(task);
    story.until_settled();
    assert!(!story.world.oc.runs(&session));
    story.end();
}

/// `main` reads the result so long after its end, while an undo keeps the notice back.
fn read_under_an_undo(ms: u64) -> String {
    let mut story = Story::new();
    let (main, process) = (story.main.clone(), process(&story));
    let task = story.launch("Explore", "wait 5000; say found it");
    story.world.oc.set_revert(process, &main).unwrap();
    story.until_status(task, Status::Completed);
    story.pass(ms);
    let read = story.ask("background_output", json!({ "task_id": task.to_string() }));
    assert!(read.ends_with("found it"), "{read}");
    story.pass(1_000);
    story.world.oc.clear_revert(process, &main).unwrap();
    story.pass(30_000);
    assert_eq!(told_of(&story, task).len(), 0, "told again what was read after {ms} ms");
    story.end()
}

#[test]
fn field_a_result_that_was_read_is_not_told_again() {
    insta::assert_snapshot!(read_under_an_undo(2_000));
}

#[test]
fn field_a_result_that_is_read_while_its_notice_is_turned_away_is_not_told_again() {
    for ms in 0..12 {
        read_under_an_undo(ms);
    }
}

#[test]
fn field_a_nested_helper_is_told_of_by_its_own_parent_and_not_by_the_root() {
    let settings = Settings { max_depth: 2, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let main = story.main.clone();
    let outer = story.launch("Outer", "wait 30000; say outer done");
    let helper = story.session_of(outer);
    let inner = story.launch_from(&helper, "Inner", "wait 2000; say inner done");
    story.until_settled();
    let inner_told = story.deliveries(&helper);
    assert_eq!(inner_told.len(), 1);
    assert!(inner_told[0].headline.contains(&inner.to_string()));
    let told = story.deliveries(&main);
    assert_eq!(told.len(), 1);
    assert!(!told[0].headline.contains(&inner.to_string()));
    assert_eq!(detail(&mut story, outer, 0), "outer done");
    story.end();
}

#[test]
fn field_two_windows_on_one_session_are_one_wake() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let second = story.world.boot();
    story.pass(1_000);
    let task = story.launch("Explore", "wait 20000; say found it");
    story.world.use_session(second, &main);
    story.pass(10_000);
    let turns = story.turns(&main);
    story.until_settled();
    story.pass(30_000);
    assert_eq!(told_of(&story, task).len(), 1);
    assert_eq!(story.turns(&main), turns + 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn field_a_result_of_any_size_is_capped_with_the_call_that_reads_the_rest() {
    let mut story = Story::new();
    let task = story.launch("Explore", &format!("say {}", "x".repeat(200_000)));
    story.until_settled();
    let result = story.told()[0].results[0].clone();
    assert!(result.len() < 30_300, "{} characters", result.len());
    let call = format!("background_output(task_id: \"{task}\", offset: 30000)");
    assert!(result.contains(&call));
}

#[test]
fn field_a_store_has_one_owner_and_a_broken_file_is_set_aside() {
    let (path, keeper) = on_disk();
    let opened = Store::open(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(Fault::Locked { .. })), "a second owner");
    let file = opened.store.path().to_owned();
    drop(opened);
    std::fs::write(&file, b"half a file").unwrap();
    let opened = Store::open(&path).unwrap();
    let aside = opened.set_aside.unwrap().path;
    assert_eq!(std::fs::read(aside).unwrap(), b"half a file");
    drop(opened.store);
    drop(keeper);
}
