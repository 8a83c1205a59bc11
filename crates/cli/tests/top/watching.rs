//! `legwork watch` on a terminal and in a pipe, and what `legwork log` leaves out.

use std::process::{Child, ChildStdout};

use legwork_testkit::Lines;
use legwork_testkit::legwork::{Home, Shell};
use serde_json::Value;

/// A watch in a pipe; it ends with this value.
struct Watching {
    child: Child,
    out: Lines<ChildStdout>,
}

impl Watching {
    /// Comes back when it watches.
    fn start(home: &Home, args: &[&str]) -> Self {
        home.run(["daemon", "start"]).with_code(0);
        let mut child = home.command([&["watch"], args].concat()).spawn().unwrap();
        let mut said = Lines::of(child.stderr.take().unwrap());
        said.until("it watches", |line| line.contains("Watching"));
        let out = Lines::of(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The lines up to the one that has this in it.
    fn until(&mut self, wanted: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.out.next().unwrap();
            let is_it = line.contains(wanted);
            lines.push(line);
            if is_it {
                return lines;
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Words of lines that are of use only to find a fault.
const DETAILS: [&str; 5] =
    ["sending the prompt", "prompt delivered", "end queued", ": sending", "opening"];

#[test]
fn v6_in_a_pipe_what_happens_is_told_in_a_persons_words() {
    let home = Home::new();
    let before = home.launch("Before", "say x");
    home.until_status(&before, "completed");
    let mut watching = Watching::start(&home, &[]);
    let task = home.launch("Clean up", "tool read\nask rm x\nsay done");
    let mut lines = watching.until("may it do this: rm x?");
    home.run(["answer", &task, "once"]).with_code(0);
    lines.extend(watching.until("✓ Clean up: completed after "));
    let failing = home.launch("Fails", "fail no credit");
    lines.extend(watching.until("✗ Fails: failed after "));
    home.run(["clear", "--yes", &task]).with_code(0);
    lines.extend(watching.until("Clean up: cleared"));
    let all = lines.join("\n");
    assert!(lines[0].contains("Clean up: launched for rehearsal in "), "{all}");
    assert!(all.contains("no credit"), "{all}");
    for line in &lines {
        assert!(line.ends_with(&task) || line.ends_with(&failing), "the id comes last: {line}");
        assert_eq!(line.as_bytes()[2], b':', "the time comes first: {line}");
    }
    for detail in DETAILS {
        assert!(!all.contains(detail), "{detail}: {all}");
    }
    assert!(!all.contains("Before"), "only what happens from now on: {all}");
}

#[test]
fn v6_with_verbose_every_decision_is_told() {
    let home = Home::new();
    let mut watching = Watching::start(&home, &["--verbose"]);
    let task = home.launch("Look around", "say x");
    let mut all = watching.until("notice of its end: sending");
    // A terminal has it when a command has shown it.
    home.run(["mail"]).with_code(0);
    all.extend(watching.until("notice of its end: delivered"));
    let all = all.join("\n");
    for detail in ["sending the prompt", "notice of its end queued", ": sending"] {
        assert!(all.contains(detail) && all.contains(&task), "{all}");
    }
}

#[test]
fn v6_programs_get_what_they_got_and_hear_what_is_a_detail() {
    let home = Home::new();
    let task = home.launch("Look around", "say x");
    home.until_status(&task, "completed");
    let log = home.run(["log", &task, "--json"]).with_code(0).json();
    let timeline = log["timeline"].as_array().unwrap();
    let of = |line: &str| {
        let found = timeline.iter().find(|one| one["line"].as_str().unwrap().starts_with(line));
        found.unwrap_or_else(|| panic!("{line}: {log}"))
    };
    assert_eq!(of("sending the prompt")["detail"], true);
    assert_eq!(of("completed after")["detail"], Value::Null);
    assert_eq!(of("launched as")["task"], task);
}

#[test]
fn v6_a_log_has_details_only_for_who_wants_them() {
    let home = Home::new();
    let task = home.launch("Look around", "say x");
    home.until_status(&task, "completed");
    let log = home.run(["log", &task]).with_code(0).out;
    assert!(
        log.contains("launched as \"Look around\"") && log.contains("completed after"),
        "{log}"
    );
    assert!(!log.contains("sending the prompt") && !log.contains(" queued"), "{log}");
    let verbose = home.run(["log", &task, "--verbose"]).with_code(0).out;
    assert!(verbose.contains("sending the prompt"), "{verbose}");
    assert!(verbose.lines().count() > log.lines().count());
}

#[test]
fn v6_on_a_terminal_the_tasks_are_a_table_that_changes_in_its_place() {
    let home = Home::new();
    let terminal = Shell::run(&home, (120, 20), "legwork watch");
    terminal.until_has("No tasks yet.");
    let task = home.launch("Clean up", "ask rm x\nsay done");
    let parts = ["may it do this: rm x?", "DESCRIPTION", "1 question, 1 unfinished"];
    terminal.until("its question", |screen| {
        parts.iter().all(|part| screen.contains(part)) && !screen.contains("No tasks yet.")
    });
    let done = home.launch("Is done", "say x");
    home.until_status(&done, "completed");
    terminal.until("unfinished ones first, and one table", |screen| {
        let at = |name: &str| screen.lines().position(|line| line.contains(name));
        let row = |id: &str| screen.lines().position(|line| line.starts_with(id));
        screen.contains("1 finished")
            && row(&task) < row(&done)
            && at("ID ").is_some()
            && screen.matches("DESCRIPTION").count() == 1
    });
    assert!(!terminal.is_alternate());
    home.run(["answer", &task, "once"]).with_code(0);
    terminal.until_has("0 questions, 0 unfinished, 2 finished");
    terminal.keys(&["C-c"]);
    let screen = terminal.until_left(130);
    assert!(screen.contains("Clean up") && screen.contains("completed"), "it stays: {screen}");
}

#[test]
fn v6_a_narrower_screen_takes_nothing_of_the_person_away() {
    let home = Home::new();
    let task = home.launch("Clean up", "say x");
    home.until_status(&task, "completed");
    let terminal = Shell::run(&home, (120, 20), "legwork watch");
    terminal.until_has("ACTIVITY");
    terminal.resize((70, 20));
    terminal.until("the narrow table", |screen| {
        let head = screen.lines().rev().find(|line| line.contains("DESCRIPTION"));
        head.is_some_and(|head| !head.contains("ACTIVITY"))
    });
    terminal.keys(&["C-c"]);
    terminal.until_has("code 130.");
    assert!(terminal.history().contains("before\n"), "{}", terminal.history());
}

#[test]
fn v6_more_tasks_than_rows_do_not_scroll_the_screen_away() {
    let home = Home::new();
    for number in 0..12 {
        home.launch(&format!("Task {number}"), "say x");
    }
    let terminal = Shell::run(&home, (120, 8), "legwork watch");
    let one_table = |wanted: &str| {
        terminal.until(wanted, |screen| {
            screen.contains(wanted) && screen.matches("DESCRIPTION").count() == 1
        });
    };
    one_table("12 finished");
    home.launch("The newest", "ask rm x");
    one_table("The newest");
    terminal.keys(&["C-c"]);
    terminal.until_has("code 130.");
}

#[test]
fn v6_figures_of_a_resumed_task_are_said_to_be_of_its_last_run() {
    let home = Home::new();
    let task = home.launch("Clean up", "tool read\ntool read\nsay one");
    home.until_status(&task, "completed");
    let mut watching = Watching::start(&home, &[]);
    home.run(["resume", &task, "tool read\nsay two", "--detach"]).with_code(0);
    let last = watching.until("Clean up: completed after ").pop().unwrap();
    let figures = "1 tool call in its last run";
    assert!(last.contains(figures), "{last}");
    let listed = home.run(["list"]).with_code(0).out;
    assert!(listed.contains(figures), "{listed}");
}

#[test]
fn v6_a_watch_says_who_asks_you_is_working_and_is_queued() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 2\n");
    let mut watching = Watching::start(&home, &[]);
    let terminal = Shell::run(&home, (120, 20), "legwork watch");
    let asks = home.launch("Clean up", "ask rm x");
    let working = home.launch("Look around", "tool read for 600s");
    let queued = home.launch("Wait for it", "say x");
    terminal.until("each in its word", |screen| {
        [(&asks, "asks you"), (&working, "working"), (&queued, "queued")].iter().all(
            |(task, word)| {
                screen.lines().any(|line| line.starts_with(task.as_str()) && line.contains(word))
            },
        )
    });
    watching.until("○ Wait for it: queued");
    terminal.keys(&["C-c"]);
    terminal.until_left(130);
    home.run(["cancel", "--all", "--yes"]).with_code(0);
}
