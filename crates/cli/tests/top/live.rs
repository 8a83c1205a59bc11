//! What is seen and done while helpers are at work.

use legwork_machine::process::{is_alive, process_mark};
use legwork_testkit::legwork::{Home, Shell, eventually};
use rustix::process::{Pid, Signal, kill_process};

const WIDE: (u16, u16) = (124, 38);
const NARROW: (u16, u16) = (80, 24);

/// Whether something is painted in a colour, and not only bold or faint.
fn has_colour(painted: &str) -> bool {
    let orders = painted.split("\u{1b}[").skip(1).filter_map(|piece| piece.split_once('m'));
    let is_colour =
        |code: &str| code.len() == 2 && (code.starts_with('3') || code.starts_with('9'));
    orders.flat_map(|(codes, _)| codes.split(';')).any(|code| is_colour(code) && code != "39")
}

#[test]
fn v4_a_launch_appears_its_question_is_answered_and_its_conversation_comes() {
    let home = Home::new();
    let terminal = Shell::run(&home, WIDE, "legwork top");
    terminal.until_has("Nobody is out on an errand.");
    let task = home.launch("Clean up", "say looking around\ntool read\nask rm x\nsay all clean");
    let parts = ["May it do this?", "looking around", "? 1 ask you", "▌? Clean up", "✓ read"];
    terminal.until("its question and conversation", |screen| {
        parts.iter().all(|part| screen.contains(part)) && screen.contains("waits for you")
    });
    // One that has just come takes no key, so it is pressed until it does.
    eventually("the answer is taken", || {
        terminal.keys(&["o"]);
        (home.status(&task) == "completed").then_some(())
    });
    let parts = ["✓ completed Clean up", "Allowed: rm x", "? 0 ask you"];
    terminal.until("its end", |screen| parts.iter().all(|part| screen.contains(part)));
    terminal.keys(&["2"]);
    terminal
        .until("its result", |screen| screen.contains("▸2 Result") && screen.contains("all clean"));
    terminal.keys(&["3"]);
    terminal.until("what happened", |screen| {
        screen.contains("3 What happened") && screen.contains("answered by a person")
    });
    terminal.keys(&["c"]);
    terminal.paste("say once more");
    terminal.until_has("Go on with: say once more");
    terminal.keys(&["Enter"]);
    terminal.until_has("(run 1)");
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v4_cancelling_asks_and_always_asks_and_clearing_names_the_number() {
    let home = Home::new();
    let task = home.launch("Goes on and on", "tool read for 600s");
    let done = home.launch("Is done", "say x");
    home.until_status(&done, "completed");
    let terminal = Shell::run(&home, NARROW, "legwork top");
    terminal.until_has("▌● Goes on and on");
    terminal.keys(&["x"]);
    terminal.until_has("Cancel this task?");
    terminal.keys(&["n"]);
    terminal.until("no dialog", |screen| !screen.contains("Cancel this task?"));
    assert_eq!(home.status(&task), "running");
    terminal.keys(&["x", "y"]);
    home.until_status(&task, "cancelled");
    terminal.until_has("– Goes on and on");
    terminal.keys(&["C"]);
    terminal.until_has("Forget 2 finished tasks?");
    terminal.keys(&["y"]);
    terminal.until_has("Nobody is out on an errand.");
    let left = home.run(["list", "--json"]).with_code(0).json();
    assert_eq!(left["total"], 0, "{left}");
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v4_a_failed_task_is_tried_again_with_its_own_prompt() {
    let home = Home::new();
    let task = home.launch("Fails", "fail no luck");
    home.until_status(&task, "error");
    let terminal = Shell::run(&home, NARROW, "legwork top");
    terminal.until_has("▌✗ Fails");
    terminal.keys(&["R"]);
    terminal.until_has("Try this again?");
    terminal.keys(&["y"]);
    terminal.until_has("Fails (run 1)");
    home.until_status(&task, "error");
    let prompts = home.run(["show", &task, "--full"]).with_code(0).out;
    assert_eq!(prompts.matches("fail no luck").count(), 2, "{prompts}");
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v4_a_task_is_launched_from_the_view_in_its_folder() {
    let home = Home::new();
    home.configure("[run]\nagent = \"rehearsal\"\n");
    let terminal = Shell::run(&home, NARROW, "legwork top");
    terminal.until_has("Nobody is out on an errand.");
    terminal.keys(&["n"]);
    terminal.until_has("New task for rehearsal in");
    terminal.paste("say hello from here");
    terminal.keys(&["Enter"]);
    terminal.until_has("▌✓ say hello from here");
    let tasks = home.run(["list", "--json"]).with_code(0).json();
    let listed = home.run(["run", "--detach", "say x"]).with_code(0);
    let other = home.run(["show", listed.out.trim(), "--json"]).with_code(0).json();
    let task = &tasks["tasks"][0];
    for same in ["agent", "directory"] {
        assert_eq!(task[same], other[same], "{task} {other}");
    }
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v4_one_half_below_a_hundred_columns_and_two_from_there_on() {
    let home = Home::new();
    let task = home.launch("Asks", "ask rm x");
    let terminal = Shell::run(&home, NARROW, "legwork top");
    let is_open = |screen: &str| screen.contains(&task) && screen.contains("May it do this?");
    terminal.until("the list alone", |screen| screen.contains("▌? Asks") && !is_open(screen));
    assert!(has_colour(&terminal.painted()), "{:?}", terminal.painted());
    terminal.keys(&["Enter"]);
    terminal.until("the task alone", |screen| is_open(screen) && !screen.contains("▌? Asks"));
    terminal.keys(&["Escape"]);
    terminal.until("the list again", |screen| screen.contains("▌? Asks") && !is_open(screen));
    terminal.resize((124, 30));
    terminal.until("both", |screen| screen.contains("▌? Asks") && is_open(screen));
    terminal.resize((60, 20));
    terminal.until("the list again", |screen| screen.contains("▌? Asks") && !is_open(screen));
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v4_who_waits_for_a_slot_is_said_to() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 1\n");
    home.launch("Has it", "tool read for 600s");
    home.launch("Waits for it", "say x");
    let terminal = Shell::run(&home, NARROW, "legwork top");
    terminal.until_has("Queued, 1 slot on each host");
    terminal.until_has("queued, next in line");
    terminal.keys(&["j", "3"]);
    terminal.until_has("all slots are in use");
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v8_a_killed_daemon_leaves_what_was_there_and_another_one_heals_it() {
    let home = Home::new();
    let task = home.launch("Is done", "say x");
    home.until_status(&task, "completed");
    let terminal = Shell::run(&home, WIDE, "legwork top");
    terminal.until_has("✓ Is done");
    let view = home.run(["daemon", "status", "--json"]).with_code(0).json();
    let pid = u32::try_from(view["daemon"]["pid"].as_u64().unwrap()).unwrap();
    let mark = process_mark(pid).unwrap();
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    eventually("the daemon is gone", || (!is_alive(&mark)).then_some(()));
    let after = home.launch("After it", "say y");
    home.until_status(&after, "completed");
    let parts = ["✓ After it", "✓ Is done", "live "];
    terminal.until("both, live", |screen| {
        parts.iter().all(|part| screen.contains(part)) && !screen.contains("reconnecting")
    });
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v7_what_a_helper_writes_does_not_reach_the_terminal_as_an_order() {
    let home = Home::new();
    let script = "say a\u{1b}kowned\u{1b}\\b\u{1b}[2Jc\u{202e}d\nask \u{1b}[31mrm x\u{1b}[0m";
    home.launch("Harm\u{1b}[2Jful", script);
    let terminal = Shell::run(&home, WIDE, "NO_COLOR=1 legwork top");
    let screen = terminal
        .until("its text", |screen| screen.contains("owned") && screen.contains("May it do this?"));
    assert!(screen.contains(" legwork "), "nothing was wiped: {screen}");
    assert!(!terminal.was_renamed());
    assert!(!has_colour(&terminal.painted()), "{:?}", terminal.painted());
    terminal.keys(&["q"]);
    terminal.until_left(0);
}

#[test]
fn v4_where_there_is_no_terminal_it_says_so() {
    let home = Home::new();
    let refused = home.run(["top"]).with_code(2);
    assert!(refused.err.contains("This is no terminal"), "{refused:?}");
    assert!(refused.err.contains("legwork list"), "{refused:?}");
    let refused = home.run(["top", "--json"]).with_code(2);
    assert!(refused.err.contains("legwork list --json"), "{refused:?}");
}
