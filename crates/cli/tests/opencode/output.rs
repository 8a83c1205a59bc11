//! `background_output`: O1 to O6.

use legwork_testkit::{Call, block_on, call, script};
use serde_json::{Value, json};

use crate::processes::daemon;
use crate::stage::{Stage, Task, launch, until};

async fn output(stage: &Stage, session: &str, task: &Task) -> Call {
    let answer = stage.call(session, "background_output", json!({ "task_id": task.id })).await;
    assert!(!answer.refused(), "{answer:?}");
    answer
}

/// The value of a line `Name: value`.
fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// What is before the answer of a finished task, with a time that nobody can foretell.
fn head(task: &Task, status: &str, description: &str, text: &str) -> String {
    let took = line(text, "Took").unwrap_or_else(|| panic!("no time in {text}"));
    let id = &task.id;
    format!("Task ID: {id}\nStatus: {status}\nDescription: {description}\nTook: {took}\n\n")
}

/// The timeline of a task, as `legwork log` tells it.
fn timeline(stage: &Stage, task: &Task) -> Vec<String> {
    let shown = stage.legwork(&["log", &task.id, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let lines = shown["timeline"].as_array().unwrap().iter();
    lines.map(|news| news["line"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn o1_an_unknown_task_is_refused() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let ids = ["bg_00000000", "bg_0", "ses_x"];
        let given = ids.map(|id| ("background_output", json!({ "task_id": id })));
        for (id, answer) in ids.iter().zip(stage.call_all(&parent, &given).await) {
            assert!(answer.refused(), "{answer:?}");
            let text = format!("Task not found: {id}. Use background_list to see available tasks.");
            assert_eq!(answer.text, text);
        }
    });
}

/// Also O6: the old arguments are answered as without, with a note.
#[test]
fn o2_o6_a_running_task_shows_its_calls_its_last_tools_and_what_it_used_up() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let bash = call("bash", &json!({ "command": "true", "description": "Nothing" }));
        let glob = call("glob", &json!({ "pattern": "*.none" }));
        let grep = call("grep", &json!({ "pattern": "nothing" }));
        let read = call("read", &json!({ "filePath": "opencode.json" }));
        let steps = [&*bash, &*glob, &format!("{grep}\n{read}"), "gate o2\nsay done"];
        let task = stage.launch(&parent, "Explore", &steps).await;
        until("the helper is at its gate", async || {
            let asked = stage.model.requests().into_iter();
            let own = asked.filter(|request| request.session.as_ref() == Some(&task.session));
            (own.count() == 4).then_some(())
        })
        .await;
        let text = until("the tokens of all three steps", async || {
            let text = output(stage, &parent, &task).await.text;
            (line(&text, "Tokens") == Some("303")).then_some(text)
        })
        .await;
        assert_eq!(text.lines().next(), Some(&*format!("Task ID: {}", task.id)));
        let known = |name| line(&text, name).unwrap_or_else(|| panic!("no {name} in {text}"));
        assert_eq!((known("Status"), known("Agent")), ("running", "general"));
        assert_eq!((known("Description"), known("Tool calls")), ("Explore", "4"));
        assert_eq!(known("Last tools"), "glob, grep, read");
        assert!(known("Time so far").ends_with('s'), "{text}");
        assert!(known("Last activity") == "just now" || known("Last activity").ends_with("s ago"));
        assert_eq!(known("Cost"), "0.0003 USD");
        assert_eq!(line(&text, "Waiting"), None);
        assert!(text.ends_with("\nThe result comes by itself as a notification."));

        let id = &task.id;
        let given = [
            ("background_output", json!({ "task_id": id, "block": true })),
            ("background_output", json!({ "task_id": id, "timeout": 60_000 })),
        ];
        for answer in stage.call_all(&parent, &given).await {
            let note = "Note: background_output never waits. Use background_block to wait.\n\n";
            let rest = answer.text.strip_prefix(note).unwrap_or_else(|| panic!("{answer:?}"));
            assert_eq!(line(rest, "Status"), Some("running"));
        }
        stage.model.open("o2");
        stage.until_notices(&parent, 1).await;
    });
}

#[test]
fn o2_a_resumed_task_shows_its_new_run_and_a_provider_that_is_tried_again() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let bash = call("bash", &json!({ "command": "true", "description": "Nothing" }));
        let task = stage.launch(&parent, "Explore", &[&bash, "say first"]).await;
        stage.until_notices(&parent, 1).await;
        stage.until_settled(&task).await;
        let arguments = json!({ "resume": task.id, "prompt": script(&["fail 503 overloaded"]) });
        stage.call(&parent, "background_task", arguments).await;
        let text = until("the retry is shown", async || {
            let text = output(stage, &parent, &task).await.text;
            line(&text, "Waiting")?.starts_with("provider retry ").then_some(text)
        })
        .await;
        assert_eq!(line(&text, "Status"), Some("resumed"));
        assert_eq!(line(&text, "Tool calls"), Some("0"));
        let waiting = line(&text, "Waiting").unwrap();
        assert!(waiting.contains(" in "), "{text}");
        let answer = stage.call(&parent, "background_cancel", json!({ "task_id": task.id })).await;
        assert!(!answer.refused(), "{answer:?}");
    });
}

