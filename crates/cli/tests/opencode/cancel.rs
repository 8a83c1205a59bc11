//! X1 to X3: calling off helpers of the real OpenCode.

use legwork_testkit::{Call, Request, block_on};
use serde_json::json;

use crate::launch::narrow;
use crate::stage::{Notice, Stage, Task, printed, until};

async fn cancel(stage: &Stage, session: &str, task: &str) -> Call {
    stage.call(session, "background_cancel", json!({ "task_id": task })).await
}

/// Waits until the helper's model is asked, so that there is something to cut off.
async fn at_work(stage: &Stage, task: &Task) {
    stage.model.wait_for("the helper's request", |one| is_of(one, task)).await;
}

fn is_of(request: &Request, task: &Task) -> bool {
    request.session.as_deref() == Some(&*task.session)
}

/// Waits until OpenCode has closed the connection to the helper's model.
async fn cut_off(stage: &Stage, task: &Task) {
    stage.model.wait_for("a closed connection", |one| is_of(one, task) && one.closed()).await;
}

/// Waits until the helper's session is known to be quiet for good.
async fn stopped(stage: &Stage, task: &Task) {
    until("it is stopped", async || {
        let log = printed(&stage.legwork(&["log", &task.id, "--verbose"]));
        log.contains("  stopped\n").then_some(())
    })
    .await;
}

#[test]
fn x1_x3_a_cancelled_helper_is_cut_off_and_a_late_answer_and_a_notice_never_come() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Too slow", &["say so far\ngate x1\nsay late"]).await;
        at_work(stage, &task).await;
        let call = cancel(stage, &parent, &task.id).await;
        let expected = format!(
            "Cancelled {} (Too slow). Its session is being stopped. No notification follows.",
            task.id
        );
        assert_eq!(call.text, expected);
        assert_eq!(stage.view(&task.id)["status"], "cancelled");
        cut_off(stage, &task).await;
        stage.model.open("x1");
        stopped(stage, &task).await;
        assert!(stage.client.status().await[&task.session].is_null());
        assert_eq!(stage.view(&task.id)["status"], "cancelled");
        let read = stage.call(&parent, "background_output", json!({ "task_id": task.id })).await;
        assert!(read.text.contains("Cancelled by the session that asked for it."), "{read:?}");

        let other = stage.launch(&parent, "Other", &["say fine"]).await;
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].headline.contains(&other.id), "{notices:?}");
        assert!(!notices[0].headline.contains(&task.id), "{notices:?}");
        stage.until_settled(&task).await;
    });
}

#[test]
fn x1_a_queued_task_is_cancelled_and_never_opens_a_session() {
    let stage = narrow();
    block_on(async {
        let parent = stage.parent().await;
        let first = stage.launch(&parent, "First", &["gate x1-first\nsay fine"]).await;
        let second = stage.launch(&parent, "Second", &["say never"]).await;
        assert_eq!(second.session, "", "none yet");
        let call = cancel(&stage, &parent, &second.id).await;
        let expected = format!("Cancelled {} (Second). No notification follows.", second.id);
        assert_eq!(call.text, expected);
        stage.model.open("x1-first");
        stage.until_notices(&parent, 1).await;
        let third = stage.launch(&parent, "Third", &["say fine"]).await;
        stage.until_notices(&parent, 2).await;
        stage.until_settled(&third).await;
        let view = stage.view(&second.id);
        assert_eq!((&view["status"], &view["session"]), (&json!("cancelled"), &json!(null)));
        let children = stage.client.children(&parent).await;
        let mut opened: Vec<&str> = children.iter().filter_map(|one| one["id"].as_str()).collect();
        let mut expected = [&*first.session, &*third.session];
        opened.sort_unstable();
        expected.sort_unstable();
        assert_eq!(opened, expected);
    });
}

#[test]
fn x2_what_is_finished_or_unknown_cannot_be_cancelled() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let helpers: [(&str, &[&str]); 3] =
            [("Good", &["say fine"]), ("Bad", &["fail 400 no"]), ("Off", &["hang"])];
        let [good, bad, off] = stage.launch_all(&parent, helpers).await;
        cancel(stage, &parent, &off.id).await;
        stage.until_status(&good, "completed").await;
        stage.until_status(&bad, "error").await;
        let asked = [&good.id, &bad.id, &off.id, "bg_zzzzzzzz", "what?"];
        let calls = asked.map(|id| ("background_cancel", json!({ "task_id": id })));
        let made = stage.call_all(&parent, &calls).await;
        assert!(made.iter().all(Call::refused), "{made:?}");
        let texts: Vec<&str> = made.iter().map(|call| &*call.text).collect();
        let finished = |status: &str| {
            format!(
                "Cannot cancel task: status is '{status}'. Only running or resumed tasks can be \
                 cancelled."
            )
        };
        let unknown =
            |id: &str| format!("Task not found: {id}. Use background_list to see available tasks.");
        let expected = [
            finished("completed"),
            finished("error"),
            finished("cancelled"),
            unknown("bg_zzzzzzzz"),
            unknown("what?"),
        ];
        assert_eq!(texts, expected);
    });
}

fn says(notice: &Notice, task: &Task, why: &str) {
    let first = notice.headline.lines().next().unwrap_or_default();
    let expected = format!("[BACKGROUND TASK CANCELLED] {} ", task.id);
    assert!(first.starts_with(&expected), "{notice:?}");
    assert_eq!(notice.hidden, format!("What came of {}:\n\n{why}", task.id));
}

#[test]
fn x3_a_task_that_anybody_else_cancels_is_told_once_with_who_it_was() {
    let stage = Stage::shared();
    block_on(async {
        let (parent, other) = (stage.parent().await, stage.parent().await);
        let helpers: [(&str, &[&str]); 3] = [("A", &["hang"]), ("B", &["hang"]), ("C", &["hang"])];
        let [a, b, c] = stage.launch_all(&parent, helpers).await;
        for task in [&a, &b, &c] {
            at_work(stage, task).await;
        }
        let done = stage.legwork(&["cancel", &a.id]);
        let stopped = "Its session is being stopped. Its parent is notified.";
        assert_eq!(printed(&done), format!("Cancelled {} (A). {stopped}\n", a.id));
        let notices = stage.until_notices(&parent, 1).await;
        says(&notices[0], &a, "Cancelled by a person.");
        cut_off(stage, &a).await;

        let call = cancel(stage, &other, &b.id).await;
        assert_eq!(call.text, format!("Cancelled {} (B). {stopped}", b.id));
        let notices = stage.until_notices(&parent, 2).await;
        says(&notices[1], &b, "Cancelled by another session of this project.");
        cut_off(stage, &b).await;

        stage.client.delete(&c.session).await.ok();
        let notices = stage.until_notices(&parent, 3).await;
        says(&notices[2], &c, "Cancelled because its session was deleted.");
        cut_off(stage, &c).await;
        for task in [&a, &b, &c] {
            stage.until_settled(task).await;
        }
        assert_eq!(stage.notices(&parent).await.len(), 3);
        assert_eq!(stage.notices(&other).await.len(), 0);
    });
}
