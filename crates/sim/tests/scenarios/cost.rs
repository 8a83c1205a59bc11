//! What runs use up, and the budget: P4. A token of the virtual host costs three millionths of a
//! dollar; a word is a token or two, a call of a tool ten.

use legwork_protocol::api::{Answer, Ask, List};
use legwork_protocol::view::TaskView;
use legwork_protocol::{Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::{Nasty, SHARED, SPECIALIST};
use legwork_sim::story::launch;
use legwork_sim::world::shared_place;
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
    (view.usage.tokens, view.usage.cost.map(|cost| cost.to_string()))
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
    assert_eq!(view(&mut story, task).usage.model.as_deref(), Some("virtual/model"));
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

/// What it has said so far is in the reason, and its session can be gone on with.
#[test]
fn q6_a_run_that_has_cost_what_one_may_is_stopped_and_keeps_what_it_found() {
    let settings = Settings { max_cost_per_run_micros: 60, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let dear = story.launch("Dear", "text half of it; tool grep; tool read 60000; say the rest");
    let cheap = story.launch("Cheap", "say found it");
    story.until_settled();
    assert_eq!(story.status(cheap), Some(Status::Completed));
    assert_eq!(story.status(dear), Some(Status::Error));
    let told = story.ask("background_output", json!({ "task_id": dear.to_string() }));
    assert!(told.contains("and limits.max_cost_per_run = 0.00006 allows no more."), "{told}");
    assert!(told.contains("Its last words:\nhalf of it"), "{told}");
    story.end();
}

#[test]
fn q6_all_terminals_spend_from_the_budget_of_the_day() {
    let settings = Settings { max_cost_per_day_micros: 100, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let window = story.world.boot_on(SHARED, shared_place());
    story.pass(1_000);
    let ask = |story: &mut Story, name: &str| {
        let terminal = story.conversation_in(window, name);
        let mut arguments = launch(name, WORK);
        arguments["agent"] = json!(SPECIALIST);
        let call = story.start_in(window, &terminal, "background_task", arguments);
        let answer = story.answer(call);
        story.until_settled();
        answer
    };
    for name in ["first", "second"] {
        assert!(ask(&mut story, name).starts_with("Task ID: "));
    }
    let refusal = "The helpers that terminals launched have cost, today, 0.0001 of 0.0001 USD \
         (limits.max_cost_per_day = 0.0001), so none can be launched or resumed.";
    assert!(ask(&mut story, "third").starts_with(refusal));
    story.world.restart_daemon();
    story.pass(5_000);
    assert!(ask(&mut story, "fourth").starts_with(refusal), "also after a restart");
    let window = story.launch("Window", WORK);
    story.until_status(window, Status::Completed);
    story.pass(24 * 3_600_000);
    assert!(ask(&mut story, "fifth").starts_with("Task ID: "), "a day later");
    story.end();
}

#[test]
fn q6_what_waits_in_the_queue_ends_with_the_reason_when_the_budget_is_used_up() {
    let settings = Settings { max_running: 1, ..up_to(69) };
    let mut story = Story::with(settings, Nasty::scripted());
    let first = story.launch("First", WORK);
    let waiting = ["Second", "Third"].map(|name| story.launch(name, WORK));
    story.until_settled();
    assert_eq!(story.status(first), Some(Status::Completed));
    for task in waiting {
        assert_eq!(story.status(task), Some(Status::Error));
        assert_eq!(figures(&mut story, task).1, None, "nothing of it ran");
        let told = story.ask("background_output", json!({ "task_id": task.to_string() }));
        let why = "Not started: the helpers of this conversation have cost 0.000069 of 0.000069 \
             USD (limits.max_cost = 0.000069).";
        assert!(told.contains(why), "{told}");
    }
    story.end();
}
