//! Ending a `legwork run` before its helpers have: they go on.

use legwork_testkit::legwork::{Home, eventually};
use rustix::process::Signal;

use crate::running::Running;

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
