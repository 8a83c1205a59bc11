//! Headless hosts: K6. Helpers outlive their window; what they find is told once, and no process
//! is left behind.

use legwork_engine::task::StageName;
use legwork_protocol::api::{Ask, Reply};
use legwork_protocol::limits::HEADLESS_IDLE_MS;
use legwork_protocol::{HostId, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;

use super::cancel::{detail, runs, until_stage};
use super::keeping::{DAY_MS, MINUTE_MS, output};
use super::restarts::fails;

/// The headless hosts that are there.
fn headless(story: &Story) -> Vec<usize> {
    let seen = story.world.on_screen();
    story.world.alive().into_iter().filter(|window| !seen.contains(window)).collect()
}

fn host_of(story: &mut Story, task: TaskId) -> HostId {
    story.world.audit().rows[&task].task.run.host.clone()
}

fn until_headless(story: &mut Story) -> usize {
    story.until("a headless host", |story| !headless(story).is_empty());
    headless(story)[0]
}

/// A helper that was at work when its window closed goes on in a headless host.
fn goes_on(story: &mut Story, script: &str) -> TaskId {
    let task = story.launch("Explore", script);
    until_stage(story, task, StageName::Working);
    story.world.kill_window(0);
    until_headless(story);
    task
}

/// It completed with this answer, and its parent was told once.
fn ends_well(story: &mut Story, task: TaskId, result: &str) {
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Completed));
    assert_eq!(detail(story, task, 0), result);
    let told = story.told().into_iter();
    let told = told.filter(|delivery| delivery.headline.contains("COMPLETED]"));
    let all: String = told.map(|delivery| delivery.headline).collect();
    assert_eq!(all.matches(&task.to_string()).count(), 1, "{all}");
    assert!(!runs(story, task));
}

fn all_ended(story: &mut Story) {
    story.pass(3 * HEADLESS_IDLE_MS);
    assert!(headless(story).is_empty(), "nobody needs one");
}

