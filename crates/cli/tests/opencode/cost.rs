//! What a task costs OpenCode, counted where the requests are made. It shows too that OpenCode's
//! events tell what they are believed to tell: what they do not is read.

use legwork_testkit::{Event, block_on, call};
use serde_json::{Value, json};

use crate::processes::daemon;
use crate::stage::{Stage, until};

/// A session is opened and prompted; a delivery is written and seen.
const OF_A_TASK: u64 = 4;
const TRIES: usize = 60;

fn requests(stage: &Stage) -> u64 {
    let daemon = daemon(&stage.home);
    let hosts = daemon["hosts"].as_array().unwrap().iter();
    hosts.filter_map(|host| host["requests"].as_u64()).sum()
}

fn toasts(events: &[Event]) -> Vec<&Value> {
    let shown = events.iter().filter(|event| event.kind == "tui.toast.show");
    shown.map(|event| &event.properties["title"]).collect()
}

#[test]
fn a_task_costs_opencode_four_requests_and_its_toasts() {
    block_on(async {
        let stage = Stage::new().await;
        let parent = stage.parent().await;
        let mut costs = Vec::new();
        // The agents are read for the first one, and every five seconds it is asked who is busy: on
        // a busy machine that falls into many a task, but not into all.
        while costs.len() < 4 || costs.len() < TRIES && costs.iter().min() > Some(&OF_A_TASK) {
            let number = costs.len() + 1;
            let (before, mark) = (requests(&stage), stage.events.len());
            let description = format!("Task {number}");
            let search = call("glob", &json!({ "pattern": "*" }));
            stage.launch(&parent, &description, &[&search, "say done"]).await;
            stage.until_notices(&parent, number).await;
            quiet(&stage, &description).await;
            let shown = stage.events.look(|all| toasts(&all[mark..]).len()) as u64;
            costs.push(requests(&stage) - before - shown);
        }
        assert_eq!(costs.iter().min(), Some(&OF_A_TASK), "{costs:?}");
    });
}

/// Until nothing is pending and the end was shown.
async fn quiet(stage: &Stage, description: &str) {
    until("everything is told and shown", async || {
        let status = daemon(&stage.home);
        let is_of = |title: &&Value| **title == format!("Completed: {description}");
        let shown = stage.events.look(|all| toasts(all).iter().any(is_of));
        (shown && status["pending"] == 0 && status["unfinished"] == 0).then_some(())
    })
    .await;
}
