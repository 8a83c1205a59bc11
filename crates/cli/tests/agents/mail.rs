//! What a terminal is told when nobody waits there any more.

use legwork_testkit::legwork::{Home, eventually, ran};
use legwork_testkit::{Lines, ended};

use crate::running::{kill_daemon, until_all_is_told, until_finished};

const APART: &str = "since you last looked";

/// Has helpers do these, and gives the tasks' ids. As a program, because a command for people shows
/// mail, also that of a helper which is done before the command is.
fn detach_all(home: &Home, scripts: &[&str]) -> Vec<String> {
    let launch = ["run", "--json", "--agent", "rehearsal", "--detach"];
    let ran = ran(home.command(launch.iter().chain(scripts))).with_code(0);
    assert!(ran.err.is_empty(), "{ran:?}");
    let launched = ran.json();
    let ids = launched.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

fn detach(home: &Home, script: &str) -> String {
    detach_all(home, &[script]).remove(0)
}

#[test]
fn n1_what_nobody_waited_for_is_shown_once_by_the_next_command_for_people() {
    let home = Home::new();
    let task = detach(&home, "say found");
    until_finished(&home, &task);
    until_all_is_told(&home);
    for not_for_people in [&["list", "--json"][..], &["daemon", "status"], &["completions", "bash"]]
    {
        let ran = ran(home.command(not_for_people)).with_code(0);
        assert!(!ran.err.contains(APART), "{not_for_people:?}: {ran:?}");
    }
    let first = home.run(["list"]).with_code(0);
    assert_eq!(first.err.matches(APART).count(), 1, "{first:?}");
    assert!(first.err.contains(&task) && !first.out.contains(APART), "{first:?}");
    assert_eq!(home.run(["list"]).with_code(0).err, "");
}

#[test]
fn a_command_that_fails_shows_it_too_and_still_fails() {
    let home = Home::new();
    let task = detach(&home, "say found");
    until_finished(&home, &task);
    until_all_is_told(&home);
    let ran = home.run(["show", "bg_00000000"]).with_code(1);
    assert!(ran.err.contains(APART) && ran.err.contains("not found"), "{ran:?}");
}

#[test]
fn what_was_seen_by_whoever_waited_is_no_mail() {
    let home = Home::new();
    home.run(["run", "--agent", "rehearsal", "say one", "say two", "fail three"]).with_code(3);
    until_all_is_told(&home);
    assert_eq!(home.run(["list"]).with_code(0).err, "");
}

#[test]
fn no_daemon_is_started_for_mail() {
    let home = Home::new();
    home.run(["agents", "--no-start"]).with_code(0);
    home.run(["daemon", "status"]).with_code(6);
}

#[test]
fn somebody_who_watches_sees_it_as_it_comes() {
    let home = Home::new();
    home.run(["daemon", "start"]).with_code(0);
    let mut watching = home.command(["watch"]).spawn().unwrap();
    let mut lines = Lines::of(watching.stderr.take().unwrap());
    lines.until("it watches", |line| line.contains("Watching"));
    let task = detach(&home, "say found");
    let told = lines.until("what it found", |line| line.contains("✓"));
    assert!(told.contains(&task), "{told}");
    watching.kill().unwrap();
    ended(&mut watching);
    eventually("it is not shown again", || home.run(["list"]).err.is_empty().then_some(()));
}

/// Whether a file in this folder holds these words. An agent's own memory is a folder of its own.
fn is_kept(folder: &std::path::Path, words: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        bytes.windows(words.len()).any(|window| window == words.as_bytes())
    })
}

#[test]
fn p8_what_is_cleared_leaves_the_records_the_sessions_and_the_mail() {
    let home = Home::new();
    let tasks = detach_all(&home, &["say prefix-of-a-secret", "say another-word"]);
    let [task, kept] = [&*tasks[0], &tasks[1]];
    for task in [task, kept] {
        until_finished(&home, task);
    }
    until_all_is_told(&home);
    let own = home.path("legwork");
    for folder in ["store", "sessions"] {
        assert!(is_kept(&own.join(folder), "prefix-of-a-secret"), "{folder}");
    }
    home.run(["clear", task, "--yes", "--json"]).with_code(0);
    for folder in ["store", "sessions"] {
        eventually("it is removed", || {
            (!is_kept(&own.join(folder), "prefix-of-a-secret")).then_some(())
        });
        assert!(is_kept(&own.join(folder), "another-word"), "{folder}");
    }
    let listed = home.run(["list"]).with_code(0);
    assert!(listed.err.contains(kept) && !listed.err.contains(task), "{listed:?}");
}

