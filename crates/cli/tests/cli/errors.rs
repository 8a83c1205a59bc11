//! What a person and a program are told when a command does not do what was asked.

use legwork_testkit::legwork::{Home, ran};
use serde_json::Value;

fn error(home: &Home, args: &[&str], code: i32) -> Value {
    let ran = ran(home.command(args)).with_code(code);
    assert_eq!(ran.out, "", "{args:?}");
    let last = ran.err.lines().last().unwrap_or_default();
    let said: Value = serde_json::from_str(last).unwrap_or_else(|why| panic!("{why}: {ran:?}"));
    assert_eq!(said["error"]["exit_code"], code, "{said}");
    said["error"].clone()
}

#[test]
fn p7_with_json_an_error_is_one_json_object_on_stderr() {
    let home = Home::new();
    let text = |args: &[&str], code| error(&home, args, code)["text"].as_str().unwrap().to_owned();
    assert!(text(&["show", "zzz", "--json"], 1).contains("There is no task yet"));
    assert!(text(&["--json", "list", "--status", "done"], 2).contains("completed"));
    assert!(text(&["lst", "--json"], 2).contains("list"));
    assert!(text(&["--json", "-C", "/no/such/folder", "list"], 2).contains("/no/such/folder"));
    assert!(text(&["top", "--json"], 2).contains("prints no JSON"));
    assert!(text(&["demo", "--json"], 2).contains("people"));
    let denied = error(&home, &["show", "bg_00000000", "--json"], 1);
    assert!(denied["refusal"].is_object() || denied["refusal"].is_string(), "{denied}");
    // After `--` it is a prompt.
    let plain = ran(home.command(["resume", "zzz", "--", "--json"])).with_code(1);
    assert!(plain.err.starts_with("legwork: "), "{plain:?}");
}

#[test]
fn p7_who_names_a_task_by_something_else_is_told_what_was_meant() {
    let home = Home::new();
    let said = |typed: &str| home.run(["output", typed]).with_code(1).err;
    assert!(said("b").contains("There is no task yet"), "{}", said("b"));
    for what in ["look at the tests", "look at the docs"] {
        let run = ["run", "--agent", "rehearsal", "--description", what, "say x"];
        home.run(run).with_code(0);
    }
    let all = home.run(["list", "--json"]).with_code(0).out;
    for every in ["b", "bg", "bg_", "BG_"] {
        // An id that goes on with it is meant.
        if !all.contains(&format!("\"bg_{every}")) {
            assert!(said(every).contains("Every id begins with bg_"), "{}", said(every));
        }
    }
    let none = said("zzz");
    assert!(none.contains("No id begins with bg_zzz") && none.contains("legwork list"), "{none}");
    let by_words = said("tests");
    assert!(
        by_words.contains("did you mean bg_") && by_words.contains("look at the tests"),
        "{by_words}"
    );
    let both = said("look at");
    assert!(both.contains("look at the tests") && both.contains("look at the docs"), "{both}");
}

#[test]
fn p7_the_commands_that_are_hinted_at_work_word_for_word() {
    let home = Home::new();
    for script in ["say done", "fail broken"] {
        let task = home.run(["run", "--agent", "rehearsal", "--detach", script]).with_code(0).out;
        let task = task.trim();
        home.run(["wait", task]);
        let shown = home.run(["show", task]).with_code(0).out;
        let hints: Vec<&str> = shown.lines().filter(|line| line.starts_with("legwork ")).collect();
        assert!(hints.len() >= 4, "{shown}");
        for hint in hints {
            let command = hint.split("  ").next().unwrap();
            let legwork = env!("CARGO_BIN_EXE_legwork");
            let mut shell = home.command_of(
                "/bin/sh".as_ref(),
                ["-c", &format!("legwork() {{ {legwork:?} \"$@\"; }}; {command}")],
            );
            shell.current_dir(home.path(""));
            let ran = ran(shell);
            assert_ne!(ran.code, 2, "{hint}: {ran:?}");
        }
    }
}
