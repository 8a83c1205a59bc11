//! What runs use up, and the budget: P4. A token of the virtual host costs three millionths of a
//! dollar; a word is a token or two, a call of a tool ten.

use legwork_protocol::api::{Answer, Ask, List};
use legwork_protocol::view::TaskView;
use legwork_protocol::{Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use serde_json::json;

use crate::list::Bare;

fn view(story: &mut Story, task: TaskId) -> TaskView {
    match story.world.ask_now(Ask::List(List::default())) {
        Some(Answer::Listed(all)) => all.tasks.into_iter().find(|view| view.id == task).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn figures(story: &mut Story, task: TaskId) -> (Option<u64>, Option<String>) {
    let view = view(story, task);
    (view.tokens, view.cost().map(|cost| cost.to_string()))
}

fn up_to(max_cost_micros: u64) -> Settings {
    Settings { max_cost_micros, ..Settings::default() }
}

/// A run of two calls of tools and three tokens of text: 23 tokens, 69 millionths.
const WORK: &str = "tool grep; tool read; say found it";

fn known() -> (Option<u64>, Option<String>) {
    (Some(23), Some("0.000069 USD".to_owned()))
}

#[test]
fn p4_a_finished_run_keeps_what_it_used_up_also_after_a_restart() {
    let mut story = Story::new();
    let task = story.launch("Explore", WORK);
    story.until_status(task, Status::Completed);
    assert_eq!(figures(&mut story, task), known());
    assert_eq!(view(&mut story, task).model.as_deref(), Some("virtual/model"));
    story.world.restart_daemon();
    story.pass(1_000);
    assert_eq!(figures(&mut story, task), known());
    story.end();
}

#[test]
fn p4_a_resume_has_its_own_figures_whatever_is_restarted() {
    for dies in [false, true] {
        let mut story = Story::new();
        let task = story.launch("Explore", WORK);
        story.until_status(task, Status::Completed);
        story.resume(task, "tool bash 3000; say ok");
        if dies {
            story.pass(1_000);
            story.world.kill_daemon();
            story.pass(1_000);
            story.world.start_daemon();
        }
        story.until_status(task, Status::Completed);
        let tokens = figures(&mut story, task).0;
        assert_eq!((tokens, view(&mut story, task).tool_calls), (Some(11), 1), "dies: {dies}");
        let first = story.world.audit().runs[&(task, 0)].usage.tokens;
        assert_eq!(first, Some(23), "the first run's are the first run's");
        story.end();
    }
}

#[test]
fn p4_a_run_under_way_shows_what_it_used_up_so_far_and_a_restart_forgets_none_of_it() {
    let mut story = Story::new();
    let task = story.launch("Explore", "tool grep 100; tool read 60000; say found it");
    story.pass(5_000);
    assert_eq!(figures(&mut story, task).0, Some(20));
    story.world.kill_daemon();
    story.world.start_daemon();
    assert_eq!(figures(&mut story, task).0, Some(20), "before any host is there");
    story.until_status(task, Status::Completed);
    assert_eq!(figures(&mut story, task), known());
    story.end();
}

#[test]
fn p4_a_cancelled_run_keeps_what_it_used_up_so_far() {
    let mut story = Story::new();
    let task = story.launch("Explore", "tool grep 100; tool read 60000; say found it");
    story.pass(5_000);
    story.ask("background_cancel", json!({ "task_id": task.to_string() }));
    assert_eq!(figures(&mut story, task).0, Some(20));
    story.end();
}

#[test]
fn p4_a_run_that_goes_on_elsewhere_counts_what_it_used_up_before() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "tool grep 100; tool read 60000; say found it");
    story.pass(5_000);
    story.world.kill_window(0);
    story.world.boot();
    story.until("it goes on", |story| story.world.audit().runs[&(task, 0)].continued == 1);
    story.world.restart_daemon();
    story.until_status(task, Status::Completed);
    assert_eq!(
        figures(&mut story, task).0,
        Some(20 + 23),
        "what it did before, and all of it again"
    );
    story.end();
}

#[test]
fn p4_what_the_host_does_not_tell_is_unknown_and_not_nothing() {
    let mut bare = Bare::new();
    bare.host_comes("here", "one");
    let task = bare.launch("here", "ses_a", "Explore", "ses_helper");
    bare.answered("ses_helper", "found it");
    let shown = serde_json::to_value(bare.view(task)).unwrap();
    for key in ["tokens", "cost_micros", "currency", "model"] {
        assert_eq!(shown.get(key), None, "{key} is there");
    }
}

#[test]
fn p4_over_the_budget_launches_and_resumes_are_refused_with_the_setting_and_the_figures() {
    let mut story = Story::with(up_to(100), Nasty::scripted());
    let first = story.launch("First", WORK);
    story.until_status(first, Status::Completed);
    let second = story.launch("Second", WORK);
    story.until_status(second, Status::Completed);
    let refusal = "The helpers of this conversation have cost 0.0001 of 0.0001 USD \
         (limits.max_cost = 0.0001), so none can be launched or resumed. Go on without them, or \
         ask the person to raise limits.max_cost in legwork's config.toml and to run `legwork \
         daemon stop`.";
    assert_eq!(story.ask("background_task", launch("Third", WORK)), refusal);
    assert_eq!(story.resume(first, "say more"), refusal);
    assert_eq!(view(&mut story, first).budget.map(|it| it.spent_micros), Some(138));
    let other = story.conversation("other");
    let elsewhere = story.launch_from(&other, "Elsewhere", WORK);
    story.until_status(elsewhere, Status::Completed);
    story.end();
}

#[test]
fn p4_the_budget_is_used_up_after_a_restart_and_a_clear_too() {
    let mut story = Story::with(up_to(69), Nasty::scripted());
    let task = story.launch("First", WORK);
    story.until_status(task, Status::Completed);
    story.until_settled();
    assert_eq!(story.ask("background_clear", json!({})), "Cleared 1 task; none was unfinished.");
    story.world.restart_daemon();
    story.pass(2_000);
    let answer = story.ask("background_task", launch("Second", WORK));
    assert!(answer.contains("limits.max_cost"), "{answer}");
    story.end();
}

#[test]
fn p4_what_a_running_helper_costs_counts_as_soon_as_it_is_known() {
    let mut story = Story::with(up_to(60), Nasty::scripted());
    let task = story.launch("First", "tool grep 100; tool read 60000; say found it");
    story.pass(5_000);
    let answer = story.ask("background_task", launch("Second", WORK));
    assert!(answer.contains("limits.max_cost"), "{answer}");
    assert_eq!(story.status(task), Some(Status::Running), "what runs is not stopped");
    story.end();
}

#[test]
fn p4_a_helpers_helper_spends_from_the_same_budget() {
    let settings = Settings { max_depth: 2, ..up_to(69) };
    let mut story = Story::with(settings, Nasty::scripted());
    let helper = story.launch("Helper", "wait 60000; say done");
    story.pass(1_000);
    let session = story.session_of(helper);
    let nested = story.launch_from(&session, "Nested", WORK);
    story.until_status(nested, Status::Completed);
    assert_eq!(figures(&mut story, helper).0, None, "its helper's cost is not its own");
    let answer = story.ask("background_task", launch("Another", WORK));
    assert!(answer.contains("limits.max_cost"), "{answer}");
    story.end();
}
