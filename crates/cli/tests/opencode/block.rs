//! B1 to B7: waiting for tasks in the real OpenCode.

use legwork_testkit::{Call, block_on, script};
use serde_json::json;

use crate::stage::{Stage, until};

const READ_THEM: &str = "\n\nbackground_output reads the results now; what you were not told yet \
                         follows by itself.";

/// A summary without the durations at the ends of its lines.
fn summary(call: &Call) -> String {
    let without = |line: &str| match line.rsplit_once("  ") {
        Some((rest, _)) if line.starts_with("bg_") && !line.ends_with("not found") => {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    call.text.split('\n').map(without).collect::<Vec<_>>().join("\n")
}

fn title(call: &Call) -> &str {
    &call.title
}

#[test]
fn b1_what_cannot_be_waited_for_is_refused_in_words_and_a_long_timeout_is_cut() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let asked = [
            json!({ "task_ids": [] }),
            json!({ "task_ids": "bg_aaaaaaaa" }),
            json!({}),
            json!({ "task_ids": ["bg_aaaaaaaa"], "timeout": -1 }),
            json!({ "task_ids": ["bg_aaaaaaaa"], "timeout": "soon" }),
            json!({ "task_ids": ["bg_aaaaaaaa", " bg_aaaaaaaa ", "no\nid"], "timeout": 600_001 }),
        ];
        let calls = asked.map(|arguments| ("background_block", arguments));
        let made = stage.call_all(&parent, &calls).await;
        let (cut, refused) = made.split_last().unwrap();
        assert!(refused.iter().all(Call::refused), "{refused:?}");
        let texts: Vec<&str> = refused.iter().map(|call| &*call.text).collect();
        let expected = [
            "background_block: task_ids: name at least one task. background_list shows them",
            "background_block: task_ids: invalid type: string \"bg_aaaaaaaa\", expected a sequence",
            "background_block: missing field `task_ids`",
            "background_block: timeout: expected a whole number, 0 or more",
            "background_block: timeout: expected a whole number, 0 or more",
        ];
        assert_eq!(texts, expected);
        assert_eq!(
            cut.text,
            "None of these tasks was found.\nNote: the timeout was cut to 600000 ms, the longest.\n\
             \nbg_aaaaaaaa  not found\nno id  not found"
        );
    });
}

#[test]
fn b2_b4_finished_tasks_of_any_kind_are_not_waited_for() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let helpers: [(&str, &[&str]); 3] =
            [("Good", &["say fine"]), ("Bad", &["fail 400 no"]), ("Off", &["hang"])];
        let [good, bad, off] = stage.launch_all(&parent, helpers).await;
        stage.call(&parent, "background_cancel", json!({ "task_id": off.id })).await;
        stage.until_status(&good, "completed").await;
        stage.until_status(&bad, "error").await;
        let ids = [&bad.id, &good.id, &off.id, &bad.id, "bg_zzzzzzzz"];
        let asked = json!({ "task_ids": ids, "timeout": 600_000 });
        let call = stage.call(&parent, "background_block", asked).await;
        let expected = format!(
            "All finished: 3 tasks, 1 not found.\n\n{}  error  Bad\n{}  completed  Good\n\
             {}  cancelled  Off\nbg_zzzzzzzz  not found{READ_THEM}",
            bad.id, good.id, off.id
        );
        assert_eq!(summary(&call), expected);
    });
}

/// A and B are waited for, C is not.
#[test]
fn b3_b6_b7_what_is_waited_for_is_told_after_the_waiting_and_the_call_shows_how_it_stands() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let helpers: [(&str, &[&str]); 3] = [
            ("A", &["gate b6-a\nsay result of A"]),
            ("B", &["gate b6-b\nsay result of B"]),
            ("C", &["gate b6-c\nsay result of C"]),
        ];
        let [a, b, c] = stage.launch_all(&parent, helpers).await;
        let call = stage.block(&parent, &[&a, &b]).await;
        stage.model.open("b6-a");
        until("the call says that one is left", async || {
            let calls = stage.calls(&parent).await;
            title(&calls[call]).starts_with("Waiting for 1 task (").then_some(())
        })
        .await;
        assert_eq!(stage.view(&a.id)["notice_pending"], true);
        stage.model.open("b6-c");
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].headline.contains(&c.id), "{notices:?}");
        assert!(!notices[0].headline.contains(&a.id), "{notices:?}");
        assert_eq!(stage.calls(&parent).await[call].status, "running");

        stage.model.open("b6-b");
        let answered = stage.until_call(&parent, call).await;
        let expected = format!(
            "All finished: 2 tasks.\n\n{}  completed  A\n{}  completed  B{READ_THEM}",
            a.id, b.id
        );
        assert_eq!(summary(&answered), expected);
        let notices = stage.until_notices(&parent, 2).await;
        let headlines: Vec<&str> = notices[1].headline.lines().collect();
        assert!(headlines[0].starts_with(&format!("[BACKGROUND TASK COMPLETED] {} A (", a.id)));
        assert!(headlines[1].starts_with(&format!("[BACKGROUND TASK COMPLETED] {} B (", b.id)));
        assert_eq!(headlines[2..], ["3 background tasks finished, 0 still running."]);
        stage.until_settled(&a).await;
        stage.until_settled(&b).await;
        assert_eq!(stage.notices(&parent).await.len(), 2);
    });
}

