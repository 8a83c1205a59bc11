//! The command itself: how it opens the page, where it is found again, and when it ends.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use legwork_machine::process::{is_alive, process_mark};
use legwork_testkit::ended;
use legwork_testkit::legwork::{Home, eventually, ran};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::http::{Asked, enter, token};
use crate::stage::{Front, LIVE, Stage, own_port};

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// A browser that writes down what it was given.
fn browser(home: &Home) -> String {
    let program = home.path("browser");
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.args\"\ncp -p \"$1\" \"$0.html\"\n\
                  mv \"$0.args\" \"$0.told\"\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    program.to_str().unwrap().to_owned()
}

/// The arguments of every process there is.
fn all_arguments() -> String {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let read = |path: &Path| fs::read(path.join("cmdline")).unwrap_or_default();
    let all = processes.map(|entry| String::from_utf8_lossy(&read(&entry.path())).into_owned());
    all.collect()
}

#[test]
fn v3_the_browser_is_given_a_private_file_and_no_code() {
    let mut stage = Stage::new();
    stage.kill_front();
    let program = browser(&stage.home);
    let mut command = stage.home.command(["ui", "--port", "0"]);
    command.env("BROWSER", &program);
    let mut front = command.spawn().unwrap();
    let opened =
        eventually("the browser is opened", || fs::read_to_string(format!("{program}.told")).ok());
    let file = Path::new(opened.trim());
    assert_eq!(file.parent().unwrap(), stage.home.path("legwork"));
    let copy = format!("{program}.html");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let page = fs::read_to_string(&copy).unwrap();
    let code = page.split("#code=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(code.len(), 64);
    assert!(!opened.contains(&code));
    // The real browser goes where it leads, though that is another site for it.
    let page = stage.context.open_file(file);
    page.wait_for(LIVE);
    let token = page.eval("Object.values(localStorage).find((it) => /^[0-9a-f]{64}$/.test(it))");
    let token = token.as_str().unwrap();
    let arguments = all_arguments();
    assert!(arguments.contains("legwork"), "they can be read");
    for secret in [code.as_str(), token] {
        assert!(!arguments.contains(secret), "a secret stands among arguments");
        let log = fs::read_to_string(stage.home.path("legwork/daemon.log")).unwrap();
        assert!(!log.contains(secret), "a secret stands in the log");
    }
    assert!(!page.requests().iter().any(|asked| asked.url.contains(token)));
    signal(front.id(), Signal::INT);
    assert!(ended(&mut front).success());
    assert!(!file.exists(), "it is removed with the front");
    assert_eq!(fs::read_to_string(stage.home.path("legwork/ui.json")).unwrap(), "");
}

#[test]
fn v2_a_second_command_finds_the_first_and_lets_another_browser_in() {
    let stage = Stage::new();
    let front = stage.front();
    let address = stage.address();
    assert_ne!(address, front.address);
    assert!(address.starts_with(&format!("{}/#code=", stage.origin())), "{address}");
    let first = token(front);
    let told = enter(front, &address).with_status(200).json();
    assert_eq!(told["token"], first, "one page, whoever comes in");
    let printed = stage.home.run(["ui", "--no-open"]).with_code(0);
    assert!(printed.out.starts_with(&stage.origin()), "{printed:?}");
    assert!(printed.err.contains("works once"), "{printed:?}");
}

#[test]
fn v8_a_front_that_was_killed_is_followed_by_another() {
    let mut stage = Stage::new();
    stage.kill_front();
    stage.start_front(own_port());
    signal(stage.front().pid(), Signal::KILL);
    let old = stage.kill_front();
    let record = fs::read_to_string(stage.home.path("legwork/ui.json")).unwrap();
    assert!(record.contains(&old.to_string()), "it was left behind: {record}");
    stage.start_front(old);
    assert_eq!(stage.front().port, old, "the same port, so that open tabs find it");
    token(stage.front());
}

#[test]
fn v2_a_port_that_is_taken_is_left_to_whoever_has_it() {
    let port = own_port();
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let home = Home::new();
    home.configure(&format!("[ui]\nport = {port}\n"));
    let front = Front::start(home.command(["ui", "--no-open", "--json"]));
    assert_ne!(front.port, port);
    drop(front);
    let refused = home.run(["ui", "--no-open", "--port", &port.to_string()]).with_code(1);
    assert!(refused.err.contains("--port"), "{refused:?}");
    drop(taken);
    let front = Front::start(home.command(["ui", "--no-open", "--json"]));
    assert_eq!(front.port, port, "as the settings say");
}

#[test]
fn v2_left_behind_it_stays_until_its_last_tab_is_closed() {
    let home = Home::new();
    home.configure("");
    let mut command = home.command(["ui", "--no-open", "--detach", "--json", "--port", "0"]);
    // Less than it takes between two signs of life, and enough for the tab to come.
    command.env("LEGWORK_UI_LINGER_MS", "8000");
    let told = ran(command).with_code(0).json();
    let pid = u32::try_from(told["pid"].as_u64().unwrap()).unwrap();
    let mark = process_mark(pid).unwrap();
    let front = Front::elsewhere(&told);
    let token = token(&front);
    let mut board = Asked::get(&front, "/api/board").bearing(&token).stream();
    board.until("event: board");
    let second = home.run(["ui", "--no-open", "--json"]).with_code(0).json();
    assert_eq!(second["pid"], told["pid"], "it is found as any other");
    // Longer than it would wait for a tab.
    board.until("\n:\n");
    assert!(is_alive(&mark));
    drop(board);
    eventually("it ends by itself", || (!is_alive(&mark)).then_some(()));
}

#[test]
fn v2_left_behind_it_says_why_it_cannot_be() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let home = Home::new();
    let refused = home.run(["ui", "--no-open", "--detach", "--port", &port]).with_code(1);
    assert!(refused.err.contains(&port) && refused.err.contains("--port"), "{refused:?}");
}

