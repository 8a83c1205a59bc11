//! A person has tasks go on.

use legwork_testkit::legwork::{Home, Ran, eventually, ran};
use serde_json::json;

use crate::running::{
    Running, kill_daemon, launch, until_all_is_told, until_asked, until_finished,
};

/// What comes of a command when the session of a task that was cancelled has been stopped.
fn once_stopped(home: &Home, args: &[&str]) -> Ran {
    eventually("it is stopped", || {
        let ran = ran(home.command(args));
        (!ran.err.contains("is still being stopped")).then_some(ran)
    })
}

#[test]
fn p1_a_person_goes_on_with_what_completed_failed_or_was_cancelled() {
    let home = Home::new();
    let completed = launch(&home, "say the milk");
    let failed = launch(&home, "say the milk\nfail no luck");
    let cancelled = launch(&home, "say the milk\nask to go on");
    until_asked(&home, &cancelled);
    home.run(["cancel", &cancelled]).with_code(0);
    for (task, status) in [(completed, "completed"), (failed, "error"), (cancelled, "cancelled")] {
        until_finished(&home, &task);
        assert_eq!(home.run(["show", &task, "--json"]).json()["status"], status);
        let ran = once_stopped(&home, &["resume", &task[3..], "recall"]).with_code(0);
        assert!(ran.out.contains("the milk"), "{status}: {ran:?}");
        assert!(ran.err.contains("Resumed: say the milk") && ran.err.contains(&task), "{ran:?}");
        let shown = home.run(["show", &task, "--json"]).json();
        assert_eq!((&shown["status"], &shown["resumes"]), (&"completed".into(), &1.into()));
    }
    // Whoever sat there and saw it is not told again.
    until_all_is_told(&home);
    let listed = home.run(["list"]).with_code(0);
    assert!(!listed.err.contains("legwork output"), "{listed:?}");
}

#[test]
fn p1_a_task_that_was_cut_off_goes_on() {
    let home = Home::new();
    home.configure("[recovery]\ninterrupted = \"fail\"\n");
    let mut command = home.command(["run", "--agent", "rehearsal", "say the milk\nask to go on"]);
    command.env("LEGWORK_LINGER_MS", "600000");
    let mut running = Running::start(command);
    let task = running.launched();
    running.until("asks for a permission");
    kill_daemon(&home);
    let ran = running.ends().with_code(3);
    assert!(ran.err.contains("nterrupted"), "{ran:?}");
    let ran = home.run(["resume", &task, "recall"]).with_code(0);
    assert!(ran.out.contains("the milk"), "{ran:?}");
}

#[test]
fn p1_one_that_is_not_waited_for_is_told_later() {
    let home = Home::new();
    let task = launch(&home, "say one");
    until_finished(&home, &task);
    until_all_is_told(&home);
    home.run(["mail"]).with_code(0);
    let ran = home.run(["resume", &task, "--detach", "say two", "--json"]).with_code(0);
    assert_eq!(ran.json()[0]["id"], task);
    until_finished(&home, &task);
    until_all_is_told(&home);
    let listed = home.run(["list"]).with_code(0);
    assert!(listed.err.contains(&format!("legwork output {task}")), "{listed:?}");
    assert_eq!(home.run(["output", &task]).with_code(0).out, "two\n");
}

#[test]
fn p1_what_cannot_go_on_is_refused_in_a_persons_words() {
    let home = Home::new();
    let task = launch(&home, "ask to go on");
    let busy = home.run(["resume", &task, "say two"]).with_code(1);
    assert!(busy.err.contains("still at work"), "{busy:?}");
    let unknown = home.run(["resume", "bg_00000000", "say two"]).with_code(1);
    assert!(unknown.err.contains("legwork list"), "{unknown:?}");
    assert!(!unknown.err.contains("background_"), "{unknown:?}");
    home.run(["resume", &task, " "]).with_code(2);
    home.run(["cancel", &task]).with_code(0);
}

#[test]
fn p1_what_failed_or_was_cancelled_tries_its_own_prompt_again() {
    let home = Home::new();
    let script = "recall\nfail broken";
    let run = ["run", "--agent", "rehearsal", "--detach", "--description", "mine", script];
    let task = home.run(run).with_code(0).out.trim().to_owned();
    home.run(["wait", &task]).with_code(3);
    let retried = home.run(["retry", &task]).with_code(3);
    assert!(retried.err.contains("broken"), "{retried:?}");
    let shown = home.run(["show", &task, "--json"]).with_code(0).json();
    assert_eq!((&shown["resumes"], &shown["description"]), (&json!(1), &json!("mine")));
    let prompts = [0, 1].map(|run| shown["runs"][run]["prompt"].as_str().unwrap().to_owned());
    assert_eq!(prompts, [script, script]);

    let slow = ["run", "--agent", "rehearsal", "--detach", "tool x for 600s"];
    let slow = home.run(slow).with_code(0).out.trim().to_owned();
    let still = home.run(["retry", &slow]).with_code(1);
    assert!(still.err.contains("is still working"), "{still:?}");
    home.run(["cancel", &slow]).with_code(0);
    let again = once_stopped(&home, &["retry", &slow, "--detach"]).with_code(0);
    assert_eq!(again.out.trim(), slow);
    home.run(["cancel", &slow]).with_code(0);

    let done = home.run(["run", "--agent", "rehearsal", "--detach", "say x"]).with_code(0).out;
    home.run(["wait", done.trim()]).with_code(0);
    let refused = home.run(["retry", done.trim()]).with_code(1);
    assert!(refused.err.contains("has completed"), "{refused:?}");
}

#[test]
fn p1_what_never_had_a_session_is_launched_anew() {
    let home = Home::new();
    home.configure("[agents.ends]\ncommand = [\"false\"]\n");
    let task = home.run(["run", "--agent", "ends", "--detach", "say x"]).with_code(0).out;
    home.run(["wait", task.trim()]).with_code(3);
    let rehearsal =
        format!("[agents.ends]\ncommand = [{:?}, \"rehearsal\"]\n", env!("CARGO_BIN_EXE_legwork"));
    std::fs::write(home.path("legwork/config.toml"), rehearsal).unwrap();
    let retried = home.run(["retry", task.trim()]).with_code(0);
    assert!(retried.out.contains('x'), "{retried:?}");
}

#[test]
fn p11_output_and_retry_say_what_a_task_asks_or_waits_for() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 1\n");
    let asks = home.launch("Clean up", "ask rm x");
    until_asked(&home, &asks);
    let queued = home.launch("Second", "say second");
    eventually("it is queued", || {
        let listed = home.run(["list", "--status", "queued"]).with_code(0).out;
        listed.contains(&queued).then_some(())
    });
    for command in ["output", "retry"] {
        let said = home.run([command, &asks]).with_code(1).err;
        assert!(said.contains("Clean up asks for a permission: rm x"), "{said}");
        assert!(said.contains(&format!("legwork answer {asks} once --question 1")), "{said}");
        assert!(!said.contains("legwork wait"), "it would not end: {said}");
        let said = home.run([command, &queued]).with_code(1).err;
        assert!(said.contains("is still queued"), "{said}");
        assert!(said.contains(&format!("legwork wait {queued}")), "{said}");
    }
    home.run(["cancel", "--all", "--yes"]).with_code(0);
}
