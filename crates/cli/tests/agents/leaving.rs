//! Ending a `legwork run` before its helpers have: they go on.

use legwork_testkit::legwork::{Home, eventually};
use rustix::process::Signal;

use crate::running::{Running, until_asked};

fn leave(signal: Signal, code: i32) {
    let home = Home::new();
    let prompts = ["run", "--agent", "rehearsal", "ask a\nsay one", "ask b\nsay two"];
    let mut running = Running::start(home.command(prompts));
    let tasks = [running.launched(), running.launched()];
    running.signal(signal);
    let left = running.ends().with_code(code);
    assert!(left.out.is_empty(), "{left:?}");
    let again = left.err.lines().find(|line| line.contains("legwork wait")).unwrap();
    for task in &tasks {
        assert!(again.contains(task.as_str()), "{left:?}");
        let shown = home.run(["show", task, "--json"]).json();
        assert_eq!(shown["status"], "running");
        eventually("it asks", || {
            let shown = home.run(["show", task, "--json"]).json();
            (shown["questions"] != serde_json::json!([])).then_some(())
        });
        home.run(["answer", task, "once"]).with_code(0);
    }
    home.run(["wait", &tasks[0], &tasks[1]]).with_code(0);
}

#[test]
fn k3_without_a_terminal_an_interrupt_leaves_the_helpers_running() {
    leave(Signal::INT, 130);
}

#[test]
fn k3_being_told_to_end_leaves_the_helpers_running() {
    leave(Signal::TERM, 143);
}

#[test]
fn k3_who_stops_the_daemon_is_asked_and_told_which_helpers_end_and_what_becomes_of_them() {
    for (settings, becomes) in [
        ("", "the next daemon has it go on"),
        ("[recovery]\ninterrupted = \"fail\"\n", "it fails (recovery.interrupted)"),
    ] {
        let home = Home::new();
        home.configure(settings);
        let task = home.launch("Clean up", "ask a\nsay one");
        until_asked(&home, &task);
        let asks = home.run(["daemon", "stop"]).with_code(2).err;
        let said = format!("1 helper on an agent over ACP ends with the daemon, and {becomes}.");
        assert!(asks.contains(&said) && asks.contains("End the daemon?"), "{asks}");
        assert!(asks.contains("--yes"), "{asks}");
        assert_eq!(home.status(&task), "running");
        home.run(["cancel", &task]).with_code(0);
    }
}
