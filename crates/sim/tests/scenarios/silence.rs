//! The limits that end a run which does not end by itself: D4.

use legwork_protocol::api::{Ask, Reply};
use legwork_protocol::{Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::host::Nasty;

use crate::ends::{count, detail, ended, question, told_of};

const MINUTE_MS: u64 = 60_000;

fn limits(max_run_minutes: u32, max_quiet_minutes: u32) -> Settings {
    Settings { max_run_minutes, max_quiet_minutes, ..Settings::default() }
}

fn took(story: &mut Story, task: TaskId) -> u64 {
    let started = story.world.audit().rows[&task].task.run.started;
    ended(story, task).since(started)
}

#[test]
fn d4_a_run_past_its_longest_time_is_aborted_and_names_the_setting() {
    let mut story = Story::with(limits(1, 30), Nasty::scripted());
    let busy = "tool grep 9000; ".repeat(20);
    let task = story.launch("Explore", &format!("{busy}say found it"));
    let session = story.session_of(task);
    story.until_status(task, Status::Error);
    let why = "Stopped: it ran longer than limits.max_run_minutes = 1 allows.";
    assert_eq!(detail(&mut story, task, 0), why);
    let took = took(&mut story, task);
    assert!((MINUTE_MS..MINUTE_MS + 1_000).contains(&took), "{took} ms");
    story.until_settled();
    assert!(!story.world.oc.runs(&session));
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn d4_a_run_past_the_quiet_time_is_aborted_and_names_the_setting() {
    let mut story = Story::with(limits(120, 1), Nasty::scripted());
    let task = story.launch("Explore", "tool grep 20000; hang");
    let session = story.session_of(task);
    story.until_status(task, Status::Error);
    let why = "Stopped: it was silent longer than limits.max_quiet_minutes = 1 allows.";
    assert_eq!(detail(&mut story, task, 0), why);
    let took = took(&mut story, task);
    assert!((MINUTE_MS + 20_000..MINUTE_MS + 30_000).contains(&took), "{took} ms");
    story.until_settled();
    assert!(!story.world.oc.runs(&session));
    assert_eq!(told_of(&story, task).len(), 1);
    story.end();
}

#[test]
fn d4_waiting_for_a_person_is_no_silence() {
    let mut story = Story::with(limits(120, 1), Nasty::calm());
    let task = story.launch("Explore", "ask bash; wait 50000; say found it");
    let question = question(&mut story);
    story.pass(10 * MINUTE_MS);
    assert_eq!(story.status(task), Some(Status::Running));
    story.person(Ask::Reply { question, reply: Reply::Once });
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "found it");
    story.end();
}

#[test]
fn d4_waiting_for_a_person_is_no_silence_when_events_are_lost() {
    let mut story = Story::with(limits(120, 1), Nasty::calm());
    story.world.faults.hint_lost = 1000;
    let task = story.launch("Explore", "ask bash; say found it");
    let question = question(&mut story);
    story.pass(5 * MINUTE_MS);
    story.world.restart_daemon();
    story.pass(5 * MINUTE_MS);
    assert_eq!(story.status(task), Some(Status::Running));
    story.person(Ask::Reply { question, reply: Reply::Once });
    story.until_status(task, Status::Completed);
    story.end();
}

#[test]
fn d4_after_the_person_has_answered_silence_counts_again() {
    let mut story = Story::with(limits(120, 1), Nasty::calm());
    let task = story.launch("Explore", "ask bash; hang");
    let question = question(&mut story);
    story.pass(5 * MINUTE_MS);
    let answered = story.world.now;
    story.person(Ask::Reply { question, reply: Reply::Once });
    story.until_status(task, Status::Error);
    let silent = ended(&mut story, task).since(answered);
    assert!((MINUTE_MS..MINUTE_MS + 10_000).contains(&silent), "{silent} ms");
    story.end();
}

#[test]
fn d4_lost_events_do_not_make_a_busy_helper_silent() {
    let mut story = Story::with(limits(120, 1), Nasty::calm());
    story.world.faults.hint_lost = 1000;
    let busy = "tool grep 40000; ".repeat(6);
    let task = story.launch("Explore", &format!("{busy}say found it"));
    story.until_status(task, Status::Completed);
    assert!(count(&story, "how far is") > 1, "it was to be asked before it is ended");
    assert_eq!(detail(&mut story, task, 0), "found it");
    story.end();
}

/// The host waits so long before it tries its provider again.
fn retries_after(minutes: u64) -> Nasty {
    Nasty { retry_ms: [minutes * MINUTE_MS; 5], ..Nasty::calm() }
}

#[test]
fn d4_a_wait_for_the_provider_is_neither_silence_nor_run_time() {
    let mut story = Story::with(limits(5, 1), retries_after(120));
    let task = story.launch("Explore", "wait 20000; retry 1; wait 20000; say found it");
    story.pass(119 * MINUTE_MS);
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Completed);
    assert_eq!(detail(&mut story, task, 0), "found it");
    let took = story.world.audit().rows[&task].task.elapsed_ms(Time::default());
    assert!((40_000..60_000).contains(&took), "two times 20 s of work: {took} ms");
    story.end();
}

#[test]
fn d4_a_wait_for_the_provider_outlasts_a_restart_of_the_daemon() {
    let mut story = Story::with(limits(30, 1), retries_after(120));
    let task = story.launch("Explore", "retry 1; say found it");
    for _ in 0..3 {
        story.pass(32 * MINUTE_MS);
        story.world.restart_daemon();
    }
    story.pass(29 * MINUTE_MS);
    story.until_status(task, Status::Completed);
    let took = story.world.audit().rows[&task].task.elapsed_ms(Time::default());
    assert!(took < 16 * MINUTE_MS, "a few minutes for each restart at the most: {took} ms");
    story.end();
}

#[test]
fn d4_after_a_wait_for_the_provider_silence_counts_again() {
    let mut story = Story::with(limits(5, 1), retries_after(30));
    let task = story.launch("Explore", "retry 1; hang");
    story.pass(29 * MINUTE_MS);
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Error);
    assert!(detail(&mut story, task, 0).contains("limits.max_quiet_minutes = 1"));
    story.end();
}

#[test]
fn d4_a_wait_for_the_provider_has_an_end() {
    let mut story = Story::with(limits(5, 1), retries_after(30 * 60));
    let task = story.launch("Explore", "retry 1; say found it");
    story.pass((24 * 60 - 1) * MINUTE_MS);
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Error);
    let why = detail(&mut story, task, 0);
    assert!(why.starts_with("Stopped: it waited for its provider for 24 hours"), "{why}");
    let took = took(&mut story, task);
    assert!((24 * 60 * MINUTE_MS..24 * 60 * MINUTE_MS + 60_000).contains(&took), "{took} ms");
    story.end();
}

#[test]
fn d4_a_limit_of_0_is_none() {
    let mut story = Story::with(limits(0, 0), Nasty::calm());
    let task = story.launch("Explore", "wait 10800000; say late");
    story.pass(179 * MINUTE_MS);
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Completed);
    story.end();
}

#[test]
fn d4_time_in_the_queue_does_not_count() {
    let settings = Settings { max_running: 1, ..limits(2, 2) };
    let mut story = Story::with(settings, Nasty::calm());
    story.launch("First", "wait 100000; say one");
    let second = story.launch("Second", "wait 100000; say two");
    story.until_status(second, Status::Completed);
    assert!(took(&mut story, second) < 2 * MINUTE_MS);
    story.end();
}
