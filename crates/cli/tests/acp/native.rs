//! A program of the person as an agent without an adapter, with a Codex that is played: how the
//! host treats it. The real one is in `tests/codex`.

use std::path::PathBuf;

use legwork_testkit::legwork::eventually;
use legwork_testkit::{Played, act_as_program};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{Stage, first_of, kill, processes_in};

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");

/// The program, if this one was started as it.
#[test]
fn this_program_is_played_if_it_is_started_so() {
    act_as_program();
}

const OPENS: &str = r#"
* initialize {"id":"$id","result":{"userAgent":"legwork/0.169.0 (Debian 12.0.0; x86_64) dumb (legwork; 0.1.0)"}}
* account/read {"id":"$id","result":{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}}
* thread/start {"id":"$id","result":{"thread":{"id":"T"},"model":"gpt-6"}}
* model/list {"id":"$id","result":{"data":[],"nextCursor":null}}
* turn/start {"id":"$id","result":{"turn":{"id":"U","status":"inProgress","items":[],"error":null}}}
* turn/interrupt {"id":"$id","result":{}}
* turn/interrupt {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"interrupted"}}}
* thread/backgroundTerminals/clean {"id":"$id","result":{}}
"#;
const ANSWERS: &str = r#"
* turn/start {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m","text":"Done again."}}}
* turn/start {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}
"#;
const NO_THREAD: &str =
    r#"{"id":"$id","error":{"code":-32600,"message":"no rollout found for thread id T"}}"#;

struct World {
    stage: Stage,
    codex: Played,
    work: PathBuf,
    _folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let is_program = "native::this_program_is_played_if_it_is_started_so";
        let codex = Played::new(folder.path(), "codex", is_program);
        codex.plays(OPENS);
        let program = &codex.program;
        let command = format!("[{LEGWORK:?}, \"adapt\", \"codex\", \"--program\", {program:?}]");
        let stage = Stage::with(&format!("[agents.codex]\ncommand = {command}\n"));
        let work = stage.home.path("work");
        Self { stage, codex, work, _folder: folder }
    }

    /// A helper that is at work, and the id under which its prompt was handed over.
    fn at_work(&mut self) -> (String, String) {
        let task = self.stage.launch_as("codex", "look around");
        let asked = eventually("it is asked", || self.codex.heard_of("turn/start").pop());
        assert_eq!(asked["input"][0]["text"], "look around");
        (task, asked["clientUserMessageId"].as_str().unwrap().to_owned())
    }

    /// From now on it has this turn, in a process of its own, and answers what it is asked.
    fn has(&self, listed: &str) {
        self.codex.plays(&format!("{OPENS}{ANSWERS}{listed}"));
    }

    fn until_nothing_runs(&self) {
        eventually("nothing of it is left running", || {
            processes_in(&self.work).is_empty().then_some(())
        });
    }
}

fn turn(id: &str, status: &str) -> String {
    let items = json!([
        { "type": "userMessage", "id": "1", "clientId": id, "content": [] },
        { "type": "agentMessage", "id": "2", "text": "All is well." },
    ]);
    let error = if status == "failed" { json!({ "message": "out of luck" }) } else { Value::Null };
    let turn = json!({ "id": "U", "status": status, "error": error, "items": items });
    let result = json!({ "data": [turn], "nextCursor": null });
    let resumed = json!({ "thread": { "id": "T", "turns": [] }, "model": "gpt-6" });
    format!(
        "* thread/turns/list {}\n* thread/resume {}\n",
        json!({ "id": "$id", "result": result }),
        json!({ "id": "$id", "result": resumed }),
    )
}

#[test]
fn h2_an_answer_that_came_while_the_daemon_was_dead_is_told_once() {
    for (status, expected) in [("completed", "All is well."), ("failed", "out of luck")] {
        let mut world = World::new();
        let (task, id) = world.at_work();
        world.has(&turn(&id, status));
        world.stage.kill_daemon();
        let (ended, text) = world.stage.result(&task);
        let is_told = if status == "completed" { "completed" } else { "error" };
        assert!(ended == is_told && text.contains(expected), "{ended}: {text}");
        assert_eq!(
            world.codex.heard_of("turn/start"),
            Vec::<Value>::new(),
            "nothing is asked again"
        );
        assert_eq!(world.stage.all_mail().len(), 1);
        world.until_nothing_runs();
        // It is in the log now.
        world.stage.kill_daemon();
        assert!(world.stage.result(&task).1.contains(expected));
    }
}