#[test]
fn v3_a_helper_opens_no_page() {
    let home = Home::new();
    let mut command = home.command(["ui", "--no-open", "--detach", "--port", "0"]);
    command.env("LEGWORK_INSIDE", "x").env("LEGWORK_UI_LINGER_MS", "1");
    let refused = ran(command).with_code(1);
    assert!(refused.err.contains("helper's own shell"), "{refused:?}");
    assert!(!home.path("legwork/ui.json").exists());
}

#[test]
fn v1_only_an_open_tab_holds_the_daemon() {
    let mut stage = Stage::new();
    stage.kill_front();
    let mut command = stage.home.command(["ui", "--no-open", "--json", "--port", "0"]);
    command.env("LEGWORK_LINGER_MS", "200");
    stage.start_front_by(command);
    let daemon = || -> Option<Value> {
        let told = stage.home.run(["daemon", "status", "--json"]);
        serde_json::from_str(&told.out).ok()
    };
    let log = || fs::read_to_string(stage.home.path("legwork/daemon.log")).unwrap_or_default();
    assert!(daemon().is_none_or(|told| told["daemon"].is_null()), "nobody has looked yet");
    let page = stage.open();
    assert!(log().contains("listens on"));
    page.close();
    // Looking at it would hold it, so its log tells.
    eventually("the daemon ends for want of anything to do", || {
        log().contains("ends:").then_some(())
    });
    let again = stage.context.open(&stage.address());
    again.wait_for(LIVE);
}

#[test]
fn v2_a_purge_waits_for_the_page_to_be_closed_and_leaves_nothing_of_it() {
    let mut stage = Stage::new();
    let purge = |stage: &Stage| stage.run(&["uninstall", "opencode", "--purge", "--yes"]);
    let refused = purge(&stage);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("legwork ui"), "{refused:?}");
    assert!(stage.home.path("legwork/ui.json").exists());
    stage.kill_front();
    stage.run(&["daemon", "stop", "--yes"]);
    purge(&stage).with_code(0);
    assert!(!stage.home.path("legwork").exists());
}
