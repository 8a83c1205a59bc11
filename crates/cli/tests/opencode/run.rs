//! `opencode run` ends with its conversation. A launch says so; whoever waits gets the result into
//! the conversation, whoever does not is told afterwards what became of the helper.

use legwork_testkit::{Home, Model, Request, block_on, call, script};
use serde_json::{Value, json};

use crate::processes::until_ended;
use crate::stage::{FAIL, Stage, furnish, launch, legwork, printed, until};

/// The only task there is.
async fn only_task(home: &Home) -> Value {
    until("the task", async || {
        let listed = legwork(home, &["list", "--json"]);
        let mut listed: Value = serde_json::from_slice(&listed.stdout).ok()?;
        let tasks = listed["tasks"].as_array_mut()?;
        assert!(tasks.len() < 2, "{tasks:?}");
        tasks.pop()
    })
    .await
}

/// Also L3: the launch answer says how to get the result there.
#[test]
fn n1_in_opencode_run_whoever_blocks_gets_the_result_in_the_same_conversation() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), "");
        let wait = call("background_block", &json!({ "task_ids": ["{{last_task}}"] }));
        let begin = call("background_task", &launch("look", &["gate work\nsay the finding"]));
        // A real model takes its time here, in which the notice comes.
        let steps = [&*begin, &wait, "gate told\nsay all done"];
        let mut run = home.run(&["--agent", "build", &script(&steps)]);
        let launched =
            |one: &Request| one.said("tool", "Task ID:") && one.said("tool", "background_block");
        model.wait_for("the launch answer", launched).await;
        model.open("work");
        until("the notice is told", async || {
            let task = only_task(&home).await;
            (task["status"] == "completed" && task["notice_pending"] == false).then_some(())
        })
        .await;
        model.open("told");
        let ended = run.wait().await;
        assert!(ended.status.success(), "{ended:?}");
        assert!(ended.stdout.contains("all done"), "{ended:?}");
        let told = |one: &&Request| {
            one.said("user", "[BACKGROUND TASK COMPLETED]") && one.said("user", "the finding")
        };
        let requests = model.requests();
        let read: Vec<_> = requests.iter().filter(told).collect();
        assert_eq!(read.len(), 1, "{}", model.told());
    });
}

/// Also N1: the next OpenCode of the project finds out, and the conversation is told without a
/// turn. A person sees the reason on the command line.
#[test]
fn k2_in_opencode_run_a_helper_that_nobody_waits_for_is_cut_off_and_says_so() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), FAIL);
        let begin = call("background_task", &launch("look", &["gate never\nsay never"]));
        let mut run = home.run(&["--agent", "build", &script(&[&begin, "say all done"])]);
        let ended = run.wait().await;
        assert!(ended.status.success() && ended.stdout.contains("all done"), "{ended:?}");
        until_ended(run.pid()).await;
        let task = only_task(&home).await;
        let id = task["id"].as_str().unwrap();

        let mark = model.requests().len();
        let stage = Stage::open(model, home).await;
        until("the end of the helper", async || {
            let task = only_task(&stage.home).await;
            (task["status"] == "error" && task["notice_pending"] == false).then_some(())
        })
        .await;
        let shown = printed(&stage.legwork(&["output", id]));
        assert!(shown.contains("interrupted") && shown.contains("opencode run"), "{shown}");
        let notices = stage.notices(task["parent"].as_str().unwrap()).await;
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].headline.starts_with("[BACKGROUND TASK FAILED]"), "{notices:?}");
        assert_eq!(stage.model.requests().len(), mark, "nobody is there to read it");
    });
}
