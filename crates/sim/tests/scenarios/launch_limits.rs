//! The limits of launching: how deep (L5) and how many (L7).

use legwork_engine::Stage;
use legwork_protocol::{Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::host::{Nasty, Session};
use legwork_sim::story::launch;
use serde_json::json;

use crate::launch::{helpers, last_answer, record, tasks};

fn limited(change: impl FnOnce(&mut Settings)) -> Story {
    let mut settings = Settings::default();
    change(&mut settings);
    Story::with(settings, Nasty::calm())
}

fn session(story: &mut Story, task: TaskId) -> Session {
    let id = story.session_of(task);
    story.world.oc.once(&id).unwrap().clone()
}

fn full(finished: usize, unfinished: usize, more: &str) -> String {
    format!(
        "This session and its helpers have 2 of 2 tasks (limits.max_tasks_per_root): {finished} \
         finished and {unfinished} unfinished of its own{more}. Free some with background_clear \
         (forgets your tasks) or wait for running ones and clear then."
    )
}

#[test]
fn l5_the_session_is_a_child_of_its_parent_with_a_title_and_without_the_tools() {
    let mut story = Story::new();
    let task = story.launch("Explore the tests", "say hi");
    let child = session(&mut story, task);
    assert_eq!(child.parent.as_ref(), Some(&story.main));
    assert_eq!(&*child.title, "Explore the tests");
    assert_eq!(child.mark, Some(task));
    assert!(!child.may_nest);
    story.end();
}

const AT_LIMIT: &str = "Helpers may launch helpers only 1 level(s) deep (limits.max_depth = 1), \
     and this session is at the limit. Do the work here, or ask the person to raise \
     limits.max_depth in legwork's config.toml.";

#[test]
fn l5_by_default_a_helper_that_launches_is_told_the_limit_and_how_to_raise_it() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 5000; say hi");
    let helper = story.session_of(task);
    let answer = story.call(&helper, "background_task", launch("Deeper", "say no"));
    assert!(story.world.calls.last().unwrap().refused());
    assert_eq!(answer, AT_LIMIT);
    assert_eq!((helpers(&story), tasks(&mut story)), (1, 1));
    story.until_settled();
    // Also when it is done and a person goes on in its session.
    assert_eq!(story.call(&helper, "background_task", launch("Deeper", "say no")), AT_LIMIT);
    story.end();
}

#[test]
fn l5_the_limit_of_depth_holds_after_a_restart() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 5000; say hi");
    let helper = story.session_of(task);
    story.world.kill_daemon();
    story.world.start_daemon();
    story.pass(1_000);
    assert_eq!(story.call(&helper, "background_task", launch("Deeper", "say no")), AT_LIMIT);
    assert_eq!((helpers(&story), tasks(&mut story)), (1, 1));
    story.end();
}

#[test]
fn l5_with_two_levels_a_helper_may_launch_and_its_own_helper_may_not() {
    let mut story = limited(|settings| settings.max_depth = 2);
    let outer = story.launch("Outer", "wait 9000; say done");
    let middle = story.session_of(outer);
    let inner = story.launch_from(&middle, "Inner", "wait 1000; say deep");
    let deepest = story.session_of(inner);
    let (above, below) = (session(&mut story, outer), session(&mut story, inner));
    assert_eq!(above.parent.as_ref(), Some(&story.main));
    assert_eq!(below.parent.as_ref(), Some(&middle));
    assert_eq!((above.may_nest, below.may_nest), (true, false));
    let (upper, lower) = (record(&mut story, outer), record(&mut story, inner));
    assert_eq!((upper.depth, lower.depth), (1, 2));
    assert_eq!((&lower.parent, &lower.root), (&middle, &story.main));
    let answer = story.call(&deepest, "background_task", launch("Deeper", "say no"));
    assert!(answer.contains("only 2 level(s) deep (limits.max_depth = 2)"), "{answer}");
    story.until_settled();
    assert_eq!((helpers(&story), tasks(&mut story)), (2, 2));
    let (to_main, to_helper) = (story.told(), story.deliveries(&middle));
    assert!(to_helper[0].headline.contains("Inner") && to_helper.len() == 1, "{to_helper:?}");
    assert!(to_main[0].headline.contains("Outer") && to_main.len() == 1, "{to_main:?}");
    story.end();
}