#[test]
fn o3_a_result_is_shown_whole_and_one_of_60_kb_in_pages_that_no_host_cuts() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let given = [
            ("background_task", launch("Short", &["say one\\n\\ntwo"])),
            ("background_task", launch("Long", &["repeat 60000 0123456789abcdef"])),
        ];
        let answers = stage.call_all(&parent, &given).await;
        let [short, long]: [Task; 2] = stage.tasks(&answers).await.try_into().unwrap();
        stage.until_settled(&short).await;
        stage.until_settled(&long).await;
        let pages = [0, 40_000, 60_000]
            .map(|offset| ("background_output", json!({ "task_id": long.id, "offset": offset })));
        let whole = ("background_output", json!({ "task_id": short.id }));
        let given: Vec<(&str, Value)> = [whole.clone(), whole].into_iter().chain(pages).collect();
        let answers = stage.call_all(&parent, &given).await;
        let [whole, again, first, rest, past] = &answers[..] else { panic!("{answers:?}") };
        for answer in [whole, again] {
            let head = head(&short, "completed", "Short", &answer.text);
            assert_eq!(answer.text, head + "one\n\ntwo");
        }
        let read = timeline(stage, &short);
        let read = read.iter().filter(|line| *line == "its result was read");
        assert_eq!(read.count(), 1, "the first reading counts");

        assert_ne!(first.metadata["truncated"], true);
        let id = &long.id;
        let pointer = format!(
            "\n\n(Characters 0 to 40000 of 60000. Read on with background_output(task_id: \
             \"{id}\", offset: 40000).)"
        );
        let start = first.text.strip_suffix(&pointer).expect("a pointer to the rest");
        let head = head(&long, "completed", "Long", &first.text);
        let start = start.strip_prefix(&head).unwrap();
        let rest = rest.text.strip_prefix(&head).unwrap();
        assert!(format!("{start}{rest}") == "0123456789abcdef".repeat(3_750));
        let nothing = "(The result has 60000 characters; there is nothing from 60000 on.)";
        assert_eq!(past.text, head + nothing);
    });
}

#[test]
fn o4_of_a_failed_or_cancelled_task_the_details_are_shown() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let failed = stage.launch(&parent, "Failed", &["fail 400 no such luck"]).await;
        stage.until_status(&failed, "error").await;
        let text = output(stage, &parent, &failed).await.text;
        let details = "APIError: no such luck (status 400)";
        assert_eq!(text, head(&failed, "error", "Failed", &text) + details);

        let cancelled = stage.launch(&parent, "Cancelled", &["hang"]).await;
        stage.call(&parent, "background_cancel", json!({ "task_id": cancelled.id })).await;
        let text = output(stage, &parent, &cancelled).await.text;
        let details = "Cancelled by the session that asked for it.";
        assert_eq!(text, head(&cancelled, "cancelled", "Cancelled", &text) + details);
    });
}

/// The notice is held back because its parent waits for two tasks, and one of them still works.
#[test]
fn o5_a_result_that_was_read_is_not_told_any_more() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let first = call("background_task", &launch("First", &["gate o5-first\nsay one"]));
        let second = call("background_task", &launch("Second", &["gate o5-second\nsay two"]));
        let both = json!({ "task_ids": ["{{task:1}}", "{{task:2}}"] });
        // OpenCode begins a call while the model still writes the next one. Calls of one host are
        // taken in their order: when the list is answered, the daemon has the wait.
        let wait = call("background_block", &both);
        let list = call("background_list", &json!({}));
        let read = call("background_output", &json!({ "task_id": "{{task:1}}" }));
        let reading = format!("{wait}\n{list}\ngate o5-read\n{read}");
        stage.say(&parent, &[&format!("{first}\n{second}"), &reading, "say ok"]).await;
        let calls = until("the parent waits", async || {
            let calls = stage.calls(&parent).await;
            let is_listed = calls.get(3).is_some_and(|list| list.status == "completed");
            (is_listed && calls[2].status == "running").then_some(calls)
        })
        .await;
        let [first, second]: [Task; 2] = stage.tasks(&calls[..2]).await.try_into().unwrap();
        stage.model.open("o5-first");
        stage.until_status(&first, "completed").await;
        assert_eq!(stage.view(&first.id)["notice_pending"], true);
        stage.model.open("o5-read");
        let reading = until("the result is read", async || {
            let reading = stage.calls(&parent).await.into_iter().nth(4)?;
            (reading.status == "completed").then_some(reading)
        })
        .await;
        assert!(reading.text.ends_with("\n\none"), "{reading:?}");
        assert_eq!(stage.view(&first.id)["notice_pending"], false);
        stage.model.open("o5-second");
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].headline.contains(&second.id), "{notices:?}");
        assert!(!notices[0].headline.contains(&first.id), "{notices:?}");
        stage.until_settled(&second).await;
        assert_eq!(stage.notices(&parent).await.len(), 1);
        let withdrawn = "notice of its end not needed any more";
        assert!(timeline(stage, &first).iter().any(|line| line == withdrawn));
    });
}

#[test]
fn o6_what_a_helper_uses_up_is_counted_on_when_another_window_opens() {
    block_on(async {
        let stage = Stage::new().await;
        let parent = stage.parent().await;
        let bash = call("bash", &json!({ "command": "true", "description": "Nothing" }));
        let steps = [&*bash, &format!("gate window\n{bash}"), "gate end\nsay done"];
        let task = stage.launch(&parent, "Explore", &steps).await;
        let tokens = |count: u64| {
            let (stage, task) = (&stage, &task);
            async move {
                until(&format!("{count} tokens"), async || {
                    (stage.view(&task.id)["tokens"] == count).then_some(())
                })
                .await;
            }
        };
        tokens(101).await;
        let _window = stage.home.serve().await;
        until("its link", async || {
            let hosts = &daemon(&stage.home)["hosts"];
            hosts.as_array().is_some_and(|hosts| hosts.len() == 2).then_some(())
        })
        .await;
        stage.model.open("window");
        tokens(202).await;
        stage.model.open("end");
        stage.until_notices(&parent, 1).await;
    });
}
