//! Budgets: of a run, and of the day, from which every command spends.

use legwork_testkit::legwork::Home;

use crate::stage::Stage;

#[test]
fn q6_every_command_spends_from_the_budget_of_the_day() {
    let home = Home::new();
    home.configure("[limits]\nmax_cost = 1\nmax_cost_per_day = 1\n");
    let run = |script: &str| home.run(["run", "--agent", "rehearsal", script]);
    for _ in 0..2 {
        run("cost 0.55 USD\nsay done").with_code(0);
    }
    let refused = run("say too late").with_code(1).err;
    let why = "The helpers of your terminals have cost, today, 1.1000 of 1.0000 USD \
         (limits.max_cost_per_day).";
    assert!(refused.contains(why), "{refused}");
    let list = home.run(["list"]).with_code(0).out;
    assert!(list.contains("used up today from terminals (limits.max_cost_per_day)"), "{list}");
}

#[test]
fn q6_a_run_past_its_budget_is_stopped_and_what_it_said_is_kept() {
    let mut stage = Stage::with("[limits]\nmax_cost_per_run = 1\n");
    let task = stage.launch("say half of it\ncost 1.10 USD\nwait 600s\nsay the rest");
    let (status, text) = stage.result(&task);
    assert_eq!(status, "error");
    let why = "Stopped: it has cost 1.1000 USD, and limits.max_cost_per_run = 1 allows no more.";
    assert_eq!(text, format!("{why}\n\nIts last words:\nhalf of it"));
}

#[test]
fn q6_what_waits_is_not_begun_when_the_budget_is_used_up() {
    let mut stage = Stage::with("[limits]\nmax_running = 1\nmax_cost = 1\n");
    let first = stage.launch("ask to go on\ncost 1.10 USD\nwait 2s\nsay done");
    stage.until(&first, "it asks", |task| !task.questions.is_empty());
    // Before the first has cost anything: else it would be refused.
    let second = stage.launch("cost 1.10 USD\nsay done");
    stage.home.run(["answer", &first, "once"]).with_code(0);
    assert_eq!(stage.result(&first).0, "completed");
    let (status, text) = stage.result(&second);
    assert_eq!(status, "error");
    assert!(text.starts_with("Not started: the helpers of this conversation"), "{text}");
    assert_eq!(stage.view(&second).usage.cost, None);
}

#[test]
fn p4_the_tool_calls_of_a_run_under_way_are_counted_as_they_are_now() {
    let mut stage = Stage::new();
    let task = stage.launch("repeat 30: tool look\nwait 600s");
    let view = stage.until(&task, "its calls", |task| task.tool_calls >= 20);
    let costs = stage.home.run(["cost", "--json"]).with_code(0).json();
    let counted = costs["total"]["tool_calls"].as_u64().unwrap();
    assert!(counted >= u64::from(view.tool_calls), "{counted} of {}", view.tool_calls);
}
