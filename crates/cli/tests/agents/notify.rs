//! A person who is elsewhere is told of ends and questions by a program of theirs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use legwork_testkit::legwork::{Home, eventually, ran};
use serde_json::Value;

use crate::running::until_finished;

fn program(home: &Home, name: &str, script: &str) -> PathBuf {
    let path = home.path(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A home whose settings name a program that keeps each event in a file of its own.
fn told(more: &str) -> Home {
    let home = Home::new();
    fs::create_dir(home.path("told")).unwrap();
    let folder = home.path("told");
    let script = format!(
        "cat > {0}/draft.$$; env > {0}/env; mv {0}/draft.$$ {0}/$1.$$.json",
        folder.display()
    );
    let command = program(&home, "tell", &script);
    home.configure(&format!("[notify]\ncommand = [{:?}, \"event\"]\n{more}", command.display()));
    home
}

fn events(home: &Home) -> Vec<Value> {
    let files = fs::read_dir(home.path("told")).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    files.map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect()
}

fn launch(home: &Home, script: &str) -> String {
    let mut command = home.command(["run", "--agent", "rehearsal", "--detach", script]);
    command.env("SECRET_API_KEY", "not-for-this-program");
    ran(command).with_code(0).out.trim().to_owned()
}

fn log(home: &Home) -> String {
    fs::read_to_string(home.path("legwork/daemon.log")).unwrap()
}

#[test]
fn d5_an_end_is_told_once_in_words_first_and_without_the_keys_of_whoever_started_the_daemon() {
    let home = told("");
    let task = launch(&home, "say what was found");
    let told = eventually("it is told", || Some(events(&home)).filter(|all| !all.is_empty()));
    let [event] = &told[..] else { panic!("{told:#?}") };
    let text = event["text"].as_str().unwrap();
    assert!(text.starts_with("Completed: say what was found (rehearsal, "), "{text}");
    assert_eq!((&event["event"], &event["status"]), (&"end".into(), &"completed".into()));
    assert_eq!((&event["task"], &event["detail"]), (&task.into(), &"what was found".into()));
    let environment = fs::read_to_string(home.path("told/env")).unwrap();
    assert!(environment.contains("HOME=") && environment.contains("PATH="), "{environment}");
    assert!(!environment.contains("not-for-this-program"), "{environment}");
    // A daemon that is killed and comes again does not tell it again.
    home.run(["daemon", "stop", "--yes"]).with_code(0);
    let other = launch(&home, "fail because of this");
    let told = eventually("the next is told", || Some(events(&home)).filter(|all| all.len() > 1));
    let failed = told.iter().find(|event| event["task"] == other).unwrap();
    let text = failed["text"].as_str().unwrap();
    assert!(text.starts_with("Failed: ") && text.contains("because of this"), "{text}");
    assert_eq!(told.len(), 2, "{told:#?}");
}

#[test]
fn d5_a_question_is_told_with_its_subject() {
    let home = told("on = [\"question\"]\n");
    let task = launch(&home, "ask to run ls");
    let told = eventually("it is told", || Some(events(&home)).filter(|all| !all.is_empty()));
    let [event] = &told[..] else { panic!("{told:#?}") };
    assert_eq!((&event["event"], &event["task"]), (&"question".into(), &task.as_str().into()));
    let text = event["text"].as_str().unwrap();
    assert!(text.contains(" asks"), "{text}");
    assert!(!event["question"]["subject"].as_str().unwrap().is_empty(), "{event}");
    // The end is not among what is asked for.
    home.run(["cancel", &task]).with_code(0);
    until_finished(&home, &task);
    home.run(["run", "--agent", "rehearsal", "say hello"]).with_code(0);
    assert_eq!(events(&home).len(), 1);
}

#[test]
fn g3_a_program_that_fails_or_is_not_there_is_in_the_log_alone() {
    let home = Home::new();
    let failing = program(&home, "tell", "echo 'no network' >&2; exit 3");
    home.configure(&format!("[notify]\ncommand = [{:?}]\n", failing.display()));
    home.run(["run", "--agent", "rehearsal", "say hello"]).with_code(0);
    eventually("it is in the log", || log(&home).contains("no network").then_some(()));
    fs::write(home.path("legwork/config.toml"), "[notify]\ncommand = [\"/nowhere/x\"]\n").unwrap();
    home.run(["run", "--agent", "rehearsal", "say hello"]).with_code(0);
    eventually("it is in the log", || log(&home).contains("/nowhere/x").then_some(()));
}

#[test]
fn g3_a_program_that_hangs_keeps_nobody_waiting() {
    let home = Home::new();
    let began = home.path("began");
    let script = format!("echo >> {}; exec sleep 600", began.display());
    let hangs = program(&home, "tell", &script);
    home.configure(&format!("[notify]\ncommand = [{:?}]\n", hangs.display()));
    home.run(["run", "--agent", "rehearsal", "say hello"]).with_code(0);
    eventually("it has begun", || began.exists().then_some(()));
    // While it hangs, everything goes on.
    home.run(["run", "--agent", "rehearsal", "say hello"]).with_code(0);
    home.run(["list"]).with_code(0);
    eventually("it is ended", || log(&home).contains("was ended").then_some(()));
}

#[cfg(target_os = "linux")]
#[test]
fn d5_the_desktop_shows_it_where_there_is_one() {
    let home = Home::new();
    let shown = home.path("shown");
    let script = format!("printf '%s\\n' \"$@\" > {0}.new; mv {0}.new {0}", shown.display());
    fs::create_dir(home.path("bin")).unwrap();
    program(&home, "bin/notify-send", &script);
    home.configure("[notify]\ndesktop = true\n");
    let mut command = home.command(["run", "--agent", "rehearsal", "say <b>this</b> & that"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
    ran(command).with_code(0);
    let text = eventually("it is shown", || fs::read_to_string(Path::new(&shown)).ok());
    assert!(text.contains("Completed: say &lt;b>this&lt;/b> &amp; that"), "{text}");
}
