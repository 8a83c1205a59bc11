//! What is cleared or purged is gone: no byte of it is left in any file below the home.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use legwork_testkit::legwork::{Home, eventually, ran};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::running::{until_all_is_told, until_finished};

const SECRET: &str = "prefix-of-a-secret";
const HELPERS: usize = 12;

/// The files below a folder that hold these words.
fn holding(folder: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, words));
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        if bytes.windows(words.len()).any(|some| some == words.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Helpers that were told the secret and said it, and a person who was told of it; and one that has
/// nothing to do with it.
fn told(home: &Home) -> Vec<String> {
    let prompt = format!("say {SECRET}");
    let mut launch = vec!["run", "--agent", "rehearsal", "--detach"];
    launch.extend([prompt.as_str(); HELPERS]);
    launch.push("say another-word");
    let launched = ran(home.command(&launch)).with_code(0).out;
    let mut tasks: Vec<String> = launched.lines().map(str::to_owned).collect();
    tasks.iter().for_each(|task| until_finished(home, task));
    until_all_is_told(home);
    assert!(holding(&home.path(""), SECRET).len() > HELPERS);
    tasks.pop();
    assert_eq!(tasks.len(), HELPERS, "{launched}");
    tasks
}

fn clear(home: &Home, tasks: &[String]) -> Command {
    let mut command = home.command(["clear", "--yes"]);
    command.args(tasks);
    command
}

/// No file holds the secret, and what was not cleared is there.
fn check(home: &Home, what: &str) {
    assert_eq!(holding(&home.path(""), SECRET), Vec::<String>::new(), "{what}");
    assert!(!holding(&home.path("legwork/store"), "another-word").is_empty(), "{what}");
}

fn sessions(home: &Home) -> usize {
    let all = fs::read_dir(home.path("legwork/sessions")).into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name().to_string_lossy().starts_with("acp_")).count()
}

fn daemon(home: &Home) -> Value {
    home.run(["daemon", "start", "--json"]).with_code(0).json()["daemon"].clone()
}

#[test]
fn p8_no_file_below_the_home_holds_a_word_of_what_was_cleared() {
    let home = Home::new();
    let tasks = told(&home);
    ran(clear(&home, &tasks)).with_code(0);
    check(&home, "cleared");
    home.run(["clear", "--yes"]).with_code(0);
    assert_eq!(holding(&home.path(""), "another-word"), Vec::<String>::new());
}

#[test]
fn p8_a_kill_in_the_middle_of_clearing_leaves_nothing_behind_either() {
    // The daemon is killed when the first of the conversations is gone, half of them, or all.
    for left in [HELPERS, HELPERS / 2, 1] {
        let home = Home::new();
        let tasks = told(&home);
        let pid = daemon(&home)["pid"].as_i64().unwrap();
        let mut clear = clear(&home, &tasks);
        let mut clear = clear.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("it has come so far", || (sessions(&home) <= left).then_some(()));
        // It may have ended by itself if it was quick.
        let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
        legwork_testkit::ended(&mut clear);
        daemon(&home);
        check(&home, &format!("{left} were left"));
    }
}

