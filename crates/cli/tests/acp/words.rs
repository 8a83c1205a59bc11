//! What the six tools say to a terminal, word for word where the words are fixed.

use legwork_protocol::api::{Answer, Ask};
use legwork_testkit::legwork::eventually;
use serde_json::json;

use crate::stage::{Stage, task_in};

#[test]
fn l1_a_launch_names_all_that_is_missing_and_leaves_nothing() {
    let mut stage = Stage::new();
    let text = stage.refused("background_task", json!({ "prompt": " " }));
    for missing in ["description", "prompt", "agent"] {
        assert!(text.contains(missing), "{text}");
    }
    assert_eq!(stage.done("background_list", json!({})), "No background tasks found.");
}

#[test]
fn r1_r2_r3_r4_r7_a_resume_is_refused_in_fixed_words() {
    let mut stage = Stage::new();
    let task = stage.launch("say x");
    stage.finish(&task);
    let resume = |id: &str, prompt: &str| json!({ "resume": id, "prompt": prompt });
    assert_eq!(
        stage.refused("background_task", resume(&task, " ")),
        "Prompt is required when resuming a task"
    );
    assert_eq!(
        stage.refused("background_task", resume("bg_00000000", "x")),
        "Task not found: bg_00000000. Use background_list to see available tasks."
    );
    let arguments = json!({ "resume": task, "prompt": "wait 600s", "agent": "other" });
    let text = stage.done("background_task", arguments);
    assert!(text.starts_with("Note: agent and description are ignored in resume mode."), "{text}");
    assert_eq!(
        stage.refused("background_task", resume(&task, "say y")),
        "Task is currently being resumed. Wait for completion."
    );
    stage.done("background_cancel", json!({ "task_id": task }));
    assert_eq!(
        stage.refused("background_task", resume(&task, "say y")),
        "Only completed tasks can be resumed. Current status: cancelled"
    );
}

#[test]
fn o1_o4_o6_an_output_never_waits_and_says_what_went_wrong() {
    let mut stage = Stage::new();
    assert_eq!(
        stage.refused("background_output", json!({ "task_id": "bg_00000000" })),
        "Task not found: bg_00000000. Use background_list to see available tasks."
    );
    let task = stage.launch("fail no more ink");
    stage.finish(&task);
    let text = stage.done("background_output", json!({ "task_id": task, "block": true }));
    assert!(text.contains("no more ink") && text.contains("background_block"), "{text}");
}

#[test]
fn b2_b3_b4_b5_a_block_waits_for_the_end_and_names_every_task() {
    let mut stage = Stage::new();
    let task = stage.launch("say x");
    stage.finish(&task);
    stage.resume(&task, "wait 300ms\nsay y");
    let long = stage.launch("wait 600s");
    let ids = json!([task, long, "bg_00000000"]);
    let text = stage.done("background_block", json!({ "task_ids": ids, "timeout": 2_000 }));
    assert!(text.contains("not found"), "{text}");
    let line =
        |id: &str| text.lines().find(|line| line.contains(id)).unwrap_or_default().to_owned();
    assert!(line(&long).contains("running"), "{text}");
    let text = stage.done("background_block", json!({ "task_ids": [task] }));
    assert!(text.contains("completed"), "{text}");
    assert_eq!(stage.result(&task).1, "y", "it was the resume that was waited for");
}

#[test]
fn s1_s2_s3_s4_a_list_has_a_line_for_each_task_of_its_terminal() {
    let mut stage = Stage::new();
    let (mut other, context) = stage.other("term_two");
    let arguments = json!({ "prompt": "say o", "description": "Theirs", "agent": "rehearsal" });
    other.call(Some(&context), "background_task", arguments, &mut |_| {}).unwrap();
    let task = stage.launch("say x");
    stage.finish(&task);
    stage.resume(&task, "say y");
    stage.finish(&task);
    let text = stage.done("background_list", json!({}));
    assert!(text.starts_with(&format!("{task} (resumed)    completed    A test")), "{text}");
    assert!(!text.contains("Theirs"), "{text}");
    let text = stage.done("background_list", json!({ "all": true }));
    assert!(text.contains("Theirs"), "{text}");
    let text = stage.refused("background_list", json!({ "status": "done" }));
    assert!(text.contains("resumed"), "{text}");
}

#[test]
fn x2_x3_a_cancel_by_a_person_is_told_and_a_finished_task_is_not_cancelled() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 600s");
    // Not by the command, which reads mail: what it has done itself is no news to who sees it.
    let (mut person, _) = stage.other("term_two");
    let cancelled = person.request::<Answer>(Ask::Cancel { task: task.clone() });
    cancelled.unwrap().unwrap();
    assert_eq!(
        stage.refused("background_cancel", json!({ "task_id": task })),
        "Cannot cancel task: status is 'cancelled'. Only running or resumed tasks can be cancelled."
    );
    // The next command for people shows it.
    eventually("it is told", || (stage.daemon().pending == 0).then_some(()));
    let shown = stage.home.run(["list"]).with_code(0);
    let all = shown.err + &stage.all_mail().concat();
    assert!(all.contains("was cancelled") && all.contains(&task), "{all}");
}

#[test]
fn c2_c3_clearing_answers_whoever_waits() {
    let mut stage = Stage::new();
    assert_eq!(stage.done("background_clear", json!({})), "No background tasks to clear.");
    let task = stage.launch("wait 600s");
    let (mut other, context) = stage.other("term_one");
    let waiting = {
        let arguments = json!({ "task_ids": [task], "timeout": 60_000 });
        std::thread::spawn(move || {
            other.call(Some(&context), "background_block", arguments, &mut |_| {}).unwrap().text
        })
    };
    eventually("it is cleared", || {
        let text = stage.done("background_clear", json!({}));
        text.starts_with("Cancelled 1").then_some(())
    });
    let text = waiting.join().unwrap();
    assert!(text.contains(&task), "{text}");
}

#[test]
fn n1_three_that_end_together_are_each_told_once() {
    let mut stage = Stage::new();
    // While one of them runs, the notices of the others are gathered for a moment.
    let long = stage.launch("wait 600s");
    let tasks: Vec<String> = (0..3).map(|_| stage.launch("wait 500ms")).collect();
    for task in &tasks {
        stage.until(task, "it is over", |task| !task.status.is_unfinished());
    }
    let mail = stage.all_mail();
    let told: usize =
        mail.iter().map(|text| text.matches("[BACKGROUND TASK COMPLETED]").count()).sum();
    assert_eq!(told, 3, "{mail:?}");
    stage.done("background_cancel", json!({ "task_id": long }));
}

#[test]
fn k5_two_terminals_have_one_truth() {
    let mut stage = Stage::new();
    let task = stage.launch("say mine");
    stage.finish(&task);
    let (mut other, context) = stage.other("term_two");
    let arguments = json!({ "resume": task, "prompt": "count" });
    let text = other.call(Some(&context), "background_task", arguments, &mut |_| {}).unwrap();
    assert_eq!(task_in(&text.text), task);
    assert_eq!(stage.result(&task).1, "2");
    // The terminal that asked for the run is the one that is told of it.
    eventually("it is told", || (stage.daemon().pending == 0).then_some(()));
    let to = |mail: &legwork_protocol::view::Mail| mail.session.to_string();
    let resumed: Vec<String> =
        stage.mail().iter().filter(|mail| mail.text.contains("RESUME COMPLETED")).map(to).collect();
    assert_eq!(resumed, ["term_two"]);
}
