//! `legwork demo`: the whole story, on real parts, and nothing left of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

use legwork_testkit::ended;
use legwork_testkit::legwork::{Home, eventually, ran};
use rustix::process::{Pid, Signal, kill_process};

/// The demo, whose home is among the temporary files of this home.
fn demo(home: &Home) -> Command {
    fs::create_dir(home.path("tmp")).unwrap();
    let mut demo = home.command(["demo", "--fast"]);
    demo.env("TMPDIR", home.path("tmp")).env_remove("LEGWORK_HOME");
    demo
}

fn leftovers(home: &Home) -> Vec<String> {
    let files = fs::read_dir(home.path("tmp")).unwrap().flatten();
    let files = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let there = home.path("tmp").display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let environment = String::from_utf8_lossy(&environment).into_owned();
        environment.contains(&format!("LEGWORK_HOME={there}")).then_some(environment)
    });
    files.chain(processes).collect()
}

#[test]
fn the_demo_shows_what_it_promises_and_leaves_nothing_behind() {
    let home = Home::new();
    let shown = ran(demo(&home)).with_code(0);
    let all = shown.out.replace('\n', " ");
    let mut rest = all.as_str();
    for told in [
        "$ legwork run --detach",
        "working",
        "$ legwork wait",
        "$ legwork output",
        "The program begins in src/main.rs",
        "the provider answered 503",
        "$ legwork resume",
        "I was asked 1 time before.",
        "$ legwork cancel",
        "$ kill -9",
        "Nothing was lost.",
        "its host ended; queued to continue",
        "$ legwork clear --yes",
        "legwork install opencode",
    ] {
        let at = rest.find(told).unwrap_or_else(|| panic!("{told:?} is not in: {rest}"));
        rest = &rest[at..];
    }
    // On a slow machine they end while somebody waits for them, and then they are no news.
    for news in ["✗ Review the last change failed: ", "✓ Count the tests ("] {
        assert!(all.matches(news).count() <= 1, "{news} in: {all}");
    }
    assert!(!all.contains('\u{1b}'), "no colours in a pipe");
    eventually("nothing is left", || leftovers(&home).is_empty().then_some(()));
}

#[test]
fn a_demo_that_is_broken_off_leaves_nothing_behind_either() {
    let home = Home::new();
    let mut child = demo(&home).spawn().unwrap();
    eventually("it has begun", || {
        let mut homes = fs::read_dir(home.path("tmp")).unwrap().flatten();
        homes.any(|entry| entry.path().join("legwork.sock").exists()).then_some(())
    });
    let id = Pid::from_raw(child.id().cast_signed()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    let status = ended(&mut child);
    assert_eq!(status.code(), Some(130), "{status}");
    eventually("nothing is left", || leftovers(&home).is_empty().then_some(()));
}

#[test]
fn a_demo_whose_command_is_broken_off_has_not_gone_wrong() {
    let home = Home::new();
    let mut child = demo(&home).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(out.any(|line| line.unwrap().starts_with("$ legwork wait")));
    // Ctrl-C in a terminal reaches the command as soon as the demo, which may hear of it later.
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let command = eventually("the command runs", || {
        let children = fs::read_to_string(&children).ok()?;
        children.split_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
    });
    kill_process(command, Signal::INT).unwrap();
    let rest: Vec<String> = out.map_while(Result::ok).collect();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned() + &rest.join("\n");
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(!said.contains("went wrong"), "{said}");
    eventually("nothing is left", || leftovers(&home).is_empty().then_some(()));
}
