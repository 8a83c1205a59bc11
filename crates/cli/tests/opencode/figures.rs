//! What runs used up (P4): OpenCode's own figures, kept and summed, through restarts, and held
//! against a budget.

use legwork_testkit::{block_on, call, script};
use serde_json::{Value, json};

use crate::processes::{daemon_of, signal, until_ended};
use crate::stage::{Stage, Task, launch, until};

fn bash() -> String {
    call("bash", &json!({ "command": "true", "description": "Nothing" }))
}

/// The tokens and millionths of each prompt of a session, in order, added up from OpenCode's own
/// messages.
async fn told(stage: &Stage, session: &str) -> Vec<(u64, u64)> {
    let messages = stage.client.messages(session).await.ok();
    let mut runs: Vec<(u64, f64)> = Vec::new();
    for message in messages.as_array().unwrap() {
        let info = &message["info"];
        if info["role"] == "user" {
            runs.push((0, 0.0));
        }
        if let (Some(run), "assistant") = (runs.last_mut(), info["role"].as_str().unwrap()) {
            let of = |path: &str| info.pointer(path).and_then(Value::as_u64).unwrap_or(0);
            let kinds = ["input", "output", "reasoning", "cache/read", "cache/write"];
            run.0 += kinds.iter().map(|kind| of(&format!("/tokens/{kind}"))).sum::<u64>();
            run.1 += info["cost"].as_f64().unwrap();
        }
    }
    runs.into_iter().map(|(tokens, dollars)| (tokens, (dollars * 1e6).round() as u64)).collect()
}

fn figures(view: &Value) -> (u64, u64) {
    (view["tokens"].as_u64().unwrap(), view["cost_micros"].as_u64().unwrap())
}

async fn kill_daemon(stage: &Stage) {
    let daemon = daemon_of(&stage.home, 1).await;
    signal(daemon, "KILL");
    until_ended(daemon).await;
    daemon_of(&stage.home, 1).await;
}

async fn resume(stage: &Stage, parent: &str, task: &Task, steps: &[&str]) {
    let arguments = json!({ "resume": task.id, "prompt": script(steps) });
    let answer = stage.call(parent, "background_task", arguments).await;
    assert!(!answer.refused(), "{answer:?}");
}

#[test]
fn p4_a_finished_task_and_its_resume_show_what_each_used_up_though_the_daemon_was_killed() {
    block_on(async {
        let stage = Stage::new().await;
        let parent = stage.parent().await;
        let bash = bash();
        let task = stage.launch(&parent, "Explore", &[&bash, &bash, "say first"]).await;
        stage.until_notices(&parent, 1).await;
        let view = stage.until_status(&task, "completed").await;
        let first = told(&stage, &task.session).await[0];
        assert!(first.0 > 300 && first.1 > 300, "{first:?}");
        assert_eq!(figures(&view), first);
        assert_eq!((&view["currency"], &view["model"]), (&json!("USD"), &json!("fake/fake")));

        resume(&stage, &parent, &task, &[&bash, "gate p4\nsay second"]).await;
        until("the resume's first step is known", async || {
            (stage.view(&task.id)["tokens"].as_u64() == Some(101)).then_some(())
        })
        .await;
        kill_daemon(&stage).await;
        stage.model.open("p4");
        stage.until_notices(&parent, 2).await;
        kill_daemon(&stage).await;
        let view = stage.until_status(&task, "completed").await;
        let runs = told(&stage, &task.session).await;
        assert_eq!(runs.len(), 2);
        assert_eq!(figures(&view), runs[1], "its own, without the first run's");
        let kept: Vec<_> = view["runs"].as_array().unwrap().iter().map(figures).collect();
        assert_eq!(kept, runs);
        let calls = view["runs"].as_array().unwrap().iter().map(|run| run["tool_calls"].clone());
        assert_eq!(calls.collect::<Vec<_>>(), [2, 1]);

        let costs = stage.legwork(&["cost", "--by", "agent", "--json"]);
        let costs: Value = serde_json::from_slice(&costs.stdout).unwrap();
        assert_eq!(costs["groups"][0]["name"], "general");
        let total = &costs["total"];
        assert_eq!((&total["runs"], &total["cost_unknown"]), (&json!(2), &json!(0)));
        assert_eq!(total["tokens"], runs[0].0 + runs[1].0);
        assert_eq!(total["costs"][0]["micros"], runs[0].1 + runs[1].1);
    });
}

#[test]
fn p4_the_person_is_told_before_the_budget_is_used_up_and_then_launches_are_refused() {
    block_on(async {
        // A step costs 102 millionths, or one or two more.
        let stage = Stage::with(json!({}), "[limits]\nmax_cost = 0.00038\n").await;
        let parent = stage.parent().await;
        let bash = bash();
        let first =
            stage.launch(&parent, "First", &[&bash, &bash, &bash, "gate near\nsay first"]).await;
        stage.events.until("a toast about three steps", near_budget).await;
        let toasts = || stage.events.look(|all| all.iter().filter(|it| near_budget(it)).count());
        stage.model.open("near");
        stage.until_notices(&parent, 1).await;
        let arguments = launch("Second", &["say second"]);
        let refused = stage.call(&parent, "background_task", arguments).await;
        let begin = "The helpers of this conversation have cost 0.000";
        assert!(refused.refused() && refused.text.starts_with(begin), "{refused:?}");
        assert!(refused.text.contains("(limits.max_cost = 0.00038)"), "{refused:?}");
        assert!(stage.view(&first.id)["budget"]["spent_micros"].as_u64() > Some(380));
        assert_eq!(toasts(), 1, "once");
    });
}

fn near_budget(event: &legwork_testkit::Event) -> bool {
    event.kind == "tui.toast.show"
        && event.properties["title"] == "Background tasks are near their budget"
}
