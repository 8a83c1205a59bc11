//! What agents start and leave: it ends with them, gently, wherever it went; what others use stays.

use std::fs;
use std::path::Path;

use legwork_protocol::Stage as RunStage;
use legwork_testkit::legwork::{eventually, script_agent};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::bad::bad_agent;
use crate::stage::{Stage, processes_in};

/// Leaves its group, its session, its environment and, when that has waited so long, its parent.
fn escape(seconds: u32) -> String {
    format!("sh -c 'setsid env -i sleep 611 </dev/null >/dev/null 2>&1 & sleep {seconds}'")
}

/// Whether one sleeps so long.
fn sleeps(folder: &Path, seconds: u32) -> bool {
    let words = format!("sleep\0{seconds}\0");
    let is_it = |id| fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|is| is == words);
    processes_in(folder).into_iter().any(is_it)
}

fn named(folder: &Path, name: &str) -> Vec<u32> {
    let is_it = |id: &u32| {
        let comm = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        comm.trim() == name
    };
    processes_in(folder).into_iter().filter(is_it).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn x1_what_left_group_environment_and_parent_ends_with_a_cancelled_helper() {
    // The daemon looks at what agents have started every half a second, or as soon as it can.
    let script = format!("{}\nsleep 612", escape(5));
    let settings = script_agent("escaper", &script) + &bad_agent("rehearsal", None);
    let mut stage = Stage::with(&settings);
    let work = stage.home.path("work");
    // Another helper is at work meanwhile, and keeps what is its own.
    let other = stage.launch("spawn 601\nwait 600s");
    let task = stage.launch_as("escaper", "go");
    eventually("it has got out", || (sleeps(&work, 612) && sleeps(&work, 611)).then_some(()));
    stage.until(&task, "it is at work", |task| task.stage == RunStage::Working);
    stage.done("background_cancel", json!({ "task_id": task }));
    let is_over = || !sleeps(&work, 611) && !sleeps(&work, 612);
    eventually("only the other's is left", || is_over().then_some(()));
    assert!(sleeps(&work, 601));
    assert_eq!(stage.view(&other).status.to_string(), "running");
    stage.done("background_cancel", json!({ "task_id": other }));
    eventually("nothing is left", || processes_in(&work).is_empty().then_some(()));
}

#[cfg(target_os = "linux")]
#[test]
fn x1_what_escaped_ends_with_a_completed_helper_and_leaves_no_zombie() {
    let mut stage = Stage::with(&script_agent("escaper", &format!("{}\nsay done", escape(0))));
    let work = stage.home.path("work");
    let task = stage.launch_as("escaper", "go");
    assert_eq!(stage.result(&task), ("completed".to_owned(), "done".to_owned()));
    stage.kill_waiting_agents(&work);
    eventually("nothing is left", || processes_in(&work).is_empty().then_some(()));
    let daemon = stage.daemon().pid;
    eventually("no zombie is left", || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let stats = all.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        let is_child = |stat: &String| {
            stat.rsplit_once(") ").is_some_and(|(_, rest)| {
                rest.split(' ').nth(1) == Some(daemon.to_string().as_str())
            })
        };
        (stats.filter(is_child).count() == 0).then_some(())
    });
}

/// A service, as a script under this name, which says how it ended.
fn service(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    let script = "#!/bin/sh\ntrap 'echo term > ${0}.ended; exit' TERM\n\
                  while :; do sleep 600 & wait; done\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    format!("setsid '{}' </dev/null >/dev/null 2>&1 &\n", path.display())
}

#[cfg(target_os = "linux")]
#[test]
fn x1_what_a_helper_leaves_is_asked_to_end_and_what_others_use_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let names = ["gpg-agent", "my-service", "worker"];
    let all = names.map(|name| service(&folder, name)).concat();
    let work = format!("{all}\nsleep 0.3\nsay done\nsleep 600");
    let settings =
        format!("[agents]\nkeep = [\"gpg-agent\", \"my-service\"]\n{}", script_agent("a", &work));
    let mut stage = Stage::with(&settings);
    let work = stage.home.path("work");
    let task = stage.launch_as("a", "go");
    let is_there = |name: &str| !named(&work, name).is_empty();
    eventually("all run", || names.iter().all(|name| is_there(name)).then_some(()));
    stage.until(&task, "it is at work", |task| task.stage == RunStage::Working);
    stage.done("background_cancel", json!({ "task_id": task }));
    eventually("the worker is gone", || (!is_there("worker")).then_some(()));
    eventually("the agent is gone", || (!is_there("sh")).then_some(()));
    assert_eq!(fs::read_to_string(folder.join("worker.ended")).unwrap(), "term\n");
    assert!(is_there("gpg-agent") && is_there("my-service"));
    // With what it has started itself.
    assert!(named(&work, "sleep").len() >= 2);
    // Not even the next daemon ends them.
    stage.kill_daemon();
    assert!(is_there("gpg-agent") && is_there("my-service"));
    for id in processes_in(&work) {
        let _ = kill_process(Pid::from_raw(id.cast_signed()).unwrap(), Signal::KILL);
    }
}

/// With what runs in its windows. `cargo xtask adversary` does the same with the real one.
#[cfg(target_os = "linux")]
#[test]
fn x1_a_server_that_is_called_as_tmux_calls_its_own_is_kept_with_its_windows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let server = "tmux: server";
    let work = format!("{}say started\nsleep 641", service(&folder, server));
    let mut stage = Stage::with(&script_agent("opener", &work));
    let work = stage.home.path("work");
    let task = stage.launch_as("opener", "go");
    eventually("both sleep", || (sleeps(&work, 600) && sleeps(&work, 641)).then_some(()));
    stage.until(&task, "it is at work", |task| task.stage == RunStage::Working);
    stage.done("background_cancel", json!({ "task_id": task }));
    eventually("the agent's own is gone", || (!sleeps(&work, 641)).then_some(()));
    eventually("nothing else of it runs", || (named(&work, "sh").is_empty()).then_some(()));
    assert!(sleeps(&work, 600) && named(&work, server).len() == 1);
    for id in processes_in(&work) {
        let _ = kill_process(Pid::from_raw(id.cast_signed()).unwrap(), Signal::KILL);
    }
}
