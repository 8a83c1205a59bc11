//! A conversation in OpenCode with helpers on an ACP agent: the asker lives at one host, the run at
//! another. The agent is the scripted one that is built in; its prompts are its script.

use legwork_testkit::block_on;
use serde_json::{Value, json};

use crate::processes::{daemon_of, signal, until_ended};
use crate::stage::{FAIL, Stage, Task, printed, until};

async fn launch(stage: &Stage, parent: &str, name: &str, prompt: &str) -> Task {
    let arguments = json!({ "description": name, "prompt": prompt, "agent": "rehearsal" });
    let call = stage.call(parent, "background_task", arguments).await;
    assert!(!call.refused(), "{call:?}");
    stage.task(&call.text).await
}

#[test]
fn l4_a_conversation_has_a_helper_on_an_acp_agent_and_is_told_once() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = launch(stage, &parent, "Elsewhere", "cwd; say found it").await;
        let notices = stage.until_notices(&parent, 1).await;
        let headline = format!("[BACKGROUND TASK COMPLETED] {} Elsewhere", task.id);
        assert!(notices[0].headline.starts_with(&headline), "{notices:?}");
        assert!(notices[0].hidden.contains("found it"), "{notices:?}");
        let project = stage.home.project();
        assert!(notices[0].hidden.contains(&*project.to_string_lossy()), "{notices:?}");
        stage.until_settled(&task).await;
        stage.until_asked(&parent, &headline).await;
        assert_eq!(stage.notices(&parent).await.len(), 1);
        assert_eq!(stage.client.children(&parent).await, Vec::<Value>::new(), "not in OpenCode");
        assert_eq!(stage.view(&task.id)["agent"], "rehearsal");
    });
}

#[test]
fn r6_a_helper_on_an_acp_agent_is_resumed_with_its_history_and_read_by_its_parent() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = launch(stage, &parent, "Twice", "say one").await;
        stage.until_settled(&task).await;
        let again = json!({ "prompt": "count", "resume": task.id });
        let call = stage.call(&parent, "background_task", again).await;
        assert!(!call.refused(), "{call:?}");
        stage.until_notices(&parent, 2).await;
        stage.until_settled(&task).await;
        let output = stage.call(&parent, "background_output", json!({ "task_id": task.id })).await;
        assert!(output.text.contains('2'), "it has had two prompts: {output:?}");
        let list = stage.call(&parent, "background_list", json!({})).await;
        assert!(list.text.contains(&task.id), "{list:?}");
    });
}

#[test]
fn d5_a_helper_on_an_acp_agent_asks_and_its_conversation_is_told() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = launch(stage, &parent, "Asks", "ask to write a file; say done").await;
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].headline.starts_with("[BACKGROUND TASK WAITING]"), "{notices:?}");
        let answered = stage.legwork(&["answer", &task.id, "once"]);
        assert!(answered.status.success(), "{answered:?}");
        let notices = stage.until_notices(&parent, 2).await;
        assert!(notices[1].hidden.contains("done"), "{notices:?}");
    });
}

#[test]
fn x1_a_helper_on_an_acp_agent_that_its_parent_cancels_runs_no_more() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = launch(stage, &parent, "Hangs", "say busy; hang").await;
        stage.until_status(&task, "running").await;
        let call = stage.call(&parent, "background_cancel", json!({ "task_id": task.id })).await;
        assert!(!call.refused(), "{call:?}");
        stage.until_status(&task, "cancelled").await;
        until("its agent has ended", async || {
            let status = stage.legwork(&["daemon", "status", "--json"]);
            let status: Value = serde_json::from_slice(&status.stdout).ok()?;
            (status["daemon"]["at_work"] == 0).then_some(())
        })
        .await;
        assert!(stage.notices(&parent).await.is_empty());
    });
}

/// The window is not the helper's host: closing it costs the helper nothing.
#[test]
fn k2_a_helper_on_an_acp_agent_lives_through_a_kill_of_its_conversations_opencode() {
    block_on(async {
        let mut stage = Stage::new().await;
        let parent = stage.parent().await;
        let task = launch(&stage, &parent, "Outlives", "wait 3s; say still here").await;
        stage.serve.kill9();
        stage.until_status(&task, "completed").await;
        stage.reopen().await;
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].hidden.contains("still here"), "{notices:?}");
        stage.until_settled(&task).await;
    });
}

/// The daemon is the helper's host, not the conversation's.
#[test]
fn k2_a_killed_daemon_interrupts_a_helper_on_an_acp_agent_and_its_conversation_is_told() {
    block_on(async {
        let stage = Stage::with(json!({}), FAIL).await;
        let parent = stage.parent().await;
        let task = launch(&stage, &parent, "Cut off", "say busy; hang").await;
        stage.until_status(&task, "running").await;
        let daemon = daemon_of(&stage.home, 1).await;
        signal(daemon, "KILL");
        until_ended(daemon).await;
        let notices = stage.until_notices(&parent, 1).await;
        let headline = format!("[BACKGROUND TASK FAILED] {} Cut off", task.id);
        assert!(notices[0].headline.starts_with(&headline), "{notices:?}");
        stage.until_settled(&task).await;
        let reason = printed(&stage.legwork(&["output", &task.id]));
        assert!(reason.contains("interrupted"), "{reason}");
    });
}
