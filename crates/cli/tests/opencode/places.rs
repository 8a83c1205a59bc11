//! One project, several databases: a window that does not have a session cannot say that it was
//! deleted, and a server that is only known by its address has nothing to do with anybody else's.

use std::fs;

use legwork_testkit::{Run, block_on, call, script};
use serde_json::json;

use crate::processes::{daemon, daemon_of};
use crate::stage::{LEGWORK, Stage, Task, launch, printed, until};

/// Also K3: a parent that is deleted takes its tasks along, and what they found can be read for a
/// while.
#[test]
fn k5_a_window_with_another_database_takes_nothing_along() {
    block_on(async {
        let stage = Stage::new().await;
        let parent = stage.parent().await;
        let done = stage.launch(&parent, "done before", &["say the first result"]).await;
        stage.until_settled(&done).await;
        let running = stage.launch(&parent, "at work", &["gate go\nsay the second result"]).await;
        stage.until_asked(&running.session, "gate go").await;

        stage.home.set_env("OPENCODE_DB", "other.db");
        let other = stage.home.serve().await;
        daemon_of(&stage.home, 2).await;
        let hosts = daemon(&stage.home)["hosts"].clone();
        assert_ne!(hosts[0]["place"], hosts[1]["place"], "{hosts}");

        // It has tasks of its own meanwhile, and is told of them.
        let client = other.client();
        let events = client.events().await;
        let theirs = client.create(json!({})).await;
        let mark = events.len();
        let begin = call("background_task", &launch("of the other", &["say theirs"]));
        client.say(&theirs, &script(&[&*begin, "say ok"])).await;
        events.until_event(mark, "session.idle", &theirs).await;
        until("its notice", async || {
            let texts = client.texts(&theirs).await;
            texts.iter().any(|(_, text)| text.starts_with("[BACKGROUND TASK")).then_some(())
        })
        .await;
        assert_eq!(stage.view(&done.id)["status"], "completed");
        assert_eq!(stage.view(&running.id)["status"], "running");

        stage.model.open("go");
        let notices = stage.until_notices(&parent, 2).await;
        assert!(notices[1].hidden.contains("the second result"), "{notices:?}");
        stage.until_settled(&running).await;
        deleted_for_good(&stage, &parent, &done).await;
    });
}

async fn deleted_for_good(stage: &Stage, parent: &str, done: &Task) {
    stage.client.delete(parent).await.ok();
    until("the deletion is heard of", async || stage.view(&done.id).is_null().then_some(())).await;
    let left = stage.legwork(&["output", &done.id]);
    assert!(!left.status.success(), "{left:?}");
    let said = String::from_utf8_lossy(&left.stderr);
    assert!(said.contains("the session that launched it was deleted"), "{said}");
    assert!(said.contains("the first result"), "{said}");
    assert!(!printed(&left).contains("the first result"), "it is no result any more");
}

#[test]
fn k5_a_server_by_its_address_takes_nothing_along() {
    block_on(async {
        let stage = Stage::new().await;
        let parent = stage.parent().await;
        let running = stage.launch(&parent, "at work", &["gate go\nsay the result"]).await;
        stage.until_asked(&running.session, "gate go").await;

        // The same project, so the same name; and it knows none of these sessions.
        stage.home.set_env("OPENCODE_DB", "elsewhere.db");
        fs::remove_file(stage.home.project().join(".opencode/plugin/legwork.js")).unwrap();
        let stranger = stage.home.serve().await;
        let mut command = stage.home.command(LEGWORK);
        command.args(["bridge", "opencode", "--url", stranger.url()]);
        let _front = Run::start(&stage.home, command, "bridge");
        daemon_of(&stage.home, 2).await;
        let hosts = daemon(&stage.home)["hosts"].clone();
        let place = |number: usize| hosts[number]["place"].as_str().unwrap_or_default().to_owned();
        assert_ne!(place(0), place(1), "{hosts}");
        assert!([place(0), place(1)].iter().any(|place| place.starts_with("opencode-url/")));

        stage.model.open("go");
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].hidden.contains("the result"), "{notices:?}");
        stage.until_settled(&running).await;
        let listed = stage.call(&parent, "background_list", json!({})).await;
        assert!(listed.text.contains(&running.id), "{listed:?}");
    });
}