#[test]
fn p8_what_somebody_reads_while_it_is_cleared_is_removed_when_they_have_done() {
    let home = Home::new();
    let mut start = home.command(["daemon", "start"]);
    // It must not be its end that removes it.
    start.env("LEGWORK_LINGER_MS", "600000");
    ran(start).with_code(0);
    let tasks = told(&home);
    let reader = rusqlite::Connection::open(home.path("legwork/store/legwork.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM tasks").unwrap();
    ran(clear(&home, &tasks)).with_code(0);
    assert_ne!(holding(&home.path(""), SECRET), Vec::<String>::new());
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    eventually("it is removed", || holding(&home.path(""), SECRET).is_empty().then_some(()));
    check(&home, "read meanwhile");
}

#[test]
fn p8_purging_asks_first_and_leaves_nothing_of_legworks() {
    let home = Home::new();
    home.run(["install", "opencode"]).with_code(0);
    told(&home);
    fs::write(home.path("legwork/headless.log"), SECRET).unwrap();
    let asks = home.run(["uninstall", "opencode", "--purge"]).with_code(2);
    assert!(asks.err.contains("for good") && asks.err.contains("--yes"), "{asks:?}");
    let plugin = ["plugin/legwork.js", "legwork/tui.js"];
    for named in ["store", "sessions", "kB", "13 tasks"].into_iter().chain(plugin) {
        assert!(asks.err.contains(named), "{named} is not in {asks:?}");
    }
    assert!(home.path("legwork/store").exists(), "nothing is removed without a yes");
    assert!(home.path("home/.config/opencode/plugin/legwork.js").exists());
    let purged = home.run(["uninstall", "opencode", "--purge", "--yes", "--json"]).with_code(0);
    assert_eq!(purged.json()["done"], "purged");
    assert!(purged.json()["bytes"].as_u64().unwrap() > 1_000, "{purged:?}");
    assert!(!home.path("legwork").exists());
    assert_eq!(holding(&home.path(""), SECRET), Vec::<String>::new());
    // It begins anew, and again there is something to remove.
    assert_eq!(home.run(["list", "--json"]).with_code(0).json()["total"], 0);
    home.run(["uninstall", "opencode", "--purge", "--yes"]).with_code(0);
    assert!(!home.path("legwork").exists());
}

#[test]
fn p8_purging_removes_what_lies_behind_a_link_and_says_which_links_are_left() {
    let home = Home::new();
    for folder in ["legwork", "store", "sessions"] {
        fs::create_dir(home.path(folder)).unwrap();
        fs::set_permissions(home.path(folder), Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(home.path("mine.toml"), "# mine\n").unwrap();
    for (link, target) in
        [("store", "store"), ("sessions", "sessions"), ("config.toml", "mine.toml")]
    {
        symlink(home.path(target), home.path("legwork").join(link)).unwrap();
    }
    told(&home);
    home.run(["daemon", "stop", "--yes"]).with_code(0);
    assert_ne!(holding(&home.path(""), SECRET), Vec::<String>::new());
    let purged = home.run(["uninstall", "opencode", "--purge", "--yes"]).with_code(0);
    assert_eq!(holding(&home.path(""), SECRET), Vec::<String>::new());
    assert_eq!(fs::read_dir(home.path("store")).unwrap().count(), 0, "{purged:?}");
    assert_eq!(purged.out.matches("is a link of yours").count(), 3, "{purged:?}");
    assert_eq!(fs::read_to_string(home.path("mine.toml")).unwrap(), "# mine\n");
}

#[test]
fn p14_purging_leaves_what_is_not_legworks_behind_a_link_and_in_its_own_folders() {
    for is_linked in [true, false] {
        let home = Home::new();
        for (name, own) in [("store", "records"), ("sessions", "talks")] {
            let folder = home.path(if is_linked { own } else { "legwork" });
            let folder = if is_linked { folder } else { folder.join(name) };
            fs::create_dir_all(folder.join("letters")).unwrap();
            fs::write(folder.join("letters/one.txt"), "mine").unwrap();
            fs::write(folder.join("notes.jsonl"), "mine").unwrap();
            fs::create_dir_all(home.path("legwork")).unwrap();
            if is_linked {
                symlink(folder, home.path("legwork").join(name)).unwrap();
            }
        }
        fs::set_permissions(home.path("legwork"), Permissions::from_mode(0o700)).unwrap();
        told(&home);
        home.run(["daemon", "stop", "--yes"]).with_code(0);
        let asks = home.run(["uninstall", "opencode", "--purge"]).with_code(2);
        let purged = home.run(["uninstall", "opencode", "--purge", "--yes"]).with_code(0);
        for name in ["store", "sessions"] {
            let folder = home.path("legwork").join(name);
            assert_eq!(fs::read_to_string(folder.join("letters/one.txt")).unwrap(), "mine");
            assert_eq!(fs::read_to_string(folder.join("notes.jsonl")).unwrap(), "mine");
            assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "{purged:?}");
        }
        assert_eq!(holding(&home.path(""), SECRET), Vec::<String>::new());
        for said in [&asks.err, &purged.out] {
            assert_eq!(said.matches("which stays: letters, notes.jsonl").count(), 2, "{said}");
        }
        assert!(!purged.out.contains("All of it is removed"), "{purged:?}");
    }
}

#[test]
fn p14_purging_names_a_link_among_the_records_and_does_not_say_that_all_is_removed() {
    let home = Home::new();
    told(&home);
    home.run(["daemon", "stop", "--yes"]).with_code(0);
    let (link, real) = (home.path("legwork/store/legwork.db"), home.path("records.db"));
    fs::rename(&link, &real).unwrap();
    symlink(&real, &link).unwrap();
    let purged = home.run(["uninstall", "opencode", "--purge", "--yes"]).with_code(0);
    let said = format!("{} is a link of yours to {}.", link.display(), real.display());
    assert!(purged.out.contains(&said) && purged.out.contains("Both stay."), "{purged:?}");
    assert!(!purged.out.contains("All of it is removed"), "{purged:?}");
    assert!(link.is_symlink() && real.exists(), "{purged:?}");
    assert!(!home.path("legwork/sessions").exists(), "{purged:?}");
}

#[test]
fn p14_purging_leaves_what_stands_in_the_place_of_a_log() {
    let home = Home::new();
    home.run(["list"]).with_code(0);
    home.run(["daemon", "stop", "--yes"]).with_code(0);
    fs::write(home.path("all.log"), "mine\n").unwrap();
    fs::create_dir(home.path("legwork/headless.log")).unwrap();
    fs::remove_file(home.path("legwork/daemon.log")).unwrap();
    symlink(home.path("all.log"), home.path("legwork/daemon.log")).unwrap();
    let purged = home.run(["uninstall", "opencode", "--purge", "--yes"]).with_code(0);
    assert_eq!(fs::read_to_string(home.path("all.log")).unwrap(), "mine\n", "{purged:?}");
    assert!(purged.out.contains("daemon.log is a link of yours"), "{purged:?}");
    assert!(purged.out.contains("headless.log is not legwork's, and stays."), "{purged:?}");
}

#[test]
fn p8_purging_is_refused_while_helpers_are_at_work_unless_it_is_forced() {
    let home = Home::new();
    home.run(["run", "--agent", "rehearsal", "--detach", "wait 600s"]).with_code(0);
    let purge = ["uninstall", "opencode", "--purge", "--yes"];
    let refused = home.run(purge).with_code(1);
    assert!(refused.err.contains("--force") && refused.err.contains("not finished"), "{refused:?}");
    assert!(home.path("legwork/store/legwork.db").exists());
    home.run(["uninstall", "opencode", "--purge", "--yes", "--force"]).with_code(0);
    assert!(!home.path("legwork").exists());
}
