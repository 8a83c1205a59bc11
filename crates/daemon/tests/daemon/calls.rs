//! Calls and queries, from the line to the answer.

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::local_host::LocalHost;
use crate::opencode::{Host, OpenCode};

fn call(peer: &mut Connection, id: u64, tool: &str, context: Option<Value>) -> Value {
    let mut line = json!({ "type": "call", "id": id, "key": format!("k{id}"), "tool": tool });
    if let Some(context) = context {
        line["context"] = context;
    }
    peer.send(line);
    peer.next()
}

#[test]
fn a_person_calls_without_a_session_and_a_session_through_its_host_only() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    let answer = call(&mut client, 1, "background_list", None);
    assert_eq!(answer["text"], "No background tasks found.");
    let context =
        json!({ "session": "ses_p", "message": "m", "agent": "build", "directory": "/d" });
    let answer = call(&mut client, 2, "background_list", Some(context));
    assert_eq!((&answer["type"], &answer["id"]), (&json!("refused"), &json!(2)));
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.peer.send(json!({ "type": "call", "id": 3, "key": "k", "tool": "background_list" }));
    assert!(host.answer(3).contains("context"));
    host.peer
        .send(json!({ "type": "request", "id": 4, "key": "k", "request": { "what": "shutdown" } }));
    assert_eq!(host.answer(4), "A host does not ask this.");
}

/// What a person decides at a host's screen comes through the host, and without a session. Their own
/// session did not do it, so it is told.
#[test]
fn v5_the_person_at_a_hosts_screen_calls_off_and_answers_and_does_nothing_else() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    let ask = |host: &mut Host<'_>, id: u64, request: Value| {
        let key = format!("k{id}");
        host.peer.send(json!({ "type": "request", "id": id, "key": key, "request": request }));
        host.answer(id)
    };
    let resume = json!({ "what": "resume", "task": task, "prompt": "p" });
    for (id, other) in [(2, json!({ "what": "clear" })), (3, resume)] {
        assert!(ask(&mut host, id, other).contains("context"));
    }
    let call = json!({ "type": "call", "id": 4, "key": "k4", "tool": "background_cancel",
        "arguments": { "task_id": task } });
    host.peer.send(call);
    assert!(host.answer(4).contains("context"), "a model's call needs its session");
    let unasked = json!({ "what": "reply", "question": "per_1", "reply": "once" });
    assert!(ask(&mut host, 5, unasked).starts_with("No helper waits for an answer"));
    host.peer.send(json!({ "type": "request", "id": 6, "key": "k6",
        "request": { "what": "cancel", "task": task } }));
    let done = host.next();
    assert_eq!((&done["id"], &done["data"]["is"]), (&json!(6), &json!("cancelled")));
    host.until(|opencode| !opencode.said("ses_p").is_empty());
    assert!(host.opencode.said("ses_p")[0].starts_with("[BACKGROUND TASK CANCELLED]"));
    let seen = daemon.client().data(json!({ "what": "show", "task": task }));
    assert!(seen["reason"].as_str().unwrap().contains("person"), "{seen}");
}

#[test]
fn what_is_wrong_with_a_call_is_answered_in_words() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    let answer = call(&mut client, 1, "background_fly", None);
    assert!(answer["text"].as_str().unwrap().starts_with("There is no tool background_fly."));
    let answer = call(&mut client, 2, "background_clear", None);
    assert_eq!(answer["refusal"]["code"], "not-a-session");
    let answer = client.request(json!({ "what": "show", "task": "bg_nothere0" }));
    let refusal = json!({ "code": "not-found", "of": "bg_nothere0" });
    assert_eq!((&answer["type"], &answer["refusal"]), (&json!("refused"), &refusal));
    assert!(answer["text"].as_str().unwrap().starts_with("Task not found: bg_nothere0."));
    let forgotten = client.request(json!({ "what": "forget", "tasks": ["bg_nothere0"] }));
    assert_eq!(forgotten["data"]["of"], json!({ "tasks": 0, "unfinished": 0 }));
}

#[test]
fn a_task_can_be_seen_from_its_launch_to_its_result() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    let mut client = daemon.client();
    let seen = client.data(json!({ "what": "show", "task": task }));
    assert_eq!((&seen["status"], &seen["host"]), (&json!("running"), &json!("opencode-1")));
    let pending = client.data(json!({ "what": "output", "task": task }));
    assert_eq!(pending["text"], Value::Null);

    host.until(|opencode| !opencode.said("ses_1").is_empty());
    host.opencode.finish("ses_1", "42 files");
    host.event("session.idle", "ses_1");
    host.until(|opencode| !opencode.said("ses_p").is_empty());
    assert!(host.opencode.said("ses_p")[0].starts_with("[BACKGROUND TASK COMPLETED]"));

    let result = client.data(json!({ "what": "output", "task": task }));
    assert_eq!(
        (&result["text"], &result["task"]["status"]),
        (&json!("42 files"), &json!("completed"),)
    );
    let story = client.data(json!({ "what": "log", "task": task }));
    assert!(story[0]["line"].as_str().unwrap().starts_with("launched"), "{story}");
    let all = client.data(json!({ "what": "list", "status": "completed" }));
    assert_eq!((&all["total"], &all["tasks"][0]["id"]), (&json!(1), &json!(task)));
    let log = home.log();
    assert!(log.contains(&format!("{task}: completed after")), "{log}");
    assert!(!log.contains("42 files") && !log.contains("count the files"), "{log}");
}

#[test]
fn the_daemon_tells_about_itself() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.launched(1, "call-1");
    host.until(|opencode| !opencode.said("ses_1").is_empty());
    let view = daemon.client().view();
    assert_eq!((&view["healthy"], &view["unfinished"]), (&json!(true), &json!(1)));
    assert_eq!(view["hosts"][0]["host"], "opencode-1");
    assert!(view["hosts"][0]["requests"].as_u64().unwrap() >= 4, "{view}");
    assert!(view["store"].as_str().unwrap().ends_with("legwork.db"), "{view}");
}

#[test]
fn b6_a_call_that_nobody_waits_for_any_more_is_over() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    host.call(2, "call-2", "background_block", json!({ "task_ids": [task] }));
    host.call(2, "call-3", "background_list", json!({}));
    assert_eq!(host.answer(2), "The number 2 is in use.");
    host.peer.send(json!({ "type": "cancel", "id": 2 }));
    host.call(2, "call-4", "background_list", json!({}));
    assert!(host.answer(2).contains(&task));
}

#[test]
fn v5_the_person_at_a_screen_decides_about_the_helpers_of_its_place_only() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    let cancel = json!({ "type": "request", "id": 5, "key": "act", "request": {
        "what": "cancel", "task": task,
    }});
    let mut stranger = daemon.peer();
    let role = json!({ "is": "host", "host": "opencode-2", "place": "other", "kind": "opencode" });
    stranger.hello(role, "0.0.1");
    stranger.send(cancel.clone());
    let refused = loop {
        let line = stranger.next();
        if line["id"] == 5 && line["type"] != "host-call" {
            break line;
        }
    };
    assert_eq!(refused["type"], "refused", "{refused}");
    host.peer.send(cancel);
    let done = host.next();
    assert_eq!((&done["type"], &done["id"]), (&json!("data"), &json!(5)), "{done}");
    let shown = daemon.client().data(json!({ "what": "show", "task": task }));
    assert_eq!(shown["status"], "cancelled");
}
