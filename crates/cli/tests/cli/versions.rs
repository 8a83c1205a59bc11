//! Several versions on one machine: the newest is the daemon, and nobody loses anything by it.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use legwork_protocol::line::LINE_VERSION;
use legwork_testkit::legwork::{Home, Host, eventually, ran};
use legwork_testkit::{Lines, ended, output_of};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::doctor::executable;

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");
/// So long a line is waited for before another task is run.
const SOON: Duration = Duration::from_millis(200);

/// Says hello as a legwork of this version, and gives back what the daemon says to that.
fn hello(home: &Home, build: &str) -> (Lines<UnixStream>, Value) {
    let mut stream = UnixStream::connect(home.path("legwork/legwork.sock")).unwrap();
    let role = json!({ "is": "client" });
    let hello = json!({ "type": "hello", "version": LINE_VERSION, "build": build, "role": role });
    writeln!(stream, "{hello}").unwrap();
    let mut lines = Lines::of(stream);
    let said = lines.next().unwrap();
    (lines, serde_json::from_str(&said).unwrap())
}

fn pid(home: &Home) -> Option<u64> {
    home.run(["daemon", "status", "--json"]).json()["daemon"]["pid"].as_u64()
}

/// Notes a program as the newest that has been the daemon.
fn note(home: &Home, program: &Path, version: &str) {
    let store = home.path("legwork/store");
    fs::create_dir_all(&store).unwrap();
    let newest = json!({ "program": program, "version": version });
    fs::write(store.join("newest.json"), newest.to_string()).unwrap();
}

/// Runs tasks until a watch tells of one of them; gives what it tells. It tells what happens from
/// then on when it watches, and nobody else knows when that is.
fn heard(home: &Home, news: &mut Lines<ChildStdout>, known: &[String]) -> String {
    eventually("the watch hears", || {
        home.run(["run", "--agent", "rehearsal", "say something"]).with_code(0);
        std::iter::from_fn(|| news.soon(SOON))
            .find(|line| line.contains("\"task\"") && !known.iter().any(|task| line.contains(task)))
    })
}

fn tasks(home: &Home) -> Vec<String> {
    let listed = home.run(["list", "--all", "--json"]).with_code(0).json();
    let listed = listed["tasks"].as_array().unwrap().iter();
    listed.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn i3_a_newer_legwork_takes_over_beside_a_window_and_whoever_looks_comes_back() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let first = pid(&home).unwrap();
    let mut watch = home.command(["watch", "--json"]).spawn().unwrap();
    let mut news = Lines::of(watch.stdout.take().unwrap());
    let mut board = home.command(["bridge", "board"]);
    let mut board = board.stdin(Stdio::piped()).spawn().unwrap();
    let mut pages = Lines::of(board.stdout.take().unwrap());
    // All of them have been heard.
    let (task, session) = host.launch("before");
    host.finish(&session, "done");
    heard(&home, &mut news, &[]);
    pages.until("the board has the task", |page| page.contains(&task));
    eventually("nothing is left to do", || {
        let view = home.run(["daemon", "status", "--json"]).json();
        (view["daemon"]["unfinished"] == 0 && view["daemon"]["pending"] == 0).then_some(())
    });
    let (_, said) = hello(&home, "999.0.0");
    assert_eq!((&said["type"], &said["leaving"]), (&json!("bye"), &json!(true)), "{said}");
    let started = home.run(["daemon", "start", "--json"]).with_code(0).json();
    assert_ne!(started["daemon"]["pid"], first);
    // The host's plugin starts its bridge again; the others need nobody.
    host.connect_again(home.command(["bridge", "opencode"]));
    assert_eq!(host.told().len(), 1, "{:?}", host.told());
    pages.until("the board comes again", |page| {
        page.contains("\"whole\":true") && page.contains(&task)
    });
    let before = tasks(&home);
    heard(&home, &mut news, &before);
    for child in [&mut watch, &mut board] {
        child.kill().unwrap();
        ended(child);
    }
}

