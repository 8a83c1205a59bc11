//! Restarts: K2. Whatever stage a task is at when the daemon or its host ends, it is looked up
//! afterwards, ends right and is told once; nothing stays `running` by mistake.

use legwork_engine::task::StageName;
use legwork_protocol::api::{Ask, Reply};
use legwork_protocol::{Interrupted, Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;

use super::cancel::{calm, detail, launch_to_opening, runs, stage, until_stage};
use super::keeping::{DAY_MS, MINUTE_MS, dead_for, ends_well_once, output};

fn one_place() -> Settings {
    Settings { max_running: 1, ..Settings::default() }
}

/// What is cut off is not asked to go on.
pub fn fails() -> Settings {
    Settings { interrupted: Interrupted::Fail, ..Settings::default() }
}

/// The task was cut off with its host, and its parent is told without a turn.
fn ends_interrupted(story: &mut Story, task: TaskId) {
    let main = story.main.clone();
    let turns = story.turns(&main);
    story.until_status(task, Status::Error);
    assert!(detail(story, task, 0).starts_with("interrupted"));
    if story.world.alive().is_empty() {
        story.world.boot();
    }
    story.until_settled();
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].headline.starts_with(&format!("[BACKGROUND TASK FAILED] {task} ")));
    assert!(told[0].quiet, "nobody has used it since");
    assert_eq!(story.turns(&main), turns);
    assert!(!runs(story, task));
}

#[test]
fn k2_a_queued_task_waits_on_after_a_restart() {
    let mut story = Story::with(one_place(), Nasty::scripted());
    let first = story.launch("First", "wait 20000; say first");
    let second = story.launch("Second", "say second");
    let third = story.launch("Third", "say third");
    assert_eq!(stage(&mut story, second), Some(StageName::Queued));
    dead_for(&mut story, 3_000);
    story.pass(1_000);
    assert_eq!(stage(&mut story, second), Some(StageName::Queued));
    story.until_status(third, Status::Completed);
    for (task, result) in [(first, "first"), (second, "second"), (third, "third")] {
        ends_well_once(&mut story, task, 0, result);
    }
    story.end();
}

#[test]
fn k2_a_task_that_was_being_opened_is_opened_once() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let (call, task) = launch_to_opening(&mut story, "say opened", calm());
    dead_for(&mut story, 3_000);
    assert_eq!(stage(&mut story, task), Some(StageName::Opening));
    let answer = story.answer(call);
    assert!(answer.contains(&format!("Task ID: {task}")), "{answer}");
    ends_well_once(&mut story, task, 0, "opened");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_task_that_was_being_prompted_is_prompted_once() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let (_, task) = launch_to_opening(&mut story, "say prompted", calm());
    until_stage(&mut story, task, StageName::Prompting);
    dead_for(&mut story, 3_000);
    assert_eq!(stage(&mut story, task), Some(StageName::Prompting));
    ends_well_once(&mut story, task, 0, "prompted");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_task_still_at_work_is_followed_after_a_restart() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Long", "wait 60000; say long");
    until_stage(&mut story, task, StageName::Working);
    dead_for(&mut story, 10_000);
    story.pass(5_000);
    assert_eq!(story.status(task), Some(Status::Running));
    ends_well_once(&mut story, task, 0, "long");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_task_that_finished_while_the_daemon_was_dead_is_told() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Meanwhile", "wait 5000; say meanwhile");
    until_stage(&mut story, task, StageName::Working);
    dead_for(&mut story, 10 * MINUTE_MS);
    ends_well_once(&mut story, task, 0, "meanwhile");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_finished_long_before_the_daemon_came_back_it_is_completed_all_the_same() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Overnight", "wait 5000; say overnight");
    until_stage(&mut story, task, StageName::Working);
    dead_for(&mut story, DAY_MS);
    story.until_settled();
    assert_eq!(detail(&mut story, task, 0), "overnight");
    assert_eq!(story.status(task), Some(Status::Completed));
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_resumed_task_is_followed_after_a_restart() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Twice", "say one");
    story.until_settled();
    story.resume(task, "wait 20000; say two");
    dead_for(&mut story, 3_000);
    story.pass(2_000);
    assert_eq!(story.status(task), Some(Status::Resumed), "and not done with the old answer");
    ends_well_once(&mut story, task, 1, "two");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_task_that_waits_for_a_permission_still_does_after_a_restart() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Asker", "ask rm; say asked");
    story.until("the question to be told", |story| story.told().len() == 1);
    dead_for(&mut story, 3_000);
    story.until("the question", |story| output(story, task).contains("rm"));
    let process = story.world.windows[0].process;
    let question = story.world.oc.questions(process)[0].id.clone();
    story.person(Ask::Reply { question, reply: Reply::Once });
    ends_well_once(&mut story, task, 0, "asked");
    assert_eq!(story.told().len(), 2, "the question was not told again");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_daemon_killed_anywhere_on_the_way_loses_and_doubles_nothing() {
    for steps in 0..60 {
        let mut story = Story::with(Settings::default(), Nasty::scripted());
        let main = story.main.clone();
        let arguments = launch("Work", "tool bash 50; say done");
        let call = story.start(&main, "background_task", arguments);
        for _ in 0..steps {
            story.world.step();
        }
        dead_for(&mut story, 500);
        story.answer(call);
        let task = story.world.calls[call].task().unwrap();
        ends_well_once(&mut story, task, 0, "done");
        assert_eq!(story.told().len(), 1, "killed after {steps} steps");
        story.end();
    }
}

