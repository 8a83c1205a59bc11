//! The first lines of a connection, and who takes whose place.

use legwork_protocol::line::LINE_VERSION;
use serde_json::json;

use crate::local_host::LocalHost;
use crate::opencode::{Host, OpenCode, role};

#[test]
fn both_sides_say_hello_and_a_host_hears_what_is_wanted() {
    let home = LocalHost::new();
    let daemon = home.start();
    let hello = daemon.peer().hello_as_client();
    assert_eq!(hello["type"], "hello");
    assert_eq!(hello["tools"].as_array().unwrap().len(), 6);
    let mut host = daemon.peer();
    assert_eq!(host.hello(role("opencode-1"), "0.0.1")["type"], "hello");
    let want = host.next();
    assert_eq!(want["type"], "want");
    let wanted = want["events"].as_array().unwrap();
    assert!(wanted.iter().any(|event| event["name"] == "session.idle"));
}

#[test]
fn whoever_says_something_else_first_is_sent_away() {
    let home = LocalHost::new();
    let daemon = home.start();
    for line in ["{\"type\":\"cancel\",\"id\":1}\n", "GET / HTTP/1.1\r\n", "[]\n", "\u{7f}\n"] {
        let mut peer = daemon.peer();
        peer.send_raw(line.as_bytes()).unwrap();
        let bye = peer.next();
        assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(false)), "{bye}");
        assert!(peer.is_closed());
    }
}

#[test]
fn whoever_says_nothing_is_sent_away() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut peer = daemon.peer();
    peer.send_raw(b"{\"type\":\"hel").unwrap();
    let bye = peer.next();
    assert_eq!(bye["why"], "There was no hello within 5 s.");
    assert!(peer.is_closed());
}

#[test]
fn an_older_line_version_is_told_so_and_nobody_else_notices() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut old = daemon.peer();
    old.send(json!({ "type": "hello", "version": 0, "whoever": true }));
    let bye = old.next();
    assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(false)));
    assert!(bye["why"].as_str().unwrap().contains("version 0"), "{bye}");
    assert!(old.is_closed());
    assert_eq!(daemon.client().view()["unfinished"], 0);
}

#[test]
fn a_newer_line_version_takes_the_place_of_a_daemon_with_nothing_to_do() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut new = daemon.peer();
    new.send(json!({ "type": "hello", "version": 99 }));
    let bye = new.next();
    assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(true)));
    assert!(new.is_closed());
    assert!(daemon.ended().success());
    assert!(!home.socket().exists());
}

#[test]
fn a_newer_build_takes_the_place_of_a_daemon_with_nothing_to_do() {
    let home = LocalHost::new();
    let daemon = home.start();
    let bye = daemon.peer().hello(json!({ "is": "client" }), "999.0.0");
    assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(true)));
    assert!(daemon.ended().success());
}

#[test]
fn i3_a_newer_build_takes_over_from_a_daemon_that_others_only_look_at() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let mut looks = daemon.client();
    looks.send(json!({ "type": "request", "id": 1, "key": "a", "request": { "what": "follow" } }));
    let glance = json!({ "what": "board", "wait_ms": 600_000 });
    looks.send(json!({ "type": "request", "id": 2, "key": "b", "request": glance }));
    assert_eq!(looks.next()["type"], "data", "the first page");
    let bye = daemon.peer().hello(json!({ "is": "client" }), "999.0.0");
    assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(true)));
    // All of them hear that another one comes, so that they do too.
    for peer in [&mut looks, &mut host.peer] {
        let mut last = peer.next();
        while last["type"] != "bye" {
            last = peer.next();
        }
        assert_eq!(last["leaving"], true, "{last}");
        assert!(last["why"].as_str().unwrap().contains("999.0.0"), "{last}");
    }
    assert!(daemon.ended().success());
}

#[test]
fn i3_a_newer_build_waits_for_what_is_unfinished_and_takes_over_then() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    let mut newer = daemon.peer();
    assert_eq!(newer.hello(json!({ "is": "client" }), "999.0.0")["type"], "hello");
    assert_eq!(newer.view()["unfinished"], 1);
    drop(host);
    let mut person = daemon.client();
    person.request(json!({ "what": "cancel", "task": task }));
    let bye = newer.next();
    assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(true)));
    assert!(daemon.ended().success());
}

#[test]
fn i3_a_newer_build_waits_for_a_call_that_has_no_task_yet() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.launch(1, "call-1");
    // The daemon has heard the call, and waits for the host to say which agents it has.
    while host.peer.next()["type"] != "host-call" {}
    let mut newer = daemon.peer();
    assert_eq!(newer.hello(json!({ "is": "client" }), "999.0.0")["type"], "hello");
    assert_eq!(newer.view()["unfinished"], 0);
}

#[test]
fn i3_a_newer_build_that_would_start_no_daemon_takes_no_place() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut asks = daemon.peer();
    let client = json!({ "is": "client" });
    asks.send(json!({
        "type": "hello", "version": LINE_VERSION, "build": "999.0.0", "role": client, "starts": false,
    }));
    assert_eq!(asks.next()["type"], "hello");
    assert_eq!(asks.view()["unfinished"], 0);
}

#[test]
fn i3_another_line_format_does_not_shut_out_who_is_connected() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut other = daemon.client();
    let mut new = daemon.peer();
    new.send(json!({ "type": "hello", "version": 99 }));
    assert_eq!(new.next()["leaving"], false);
    assert_eq!(other.view()["unfinished"], 0);
}

#[test]
fn i3_the_status_says_of_which_version_each_part_is() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut role = role("opencode-1");
    role["plugin"] = json!("0.0.7");
    let mut host = daemon.peer();
    assert_eq!(host.hello(role, "0.0.8")["type"], "hello");
    let view = daemon.client().view();
    let shown = &view["hosts"][0];
    assert_eq!((&shown["plugin"], &shown["bridge"]), (&json!("0.0.7"), &json!("0.0.8")), "{view}");
}

#[test]
fn a_kind_of_host_that_is_not_known_is_sent_away() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut peer = daemon.peer();
    let mut role = role("acme-1");
    role["kind"] = json!("acme");
    let bye = peer.hello(role, "0.0.1");
    assert_eq!(bye["type"], "bye");
    assert!(bye["why"].as_str().unwrap().contains("acme"), "{bye}");
}