#[test]
fn p10_at_most_ten_lines_of_news_stand_under_a_command_and_the_rest_is_counted() {
    let home = Home::new();
    let prompts: Vec<String> = (0..15).map(|number| format!("say number {number}")).collect();
    let ids = detach_all(&home, &prompts.iter().map(String::as_str).collect::<Vec<_>>());
    ids.iter().for_each(|id| until_finished(&home, id));
    until_all_is_told(&home);
    let first = home.run(["list"]).with_code(0).err;
    assert_eq!(first.lines().filter(|line| line.starts_with('✓')).count(), 9, "{first}");
    assert!(first.contains("… and 6 tasks more: legwork mail"), "{first}");
    assert!(first.lines().count() <= 11, "{first}");
    let rest = home.run(["mail"]).with_code(0).err;
    let told = |id: &&String| first.contains(*id) || rest.contains(*id);
    assert_eq!(ids.iter().filter(told).count(), 15, "{first}{rest}");
    let words = ["background_", "[BACKGROUND", "msg_", "term_", "ses_"];
    assert!(!words.iter().any(|word| first.contains(word)), "{first}");
    assert_eq!(home.run(["mail"]).with_code(0).out, "Nothing new.\n");
}

#[test]
fn p10_who_was_there_is_not_told_again() {
    let home = Home::new();
    let task = detach(&home, "say found");
    home.run(["wait", &task]).with_code(0);
    home.run(["output", &task]).with_code(0);
    until_all_is_told(&home);
    assert_eq!(home.run(["list"]).with_code(0).err, "");
    let off = detach(&home, "ask to go on");
    let cancelled = home.run(["cancel", &off]).with_code(0);
    assert!(!cancelled.err.contains("cancelled"), "{cancelled:?}");
}

#[test]
fn n1_what_nobody_has_read_outlives_the_daemon_and_is_shown_once() {
    let home = Home::new();
    let task = detach(&home, "say found");
    until_finished(&home, &task);
    until_all_is_told(&home);
    let unread = home.run(["mail", "--json"]).with_code(0).json();
    assert_eq!(unread[0]["about"][0], task.as_str(), "{unread}");
    kill_daemon(&home);
    assert_eq!(home.run(["mail", "--json"]).with_code(0).json(), unread, "under the same id");
    let first = home.run(["list"]).with_code(0);
    assert!(first.err.contains(APART) && first.err.contains(&task), "{first:?}");
    kill_daemon(&home);
    assert_eq!(home.run(["list"]).with_code(0).err, "");
}

/// The file is as a build left it that delivered mail into files.
#[test]
fn n1_mail_of_an_older_build_is_shown_once_and_its_file_removed() {
    let home = Home::new();
    let [read, unread] = ["say one", "say two"].map(|script| {
        let task = detach(&home, script);
        until_finished(&home, &task);
        task
    });
    until_all_is_told(&home);
    let mail = home.run(["mail", "--json"]).with_code(0).json();
    home.run(["mail"]).with_code(0);
    home.run(["daemon", "stop"]).with_code(0);
    let file = home.path("legwork/sessions/mail");
    let mut lines = String::new();
    for came in mail.as_array().unwrap() {
        let mut came = came.clone();
        if came["about"][0] == read.as_str() {
            let shown = serde_json::json!({ "is": "shown", "message": came["message"] });
            lines.push_str(&format!("{shown}\n"));
        } else {
            came["is"] = "came".into();
            lines.push_str(&format!("{came}\n"));
        }
    }
    std::fs::write(&file, lines).unwrap();
    let first = home.run(["list"]).with_code(0).err;
    assert!(first.contains(&unread) && !first.contains(&read), "{first}");
    assert!(!file.exists());
    kill_daemon(&home);
    assert_eq!(home.run(["list"]).with_code(0).err, "");
}