#[test]
fn i3_an_older_legwork_starts_the_newest_that_is_there() {
    let home = Home::new();
    home.run(["list"]).with_code(0);
    let noted = fs::read_to_string(home.path("legwork/store/newest.json")).unwrap();
    assert!(noted.contains(LEGWORK), "{noted}");
    home.run(["daemon", "stop"]).with_code(0);
    let (newer, started) = (home.path("newer"), home.path("started"));
    executable(&newer, &format!("echo yes >{}; exec {LEGWORK} \"$@\"", started.display()));
    note(&home, &newer, "999.0.0");
    home.run(["list"]).with_code(0);
    assert!(started.exists(), "it was not the newest");
    // This one is older, so what is noted stays.
    let noted = fs::read_to_string(home.path("legwork/store/newest.json")).unwrap();
    assert!(noted.contains("999.0.0"), "{noted}");
    home.run(["daemon", "stop"]).with_code(0);
    fs::remove_file(&started).unwrap();
    // One that is gone, and one that does not work, leave it to this one.
    executable(&newer, &format!("echo yes >{}; exit 1", started.display()));
    home.run(["list"]).with_code(0);
    assert!(started.exists(), "it was not tried");
    home.run(["daemon", "stop"]).with_code(0);
    fs::remove_file(&newer).unwrap();
    home.run(["list"]).with_code(0);
    // What a person names is what they get.
    home.run(["daemon", "stop"]).with_code(0);
    fs::remove_file(&started).unwrap();
    executable(&newer, &format!("echo yes >{}; exec {LEGWORK} \"$@\"", started.display()));
    note(&home, &newer, "999.0.0");
    let mut named = home.command(["list"]);
    named.env("LEGWORK_BIN", LEGWORK);
    ran(named).with_code(0);
    assert!(!started.exists());
}

#[test]
fn i3_records_of_a_newer_legwork_are_refused_at_once_and_in_words() {
    let home = Home::new();
    home.run(["list"]).with_code(0);
    home.run(["daemon", "stop"]).with_code(0);
    let file = home.path("legwork/store/legwork.db");
    let mut bytes = fs::read(&file).unwrap();
    // The version that a file says it has.
    bytes[60..64].copy_from_slice(&9_999u32.to_be_bytes());
    fs::write(&file, &bytes).unwrap();
    for args in [["list"].as_slice(), &["daemon", "start"]] {
        let refused = ran(home.command(args)).with_code(6);
        assert!(refused.err.contains("9999"), "{refused:?}");
        assert!(refused.err.contains("newer legwork"), "{refused:?}");
        assert!(!refused.err.contains("ended as soon as"), "{refused:?}");
    }
    assert_eq!(fs::read(&file).unwrap(), bytes, "nothing was touched");
}

#[test]
fn i3_whatever_the_temporary_folder_is_called_there_is_one_daemon() {
    let home = Home::new();
    let with = |name: &str, args: &[&str]| {
        let folder = home.path(name);
        let _ = fs::create_dir(&folder);
        let mut command = home.command(args);
        command.env_remove("LEGWORK_HOME").env("TMPDIR", folder).env("LEGWORK_LINGER_MS", "600000");
        command
    };
    let pid = |name: &str| {
        ran(with(name, &["daemon", "start", "--json"])).json()["daemon"]["pid"].clone()
    };
    let starts: Vec<Child> = ["a", "b", "c"]
        .map(|name| with(name, &["daemon", "start", "--json"]).spawn().unwrap())
        .into_iter()
        .collect();
    let pids: Vec<Value> = starts
        .into_iter()
        .map(|start| {
            let output = output_of(start);
            let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
            shown["daemon"]["pid"].clone()
        })
        .collect();
    assert!(pids.iter().all(|pid| pid.is_u64() && *pid == pids[0]), "{pids:?}");
    // Some systems clear temporary files that nobody has touched for days.
    for name in ["a", "b", "c"] {
        fs::remove_dir_all(home.path(name)).unwrap();
    }
    assert_eq!(pid("b"), pids[0]);
    let daemon = i32::try_from(pids[0].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(daemon).unwrap(), Signal::KILL).unwrap();
    assert_ne!(pid("c"), pids[0]);
    ran(with("a", &["daemon", "stop", "--yes"])).with_code(0);
}
