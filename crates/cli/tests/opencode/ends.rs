//! How the end of a run is known: D1 to D4, D6 and D7, and what is kept of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use legwork_testkit::{Event, Model, Request, block_on, call};
use serde_json::json;

use crate::stage::{LEGWORK, Notice, Stage, Task, cast, furnish, printed, until};

/// Waits for the end and the only notice of it, and gives that.
async fn the_end(stage: &Stage, parent: &str, task: &Task, status: &str) -> Notice {
    stage.until_settled(task).await;
    assert_eq!(stage.view(&task.id)["status"], status);
    let mut notices = stage.notices(parent).await;
    assert_eq!(notices.len(), 1, "{notices:?}");
    notices.remove(0)
}

/// Also D7 and O4: the cause is kept, for the model and for a person.
#[test]
fn d3_d7_a_provider_error_is_told_once_with_its_cause() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Burn", &["fail 400 the roof is on fire"]).await;
        let notice = the_end(stage, &parent, &task, "error").await;
        assert!(notice.headline.starts_with("[BACKGROUND TASK FAILED]"), "{notice:?}");
        for word in ["the roof is on fire", "status 400"] {
            assert!(notice.hidden.contains(word), "{notice:?}");
        }
        stage.until_asked(&parent, "the roof is on fire").await;
        let read = stage.call(&parent, "background_output", json!({ "task_id": task.id })).await;
        assert!(read.text.contains("the roof is on fire"), "{read:?}");
        let output = printed(&stage.legwork(&["output", &task.id]));
        assert!(output.contains("the roof is on fire"), "{output}");
        assert_eq!(stage.notices(&parent).await.len(), 1);
    });
}

#[test]
fn d3_an_agent_with_a_model_that_there_is_not_ends_as_an_error() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch_agent(&parent, "broken", "Think", &["say never"]).await;
        let notice = the_end(stage, &parent, &task, "error").await;
        assert!(notice.headline.starts_with("[BACKGROUND TASK FAILED]"), "{notice:?}");
        assert!(notice.hidden.contains("Model not found: fake/none"), "{notice:?}");
    });
}

#[test]
fn d3_a_run_that_a_person_aborts_in_its_own_session_is_an_error() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Dig", &["say so far\nhang"]).await;
        let begun = |event: &Event| event.is("message.part.delta", &task.session);
        stage.events.until("the half answer", begun).await;
        stage.client.abort(&task.session).await.ok();
        let notice = the_end(stage, &parent, &task, "error").await;
        assert!(notice.headline.starts_with("[BACKGROUND TASK FAILED]"), "{notice:?}");
        let why = "The run was aborted in its session.\n\nIts last words:\nso far";
        assert!(notice.hidden.ends_with(why), "{notice:?}");
    });
}

/// OpenCode does not stop what it deletes, so we do.
#[test]
fn d3_a_session_deleted_under_its_run_is_stopped_and_told() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Dig", &["hang"]).await;
        let asked = stage.until_asked(&task.session, "hang").await;
        stage.client.delete(&task.session).await.ok();
        let notice = the_end(stage, &parent, &task, "cancelled").await;
        assert!(notice.headline.starts_with("[BACKGROUND TASK CANCELLED]"), "{notice:?}");
        assert!(notice.hidden.contains("its session was deleted"), "{notice:?}");
        let closed = |one: &Request| one.number == asked.number && one.closed();
        stage.model.wait_for("the end of what ran there", closed).await;
    });
}

#[test]
fn d3_a_failed_tool_inside_a_run_that_then_answers_is_no_failure() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let missing = call("read", &json!({ "filePath": "there-is-no-such-file" }));
        let task = stage.launch(&parent, "Read", &[&missing, "say it is not there"]).await;
        let notice = the_end(stage, &parent, &task, "completed").await;
        assert!(notice.hidden.ends_with("it is not there"), "{notice:?}");
        let calls = stage.calls(&task.session).await;
        assert!(calls[0].refused(), "the tool fails: {calls:?}");
        assert_eq!(stage.view(&task.id)["tool_calls"], 1);
    });
}

