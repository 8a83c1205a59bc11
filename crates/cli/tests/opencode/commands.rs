//! What a person sees and does with the command line while the real OpenCode is at work.

use std::process::Output;

use legwork_testkit::{Run, block_on};
use serde_json::{Value, json};

use crate::stage::{LEGWORK, Stage, printed, until};

fn said(output: &Output) -> (i32, String) {
    (output.status.code().unwrap(), printed(output))
}

fn complained(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), text)
}

impl Stage {
    /// What a command says to programs; it must end with this code.
    pub fn json(&self, code: i32, args: &[&str]) -> Value {
        let output = self.legwork(&[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"))
    }

    /// A command that goes on by itself.
    pub fn begin(&self, name: &str, args: &[&str]) -> Run {
        let mut command = self.home.command(LEGWORK);
        command.args(args);
        Run::start(&self.home, command, name)
    }
}

/// list, show, output, wait, log, watch.
#[test]
fn a_person_sees_a_task_from_its_launch_to_the_word_that_its_parent_was_told() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let watching = stage.begin("watch", &["watch"]);
        let verbose = stage.begin("watch-verbose", &["watch", "--verbose"]);
        let for_programs = stage.begin("watch-json", &["watch", "--json"]);
        until_they_watch(stage, [&watching, &verbose], &for_programs).await;
        let task = stage.launch(&parent, "Seen by a person", &["gate seen\nsay seven\\nof"]).await;
        let id = &*task.id;
        let short = &id[3..];

        let (code, list) = said(&stage.legwork(&["list", "--status", "running"]));
        let line = list.lines().find(|line| line.starts_with(id)).unwrap().to_owned();
        assert_eq!(code, 0);
        for part in ["working", "Seen by a person", "general"] {
            assert!(line.contains(part), "{list}");
        }
        let all = stage.json(0, &["list"]);
        let found = all["tasks"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
        assert_eq!((&found["parent"], &found["session"]), (&json!(parent), &json!(task.session)));
        let (code, page) = said(&stage.legwork(&["show", short]));
        assert!(code == 0 && page.contains(&format!("legwork cancel {id}")), "{page}");
        let (code, early) = complained(&stage.legwork(&["output", id]));
        assert!(code == 1 && early.contains("is still working"), "{early}");
        assert_eq!(stage.json(0, &["output", id])["text"], Value::Null);
        stage.json(5, &["wait", id, "--timeout", "0s"]);

        let mut waiting = stage.begin("wait", &["wait", id]);
        stage.model.open("seen");
        let waited = waiting.wait().await;
        assert!(waited.status.success(), "{waited:?}");
        let row = waited.stdout.lines().find(|line| line.contains("Seen by a person"));
        assert!(row.is_some_and(|row| row.contains("completed")), "{waited:?}");
        stage.until_notices(&parent, 1).await;
        stage.until_settled(&task).await;

        let (_, log) = said(&stage.legwork(&["log", id, "--verbose"]));
        in_order(
            &log,
            &[
                "launched as \"Seen by a person\" for general",
                "sending the prompt",
                "prompt delivered",
                "completed after",
                "notice of its end queued",
                "notice of its end: sending",
                "notice of its end: delivered",
                "It completed after ",
            ],
        );
        let timeline = stage.json(0, &["log", id]);
        let last = timeline["timeline"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["line"], "notice of its end: delivered");
        // To read the result is a line of its own.
        assert_eq!(said(&stage.legwork(&["output", id])), (0, "seven\nof\n".to_owned()));
        assert_eq!(stage.json(0, &["output", id])["text"], "seven\nof");
        let told = format!("{id}  notice of its end: delivered");
        until("watch shows it", async || verbose.stdout().contains(&told).then_some(())).await;
        let ended = "✓ Seen by a person: completed after ";
        until("in a person's words", async || watching.stdout().contains(ended).then_some(()))
            .await;
        assert!(!watching.stdout().contains("notice"), "{}", watching.stdout());
        until("watch tells programs", async || {
            let text = for_programs.stdout();
            let mut news = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            news.find(|one: &Value| one["task"] == id && one["line"] == last["line"])
        })
        .await;
    });
}

/// One for programs says nothing before something happens.
async fn until_they_watch(stage: &Stage, people: [&Run; 2], for_programs: &Run) {
    for watching in people {
        until("it watches", async || watching.stderr().contains("Watching").then_some(())).await;
    }
    until("it watches for programs", async || {
        stage.legwork(&["run", "--agent", "rehearsal", "say something"]);
        (!for_programs.stdout().is_empty()).then_some(())
    })
    .await;
}

/// The parts occur in the text, one after the other.
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in its place:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