#[test]
fn b3_b4_at_a_timeout_it_tells_what_finished_and_what_still_runs() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let helpers: [(&str, &[&str]); 2] =
            [("Quick", &["say fine"]), ("Slow", &["gate b4\nsay fine"])];
        let [quick, slow] = stage.launch_all(&parent, helpers).await;
        stage.until_status(&quick, "completed").await;
        let ids = json!({ "task_ids": [slow.id, "bg_zzzzzzzz", quick.id], "timeout": 300 });
        let call = stage.call(&parent, "background_block", ids).await;
        let expected = format!(
            "The time is up: 1 finished, 1 still running, 1 not found.\n\n{}  running  Slow\n\
             bg_zzzzzzzz  not found\n{}  completed  Quick{READ_THEM}",
            slow.id, quick.id
        );
        assert_eq!(summary(&call), expected);
        stage.model.open("b4");
        stage.until_notices(&parent, 2).await;
    });
}

#[test]
fn b5_after_a_resume_it_waits_for_the_end_of_the_resume() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Twice", &["say first"]).await;
        stage.until_notices(&parent, 1).await;
        let again = json!({ "resume": task.id, "prompt": script(&["gate b5\nsay second"]) });
        stage.call(&parent, "background_task", again).await;
        let short = json!({ "task_ids": [task.id], "timeout": 1 });
        let early = stage.call(&parent, "background_block", short).await;
        let expected =
            format!("The time is up: 0 finished, 1 still running.\n\n{}  resumed  Twice", task.id);
        assert_eq!(summary(&early), expected);

        let call = stage.block(&parent, &[&task]).await;
        stage.model.open("b5");
        let answered = stage.until_call(&parent, call).await;
        let expected = format!("All finished: 1 task.\n\n{}  completed  Twice{READ_THEM}", task.id);
        assert_eq!(summary(&answered), expected);
        let notices = stage.until_notices(&parent, 2).await;
        assert!(notices[1].headline.starts_with("[BACKGROUND RESUME COMPLETED]"), "{notices:?}");
    });
}

#[test]
fn b6_esc_ends_the_waiting_and_the_task_goes_on_and_is_told_later() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let helpers: [(&str, &[&str]); 2] =
            [("Goes on", &["gate b6-esc\nsay not disturbed"]), ("Endless", &["hang"])];
        let [task, endless] = stage.launch_all(&parent, helpers).await;
        stage.until_asked(&task.session, "gate b6-esc").await;
        let call = stage.block(&parent, &[&task, &endless]).await;
        stage.client.abort(&parent).await.ok();
        let stopped = stage.until_call(&parent, call).await;
        assert!(stopped.refused(), "{stopped:?}");
        assert_eq!(stage.view(&task.id)["status"], "running");
        assert!(stage.client.status().await[&task.session].is_object(), "it is at work");
        stage.model.open("b6-esc");
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].headline.starts_with("[BACKGROUND TASK COMPLETED]"), "{notices:?}");
        assert!(notices[0].hidden.contains("not disturbed"), "{notices:?}");
        stage.until_settled(&task).await;
        assert_eq!(stage.notices(&parent).await.len(), 1);
        assert_eq!(stage.view(&endless.id)["status"], "running");
        stage.call(&parent, "background_clear", json!({})).await;
    });
}

#[test]
fn b8_the_first_that_is_finished_ends_the_waiting_for_any() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let slow = stage.launch(&parent, "slow", &["gate b8\nsay late"]).await;
        let quick = stage.launch(&parent, "quick", &["say early"]).await;
        let arguments = json!({ "task_ids": [slow.id, quick.id], "any": true });
        let call = stage.call(&parent, "background_block", arguments).await;
        let expected = format!(
            "Finished: {}. 1 still running.\n\n{}  running  slow\n{}  completed  quick{READ_THEM}",
            quick.id, slow.id, quick.id
        );
        assert_eq!(summary(&call), expected);
        stage.model.open("b8");
        stage.until_status(&slow, "completed").await;
        until("it is told of the first one too", async || {
            let told = stage.notices(&parent).await;
            told.iter().any(|notice| notice.headline.contains(&quick.id)).then_some(())
        })
        .await;
    });
}
