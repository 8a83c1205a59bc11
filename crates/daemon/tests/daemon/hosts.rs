//! Hosts that come, go, come twice, hang, and whose link breaks in the middle.

use serde_json::{Value, json};

use crate::local_host::LocalHost;
use crate::opencode::{Host, OpenCode, role, task_id};

#[test]
fn l6_a_call_sent_again_after_the_link_broke_makes_one_task() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.launch(1, "call-1");
    host.until_deaf_to("post /session");
    drop(host);
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.launch(7, "call-1");
    let task = task_id(&host.answer(7));
    host.until(|opencode| !opencode.helpers().is_empty());
    assert_eq!(host.opencode.helpers().len(), 1);
    let all = daemon.client().data(json!({ "what": "list" }));
    assert_eq!((&all["total"], &all["tasks"][0]["id"]), (&json!(1), &json!(task)));
}

#[test]
fn of_two_links_to_one_host_the_newer_one_counts() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut older = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = older.launched(1, "call-1");
    older.call(2, "call-2", "background_block", json!({ "task_ids": [task] }));
    let mut older = older.peer;
    let mut newer = Host::connect(&daemon, "opencode-1", &mut opencode);
    let bye = loop {
        let line = older.next();
        assert_ne!(line["type"], "answer", "{line}");
        if line["type"] == "bye" {
            break line;
        }
    };
    assert_eq!(bye["leaving"], false);
    assert!(older.is_closed());
    newer.call(3, "call-2", "background_block", json!({ "task_ids": [task], "timeout": 1 }));
    assert!(newer.answer(3).contains(&task));
    assert_eq!(daemon.client().view()["hosts"].as_array().unwrap().len(), 1);
}

#[test]
fn a_host_that_never_answers_is_unreachable_after_ten_seconds() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    opencode.deaf_to = Some("get /agent");
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.launch(1, "call-1");
    assert!(host.answer(1).starts_with("The host could not be reached"));
    host.opencode.deaf_to = None;
    host.launched(2, "call-2");
}

#[test]
fn a_session_that_hangs_holds_up_no_other() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    opencode.deaf_to = Some("ses_1/prompt_async");
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.launched(1, "call-1");
    host.launched(2, "call-2");
    host.until(|opencode| !opencode.said("ses_2").is_empty());
    assert!(host.opencode.said("ses_1").is_empty());
}

#[test]
fn a_call_without_an_answer_is_dropped_when_nobody_waits_for_it() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut peer = daemon.peer();
    peer.hello(role("opencode-1"), "0.0.1");
    peer.send(json!({
        "type": "call", "id": 1, "key": "call-1", "tool": "background_task",
        "arguments": { "prompt": "p", "description": "d", "agent": "general" },
        "context": { "session": "ses_p", "message": "m", "agent": "build", "directory": "/d" },
    }));
    let next = |peer: &mut crate::connection::Connection, kind: &str| -> Value {
        loop {
            let line = peer.next();
            if line["type"] == kind {
                return line;
            }
        }
    };
    let asked = next(&mut peer, "host-call");
    assert_eq!(next(&mut peer, "drop")["id"], asked["id"]);
}

#[test]
fn n8_the_screen_shows_progress_and_the_outcome() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.launched(1, "call-1");
    host.until(|opencode| !opencode.toasts.is_empty() && !opencode.said("ses_1").is_empty());
    assert_eq!(host.opencode.toasts[0]["variant"], "info");
    host.opencode.finish("ses_1", "done");
    host.event("session.idle", "ses_1");
    host.until(|opencode| opencode.toasts.iter().any(|toast| toast["variant"] == "success"));
}
