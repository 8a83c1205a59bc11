//! Many helpers at once.

use std::fs;

use legwork_protocol::Stage as RunStage;
use legwork_protocol::view::TaskView;
use legwork_testkit::legwork::eventually;
use serde_json::json;

use crate::stage::{Stage, processes_in};

const TASKS: usize = 50;
const LIMIT: usize = 8;

#[test]
fn l7_fifty_helpers_run_eight_at_a_time_in_their_order_and_all_are_told() {
    let mut stage = Stage::with(&format!("[limits]\nmax_running = {LIMIT}\n"));
    let tasks: Vec<String> = (0..TASKS)
        .map(|number| stage.launch(&format!("tool step {number} for 50ms\nsay {number}")))
        .collect();
    let work = stage.home.path("work");
    let mut most = 0;
    let daemon = stage.daemon().pid;
    let (mut memory, mut handles) = (0, 0);
    loop {
        most = most.max(processes_in(&work).len());
        memory = memory.max(resident_kb(daemon));
        handles = handles.max(fs::read_dir(format!("/proc/{daemon}/fd")).unwrap().count());
        // All at one moment, the first launched first.
        let views = stage.views();
        let is_queued = |view: &&TaskView| view.stage == RunStage::Queued;
        let waiting = views.iter().skip_while(|view| !is_queued(view)).collect::<Vec<_>>();
        assert!(waiting.iter().all(is_queued), "first in, first out: {waiting:#?}");
        let running = views.iter().filter(|view| view.status.is_unfinished()).count();
        assert!(running - waiting.len() <= LIMIT, "{running} of which {} wait", waiting.len());
        if running == 0 {
            break;
        }
    }
    // One that has just answered may still be on its way out.
    assert!(most <= 2 * LIMIT, "{most} processes at once");
    assert!(memory < 40_000, "{memory} KB");
    assert!(handles < 100, "{handles} handles");
    eprintln!("most processes {most}, memory {memory} KB, handles {handles}");
    for (number, task) in tasks.iter().enumerate() {
        assert_eq!(stage.result(task), ("completed".to_owned(), number.to_string()));
    }
    let mail = stage.all_mail().concat();
    for task in &tasks {
        assert_eq!(mail.matches(task.as_str()).count(), 1, "{task}");
    }
    eventually("each process ends with its task", || processes_in(&work).is_empty().then_some(()));
}

fn resident_kb(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn l7_over_the_limit_of_kept_tasks_a_launch_is_refused() {
    let mut stage = Stage::with("[limits]\nmax_tasks_per_root = 2\n");
    stage.launch("say 1");
    stage.launch("say 2");
    let arguments = json!({ "prompt": "say 3", "description": "x", "agent": "rehearsal" });
    assert!(stage.refused("background_task", arguments).contains("max_tasks_per_root"));
}
