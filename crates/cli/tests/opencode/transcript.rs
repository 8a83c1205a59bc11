//! The conversation of a helper in the real OpenCode, read and followed by a person.

use legwork_testkit::{Run, block_on};
use serde_json::{Value, json};

use crate::processes::{daemon_of, signal, until_ended};
use crate::stage::{Stage, bash, cast, printed, until};

/// Waits until a command that goes on has printed this.
async fn until_printed(run: &Run, wanted: &str) {
    until(&format!("{wanted:?} is printed"), async || run.stdout().contains(wanted).then_some(()))
        .await;
}

fn texts(document: &Value, kind: &str) -> Vec<(u64, String)> {
    let entries = document["entries"].as_array().unwrap().iter();
    let wanted = entries.filter(|entry| entry["kind"] == kind);
    let text = |entry: &Value| entry["text"].as_str().unwrap_or_default().to_owned();
    wanted.map(|entry| (entry["run"].as_u64().unwrap(), text(entry))).collect()
}

/// What OpenCode has not stored yet is there too: it stores a text when it is complete.
#[test]
fn p3_a_helper_is_followed_while_it_writes_and_across_a_tool_call_by_two_at_once() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let look =
            format!("gate begin\nsay Let me look.\ngate words\nsay  Now.\n{}", bash("echo milk"));
        let task = stage.launch(&parent, "followed", &[&look, "gate end\nsay the result"]).await;
        let mut people = stage.begin("follow", &["transcript", &task.id, "--follow"]);
        let mut programs = stage.begin("follow-json", &["transcript", &task.id, "-f", "--json"]);
        let mut output = stage.begin("output", &["output", &task.id, "--follow"]);
        until_printed(&people, "asked").await;
        until_printed(&programs, "\"prompt\"").await;
        stage.until_asked(&task.session, "gate begin").await;
        stage.model.open("begin");
        for follower in [&people, &programs, &output] {
            until_printed(follower, "Let me look.").await;
        }
        stage.model.open("words");
        until_printed(&people, "✓ bash").await;
        until_printed(&people, "    milk").await;
        stage.model.open("end");
        let told = people.wait().await;
        assert!(told.status.success(), "{told:?}");
        assert!(told.stdout.trim_end().ends_with("the result"), "{told:?}");
        assert_eq!(told.stdout.matches("    Let me look.").count(), 1, "{told:?}");
        let lines = programs.wait().await.stdout;
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["task"]["status"], "completed");
        let output = output.wait().await;
        assert_eq!(output.stdout, "Let me look.\n Now.\n\nthe result\n", "{output:?}");

        let document = stage.json(0, &["transcript", &task.id]);
        assert_eq!(document["source"], "host");
        let said = |text: &str| (0, text.to_owned());
        assert_eq!(texts(&document, "text"), [said("Let me look.\n Now."), said("the result")]);
        assert_eq!(texts(&document, "prompt").len(), 1);
        let tool = document["entries"].as_array().unwrap().iter().find(|e| e["kind"] == "tool");
        assert_eq!(tool.unwrap()["tool"]["state"], "done");
        assert_eq!(tool.unwrap()["tool"]["output"]["text"], "milk\n");
    });
}

/// Also G3: two megabytes; and both runs, marked.
#[test]
fn p3_a_long_and_a_resumed_conversation_is_read_whole() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "long", &["repeat 2100000 word "]).await;
        stage.until_status(&task, "completed").await;
        stage.until_settled(&task).await;
        let output = stage.legwork(&["resume", &task.id, "#script\nsay seven"]);
        assert!(output.status.success(), "{output:?}");
        let document = stage.json(0, &["transcript", &task.id]);
        let said = texts(&document, "text");
        assert_eq!((said[0].0, said[0].1.len()), (0, 2_100_000));
        assert_eq!(said.last(), Some(&(1, "seven".to_owned())));
        let shown = printed(&stage.legwork(&["transcript", &task.id]));
        assert!(shown.len() > 2_100_000, "{}", shown.len());
        let (first, second) = shown.split_once("── resumed (run 1)").unwrap();
        assert!(first.contains("── launched, ") && second.contains("    seven"));
        let last = stage.json(0, &["transcript", &task.id, "--last"]);
        assert_eq!(texts(&last, "text"), [(1, "seven".to_owned())]);
    });
}

