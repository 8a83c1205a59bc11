//! The daemon is found, or the reason is said at once, whatever the environment is like.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use legwork_client::{Holder, Record, holder};
use legwork_machine::Folders;
use legwork_machine::process::{is_alive, is_suspended, process_mark};
use legwork_testkit::legwork::{Home, Ran, eventually, ran};
use legwork_testkit::{Lines, ended, output, output_of};
use rustix::process::{Pid, Signal, kill_process};

/// The daemon's process, by whoever asks like this.
fn pid(command: Command) -> u64 {
    let shown = ran(command).with_code(0).json();
    shown["daemon"]["pid"].as_u64().unwrap()
}

fn signal(pid: u64, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A command of somebody who has the ordinary folders, below this home.
fn ordinary(home: &Home, name: &str, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.env_remove("LEGWORK_HOME").env("HOME", home.path(name));
    command
}

fn stop(mut command: Command) {
    command.env("LEGWORK_LINGER_MS", "0");
    ran(command).with_code(0);
}

fn private(path: PathBuf) -> PathBuf {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
    path
}

#[test]
fn p9_a_terminal_with_other_variables_finds_the_same_daemon() {
    let home = Home::new();
    let (run, tmp) = (private(home.path("run")), private(home.path("tmp")));
    let mut first = ordinary(&home, "me", &["daemon", "start", "--json"]);
    first.env("XDG_RUNTIME_DIR", &run);
    let first = pid(first);
    for (name, value) in [("TMPDIR", tmp.as_path()), ("XDG_RUNTIME_DIR", Path::new("/nowhere"))] {
        let mut second = ordinary(&home, "me", &["daemon", "start", "--json"]);
        second.env(name, value);
        assert_eq!(pid(second), first, "{name}");
    }
    stop(ordinary(&home, "me", &["daemon", "stop", "--yes"]));
}

#[test]
fn p9_a_home_is_the_same_however_it_is_spelled() {
    let home = Home::new();
    symlink(home.path("legwork"), home.path("link")).unwrap();
    private(home.path("legwork"));
    let first = pid(home.command(["daemon", "start", "--json"]));
    let real = home.path("legwork");
    for spelled in [real.join(""), home.path("link"), real.join("../link/."), "legwork".into()] {
        let mut second = home.command(["daemon", "start", "--json"]);
        second.env("LEGWORK_HOME", &spelled).current_dir(home.path(""));
        assert_eq!(pid(second), first, "{}", spelled.display());
    }
}

#[test]
fn p9_a_daemon_that_is_started_with_a_relative_home_is_there() {
    let home = Home::new();
    let mut command = home.command(["daemon", "start", "--json"]);
    command.env("LEGWORK_HOME", "legwork").current_dir(home.path(""));
    let first = pid(command);
    assert_eq!(pid(home.command(["daemon", "status", "--json"])), first);
    assert!(home.path("legwork/store").exists());
}

#[test]
fn p9_two_homes_with_one_runtime_folder_have_a_daemon_each() {
    let home = Home::new();
    let run = private(home.path("run"));
    let start = |name: &str| {
        let mut command = ordinary(&home, name, &["daemon", "start", "--json"]);
        command.env("XDG_RUNTIME_DIR", &run);
        ran(command).with_code(0).json()["daemon"].clone()
    };
    for _ in 0..2 {
        for name in ["a", "b"] {
            let store = start(name)["store"].as_str().unwrap().to_owned();
            assert!(Path::new(&store).starts_with(home.path(name)), "{name} has {store}");
        }
    }
    for name in ["a", "b"] {
        stop(ordinary(&home, name, &["daemon", "stop", "--yes"]));
    }
}

#[test]
fn p9_a_lost_socket_is_made_again() {
    let home = Home::new();
    let mut start = home.command(["daemon", "start", "--json"]);
    // It looks for its socket every five seconds, and must not end then.
    start.env("LEGWORK_LINGER_MS", "600000");
    let first = pid(start);
    let socket = home.path("legwork/legwork.sock");
    fs::remove_file(&socket).unwrap();
    assert_eq!(pid(home.command(["daemon", "status", "--json"])), first);
    // At once: between the two it could listen again.
    fs::write(home.path("else"), "something else").unwrap();
    fs::rename(home.path("else"), &socket).unwrap();
    assert_eq!(pid(home.command(["daemon", "status", "--json"])), first);
    // Nobody need ask for it.
    fs::remove_file(&socket).unwrap();
    // It listens first, and then says why.
    let log = || fs::read_to_string(home.path("legwork/daemon.log")).unwrap();
    eventually("it listens again and says why", || {
        (socket.exists() && log().matches("was gone").count() == 3).then_some(())
    });
}

#[test]
fn p9_a_daemon_that_cannot_be_reached_is_named_and_stopped_by_its_record() {
    let home = Home::new();
    // There are no temporary files here to put a socket among.
    let run = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("TMPDIR", "/dev/null");
        ran(command)
    };
    let daemon = &run(&["daemon", "start", "--json"]).with_code(0).json()["daemon"]["pid"];
    let daemon = daemon.as_u64().unwrap();
    // A folder has the name of its socket and of every other that it could take.
    let socket = home.path("legwork/legwork.sock");
    fs::remove_file(&socket).unwrap();
    let mut names = folders(&home).other_sockets();
    names.push(socket);
    names.retain(|name| name.starts_with(home.path("legwork")));
    for name in &names {
        // It may have been quick to listen again.
        let _ = fs::remove_file(name);
        fs::create_dir_all(name.join("full")).unwrap();
    }
    let lost: Ran = run(&["list"]).with_code(6);
    assert!(lost.err.contains(&format!("process {daemon}")), "{lost:?}");
    assert!(lost.err.contains("legwork.sock") && lost.err.contains("daemon stop"), "{lost:?}");
    let status = run(&["daemon", "status"]).with_code(6);
    assert!(status.out.contains(&daemon.to_string()), "{status:?}");
    let mark = process_mark(u32::try_from(daemon).unwrap()).unwrap();
    assert_eq!(run(&["daemon", "stop", "--json"]).with_code(0).json()["done"], "stopped");
    assert!(!is_alive(&mark));
    // The next one cannot listen either, and says so.
    let next = run(&["list"]).with_code(6);
    assert!(next.err.contains("listen on"), "{next:?}");
    fs::remove_dir_all(&names[0]).unwrap();
    run(&["list"]).with_code(0);
}

