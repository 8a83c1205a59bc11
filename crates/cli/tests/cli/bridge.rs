//! The pipe between a plugin and the daemon.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use legwork_testkit::legwork::Home;
use legwork_testkit::{Lines, Patient, ended};
use serde_json::{Value, json};

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
        Patient::new(bridge.stdout.take().unwrap()).read_to_string(&mut said).unwrap();
        let bye: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(false)), "{said}");
        assert_eq!(ended(&mut bridge).code(), Some(2));
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
    let mut lines = Lines::of(bridge.stdout.take().unwrap());
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap()).unwrap() };
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
    assert_eq!(ended(&mut bridge).code(), Some(0));
}

#[test]
fn it_ends_when_the_daemon_goes() {
    let home = Home::new();
    let (mut bridge, mut stdin) = start(&home);
    writeln!(stdin, "{}", init(&bridge)).unwrap();
    let mut lines = Lines::of(bridge.stdout.take().unwrap());
    assert!(lines.next().unwrap().contains("hello"));
    home.run(["daemon", "stop"]).with_code(0);
    assert!(lines.last().unwrap().contains("bye"));
    assert_eq!(ended(&mut bridge).code(), Some(6));
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
    Patient::new(bridge.stdout.take().unwrap()).read_to_string(&mut said).unwrap();
    assert!(said.contains("legwork daemon log"), "{said}");
    assert_eq!(ended(&mut bridge).code(), Some(6));
}

/// A stream of the board, line by line.
struct Stream {
    process: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
}

impl Stream {
    fn of(home: &Home) -> Self {
        let mut command = home.command(["bridge", "board"]);
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = process.stdin.take();
        let lines = Lines::of(process.stdout.take().unwrap());
        Self { process, stdin, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap()).unwrap()
    }

    /// The next page, whatever trouble is told before.
    fn page(&mut self) -> Value {
        loop {
            let line = self.next();
            if line["trouble"].is_null() {
                return line;
            }
        }
    }
}

fn launch(home: &Home, script: &str) -> String {
    let run = ["run", "--agent", "rehearsal", "--detach", "--json", script];
    home.run(run).with_code(0).json()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn v5_the_board_is_streamed_whole_and_then_as_it_changes_until_stdin_ends() {
    let home = Home::new();
    let first = launch(&home, "say one");
    home.run(["wait", &first]).with_code(0);
    let mut stream = Stream::of(&home);
    let page = stream.page();
    assert_eq!((&page["whole"], &page["tasks"][0]["id"]), (&json!(true), &json!(first)));
    let second = launch(&home, "ask to go on");
    let asks = loop {
        let page = stream.next();
        assert_eq!(page["whole"], false, "{page}");
        let asks = page["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|task| task["id"] == json!(second) && task["questions"][0]["id"].is_string());
        if let Some(asks) = asks {
            break asks.clone();
        }
    };
    assert_eq!(asks["status"], "running", "{asks}");
    drop(stream.stdin.take());
    assert_eq!(ended(&mut stream.process).code(), Some(0));
    home.run(["cancel", &second]).with_code(0);
}

#[test]
fn v5_a_stream_that_nobody_reads_ends_by_itself() {
    let home = Home::new();
    home.run(["daemon", "start"]).with_code(0);
    let mut stream = Stream::of(&home);
    assert_eq!(stream.page()["whole"], true);
    let Stream { mut process, stdin, lines } = stream;
    drop(lines);
    // The next page finds nobody.
    launch(&home, "say one");
    assert_eq!(ended(&mut process).code(), Some(0));
    drop(stdin);
}

#[test]
fn v5_a_stream_says_that_the_daemon_is_away_and_has_the_whole_board_when_it_is_back() {
    let home = Home::new();
    let mut stream = Stream::of(&home);
    let trouble = stream.next();
    assert!(
        trouble["trouble"].as_str().is_some_and(|why| why.contains("not running")),
        "{trouble}"
    );
    assert!(!home.path("legwork/daemon.log").exists(), "looking starts no daemon");
    launch(&home, "say one");
    assert_eq!(stream.page()["whole"], true);
    let pid = home.run(["daemon", "status", "--json"]).json()["daemon"]["pid"].as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    home.run(["daemon", "start"]).with_code(0);
    let page = loop {
        let page = stream.page();
        if page["whole"] == true {
            break page;
        }
    };
    assert_eq!(page["tasks"].as_array().unwrap().len(), 1, "{page}");
    drop(stream.stdin.take());
    assert_eq!(ended(&mut stream.process).code(), Some(0));
}

/// It has only its pipes, also while there is nothing to read.
#[test]
fn v5_a_stream_without_a_daemon_ends_with_its_stdin_too() {
    let home = Home::new();
    let mut stream = Stream::of(&home);
    assert!(stream.next()["trouble"].is_string());
    drop(stream.stdin.take());
    assert_eq!(ended(&mut stream.process).code(), Some(0));
    let rest: Vec<String> = stream.lines.collect();
    assert!(rest.iter().all(|line| line.starts_with("{\"trouble\":")), "{rest:?}");
}