#[test]
fn p3_no_text_of_a_helper_in_opencode_steers_a_terminal() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let nasty = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}evil\u{9b}31m";
        let hostile = format!("say {nasty}\n{}", bash("printf '\\033[2Jevil\\r'"));
        let task = stage.launch(&parent, "hostile", &[&hostile, "say end"]).await;
        stage.until_status(&task, "completed").await;
        for args in [&[][..], &["--full"], &["--json"], &["--follow"]] {
            let shown = printed(&stage.legwork(&[&["transcript", &task.id], args].concat()));
            let steers = |c: char| c != '\n' && legwork_protocol::refusal::steers(c);
            assert!(!shown.chars().any(steers), "{args:?}: {shown:?}");
            assert!(shown.contains("evil"), "{args:?}: {shown:?}");
        }
    });
}

/// A helper that goes on elsewhere is followed there, and the daemon may die as well.
#[test]
fn p3_following_outlives_a_killed_daemon_and_a_killed_host() {
    block_on(async {
        let mut stage = Stage::with(cast(), "").await;
        let parent = stage.parent().await;
        let steps = ["say before", "gate go\nsay after all"];
        let steps = [&format!("{}\n{}", steps[0], bash("echo milk"))[..], steps[1]];
        let task = stage.launch(&parent, "outlived", &steps).await;
        let mut people = stage.begin("follow", &["transcript", &task.id, "--follow"]);
        until_printed(&people, "✓ bash").await;
        signal(daemon_of(&stage.home, 1).await, "KILL");
        daemon_of(&stage.home, 1).await;
        stage.serve.kill9();
        // It is asked to go on in an OpenCode without a window, which is seen.
        until("it goes on", async || {
            let asked = people.stdout().matches("asked").count();
            (asked == 2).then_some(())
        })
        .await;
        stage.model.open("go");
        let told = people.wait().await;
        assert!(told.status.success(), "{told:?}");
        // What it did before is told once, and what it does again once more.
        assert_eq!(told.stdout.matches("✓ bash").count(), 2, "{told:?}");
        assert_eq!(told.stdout.matches("── launched").count(), 1, "{told:?}");
    });
}

#[test]
fn p3_without_a_host_it_is_said_and_the_records_are_shown() {
    block_on(async {
        let config = "[recovery]\ninterrupted = \"fail\"\nheadless = false\n";
        let mut stage = Stage::with(json!({}), config).await;
        let parent = stage.parent().await;
        let done = stage.launch(&parent, "done", &["say the milk"]).await;
        stage.until_status(&done, "completed").await;
        stage.until_settled(&done).await;
        let steps = [&*format!("say half\n{}", bash("echo x")), "gate never\nsay never"];
        let cut_off = stage.launch(&parent, "cut off", &steps).await;
        let mut people = stage.begin("follow", &["transcript", &cut_off.id, "--follow"]);
        until_printed(&people, "✓ bash").await;
        let host = stage.serve.pid();
        stage.serve.kill9();
        until_ended(host).await;
        daemon_of(&stage.home, 0).await;
        let shown = stage.legwork(&["transcript", &done.id]);
        let (out, err) = (printed(&shown), String::from_utf8_lossy(&shown.stderr).into_owned());
        assert!(out.contains("say the milk") && out.contains("    the milk"), "{out}");
        assert!(err.contains("no OpenCode of") && err.contains("is connected"), "{err}");
        assert_eq!(stage.json(0, &["transcript", &done.id])["source"], "host-away");
        let cancelled = stage.legwork(&["cancel", &cut_off.id]);
        assert!(cancelled.status.success(), "{cancelled:?}");
        let told = people.wait().await;
        assert_eq!(told.status.code(), Some(4), "{told:?}");
        assert!(told.stderr.contains("The rest of it cannot be read now"), "{told:?}");
    });
}
