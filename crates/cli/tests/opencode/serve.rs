//! `opencode serve` in its less common forms: with a password, disposed and booted again, reached
//! over HTTP because it has no plugin, and with a plugin that cannot find its binary. What was
//! started for it ends with it.

use std::fs;

use legwork_testkit::{Model, Run, block_on};
use serde_json::json;

use crate::processes::{bridge, bridges, daemon, daemon_of, signal, until_ended};
use crate::stage::{LEGWORK, Stage, furnish, until};

const PASSWORD: &str = "open sesame";

/// Also D3, N1: what a dispose aborts is an error, told once; and nothing is left of all of it.
#[test]
fn k2_a_server_with_a_password_is_disposed_and_ends_and_nothing_is_left() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), "");
        home.set_env("LEGWORK_LINGER_MS", "200");
        let serve = home.serve_with_password(PASSWORD).await;
        let mut stage = Stage::on(model, home, serve).await;
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "behind a password", &["say inside"]).await;
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].hidden.contains("inside"), "{notices:?}");
        stage.until_settled(&task).await;

        let parent = stage.parent().await;
        let running = stage.launch(&parent, "disposed", &["gate never\nsay never"]).await;
        // One that gets its prompt only afterwards runs on, and rightly so.
        stage.until_asked(&running.session, "gate never").await;
        let front = bridge(stage.serve.pid()).await;
        stage.client.call("POST", "/instance/dispose", Some(json!({}))).await.ok();
        until_ended(front).await;
        until("a request boots it again", async || {
            // One that comes too soon is still answered by what is being disposed.
            stage.client.status().await;
            (bridges(stage.serve.pid()).len() == 1).then_some(())
        })
        .await;
        stage.events = stage.client.events().await;
        stage.until_status(&running, "error").await;
        stage.until_settled(&running).await;
        let notices = stage.notices(&parent).await;
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].headline.starts_with("[BACKGROUND TASK FAILED]"), "{notices:?}");
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "after it", &["say again"]).await;
        stage.until_settled(&task).await;

        let (daemon, front) = (daemon_of(&stage.home, 1).await, bridge(stage.serve.pid()).await);
        stage.serve.terminate().await;
        until_ended(front).await;
        until_ended(daemon).await;
    });
}

/// A server without the plugin, which a person connects: what was under way in the project is read
/// and told over HTTP, and its events are heard.
#[test]
fn k2_a_server_without_the_plugin_is_reached_over_http() {
    block_on(async {
        let mut stage = Stage::new().await;
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "read over HTTP", &["gate go\nsay the answer"]).await;
        let daemon = daemon_of(&stage.home, 1).await;
        signal(daemon, "STOP");
        let mark = stage.events.len();
        stage.model.open("go");
        stage.events.until_event(mark, "session.idle", &task.session).await;
        stage.serve.kill9();
        signal(daemon, "CONT");
        fs::remove_file(stage.home.project().join(".opencode/plugin/legwork.js")).unwrap();
        stage.serve = stage.home.serve_with_password(PASSWORD).await;
        stage.client = stage.serve.client();
        stage.events = stage.client.events().await;
        assert!(bridges(stage.serve.pid()).is_empty());

        let refused = connect(&stage, None).wait().await;
        assert!(!refused.status.success(), "{refused:?}");
        assert!(refused.stderr.contains("OPENCODE_SERVER_PASSWORD"), "{refused:?}");
        let _front = connect(&stage, Some(PASSWORD));
        daemon_of(&stage.home, 1).await;
        stage.until_status(&task, "completed").await;
        stage.until_settled(&task).await;
        let notices = stage.notices(&parent).await;
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].hidden.contains("the answer"), "{notices:?}");

        stage.client.delete(&parent).await.ok();
        until("the deletion is heard of", async || stage.view(&task.id).is_null().then_some(()))
            .await;
    });
}

fn connect(stage: &Stage, password: Option<&str>) -> Run {
    let mut command = stage.home.command(LEGWORK);
    command.args(["bridge", "opencode", "--same-data", "--url", stage.serve.url()]);
    if let Some(password) = password {
        command.env("OPENCODE_SERVER_PASSWORD", password);
    }
    Run::start(&stage.home, command, "bridge")
}

/// The plugin is there and its binary is not, or ends at once: OpenCode works, the tools say what
/// to do, and one toast does.
#[test]
fn g2_without_a_working_binary_opencode_works_and_the_tools_say_what_to_do() {
    block_on(async {
        for (binary, why, remedy) in [
            ("missing/legwork", "cannot be started", "Restart OpenCode"),
            ("/bin/false", "ended", "/bin/false doctor"),
        ] {
            let model = Model::start();
            let home = furnish(&model, json!({}), "");
            let binary = home.root().join(binary);
            home.set_env("LEGWORK_BIN", &binary.to_string_lossy());
            let stage = Stage::open(model, home).await;
            let parent = stage.parent().await;
            let toast = |event: &legwork_testkit::Event| event.kind == "tui.toast.show";
            stage.events.until("the toast", toast).await;
            for tool in ["background_task", "background_list"] {
                let call = stage.call(&parent, tool, json!({ "prompt": "x" })).await;
                assert!(call.refused(), "{call:?}");
                assert!(call.text.contains(why), "{call:?}");
                assert!(call.text.contains(remedy), "{call:?}");
            }
            let texts = stage.client.texts(&parent).await;
            assert!(texts.iter().any(|(role, text)| role == "assistant" && text == "ok"));
            let toasts: Vec<_> = stage.events.all().into_iter().filter(toast).collect();
            assert_eq!(toasts.len(), 1, "{toasts:?}");
            let words = toasts[0].properties.to_string();
            assert!(words.contains(remedy) && words.contains(why), "{words}");
            assert!(daemon(&stage.home).is_null());
        }
    });
}
