//! The pipe between a plugin and the daemon.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};

use serde_json::{Value, json};

use crate::home::Home;

fn start(home: &Home) -> (Child, ChildStdin) {
    let mut bridge = home.command(["bridge", "opencode"]).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = bridge.stdin.take().unwrap();
    (bridge, stdin)
}

/// The bridge stands for its host: commands that a host has started may not do everything.
fn init(bridge: &Child) -> String {
    let pid = bridge.id();
    json!({ "type": "init", "pid": pid, "directory": "/d", "project": "global" }).to_string()
}

#[test]
fn g2_rubbish_in_place_of_the_first_line_is_answered_with_a_bye() {
    let home = Home::new();
    let long = "x".repeat(100_000);
    for rubbish in ["", "\n", "\0\u{1}", "[]", "{\"type\":\"init\"}", &long] {
        let (mut bridge, mut stdin) = start(&home);
        // It may have had enough before it has all.
        let _ = stdin.write_all(rubbish.as_bytes());
        drop(stdin);
        let mut said = String::new();
        bridge.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        let bye: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(false)), "{said}");
        assert_eq!(bridge.wait().unwrap().code(), Some(2));
    }
    assert!(!home.path("legwork").exists(), "no daemon was started for rubbish");
}

#[test]
fn what_is_sent_with_the_first_line_arrives_and_the_end_of_stdin_ends_it() {
    let home = Home::new();
    let (mut bridge, mut stdin) = start(&home);
    let call = json!({
        "type": "call", "id": 3, "key": "k", "tool": "background_list",
        "context": { "session": "s", "message": "m", "agent": "a", "directory": "/d" },
    });
    stdin.write_all(format!("{}\n{call}\n", init(&bridge)).as_bytes()).unwrap();
    let mut lines = BufReader::new(bridge.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["type"], "hello");
    let answer = loop {
        let line = next();
        if line["type"] == "answer" {
            break line;
        }
    };
    assert_eq!(answer["text"], "No background tasks found.");
    let hosts = home.run(["daemon", "status", "--json"]).json()["daemon"]["hosts"].clone();
    let place = hosts[0]["place"].as_str().unwrap();
    assert!(place.starts_with("opencode/") && !place.contains("global"), "{hosts}");
    drop(stdin);
    assert_eq!(bridge.wait().unwrap().code(), Some(0));
}

#[test]
fn it_ends_when_the_daemon_goes() {
    let home = Home::new();
    let (mut bridge, mut stdin) = start(&home);
    writeln!(stdin, "{}", init(&bridge)).unwrap();
    let mut lines = BufReader::new(bridge.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("hello"));
    home.run(["daemon", "stop"]).with_code(0);
    assert!(lines.last().unwrap().unwrap().contains("bye"));
    assert_eq!(bridge.wait().unwrap().code(), Some(6));
}

#[test]
fn that_there_is_no_daemon_is_told_to_the_plugin() {
    let home = Home::new();
    let mut command = home.command(["bridge", "opencode"]);
    let mut bridge =
        command.env("LEGWORK_BIN", "/bin/false").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = bridge.stdin.take().unwrap();
    writeln!(stdin, "{}", init(&bridge)).unwrap();
    let mut said = String::new();
    bridge.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("legwork daemon log"), "{said}");
    assert_eq!(bridge.wait().unwrap().code(), Some(6));
}
