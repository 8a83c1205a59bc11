//! C1 to C3: forgetting tasks in the real OpenCode.

use legwork_testkit::{block_on, call, script};
use serde_json::json;

use crate::stage::{Stage, block, printed, until};

#[test]
fn c1_c2_what_a_session_clears_is_stopped_and_forgotten_and_other_sessions_keep_theirs() {
    let stage = Stage::shared();
    block_on(async {
        let (parent, other) = (stage.parent().await, stage.parent().await);
        let done = stage.launch(&parent, "Done", &["say fine"]).await;
        stage.until_notices(&parent, 1).await;
        let busy = stage.launch(&parent, "Busy", &["gate c1\nsay late"]).await;
        let theirs = stage.launch(&other, "Theirs", &["gate c1-theirs\nsay theirs"]).await;
        let of_busy = |session: Option<&str>| session == Some(&*busy.session);
        stage.model.wait_for("work", |one| of_busy(one.session.as_deref())).await;

        let cleared = stage.call(&parent, "background_clear", json!({})).await;
        assert_eq!(cleared.text, "Cancelled 1 unfinished task and cleared 2 tasks.");
        let closed = |session: Option<&str>, closed: bool| of_busy(session) && closed;
        stage
            .model
            .wait_for("a closed connection", |one| closed(one.session.as_deref(), one.closed()))
            .await;
        stage.model.open("c1");
        let list = stage.call(&parent, "background_list", json!({})).await;
        assert_eq!(list.text, "No background tasks found.");
        for task in [&done, &busy] {
            let read = json!({ "task_id": task.id });
            let gone = stage.call(&parent, "background_output", read).await;
            let expected =
                format!("Task not found: {}. Use background_list to see available tasks.", task.id);
            assert_eq!((gone.refused(), gone.text), (true, expected));
        }
        let again = stage.call(&parent, "background_clear", json!({})).await;
        assert_eq!(again.text, "No background tasks to clear.");

        stage.model.open("c1-theirs");
        let notices = stage.until_notices(&other, 1).await;
        assert!(notices[0].hidden.contains("theirs"), "{notices:?}");
        stage.until_settled(&theirs).await;
        let fresh = stage.launch(&parent, "Fresh", &["say fine"]).await;
        let notices = stage.until_notices(&parent, 2).await;
        assert!(notices[1].headline.contains(&fresh.id), "{notices:?}");
        assert!(notices[1].headline.ends_with("\n1 background task finished, 0 still running."));
    });
}

/// By a session, and by a person's hand.
#[test]
fn c3_who_is_blocked_on_a_cleared_task_is_answered_at_once() {
    let stage = Stage::shared();
    block_on(async {
        let (parent, other) = (stage.parent().await, stage.parent().await);
        let task = stage.launch(&parent, "Cleared", &["hang"]).await;
        let blocked = stage.block(&other, &[&task]).await;
        let own = call("background_block", &block(&[&task]));
        let clear = call("background_clear", &json!({}));
        let before = stage.calls(&parent).await.len();
        stage.client.say(&parent, &script(&[&format!("{own}\n{clear}"), "say ok"])).await;
        let expected = format!("None of these tasks was found.\n\n{}  not found", task.id);
        assert_eq!(stage.until_call(&other, blocked).await.text, expected);
        assert_eq!(stage.until_call(&parent, before).await.text, expected);
        let cleared = stage.until_call(&parent, before + 1).await;
        assert_eq!(cleared.text, "Cancelled 1 unfinished task and cleared 1 task.");

        let parent = stage.parent().await;
        let task = stage.launch(&parent, "By hand", &["hang"]).await;
        let blocked = stage.block(&other, &[&task]).await;
        let done = stage.legwork(&["clear", &task.id, "--yes"]);
        assert_eq!(printed(&done), "Cancelled 1 unfinished task and cleared 1 task.\n");
        let expected = format!("None of these tasks was found.\n\n{}  not found", task.id);
        assert_eq!(stage.until_call(&other, blocked).await.text, expected);
    });
}

#[test]
fn p8_what_a_session_clears_is_in_none_of_our_files() {
    block_on(async {
        let stage = Stage::new().await;
        let parent = stage.parent().await;
        let secret = "prefix-of-a-secret";
        let task = stage.launch(&parent, "Secret", &[&format!("say {secret}")]).await;
        stage.until_settled(&task).await;
        let store = stage.home.root().join("legwork/store");
        let holds = || {
            let files = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
            let mut bytes = files.map(|path| std::fs::read(path).unwrap_or_default());
            bytes.any(|bytes| bytes.windows(secret.len()).any(|some| some == secret.as_bytes()))
        };
        assert!(holds());
        let cleared = stage.call(&parent, "background_clear", json!({})).await;
        assert_eq!(cleared.text, "Cleared 1 task; none was unfinished.");
        until("it is removed", async || (!holds()).then_some(())).await;
    });
}
