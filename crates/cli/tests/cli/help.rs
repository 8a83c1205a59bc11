//! What a newcomer reads first.

use std::process::Command;

use legwork_testkit::legwork::Home;

/// For other programs.
const HIDDEN: [&str; 4] = ["bridge", "complete", "hook", "rehearsal"];
const COMMANDS: [&str; 31] = [
    "demo",
    "install",
    "uninstall",
    "update",
    "doctor",
    "run",
    "resume",
    "retry",
    "agents",
    "list",
    "show",
    "output",
    "transcript",
    "wait",
    "watch",
    "ui",
    "top",
    "log",
    "cost",
    "mail",
    "man",
    "answer",
    "cancel",
    "clear",
    "config",
    "daemon",
    "completions",
    "complete",
    "bridge",
    "hook",
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
        let is_it = |line: &str| line.split_whitespace().next() == Some(command);
        let listed = help.lines().any(is_it);
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
        assert!(script.contains("legwork complete"), "{shell}");
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

#[test]
fn help_can_be_asked_for_in_every_way_and_other_names_are_in_it() {
    let home = Home::new();
    let help = home.run(["help"]).with_code(0).out;
    assert_eq!(help, home.run(["--help"]).with_code(0).out);
    assert_eq!(home.run(["help", "list"]).with_code(0).out, home.run(["list", "--help"]).out);
    for (name, other) in [("list", "ps"), ("log", "logs"), ("clear", "rm"), ("cancel", "stop")] {
        let line = help.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some_and(|line| line.contains(other)), "{name}: {help}");
        home.run([other, "--help"]).with_code(0);
    }
}

#[test]
fn p9_completion_knows_tasks_and_never_starts_a_daemon() {
    let home = Home::new();
    let none = home.run(["complete", "bash", "--", "show", ""]).with_code(0);
    assert_eq!((none.out.as_str(), none.err.as_str()), ("", ""));
    home.run(["daemon", "status"]).with_code(6);
    let task = home.run(["run", "--agent", "rehearsal", "--detach", "say a: b"]).with_code(0).out;
    let task = task.trim();
    home.run(["wait", task, "--json"]).with_code(0);
    let ids = home.run(["complete", "bash", "--", "show", "bg_"]).with_code(0);
    assert_eq!((ids.out.trim(), ids.err.as_str()), (task, ""));
    let described = home.run(["complete", "fish", "--", "show", ""]).with_code(0).out;
    assert_eq!(described, format!("{task}\tcompleted: say a: b\n"));
    // As the shell itself would ask.
    let script = home.path("legwork.bash");
    std::fs::write(&script, home.run(["completions", "bash"]).with_code(0).out).unwrap();
    let legwork = env!("CARGO_BIN_EXE_legwork");
    let ask = format!(
        "legwork() {{ {legwork:?} \"$@\"; }}; . {script:?}; COMP_WORDS=(legwork wait bg); \
         COMP_CWORD=2; _legwork; echo \"${{COMPREPLY[@]}}\""
    );
    let mut bash = Command::new("bash");
    let environment = home.command([""; 0]);
    let set = environment.get_envs().filter_map(|(name, value)| Some((name, value?)));
    bash.args(["--norc", "-c", &ask]).env_clear().envs(set);
    let said = String::from_utf8(bash.output().unwrap().stdout).unwrap();
    assert_eq!(said.trim(), task);
}

#[test]
fn a_command_can_be_run_as_if_in_another_folder() {
    let home = Home::new();
    std::fs::create_dir(home.path("elsewhere")).unwrap();
    let there = home.path("elsewhere");
    let run = ["-C", there.to_str().unwrap(), "run", "--agent", "rehearsal", "say x"];
    home.run(run).with_code(0);
    let listed = home.run(["list", "--json"]).json();
    assert_eq!(listed["tasks"][0]["directory"], there.to_str().unwrap());
    let wrong = home.run(["list", "-C", "/no/such/folder"]).with_code(2);
    assert!(wrong.err.contains("/no/such/folder"), "{wrong:?}");
}

#[test]
fn i2_there_is_a_manual_page_for_each_command() {
    let home = Home::new();
    let folder = home.path("man/man1");
    home.run(["man", folder.to_str().unwrap()]).with_code(0);
    for command in COMMANDS.iter().filter(|command| !HIDDEN.contains(command)) {
        let page = std::fs::read_to_string(folder.join(format!("legwork-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Example"), "{command}: {page}");
    }
    let first = std::fs::read_to_string(folder.join("legwork.1")).unwrap();
    assert!(first.contains("Exit codes") && first.contains("legwork\\-run(1)"), "{first}");
    for hidden in HIDDEN {
        assert!(!folder.join(format!("legwork-{hidden}.1")).exists(), "{hidden}");
    }
}
