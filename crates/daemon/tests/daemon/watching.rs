//! Those who watch.

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::local_host::LocalHost;
use crate::opencode::{Host, OpenCode};

fn watch(peer: &mut Connection) {
    peer.send(json!({ "type": "request", "id": 8, "key": "k", "request": { "what": "follow" } }));
    // Answered after it, so from here on it watches.
    peer.view();
}

fn news(peer: &mut Connection) -> Value {
    let line = peer.next();
    assert_eq!((&line["type"], &line["id"]), (&json!("news"), &json!(8)), "{line}");
    line["news"].clone()
}

#[test]
fn who_watches_hears_each_decision_in_order() {
    let home = LocalHost::new();
    let daemon = home.start();
    let (mut one, mut other) = (daemon.client(), daemon.client());
    watch(&mut one);
    watch(&mut other);
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    host.until(|opencode| !opencode.said("ses_1").is_empty());
    let first = news(&mut one);
    assert_eq!((&first["task"], &first["run"]), (&json!(task), &json!(0)));
    assert!(first["line"].as_str().unwrap().starts_with("launched as \"count\""), "{first}");
    assert_eq!(news(&mut other), first);
    assert!(news(&mut one)["line"].as_str().unwrap().starts_with("sending the prompt"));
}

#[test]
fn who_stops_watching_hears_nothing_more() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    watch(&mut client);
    client.send(json!({ "type": "cancel", "id": 8 }));
    client.view();
    let mut opencode = OpenCode::new();
    Host::connect(&daemon, "opencode-1", &mut opencode).launched(1, "call-1");
    client.send(json!({ "type": "request", "id": 9, "key": "k", "request": { "what": "status" } }));
    assert_eq!(client.next()["type"], "data");
}

#[test]
fn a_watcher_that_does_not_read_holds_up_nobody() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut asleep = daemon.client();
    for id in 0..900 {
        asleep.send(
            json!({ "type": "request", "id": id, "key": "k", "request": { "what": "follow" } }),
        );
    }
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    for number in 0..10 {
        host.launched(number, &format!("call-{number}"));
    }
    assert_eq!(daemon.client().view()["unfinished"], 10);
}