#[test]
fn k2_finished_before_its_host_ended_it_is_completed_and_told() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let main = story.main.clone();
    let task = story.launch("In time", "wait 2000; say in time");
    until_stage(&mut story, task, StageName::Working);
    story.world.kill_daemon();
    story.pass(20_000);
    story.world.kill_window(0);
    let turns = story.turns(&main);
    story.world.boot();
    story.world.start_daemon();
    ends_well_once(&mut story, task, 0, "in time");
    assert!(story.told()[0].quiet);
    assert_eq!(story.turns(&main), turns, "nobody has used it since");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_cut_off_with_its_host_it_is_interrupted_and_told_without_a_turn() {
    let mut story = Story::with(fails(), Nasty::scripted());
    let task = story.launch("Cut off", "wait 60000; say never");
    story.pass(5_000);
    story.world.kill_window(0);
    story.world.boot();
    ends_interrupted(&mut story, task);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_cut_off_while_the_daemon_was_dead_it_is_interrupted_too() {
    let mut story = Story::with(fails(), Nasty::scripted());
    let task = story.launch("Cut off", "wait 60000; say never");
    story.pass(5_000);
    story.world.kill_daemon();
    story.world.kill_window(0);
    story.pass(60 * MINUTE_MS);
    story.world.boot();
    story.world.start_daemon();
    ends_interrupted(&mut story, task);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_without_another_host_it_is_interrupted_after_the_grace_time() {
    let mut story = Story::with(fails(), Nasty::calm());
    let task = story.launch("Alone", "wait 60000; say never");
    story.pass(5_000);
    story.world.kill_window(0);
    story.pass(59_000);
    assert_eq!(story.status(task), Some(Status::Running), "a host may still come");
    // Its end may be seen only when it is looked for, some seconds later.
    story.pass(8_000);
    assert_eq!(story.status(task), Some(Status::Error));
    story.pass(DAY_MS);
    assert!(story.told().is_empty(), "nobody is there to tell it");
    ends_interrupted(&mut story, task);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_unfinished_tasks_of_every_stage_end_with_their_host() {
    let settings = Settings { max_running: 2, ..fails() };
    let mut story = Story::with(settings, Nasty::scripted());
    let resumed = story.launch("Resumed", "say one");
    story.until_settled();
    story.resume(resumed, "hang");
    let working = story.launch("Working", "hang");
    story.pass(5_000);
    let queued = story.launch("Queued", "hang");
    let opened = story.world.oc.ever().len();
    story.world.kill_window(0);
    story.world.boot();
    story.until_settled();
    for (task, run) in [(resumed, 1), (working, 0), (queued, 0)] {
        assert_eq!(story.status(task), Some(Status::Error));
        assert!(detail(&mut story, task, run).starts_with("interrupted"));
        assert!(!runs(&story, task));
    }
    assert_eq!(story.world.oc.ever().len(), opened, "no session came into being");
    let told: Vec<String> = story.told().into_iter().map(|delivery| delivery.headline).collect();
    assert_eq!(told.concat().matches("FAILED]").count(), 3, "{told:?}");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_helper_that_was_cut_off_goes_on_in_another_window() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Goes on", "wait 60000; say never");
    story.pass(5_000);
    let session = story.session_of(task);
    story.world.kill_window(0);
    story.pass(10_000);
    story.world.boot();
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Completed));
    assert_eq!(story.session_of(task), session, "with its whole history");
    let last = story.world.oc.get(&session).unwrap().prompts().next_back().unwrap().1;
    assert!(last.parts[0].text.contains("You were interrupted"));
    assert!(last.parts[0].text.ends_with("wait 60000; say never"));
    assert_eq!(story.told().len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_a_helper_is_not_asked_to_go_on_for_ever() {
    let mut story = Story::with(Settings::default(), Nasty::calm());
    let task = story.launch("Dies", "wait 60000; say never");
    let session = story.session_of(task);
    for window in 0..4 {
        story.until("the next prompt", |story| {
            let prompts = story.world.oc.get(&session).unwrap().prompts().count();
            prompts == window + 1 && stage(story, task) == Some(StageName::Working)
        });
        story.world.kill_window(window);
        story.world.boot();
    }
    story.until_status(task, Status::Error);
    story.until_settled();
    assert!(detail(&mut story, task, 0).starts_with("interrupted"));
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_another_window_ending_changes_nothing() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let other = story.world.boot();
    story.pass(1_000);
    let task = story.launch("Here", "wait 20000; say here");
    story.pass(2_000);
    story.world.kill_window(other);
    story.pass(2_000);
    assert_eq!(story.status(task), Some(Status::Running));
    ends_well_once(&mut story, task, 0, "here");
    story.end();
}

/// A window that is closed aborts what runs in it before it goes; that was nobody's wish.
#[test]
fn k2_a_run_that_its_window_aborts_on_closing_was_interrupted() {
    let mut story = Story::with(fails(), Nasty::calm());
    let task = story.launch("Explore", "tool grep 600000; say found it");
    story.pass(5_000);
    let session = story.session_of(task);
    let process = story.world.windows[0].process;
    assert_eq!(story.world.oc.abort(process, &session), Ok(true));
    story.pass(500);
    story.world.kill_window(0);
    story.world.boot();
    story.until_status(task, Status::Error);
    let said = story.person(Ask::Output { task: task.to_string(), offset: 0 });
    assert!(said.contains("interrupted"), "{said}");
    story.until_settled();
    insta::assert_snapshot!(story.end());
}
