//! Two real builds, this version and the next one, on one machine with one store. The next one is
//! built by `cargo xtask upgrade`, which runs this; without it nothing can be shown.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use legwork_testkit::legwork::{Home, Host, Ran, eventually, ran};
use serde_json::Value;

const OLDER: &str = env!("CARGO_BIN_EXE_legwork");

/// The next version, installed in a home: to be replaced and removed there.
struct Newer<'a> {
    home: &'a Home,
    program: PathBuf,
}

impl<'a> Newer<'a> {
    fn installed(home: &'a Home) -> Self {
        let newer = Self { home, program: home.path("newer-legwork") };
        newer.install();
        newer
    }

    /// As an installer does it, by another name first: a program that runs cannot be written to.
    fn install(&self) {
        let built = std::env::var_os("LEGWORK_TEST_NEWER").expect("run it by cargo xtask upgrade");
        let draft = self.home.path("draft");
        // By another process: while a thread of this one starts something, a file that was written
        // here counts as still open.
        assert!(Command::new("cp").arg(built).arg(&draft).status().unwrap().success());
        fs::rename(draft, &self.program).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        self.home.command_of(&self.program, args)
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args))
    }

    /// Runs it in an environment in which a command works and a daemon cannot start.
    fn run_in_need(&self, args: &[&str]) -> Ran {
        let limited = format!("ulimit -n {FILES}; exec \"$0\" \"$@\"");
        let words = ["-c", &limited, self.program.to_str().unwrap()];
        ran(self.home.command_of(Path::new("/bin/sh"), words.iter().chain(args)))
    }
}

/// Open files: more than a command has, and fewer than a daemon.
const FILES: u32 = 12;

/// The daemon that is there, as the older one sees it.
fn daemon(home: &Home) -> Value {
    home.run(["daemon", "status", "--json"]).json()["daemon"].clone()
}

/// The program that is the daemon.
fn program(home: &Home) -> PathBuf {
    fs::read_link(format!("/proc/{}/exe", daemon(home)["pid"])).unwrap()
}

fn until_all_is_told(home: &Home) {
    eventually("nothing is left to do", || {
        let daemon = daemon(home);
        (daemon["unfinished"] == 0 && daemon["pending"] == 0).then_some(())
    });
}

/// What the launching session was told has this once and nothing else.
#[track_caller]
fn is_told_once(host: &Host, task: &str, found: &str) {
    let told = host.told();
    assert_eq!(told.len(), 1, "{told:?}");
    let text = told[0].to_string();
    assert!(text.contains(task) && text.contains(found), "{text}");
}

fn launch(home: &Home, script: &str) -> String {
    let run = ["run", "--agent", "rehearsal", "--detach", "--json", script];
    home.run(run).with_code(0).json()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn i3_an_upgrade_while_helpers_are_at_work_loses_nothing_and_tells_once() {
    let home = Home::new();
    let newer = Newer::installed(&home);
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("count the files");
    let own = launch(&home, "ask to go on\nsay gone on");
    let before = daemon(&home);
    // Helpers are at work, so the older one stays, and the newer one works with it.
    let listed = newer.run(&["list", "--json"]).with_code(0).json();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2, "{listed}");
    eventually("it asks", || {
        let shown = newer.run(&["show", &own, "--json"]).json();
        shown["questions"].get(0).cloned()
    });
    newer.run(&["answer", &own, "once"]).with_code(0);
    newer.run(&["wait", &own]).with_code(0);
    assert_eq!(daemon(&home)["pid"], before["pid"], "one helper is still at work");
    host.finish(&session, "seven files");
    newer.run(&["wait", &task]).with_code(0);
    // Now it makes way for the next command of the newer one, if it has not already.
    eventually("the newer one is the daemon", || {
        newer.run(&["list"]).with_code(0);
        (program(&home) == newer.program).then_some(())
    });
    host.connect_again(newer.command(&["bridge", "opencode"]));
    until_all_is_told(&home);
    is_told_once(&host, &task, "seven files");
    let found = newer.run(&["output", &own]).with_code(0).out;
    assert!(found.ends_with("gone on\n"), "{found}");
    assert_eq!(home.run(["output", &task]).with_code(0).out, "seven files\n");
    // What was told stays told when a daemon starts again.
    newer.run(&["daemon", "stop"]).with_code(0);
    host.connect_again(newer.command(&["bridge", "opencode"]));
    until_all_is_told(&home);
    is_told_once(&host, &task, "seven files");
}

#[test]
fn i3_after_a_downgrade_while_helpers_are_at_work_the_newest_still_runs_the_daemon() {
    let home = Home::new();
    let newer = Newer::installed(&home);
    let mut host = Host::connect_by(newer.command(&["bridge", "opencode"]));
    let (task, session) = host.launch("count the files");
    let first = daemon(&home);
    assert_eq!(program(&home), newer.program);
    // The window is closed and comes back with the older one, which starts no older daemon.
    home.run(["daemon", "stop", "--yes"]).with_code(0);
    host.connect_again(home.command(["bridge", "opencode"]));
    assert_ne!(daemon(&home)["pid"], first["pid"]);
    assert_eq!(program(&home), newer.program);
    host.finish(&session, "seven files");
    home.run(["wait", &task]).with_code(0);
    until_all_is_told(&home);
    is_told_once(&host, &task, "seven files");
    // Nothing is at work, and still no older one takes over.
    let second = daemon(&home);
    home.run(["list"]).with_code(0);
    assert_eq!(daemon(&home)["pid"], second["pid"]);
    // Without the newer one the older one runs what it can read.
    home.run(["daemon", "stop"]).with_code(0);
    fs::remove_file(&newer.program).unwrap();
    host.connect_again(home.command(["bridge", "opencode"]));
    assert_eq!(program(&home), Path::new(OLDER));
    assert_eq!(home.run(["output", &task]).with_code(0).out, "seven files\n");
    until_all_is_told(&home);
    is_told_once(&host, &task, "seven files");
}

#[test]
fn i3_a_newer_one_that_cannot_start_ends_the_older_one_once() {
    let home = Home::new();
    let newer = Newer::installed(&home);
    home.run(["daemon", "start"]).with_code(0);
    let failed = newer.run_in_need(&["list"]).with_code(6);
    assert!(failed.err.contains("could not start"), "{failed:?}");
    home.run(["list"]).with_code(0);
    let works = daemon(&home);
    assert_eq!(program(&home), Path::new(OLDER));
    for _ in 0..3 {
        // It has an answer, and what works stays.
        newer.run_in_need(&["list"]).with_code(0);
        assert_eq!(daemon(&home)["pid"], works["pid"]);
    }
    newer.run(&["list"]).with_code(0);
    assert_eq!(daemon(&home)["pid"], works["pid"], "nobody knows yet that it would work now");
    newer.install();
    newer.run(&["list"]).with_code(0);
    assert_eq!(program(&home), newer.program, "what is installed again is another program");
}