#[test]
fn l5_with_depth_zero_there_is_no_limit() {
    let mut story = limited(|settings| settings.max_depth = 0);
    let mut from = story.main.clone();
    for level in 1..=5 {
        let script = format!("wait {}; say done", 20_000 - level * 3_000);
        let task = story.launch_from(&from, &format!("Level {level}"), &script);
        let child = session(&mut story, task);
        assert_eq!((child.parent.as_ref(), child.may_nest), (Some(&from), true));
        assert_eq!(u64::from(record(&mut story, task).depth), level);
        from = child.id;
    }
    story.end();
}

#[test]
fn l7_over_the_limit_of_running_tasks_they_wait_and_start_in_order() {
    let mut story = limited(|settings| settings.max_running = 1);
    let mut order = vec![story.launch("First", "wait 3000; say one")];
    for (ahead, script) in ["wait 1000; say two", "wait 1000; say three"].iter().enumerate() {
        let task = story.launch(&format!("Number {}", ahead + 2), script);
        let answer = last_answer(&story);
        let place = ["next in line", "1 task before it"][ahead];
        assert!(answer.contains(&format!("It is queued, {place}. ")), "{answer}");
        assert!(answer.contains("notification"));
        assert_eq!(record(&mut story, task).stage, Stage::Queued);
        assert_eq!(story.status(task), Some(Status::Running));
        order.push(task);
    }
    assert_eq!(helpers(&story), 1);
    story.until("all to be done", |story| {
        let audit = story.world.audit();
        let at_work = audit.rows.values().filter(|row| row.task.stage.holds_slot()).count();
        assert!(at_work <= 1, "{at_work} run at once");
        audit.is_settled()
    });
    let opened: Vec<Time> = order.iter().map(|task| session(&mut story, *task).created).collect();
    assert!(opened.is_sorted() && opened[0] < opened[1] && opened[1] < opened[2]);
    let told: Vec<String> =
        story.told().into_iter().flat_map(|delivery| delivery.results).collect();
    let all: Vec<String> = order
        .iter()
        .zip(["one", "two", "three"])
        .map(|(task, said)| format!("What came of {task}:\n\n{said}"))
        .collect();
    assert_eq!(told, all);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l7_the_order_of_the_queue_survives_a_restart() {
    let mut story = limited(|settings| settings.max_running = 1);
    let order: Vec<TaskId> = ["wait 3000; say one", "say two", "say three", "say four"]
        .iter()
        .map(|script| story.launch("Work", script))
        .collect();
    story.world.kill_daemon();
    story.pass(1_000);
    story.world.start_daemon();
    story.pass(1_000);
    let fifth = story.launch("Work", "say five");
    assert_eq!(record(&mut story, fifth).stage, Stage::Queued);
    story.until_settled();
    let mut ended: Vec<(Option<Time>, TaskId)> = Vec::new();
    for task in order.iter().chain([&fifth]) {
        ended.push((record(&mut story, *task).run.ended, *task));
    }
    assert!(ended.is_sorted_by_key(|(at, _)| *at), "{ended:?}");
    insta::assert_snapshot!(story.end());
}

#[test]
fn l7_a_cancelled_task_frees_its_place_and_one_cancelled_in_the_queue_never_opens() {
    let mut story = limited(|settings| settings.max_running = 1);
    let first = story.launch("First", "hang");
    let second = story.launch("Second", "say never");
    let third = story.launch("Third", "say three");
    story.ask("background_cancel", json!({ "task_id": second.to_string() }));
    assert_eq!(helpers(&story), 1);
    story.ask("background_cancel", json!({ "task_id": first.to_string() }));
    story.until_status(third, Status::Completed);
    assert_eq!(story.world.oc.ever_marked(second), 0);
    assert_eq!(helpers(&story), 2);
    insta::assert_snapshot!(story.end());
}

#[test]
fn l7_each_host_has_its_own_places() {
    let mut story = limited(|settings| settings.max_running = 1);
    let window = story.world.boot();
    story.pass(1_000);
    let other = story.conversation_in(window, "other");
    let here = story.launch("Here", "wait 3000; say here");
    let call = story.start_in(window, &other, "background_task", launch("There", "say there"));
    story.answer(call);
    let there = story.world.calls[call].task().unwrap();
    assert!(record(&mut story, here).stage.holds_slot());
    assert!(record(&mut story, there).stage.holds_slot());
    story.end();
}

#[test]
fn l7_without_a_limit_nobody_waits() {
    let mut story = limited(|settings| settings.max_running = 0);
    let all: Vec<TaskId> = (0..20).map(|_| story.launch("Work", "wait 9000; say done")).collect();
    for task in &all {
        assert!(record(&mut story, *task).stage.holds_slot());
    }
    story.until_settled();
    assert_eq!(helpers(&story), 20);
}

#[test]
fn l7_over_the_limit_of_a_root_it_is_refused_and_told_who_holds_the_places() {
    let mut story = limited(|settings| settings.max_tasks_per_root = 2);
    let first = story.launch("First", "say one");
    story.until_status(first, Status::Completed);
    story.launch("Second", "wait 5000; say two");
    let answer = story.ask("background_task", launch("Third", "say three"));
    assert!(story.world.calls.last().unwrap().refused());
    assert_eq!(answer, full(1, 1, ""));
    assert_eq!((helpers(&story), tasks(&mut story)), (2, 2));
    story.until_settled();
    let answer = story.ask("background_task", launch("Third", "say three"));
    assert_eq!(answer, full(2, 0, ""), "finished ones hold their places until they are cleared");
    story.ask("background_clear", json!({}));
    story.launch("Third", "say three");
    story.end();
}

#[test]
fn l7_another_root_has_places_of_its_own() {
    let mut story = limited(|settings| settings.max_tasks_per_root = 2);
    let other = story.conversation("other");
    story.launch("First", "say one");
    story.launch("Second", "say two");
    story.launch_from(&other, "Third", "say three");
    let answer = story.ask("background_task", launch("Fourth", "say four"));
    assert!(story.world.calls.last().unwrap().refused(), "{answer}");
    story.end();
}

#[test]
fn l7_helpers_of_helpers_hold_places_of_the_root() {
    let mut story = limited(|settings| {
        settings.max_depth = 2;
        settings.max_tasks_per_root = 2;
    });
    let outer = story.launch("Outer", "wait 9000; say done");
    let middle = story.session_of(outer);
    story.launch_from(&middle, "Inner", "wait 3000; say deep");
    let here = story.ask("background_task", launch("More", "say no"));
    let below = story.call(&middle, "background_task", launch("More", "say no"));
    assert_eq!(here, full(0, 1, ", 1 of its helpers"));
    assert!(below.contains("have 2 of 2 tasks (limits.max_tasks_per_root)"), "{below}");
    story.until_settled();
    assert_eq!((helpers(&story), tasks(&mut story)), (2, 2));
    story.end();
}

#[test]
fn l7_two_launches_at_once_cannot_both_have_the_last_place_of_a_root() {
    let mut story = limited(|settings| settings.max_tasks_per_root = 2);
    story.launch("First", "wait 5000; say one");
    let main = story.main.clone();
    let calls = ["Second", "Third"]
        .map(|what| story.start(&main, "background_task", launch(what, "wait 5000; say it")));
    for call in calls {
        story.answer(call);
    }
    story.pass(100);
    let refused = calls.map(|call| story.world.calls[call].refused());
    assert_ne!(refused[0], refused[1]);
    let loser = if refused[0] { calls[0] } else { calls[1] };
    assert_eq!(story.answer(loser), full(0, 2, ""));
    assert_eq!((helpers(&story), tasks(&mut story)), (2, 2));
    insta::assert_snapshot!(story.end());
}

#[test]
fn l7_the_limit_of_a_root_counts_what_was_kept_before_a_restart() {
    let mut story = limited(|settings| settings.max_tasks_per_root = 2);
    story.launch("First", "say one");
    story.launch("Second", "say two");
    story.until_settled();
    story.world.kill_daemon();
    story.world.start_daemon();
    story.pass(1_000);
    assert_eq!(story.ask("background_task", launch("Third", "say three")), full(2, 0, ""));
    story.end();
}
