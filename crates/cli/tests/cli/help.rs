//! What a newcomer reads first.

use std::process::Command;

use crate::home::Home;

/// For other programs.
const HIDDEN: [&str; 2] = ["bridge", "rehearsal"];
const COMMANDS: [&str; 20] = [
    "demo",
    "install",
    "uninstall",
    "doctor",
    "run",
    "agents",
    "list",
    "show",
    "output",
    "wait",
    "watch",
    "log",
    "cost",
    "answer",
    "cancel",
    "clear",
    "daemon",
    "completions",
    "bridge",
    "rehearsal",
];

#[test]
fn every_command_teaches_itself() {
    let home = Home::new();
    insta::assert_snapshot!("legwork", home.run(["--help"]).with_code(0).out);
    for command in COMMANDS {
        let help = home.run([command, "--help"]).with_code(0).out;
        insta::assert_snapshot!(command, help);
        assert!(HIDDEN.contains(&command) || help.contains("Example"), "{help}");
    }
}

#[test]
fn every_command_is_in_the_short_help_but_the_plugins() {
    let help = Home::new().run(["-h"]).with_code(0).out;
    for command in COMMANDS {
        let listed = help.lines().any(|line| line.trim_start().starts_with(command));
        assert_eq!(listed, !HIDDEN.contains(&command), "{command}\n{help}");
    }
}

#[test]
fn wrong_usage_is_code_two_and_says_what_is_right() {
    let home = Home::new();
    home.run([]).with_code(2);
    let ran = home.run(["lst"]).with_code(2);
    assert!(ran.err.contains("list"), "{ran:?}");
    let ran = home.run(["list", "--status", "done"]).with_code(2);
    assert!(ran.err.contains("completed"), "{ran:?}");
    home.run(["wait"]).with_code(2);
    home.run(["wait", "x", "--timeout", "soon"]).with_code(2);
    home.run(["clear", "abc", "--finished"]).with_code(2);
}

#[test]
fn completions_are_scripts_that_their_shells_can_read() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(["completions", shell]).with_code(0).out;
        assert!(script.contains("uninstall"), "{shell}");
        let file = home.path(&format!("legwork.{shell}"));
        std::fs::write(&file, &script).unwrap();
        // `-n` reads without doing. A shell that is not installed cannot be asked.
        if let Ok(read) = Command::new(shell).arg("-n").arg(&file).output() {
            assert!(read.status.success(), "{shell}: {read:?}");
        }
    }
    let json = home.run(["completions", "bash", "--json"]).with_code(0).json();
    assert_eq!(json["shell"], "bash");
}