#[test]
fn h2_what_was_taken_and_cut_off_is_asked_to_go_on_in_its_session() {
    let mut world = World::new();
    let (task, id) = world.at_work();
    world.has(&turn(&id, "interrupted"));
    world.stage.kill_daemon();
    assert_eq!(world.stage.result(&task), ("completed".to_owned(), "Done again.".to_owned()));
    let asked = world.codex.heard_of("turn/start");
    assert_eq!(asked.len(), 1, "{asked:?}");
    let words = asked[0]["input"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("You were interrupted") && words.ends_with("look around"), "{words}");
    assert_ne!(asked[0]["clientUserMessageId"], id.as_str());
    assert!(world.codex.heard_of("thread/start").is_empty());
}

#[test]
fn h2_a_session_that_was_never_recorded_is_opened_again() {
    let mut world = World::new();
    let (task, _) = world.at_work();
    let listed = ["thread/turns/list", "thread/read", "thread/resume"];
    world.has(&listed.map(|method| format!("* {method} {NO_THREAD}\n")).concat());
    world.stage.kill_daemon();
    assert_eq!(world.stage.result(&task), ("completed".to_owned(), "Done again.".to_owned()));
    assert_eq!(world.codex.heard_of("thread/start").len(), 1);
    assert_eq!(world.codex.heard_of("turn/start").len(), 1);
    assert_eq!(world.stage.all_mail().len(), 1);
}

#[test]
fn h4_a_cancelled_helper_is_interrupted_cleaned_up_after_and_gone() {
    let mut world = World::new();
    let (task, _) = world.at_work();
    world.stage.done("background_cancel", json!({ "task_id": task }));
    world.until_nothing_runs();
    assert_eq!(world.codex.heard_of("turn/interrupt").len(), 1);
    assert_eq!(world.codex.heard_of("thread/backgroundTerminals/clean").len(), 1);
    assert_eq!(world.stage.view(&task).status.to_string(), "cancelled");
}

#[test]
fn h4_k2_an_agent_that_is_killed_takes_its_program_along() {
    let mut world = World::new();
    let (task, _) = world.at_work();
    let agent = eventually("the agent and its program", || {
        let all = processes_in(&world.work);
        (all.len() >= 2).then(|| first_of(&all)).flatten()
    });
    kill(agent);
    assert_eq!(world.stage.result(&task).0, "error");
    world.until_nothing_runs();
}

#[test]
fn h3_what_codex_asks_is_answered_by_a_person_with_words() {
    let mut world = World::new();
    let asks = r#"
* turn/start {"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c","command":"rm -rf target","reason":"to start anew"}}
< #7
< turn/steer
> {"id":"$id","result":{"turnId":"U"}}
> {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m","text":"I left it."}}}
> {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}
"#;
    world.codex.plays(&format!("{OPENS}{asks}"));
    let task = world.stage.launch_as("codex", "look around");
    let view = world.stage.until(&task, "it asks", |task| !task.questions.is_empty());
    let question = &view.questions[0];
    assert_eq!(question.subject, "rm -rf target (to start anew)");
    assert!(question.takes_words, "{question:?}");
    let labels: Vec<&str> = question.options.iter().map(|one| one.label.as_str()).collect();
    let session = "Yes, and do not ask again for this command in this session";
    assert_eq!(labels[1], session, "{labels:?}");
    let no = ["answer", &task, "reject", "--words", "use cargo clean"];
    world.stage.home.run(no).with_code(0);
    assert_eq!(world.stage.result(&task), ("completed".to_owned(), "I left it.".to_owned()));
    let steered = &world.codex.heard_of("turn/steer")[0];
    assert_eq!(steered["input"][0]["text"], "use cargo clean");
}

#[test]
fn h5_what_a_turn_took_and_why_it_failed_is_shown() {
    let mut world = World::new();
    let fails = r#"
* turn/start {"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"totalTokens":1234},"last":{"totalTokens":234}}}}
* turn/start {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"resetsAt":1795000000}}}}
* turn/start {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"failed","error":{"message":"You’ve hit your usage limit.","codexErrorInfo":"usageLimitExceeded"}}}}
"#;
    world.codex.plays(&format!("{OPENS}{fails}"));
    let task = world.stage.launch_as("codex", "look around");
    let (status, text) = world.stage.result(&task);
    assert_eq!(status, "error");
    assert!(text.contains("usage limit. (the limit resets at 2026-11-18 11:06 UTC)"), "{text}");
    let usage = world.stage.view(&task).usage;
    assert_eq!((usage.tokens, usage.model.as_deref()), (Some(234), Some("gpt-6")));
}
