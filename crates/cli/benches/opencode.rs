//! How quick it is on the real OpenCode: `cargo bench -p legwork --bench opencode`. All moments are
//! those that OpenCode writes into its messages, so one clock measures both ends. The model is
//! scripted and answers at once.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement may panic and prints")]

#[path = "../tests/opencode/stage.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod stage;

use legwork_testkit::{block_on, call, script};
use serde_json::{Value, json};
use stage::{Stage, Task, launch, until};

const REPEATS: usize = 20;
const MANY: usize = 100;

fn main() {
    // `cargo test` builds and runs benches too; a measurement is not a test.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    block_on(async {
        let stage = Stage::with(json!({}), "[limits]\nmax_running = 0\n").await;
        let parent = stage.parent().await;
        stage.turn(&parent, &["say warm"]).await;
        let idle_kb = rss_kb(&stage);
        let before = requests(&stage);
        let (mut launches, mut notices) = (Vec::new(), Vec::new());
        let (mut joined, mut wakes) = (Vec::new(), Vec::new());
        for number in 0..REPEATS {
            quiet(&stage).await;
            let parent = stage.parent().await;
            let started = stage.call(&parent, "background_task", launch("One", &["say ok"])).await;
            launches.push(span(&started.part["state"]["time"]));
            let task = Task::of(&started.text);
            let notice = stage.until_notices(&parent, 1).await.remove(0);
            let stored = notice.message["info"]["time"]["created"].as_u64().unwrap();
            notices.push(stored.saturating_sub(completed(&stage, &task).await));
            stage.until_settled(&task).await;
            quiet(&stage).await;
            joined.push(join(&stage, &format!("busy-{number}")).await);
            quiet(&stage).await;
            wakes.push(block(&stage, &format!("block-{number}")).await);
        }
        let asked = (requests(&stage) - before) / (3 * REPEATS as u64);
        println!("{REPEATS} times on the real OpenCode, in ms (best, median, worst)");
        println!("launch answer                      {}", shown(launches));
        println!("answer done -> told an idle parent {}", shown(notices));
        println!("answer done -> told a busy parent  {}", shown(joined));
        println!("answer done -> block returns       {}", shown(wakes));
        println!("host requests per task, with toasts  {asked}");
        println!("daemon's memory, nothing done  {idle_kb} KB");
        println!("daemon's memory, {MANY} running   {} KB", with_many(&stage).await);
    });
}

/// OpenCode does one thing at a time, so what was measured before is over first.
async fn quiet(stage: &Stage) {
    until("nobody is busy", async || {
        stage.client.status().await.as_object().is_some_and(|all| all.is_empty()).then_some(())
    })
    .await;
}

/// How long after the helper's answer the notice is stored in a parent that is at work.
async fn join(stage: &Stage, gate: &str) -> u64 {
    let parent = stage.parent().await;
    let start = call("background_task", &launch("Joins", &["say ok"]));
    stage.say(&parent, &[&start, &format!("gate {gate}\nsay ok")]).await;
    let notice = stage.until_notices(&parent, 1).await.remove(0);
    let stored = notice.message["info"]["time"]["created"].as_u64().unwrap();
    let task = Task::of(&stage.calls(&parent).await[0].text);
    stage.model.open(gate);
    let late = stored.saturating_sub(completed(stage, &task).await);
    stage.until_settled(&task).await;
    late
}

/// How long after the helper's answer a blocked call returns.
async fn block(stage: &Stage, gate: &str) -> u64 {
    let parent = stage.parent().await;
    let held = format!("gate {gate}");
    let task = stage.launch(&parent, "Held", &[&format!("{held}\nsay ok")]).await;
    let wait = call("background_block", &json!({ "task_ids": [task.id], "timeout": 60_000 }));
    stage.client.say(&parent, &script(&[&wait, "say ok"])).await;
    until("the call waits", async || {
        let calls = stage.calls(&parent).await;
        calls.iter().any(|call| call.status == "running").then_some(())
    })
    .await;
    stage.model.open(gate);
    let ended = until("the call has returned", async || {
        let calls = stage.calls(&parent).await;
        let block = calls.into_iter().find(|call| call.tool == "background_block")?;
        block.part["state"]["time"]["end"].as_u64()
    })
    .await;
    ended.saturating_sub(completed(stage, &task).await)
}

/// When the helper's last message was complete.
async fn completed(stage: &Stage, task: &Task) -> u64 {
    let messages = stage.client.messages(&task.session).await.ok();
    messages.as_array().unwrap().last().unwrap()["info"]["time"]["completed"].as_u64().unwrap()
}

async fn with_many(stage: &Stage) -> u64 {
    let parent = stage.parent().await;
    for ten in 0..MANY / 10 {
        // Calls that are all alike would be taken for a loop.
        let one = |n| {
            let name = format!("Number {ten}{n}");
            call("background_task", &launch(&name, &["gate many\nsay ok"]))
        };
        let some: Vec<String> = (0..10).map(one).collect();
        stage.turn(&parent, &[&some.join("\n"), "say ok"]).await;
    }
    let used = rss_kb(stage);
    stage.model.open("many");
    used
}

fn daemon(stage: &Stage) -> Value {
    let status = stage.legwork(&["daemon", "status", "--json"]).stdout;
    serde_json::from_slice::<Value>(&status).unwrap()["daemon"].take()
}

fn requests(stage: &Stage) -> u64 {
    let hosts = daemon(stage)["hosts"].as_array().cloned().unwrap_or_default();
    hosts.iter().filter_map(|host| host["requests"].as_u64()).sum()
}

fn rss_kb(stage: &Stage) -> u64 {
    let pid = daemon(stage)["pid"].as_u64().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn span(time: &Value) -> u64 {
    time["end"].as_u64().unwrap() - time["start"].as_u64().unwrap()
}

fn shown(mut all: Vec<u64>) -> String {
    all.sort_unstable();
    format!("{:>5} {:>5} {:>5}", all[0], all[all.len() / 2], all[all.len() - 1])
}