#[test]
fn k6_helpers_go_on_without_their_window_and_are_told_once_without_a_turn() {
    let settings = Settings { max_running: 3, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let main = story.main.clone();
    let tool = story.launch("In a tool", "tool bash 20000; say from the tool");
    let streams = story.launch("Streams", "text so far; wait 10000; say streamed");
    let asks = story.launch("Asks", "ask rm; say asked");
    let queued = story.launch("Queued", "say queued");
    story.until("the question", |story| output(story, asks).contains("rm"));
    let turns = story.turns(&main);
    story.world.kill_window(0);
    let host = until_headless(&mut story);
    let process = story.world.windows[host].process;
    story.until("the question again", |story| !story.world.oc.questions(process).is_empty());
    let question = story.world.oc.questions(process)[0].id.clone();
    story.until("it to be known", |story| {
        let shown = story.person(Ask::Output { task: asks.to_string(), offset: 0 });
        shown.contains("rm")
    });
    story.person(Ask::Reply { question, reply: Reply::Once });
    for (task, result) in
        [(tool, "from the tool"), (streams, "streamed"), (asks, "asked"), (queued, "queued")]
    {
        ends_well(&mut story, task, result);
    }
    assert_eq!(story.turns(&main), turns, "nobody is there to read a turn");
    all_ended(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k6_a_window_that_opens_meanwhile_gets_the_new_work_and_is_told_of_the_old() {
    let mut story = Story::new();
    let old = goes_on(&mut story, "wait 30000; say old");
    let host = story.world.windows[headless(&story)[0]].host.clone();
    story.pass(5_000);
    let window = story.world.boot();
    story.pass(1_000);
    let main = story.main.clone();
    story.world.use_session(window, &main);
    let call = story.start_in(window, &main, "background_task", launch("New", "say new"));
    story.answer(call);
    let new = story.world.calls[call].task().unwrap();
    story.until_status(new, Status::Completed);
    assert_eq!(story.status(old), Some(Status::Running));
    assert_eq!(host_of(&mut story, old), host);
    assert_ne!(host_of(&mut story, new), host, "new work runs in the window");
    ends_well(&mut story, old, "old");
    let told =
        story.told().into_iter().find(|delivery| delivery.headline.contains(&old.to_string()));
    assert!(!told.unwrap().quiet, "the window was used, so a turn starts there");
    all_ended(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k6_a_headless_host_that_is_killed_is_replaced() {
    let mut story = Story::new();
    let task = goes_on(&mut story, "wait 20000; say found it");
    let first = headless(&story)[0];
    story.pass(5_000);
    story.world.kill_window(first);
    story.until("another", |story| headless(story).iter().any(|other| *other != first));
    ends_well(&mut story, task, "found it");
    all_ended(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k6_a_killed_daemon_finds_the_headless_host_again_and_starts_no_other() {
    let mut story = Story::new();
    let task = goes_on(&mut story, "wait 40000; say found it");
    story.pass(3_000);
    for _ in 0..3 {
        story.world.kill_daemon();
        story.pass(4_000);
        story.world.start_daemon();
        story.pass(4_000);
        assert_eq!(headless(&story).len(), 1);
    }
    ends_well(&mut story, task, "found it");
    all_ended(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k6_two_that_were_started_by_a_daemon_that_died_do_not_pile_up() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 30000; say found it");
    until_stage(&mut story, task, StageName::Working);
    story.world.kill_window(0);
    story.pass(2_500);
    // The first one is on its way and its daemon is dead: the next daemon starts another.
    story.world.kill_daemon();
    story.pass(60);
    story.world.start_daemon();
    story.pass(20_000);
    all_ended_but(&mut story, 1);
    ends_well(&mut story, task, "found it");
    all_ended(&mut story);
    story.end();
}

fn all_ended_but(story: &mut Story, most: usize) {
    story.pass(3 * HEADLESS_IDLE_MS);
    assert!(headless(story).len() <= most);
}

#[test]
fn k6_switched_off_nothing_is_started() {
    for settings in [Settings { headless: false, ..Settings::default() }, fails()] {
        let mut story = Story::with(settings, Nasty::calm());
        let task = story.launch("Explore", "wait 20000; say never");
        until_stage(&mut story, task, StageName::Working);
        story.world.kill_window(0);
        story.pass(30_000);
        assert!(story.world.alive().is_empty());
        story.until_status(task, Status::Error);
        assert!(detail(&mut story, task, 0).starts_with("interrupted"));
        story.world.boot();
        story.end();
    }
}

#[test]
fn k6_where_none_can_be_started_the_reason_is_told() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 20000; say never");
    until_stage(&mut story, task, StageName::Working);
    story.world.faults.headless_fails = 1_000;
    story.world.kill_window(0);
    story.until_status(task, Status::Error);
    let why = detail(&mut story, task, 0);
    assert!(why.starts_with("interrupted") && why.contains("no such program"), "{why}");
    story.world.boot();
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    story.end();
}

#[test]
fn k6_a_headless_host_stays_while_its_helpers_work() {
    let mut story = Story::new();
    let task = goes_on(&mut story, "tool bash 600000; say found it");
    let host = headless(&story)[0];
    story.pass(9 * MINUTE_MS);
    assert_eq!(headless(&story), [host]);
    ends_well(&mut story, task, "found it");
    all_ended(&mut story);
    story.pass(DAY_MS);
    assert!(!runs(&story, task));
    story.end();
}

#[test]
fn k2_time_in_which_nobody_works_is_not_counted() {
    let mut story = Story::with(
        Settings { headless: false, max_quiet_minutes: 0, ..Settings::default() },
        Nasty::calm(),
    );
    let task = story.launch("Explore", "wait 20000; say found it");
    until_stage(&mut story, task, StageName::Working);
    story.pass(10_000);
    story.world.kill_window(0);
    story.pass(50_000);
    let shown = story.person(Ask::Output { task: task.to_string(), offset: 0 });
    assert!(shown.contains("Time so far: 1"), "ten to fifteen seconds of work: {shown}");
    story.world.boot();
    ends_well(&mut story, task, "found it");
    let took = story.world.audit().rows[&task].task.elapsed_ms(Time::default());
    assert!((28_000..40_000).contains(&took), "10 s and 20 s of work: {took} ms");
    story.end();
}

fn beside(most: u32) -> Story {
    let settings = Settings { max_in_window: most, ..Settings::default() };
    Story::with(settings, Nasty::scripted())
}

#[test]
fn k6_helpers_over_the_limit_of_a_window_work_beside_it_and_are_told_in_it() {
    let mut story = beside(1);
    let window = story.world.windows[0].host.clone();
    let first = story.launch("First", "wait 60000; say one");
    assert_eq!(host_of(&mut story, first), window);
    // Nobody waits for the other host to start.
    let second = story.launch("Second", "wait 60000; say two");
    assert_eq!(host_of(&mut story, second), window);
    let beside = until_headless(&mut story);
    story.pass(1_000);
    let third = story.launch("Third", "ask bash; say three");
    assert_eq!(host_of(&mut story, third), story.world.windows[beside].host);
    story.until("its question", |story| story.told().len() == 1);
    let process = story.world.windows[beside].process;
    let question = story.world.oc.questions(process)[0].id.clone();
    story.person(Ask::Reply { question, reply: Reply::Once });
    story.until_settled();
    assert_eq!(story.told().iter().map(|told| told.results.len()).sum::<usize>(), 3);
    all_ended(&mut story);
    insta::assert_snapshot!(story.end());
}

#[test]
fn k6_without_headless_hosts_all_work_in_the_window() {
    let settings = Settings { max_in_window: 1, headless: false, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    for name in ["First", "Second", "Third"] {
        story.launch(name, "wait 5000; say done");
        story.pass(10_000);
    }
    story.until_settled();
    assert_eq!(story.world.windows.len(), 1);
    story.end();
}