fn folders(home: &Home) -> Folders {
    let at = |name: &str| home.path("legwork").join(name);
    Folders {
        config: at("config.toml"),
        store: at("store"),
        sessions: at("sessions"),
        socket: at("legwork.sock"),
        log: at("daemon.log"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn p9_a_daemon_that_was_suspended_is_named_at_once_and_can_be_stopped() {
    let home = Home::new();
    let daemon = pid(home.command(["daemon", "start", "--json"]));
    signal(daemon, Signal::STOP);
    eventually("it is suspended", || is_suspended(u32::try_from(daemon).unwrap()).then_some(()));
    let ran = home.run(["list"]).with_code(6);
    assert!(ran.err.contains(&format!("kill -CONT {daemon}")), "{ran:?}");
    home.run(["daemon", "status"]).with_code(6);
    assert_eq!(home.run(["daemon", "stop", "--json"]).with_code(0).json()["done"], "stopped");
    home.run(["list"]).with_code(0);
}

/// A daemon that listens and never says a word, and hears no signal but the last.
#[cfg(target_os = "linux")]
pub fn hung_daemon(home: &Home) -> (Child, UnixListener) {
    stand_in(home, "trap '' TERM; exec cat", |_| {})
}

/// A process that has the store's lock and a record that says where it listens.
#[cfg(target_os = "linux")]
fn stand_in(home: &Home, script: &str, change: impl FnOnce(&mut Record)) -> (Child, UnixListener) {
    fs::create_dir_all(home.path("legwork/store")).unwrap();
    let lock = home.path("legwork/store/legwork.lock");
    let script = format!("exec 9>>\"$0\"; flock 9; echo locked; {script}");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).arg(&lock);
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(Lines::of(child.stdout.take().unwrap()).next().unwrap(), "locked");
    let socket = home.path("legwork/legwork.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut record = Record::of_this_process("0.0.1", 0);
    (record.pid, record.mark) = (child.id(), process_mark(child.id()).unwrap());
    record.socket = Some(socket);
    change(&mut record);
    fs::write(&lock, record.text()).unwrap();
    (child, listener)
}

/// Whoever connects next.
#[cfg(target_os = "linux")]
fn accepted(listener: &UnixListener) -> UnixStream {
    listener.set_nonblocking(true).unwrap();
    let (stream, _) = eventually("somebody connects", || listener.accept().ok());
    stream.set_nonblocking(false).unwrap();
    stream
}

/// A daemon of another line format, which has helpers at work.
#[cfg(target_os = "linux")]
fn foreign_daemon(home: &Home) -> (Child, JoinHandle<()>) {
    let (child, listener) = stand_in(home, "exec cat", |record| record.at_work = 3);
    let turns_away = std::thread::spawn(move || {
        for _ in 0..2 {
            let mut stream = accepted(&listener);
            stream.write_all(b"{\"type\":\"hello\",\"version\":0}\n").unwrap();
        }
    });
    (child, turns_away)
}

#[cfg(target_os = "linux")]
#[test]
fn p9_a_busy_daemon_of_another_line_format_is_stopped_by_its_record() {
    let home = Home::new();
    let (mut daemon, turns_away) = foreign_daemon(&home);
    // Helpers are at work in it, and nobody is there to be asked.
    let asks = home.run(["daemon", "stop"]).with_code(2);
    assert!(asks.err.contains("3 helpers") && asks.err.contains("--yes"), "{asks:?}");
    let stopped = home.run(["daemon", "stop", "--yes", "--json"]).with_code(0).json();
    assert_eq!(stopped["done"], "stopped");
    turns_away.join().unwrap();
    assert!(!ended(&mut daemon).success(), "it was told to end");
}

/// How far a daemon has come, as others see it.
fn progress(home: &Home) -> usize {
    match holder(&home.path("legwork/store")) {
        Ok(Holder::Nobody) if !home.path("legwork/store").exists() => 0,
        Ok(Holder::Nobody) | Err(_) => 1,
        Ok(Holder::Daemon(None)) => 2,
        Ok(Holder::Daemon(Some(Record { socket: Some(_), .. }))) => 5,
        Ok(Holder::Daemon(Some(_))) if home.path("legwork/legwork.sock").exists() => 4,
        Ok(Holder::Daemon(Some(_))) => 3,
    }
}

#[test]
fn p9_after_a_kill_at_any_step_of_its_start_the_next_one_is_there() {
    for step in 0..=5 {
        let home = Home::new();
        // The first time nothing is there, later what the killed one left.
        for round in 0..5 {
            let mut killed = home.command(["daemon", "run"]).spawn().unwrap();
            eventually("it has come so far", || (progress(&home) >= step).then_some(()));
            killed.kill().unwrap();
            ended(&mut killed);
            let started = home.run(["daemon", "start", "--json"]).with_code(0).json();
            assert_eq!(started["done"], "started", "step {step}, round {round}");
            let daemon = started["daemon"]["pid"].as_u64().unwrap();
            let mark = process_mark(u32::try_from(daemon).unwrap()).unwrap();
            signal(daemon, Signal::KILL);
            // What is seen of it then is not taken for the next one.
            eventually("it is gone", || (!is_alive(&mark)).then_some(()));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn p9_a_daemon_that_hangs_is_named_with_its_process_and_the_remedy() {
    let home = Home::new();
    let (mut hung, _listener) = hung_daemon(&home);
    let _stdin = hung.stdin.take();
    for args in [["list"].as_slice(), &["daemon", "status"], &["run", "--agent", "x", "say y"]] {
        let silent = output(&mut home.command(args));
        let said = String::from_utf8(silent.stderr).unwrap();
        assert_eq!(silent.status.code(), Some(6), "{said}");
        let expected = format!("(process {}) does not answer", hung.id());
        assert!(said.contains(&expected), "{said}");
        assert!(said.contains("legwork daemon stop"), "{said}");
        // It does nothing, so nobody is asked to wait for it.
        assert!(!said.contains("Still waiting"), "{said}");
    }
    assert_eq!(home.run(["daemon", "stop", "--json"]).with_code(0).json()["done"], "stopped");
    assert!(!ended(&mut hung).success());
    home.run(["list"]).with_code(0);
}

#[cfg(target_os = "linux")]
#[test]
fn p9_a_daemon_that_is_busy_is_waited_for_and_that_is_said() {
    let home = Home::new();
    let (mut busy, listener) = stand_in(&home, "while :; do :; done", |_| {});
    let mut list = home.command(["list"]).spawn().unwrap();
    // What comes of it is another daemon's answer: this one turns the command away when it has said
    // that it waits.
    let mut stream = accepted(&listener);
    let mut said = Lines::of(list.stderr.take().unwrap());
    let line = said.next().unwrap();
    assert!(line.contains(&format!("(process {})", busy.id())), "{line}");
    assert!(line.contains("Still waiting"), "{line}");
    stream.write_all(b"{\"type\":\"bye\",\"why\":\"Not today.\"}\n").unwrap();
    let line = said.next().unwrap();
    assert!(line.contains("Not today."), "{line}");
    assert_eq!(ended(&mut list).code(), Some(6));
    busy.kill().unwrap();
    ended(&mut busy);
}

#[cfg(target_os = "linux")]
#[test]
fn p9_a_daemon_that_hangs_while_it_starts_is_named_and_stopped() {
    let home = Home::new();
    home.configure("");
    // Whoever opens it waits for a reader that never comes.
    let log = home.path("legwork/daemon.log");
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let slow = home.run(["list"]).with_code(6);
    let Ok(Holder::Daemon(Some(record))) = holder(&home.path("legwork/store")) else { panic!() };
    assert!(slow.err.contains(&format!("(process {})", record.pid)), "{slow:?}");
    assert!(slow.err.contains("was not ready") && slow.err.contains("daemon stop"), "{slow:?}");
    assert_eq!(home.run(["daemon", "stop", "--json"]).with_code(0).json()["done"], "stopped");
    assert!(!is_alive(&record.mark));
    fs::remove_file(&log).unwrap();
    home.run(["list"]).with_code(0);
}

#[cfg(target_os = "linux")]
#[test]
fn p9_a_daemon_that_is_suspended_while_somebody_waits_is_named() {
    let home = Home::new();
    let daemon = pid(home.command(["daemon", "start", "--json"]));
    let run = home.command(["run", "--agent", "rehearsal", "wait 600s"]).spawn().unwrap();
    let unfinished =
        || home.run(["daemon", "status", "--json"]).json()["daemon"]["unfinished"] == 1;
    eventually("the helper is at work", || unfinished().then_some(()));
    signal(daemon, Signal::STOP);
    let output = output_of(run);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("kill -CONT {daemon}")), "{said}");
    signal(daemon, Signal::CONT);
}

#[cfg(target_os = "linux")]
#[test]
fn p9_a_daemon_that_closes_every_connection_is_given_up() {
    let home = Home::new();
    let (mut daemon, listener) = stand_in(&home, "exec cat", |_| {});
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let broken = home.run(["list"]).with_code(6);
    assert!(broken.err.contains("link to the legwork daemon broke"), "{broken:?}");
    daemon.kill().unwrap();
    ended(&mut daemon);
}

#[test]
fn p9_a_daemon_that_cannot_be_started_passes_its_last_words_on() {
    let home = Home::new();
    home.configure("");
    let program = home.path("legwork-that-ends");
    fs::write(&program, "#!/bin/sh\necho 'legwork: no memory for the engine' >&2\nexit 9\n")
        .unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, executable).unwrap();
    for args in [["list"].as_slice(), &["daemon", "start"], &["show", "x"]] {
        let mut command = home.command(args);
        command.env("LEGWORK_BIN", &program);
        let ended = ran(command).with_code(6);
        assert!(ended.err.contains("no memory for the engine"), "{ended:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn p7_with_json_a_remark_is_a_line_of_json_too() {
    let home = Home::new();
    let (mut busy, listener) = stand_in(&home, "while :; do :; done", |_| {});
    let mut list = home.command(["list", "--json"]).spawn().unwrap();
    let mut stream = accepted(&listener);
    let mut said = Lines::of(list.stderr.take().unwrap());
    let line = said.next().unwrap();
    let remark: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(remark["warning"].as_str().unwrap().contains("Still waiting."), "{line}");
    stream.write_all(b"{\"type\":\"bye\",\"why\":\"Not today.\"}\n").unwrap();
    let line = said.next().unwrap();
    let error: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(error["error"]["text"].as_str().unwrap().contains("Not today."), "{line}");
    assert_eq!(ended(&mut list).code(), Some(6));
    busy.kill().unwrap();
    ended(&mut busy);
}

#[cfg(target_os = "linux")]
#[test]
fn x2_who_cancels_everything_asks_for_the_unfinished_tasks_alone() {
    let home = Home::new();
    let (mut daemon, listener) = stand_in(&home, "exec cat", |_| {});
    let cancel = home.command(["cancel", "--all", "--yes"]).spawn().unwrap();
    let mut stream = accepted(&listener);
    let hello = serde_json::json!({
        "type": "hello",
        "version": legwork_protocol::line::LINE_VERSION,
        "build": env!("CARGO_PKG_VERSION"),
        "tools": [],
    });
    writeln!(stream, "{hello}").unwrap();
    let mut heard = Lines::of(stream.try_clone().unwrap());
    let asked = std::iter::from_fn(|| heard.next()).find(|line| line.contains("\"list\""));
    stream.write_all(b"{\"type\":\"bye\",\"why\":\"Not today.\"}\n").unwrap();
    assert_eq!(output_of(cancel).status.code(), Some(6));
    let asked = asked.unwrap();
    assert!(asked.contains("\"status\":\"running\""), "{asked}");
    daemon.kill().unwrap();
    ended(&mut daemon);
}