/// wait, output, cancel, clear.
#[test]
fn exit_codes_say_how_tasks_ended_and_clearing_asks_first() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let helpers: [(&str, &[&str]); 4] = [
            ("Good", &["say fine"]),
            ("Bad", &["fail 400 the provider says no"]),
            ("Off", &["hang"]),
            ("Open", &["hang"]),
        ];
        let [good, bad, off, open] = stage.launch_all(&parent, helpers).await;
        stage.json(0, &["wait", &good.id]);
        stage.json(3, &["wait", &good.id, &bad.id]);
        let cancelled = stage.json(0, &["cancel", &off.id]);
        assert_eq!(
            (&cancelled[0]["task"], &cancelled[0]["refused"]),
            (&json!(off.id), &json!(false))
        );
        stage.json(4, &["wait", &good.id, &off.id]);
        stage.json(5, &["wait", &good.id, &bad.id, &off.id, &open.id, "--timeout", "0s"]);
        let (code, unknown) = complained(&stage.legwork(&["wait", "bg_zzzzzzzz"]));
        assert!(code == 1 && unknown.contains("Task not found: bg_zzzzzzzz."), "{unknown}");
        let (code, why) = said(&stage.legwork(&["output", &bad.id]));
        assert!(code == 3 && why.contains("the provider says no"), "{why}");
        assert_eq!(
            said(&stage.legwork(&["output", &off.id])),
            (4, "Cancelled by a person.\n".into())
        );
        let refused = stage.json(1, &["cancel", &good.id]);
        assert_eq!(
            refused[0]["text"],
            "The task is completed already. Only an unfinished task can be cancelled."
        );

        let (code, asked) = complained(&stage.legwork(&["clear", &good.id, &open.id]));
        assert_eq!(code, 2);
        let question =
            "Forget 2 tasks and cancel 1 of them? Nobody is there to say so: give --yes.";
        assert!(asked.contains(question) && asked.contains(&open.id), "{asked}");
        assert_eq!(stage.view(&open.id)["status"], "running");
        let cleared = stage.json(0, &["clear", &good.id, &open.id, "--yes"]);
        assert_eq!(cleared["text"], "Cancelled 1 unfinished task and cleared 2 tasks.");
        assert_eq!(stage.view(&open.id), Value::Null);
        assert_eq!(stage.view(&bad.id)["status"], "error");
    });
}

/// answer, doctor, daemon, clear of everything.
#[test]
fn k1_the_daemon_is_stopped_and_everything_goes_on_and_a_question_is_answered() {
    block_on(async {
        let stage = Stage::with(json!({ "permission": { "bash": "ask" } }), "").await;
        let (parent, other) = (stage.parent().await, stage.parent().await);
        let ask = r#"call bash {"command":"echo permitted","description":"d"}"#;
        let asks = stage.launch(&parent, "Asks", &[ask, "say done with it"]).await;
        let slow = stage.launch(&parent, "Slow", &["gate slow\nsay fine"]).await;
        let blocked = stage.block(&other, &[&slow]).await;
        all_is_well(&stage);

        let before = stage.json(0, &["daemon", "status"]);
        assert_eq!(before["daemon"]["unfinished"], 2);
        assert_eq!(before["daemon"]["hosts"].as_array().unwrap().len(), 1);
        assert_eq!(stage.json(0, &["daemon", "stop"])["done"], "stopped");
        let after = until("OpenCode is back with another daemon", async || {
            let status = stage.legwork(&["daemon", "status", "--json"]);
            let status: Value = serde_json::from_slice(&status.stdout).ok()?;
            let is_back = status["daemon"]["hosts"].as_array()?.len() == 1;
            is_back.then_some(status)
        })
        .await;
        assert_ne!(after["daemon"]["pid"], before["daemon"]["pid"]);
        assert_eq!(stage.json(0, &["daemon", "start"])["done"], "already running");
        assert!(!stage.json(0, &["daemon", "log"])["lines"].as_array().unwrap().is_empty());

        stage.model.open("slow");
        let summary = stage.until_call(&other, blocked).await.text;
        assert!(summary.starts_with("All finished: 1 task.\n"), "{summary}");
        answer(&stage, &asks.id).await;
        stage.json(0, &["wait", &asks.id]);
        assert_eq!(said(&stage.legwork(&["output", &asks.id])).1, "done with it\n");
        for task in [&asks, &slow] {
            stage.until_settled(task).await;
        }
        let told: String =
            stage.notices(&parent).await.iter().map(|n| n.headline.clone()).collect();
        for task in [&asks, &slow] {
            let line = format!("[BACKGROUND TASK COMPLETED] {}", task.id);
            assert_eq!(told.matches(&line).count(), 1, "{told}");
        }

        let cleared = stage.json(0, &["clear", "--yes"]);
        assert_eq!(cleared["text"], "Cleared 2 tasks.");
        assert_eq!(stage.json(0, &["clear"])["text"], "There are no tasks to clear.");
        let none = (0, "No tasks yet. `legwork run \"…\"` launches one.\n".to_owned());
        assert_eq!(said(&stage.legwork(&["list"])), none);
    });
}

fn all_is_well(stage: &Stage) {
    let (code, healthy) = said(&stage.legwork(&["doctor"]));
    assert!(code == 0 && healthy.contains("\nNo problem, "), "{healthy}");
    let checks = stage.json(0, &["doctor"]);
    for check in ["daemon", "records", "hosts", "plugin", "settings", "socket"] {
        let found = checks.as_array().unwrap().iter().find(|one| one["check"] == check);
        assert_eq!(found.map(|one| &one["state"]), Some(&json!("good")), "{checks}");
    }
}

/// A person sees that a helper asks, and answers.
async fn answer(stage: &Stage, task: &str) {
    let asked = until("the helper asks", async || {
        let asked = stage.json(0, &["answer", task]);
        (asked.as_array()?.len() == 1).then(|| asked[0].clone())
    })
    .await;
    assert_eq!(asked["subject"], "bash: echo permitted");
    let (code, shown) = said(&stage.legwork(&["answer", task]));
    assert!(code == 0 && shown.contains("bash: echo permitted"), "{shown}");
    let done = stage.json(0, &["answer", task, "once"]);
    assert_eq!((&done["question"], &done["refused"]), (&asked["id"], &json!(false)));
    assert_eq!(done["text"], "Allowed once: echo permitted");
}