/// OpenCode compacts the conversation and goes on by itself. What was refused says neither how it
/// ended nor why.
#[test]
fn d3_a_helper_whose_context_is_too_long_goes_on_after_the_compaction() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let read = call("read", &json!({ "filePath": "opencode.json" }));
        let steps = [&*read, "fail-once 400 prompt is too long: 1 tokens > 0 maximum"];
        let task = stage.launch(&parent, "Read a lot", &steps).await;
        let notice = the_end(stage, &parent, &task, "completed").await;
        assert!(notice.hidden.ends_with("noted"), "what is said to other words: {notice:?}");
    });
}

/// OpenCode asks the model again, in the same message or in another one.
#[test]
fn d3_a_stream_that_is_cut_is_not_taken_for_the_answer() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let cut = stage.launch(&parent, "Cut", &["drop-once\nsay the whole"]).await;
        let notice = the_end(stage, &parent, &cut, "completed").await;
        assert!(notice.hidden.ends_with("\n\nthe whole"), "{notice:?}");
        let other = stage.parent().await;
        let short = stage.launch(&other, "Short", &["say half\nbreak-off", "say the rest"]).await;
        let notice = the_end(stage, &other, &short, "completed").await;
        assert!(notice.hidden.ends_with("\n\nthe rest"), "{notice:?}");
    });
}

/// Also O2: what it waits for is shown. OpenCode waits some 2, 5 and 9 s, and a poll comes every
/// 5 s.
#[test]
fn d3_a_provider_that_is_tried_again_is_waited_for() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let step = "fail-once 500 overloaded\n".repeat(3) + "say at last";
        let task = stage.launch(&parent, "Retry", &[&step]).await;
        let waiting = until("a retry is shown", async || {
            let view = stage.view(&task.id);
            assert_eq!(view["status"], "running", "{view}");
            view["waiting"].get(0).filter(|waiting| waiting["for"] == "provider").cloned()
        })
        .await;
        assert!(waiting["why"].as_str().unwrap().contains("overloaded"), "{waiting}");
        let notice = the_end(stage, &parent, &task, "completed").await;
        assert!(notice.hidden.ends_with("at last"), "{notice:?}");
    });
}

/// What a person says to the helper meanwhile is answered in the same turn, with the same events.
#[test]
fn d2_the_answer_to_a_person_in_the_helpers_session_is_not_the_result() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Work", &["gate d2-person\nsay the work"]).await;
        stage.until_asked(&task.session, "d2-person").await;
        stage.say(&task.session, &["say to the person"]).await;
        // OpenCode says yes before it has stored it.
        until("it is said", async || {
            let texts = stage.client.texts(&task.session).await;
            texts.iter().any(|(_, text)| text.contains("say to the person")).then_some(())
        })
        .await;
        stage.model.open("d2-person");
        let notice = the_end(stage, &parent, &task, "completed").await;
        assert!(notice.hidden.ends_with("\n\nthe work"), "{notice:?}");
        until("the person is answered", async || {
            let texts = stage.client.texts(&task.session).await;
            (texts.last()?.1 == "to the person").then_some(())
        })
        .await;
        stage.until_settled(&task).await;
        assert_eq!(stage.notices(&parent).await.len(), 1);
    });
}

/// Also N4: where turns are not to be started, a notice waits in the history. Takes a minute: the
/// smallest limit.
#[test]
fn d4_a_run_past_its_longest_time_is_stopped_and_names_the_setting() {
    let config = "[limits]\nmax_run_minutes = 1\n[notices]\nstart_turns = false\n";
    block_on(async {
        let stage = Stage::with(json!({}), config).await;
        let (parent, other) = (stage.parent().await, stage.parent().await);
        let task = stage.launch(&parent, "Endless", &["hang"]).await;
        let endless = stage.until_asked(&task.session, "hang").await;
        let quick = stage.launch(&other, "Quick", &["gate quick\nsay quick"]).await;
        stage.model.open("quick");
        the_end(&stage, &other, &quick, "completed").await;
        stage.turn(&other, &["say next"]).await;
        let turns = stage.asked(&other);
        assert_eq!(turns.len(), 3, "the launch, its answer and the next turn");
        assert!(turns[2].said("user", "[BACKGROUND TASK COMPLETED]"), "{:?}", turns[2]);
        stage.legwork(&["wait", &task.id]);
        let notice = the_end(&stage, &parent, &task, "error").await;
        let why = "it ran longer than limits.max_run_minutes = 1 allows";
        assert!(notice.hidden.contains(why), "{notice:?}");
        let closed = |one: &Request| one.number == endless.number && one.closed();
        stage.model.wait_for("the end of what ran there", closed).await;
        assert_eq!(stage.asked(&parent).len(), 2, "no turn");
    });
}

/// What the plugin takes for our binary. While `shut` is there no bridge begins; one that begins
/// while `deaf` is there hears of no event.
const DOORMAN: &str = r#"#!/bin/sh
[ "$1" = bridge ] || exec "$LEGWORK" "$@"
here=${0%/*}
while [ -e "$here/shut" ]; do sleep 0.05; done
echo $$ > "$here/bridge"
if [ ! -e "$here/deaf" ]; then exec "$LEGWORK" "$@"; fi
grep --line-buffered -v '^{"type":"event"' | "$LEGWORK" "$@"
"#;

struct Doorman {
    folder: PathBuf,
}

impl Doorman {
    async fn stage() -> (Self, Stage) {
        let model = Model::start();
        let home = furnish(&model, cast(), "");
        let folder = home.root().join("doorman");
        fs::create_dir(&folder).unwrap();
        let script = folder.join("legwork");
        fs::write(&script, DOORMAN).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        home.set_env("LEGWORK", LEGWORK);
        home.set_env("LEGWORK_BIN", &script.to_string_lossy());
        (Self { folder }, Stage::open(model, home).await)
    }

    fn put_up(&self, sign: &str) {
        fs::write(self.folder.join(sign), "").unwrap();
    }

    fn take_down(&self, sign: &str) {
        fs::remove_file(self.folder.join(sign)).unwrap();
    }

    fn bridge(&self) -> String {
        fs::read_to_string(self.folder.join("bridge")).unwrap().trim().to_owned()
    }

    fn kill_bridge(&self) {
        assert!(Command::new("kill").args(["-9", &self.bridge()]).status().unwrap().success());
    }
}

/// Also D6: what happened while the link was down is looked up when it is there again.
#[test]
fn d1_d6_ends_that_no_event_tells_of_are_found() {
    block_on(async {
        let (doorman, stage) = Doorman::stage().await;
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Unheard", &["gate unheard\nsay while away"]).await;
        stage.until_asked(&task.session, "unheard").await;
        let (mark, first) = (stage.events.len(), doorman.bridge());
        doorman.put_up("shut");
        doorman.kill_bridge();
        until("the link is down", async || {
            (stage.view(&task.id)["waiting"][0]["for"] == "host").then_some(())
        })
        .await;
        stage.model.open("unheard");
        stage.events.until_event(mark, "session.idle", &task.session).await;
        assert_eq!(stage.view(&task.id)["status"], "running");
        doorman.take_down("shut");
        let notice = the_end(&stage, &parent, &task, "completed").await;
        assert!(notice.hidden.ends_with("while away"), "{notice:?}");

        doorman.put_up("deaf");
        let second = doorman.bridge();
        assert_ne!(first, second);
        doorman.kill_bridge();
        until("a deaf link", async || (doorman.bridge() != second).then_some(())).await;
        without_events(&stage).await;
    });
}

async fn without_events(stage: &Stage) {
    let parent = stage.parent().await;
    let task = stage.launch(&parent, "Polled", &["say polled"]).await;
    let notice = the_end(stage, &parent, &task, "completed").await;
    assert!(notice.hidden.ends_with("polled"), "{notice:?}");

    let asker = stage.parent().await;
    let bash = call("bash", &json!({ "command": "echo yes", "description": "says yes" }));
    let asks = stage.launch_agent(&asker, "careful", "Asks", &[&bash, "say yes"]).await;
    stage.until_notices(&asker, 1).await;
    let view = stage.view(&asks.id);
    assert_eq!(view["last_tools"], json!([]), "only events tell of them");
    let question = view["questions"][0]["id"].as_str().unwrap().to_owned();
    stage.client.permit(&question, "once", None).await.ok();
    stage.until_settled(&asks).await;
    assert_eq!(stage.view(&asks.id)["status"], "completed");
}
