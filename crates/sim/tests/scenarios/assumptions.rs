//! Worlds in which something is not as everybody takes it to be: another database than the place
//! says, ids that repeat, a clock that jumps, records that cannot be read, windows out of sight.

use legwork_protocol::Ask;
use legwork_protocol::{Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::story::launch;
use legwork_sim::world::{Keys, other_place, place};
use serde_json::json;

use crate::keeping::{MINUTE_MS, ends_well_once};

#[test]
fn k3_a_window_with_another_database_takes_nothing_along() {
    let mut story = Story::new();
    let done = story.launch("Done", "say done");
    story.until_settled();
    let running = story.launch("Running", "wait 30000; say found it");
    story.world.boot_on(1, place());
    story.pass(10_000);
    assert_eq!(story.status(done), Some(Status::Completed));
    assert_eq!(story.status(running), Some(Status::Running));
    ends_well_once(&mut story, running, 0, "found it");
    story.end();
}

#[test]
fn k3_what_a_host_never_had_it_cannot_call_deleted() {
    let mut story = Story::new();
    let done = story.launch("Done", "say done");
    story.until_settled();
    let task = story.launch("Explore", "wait 2000; say found it");
    story.world.kill_daemon();
    story.pass(3_000);
    story.world.kill_window(0);
    story.world.boot_on(1, place());
    story.world.start_daemon();
    story.pass(10 * MINUTE_MS);
    assert_eq!(story.status(done), Some(Status::Completed));
    assert!(story.status(task).is_some(), "nobody who had its parent misses it");
    assert_eq!(story.told().len(), 1, "and nobody else can be told");
    story.world.boot();
    ends_well_once(&mut story, task, 0, "found it");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k3_a_deletion_that_one_window_announces_is_asked_of_all_others() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Done", "say done");
    story.until_settled();
    let second = story.world.boot();
    story.pass(1_000);
    story.world.delete_session(second, &main);
    story.until("it to be forgotten", |story| story.status(task).is_none());
    insta::assert_snapshot!(story.end());
}

#[test]
fn k5_two_databases_are_two_places_and_know_nothing_of_each_other() {
    let mut story = Story::new();
    let second = story.world.boot_on(1, other_place());
    story.pass(1_000);
    let other = story.conversation_in(second, "other");
    let mine = story.launch("Mine", "wait 5000; say mine");
    let call = story.start_in(second, &other, "background_task", launch("Theirs", "say theirs"));
    story.answer(call);
    let theirs = story.world.calls[call].task().unwrap();
    let listed = story.ask("background_list", json!({ "all": true }));
    assert!(listed.contains(&mine.to_string()), "{listed}");
    assert!(!listed.contains(&theirs.to_string()), "{listed}");
    story.until_settled();
    let main = story.main.clone();
    assert_eq!((story.deliveries(&main).len(), story.deliveries(&other).len()), (1, 1));
    story.world.kill_window(second);
    story.pass(10_000);
    assert_eq!(story.status(theirs), Some(Status::Completed));
    story.end();
}

#[test]
fn l6_a_provider_that_repeats_its_ids_gets_no_answer_that_is_another_launchs() {
    let mut story = Story::new();
    story.world.keys = Keys::Providers;
    let first = story.launch("One", "say one");
    story.launch("Two", "say two");
    let refused = story.ask("background_task", launch("Three", "say three"));
    assert!(
        refused.starts_with("This call bears the id of an earlier, different one"),
        "{refused}"
    );
    // The same, once more: that is what a broken pipe looks like.
    story.ask("background_list", json!({}));
    let again = story.ask("background_task", launch("One", "say one"));
    assert!(again.contains(&first.to_string()), "{again}");
    story.until_settled();
    story.end();
}

#[test]
fn d4_a_machine_that_slept_ends_no_helper() {
    let settings = Settings { max_run_minutes: 3, max_quiet_minutes: 1, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::scripted());
    let task = story.launch("Explore", "tool grep 20000; say found it");
    story.pass(5_000);
    story.world.sleep(31 * MINUTE_MS);
    story.pass(5_000);
    assert_eq!(story.status(task), Some(Status::Running));
    ends_well_once(&mut story, task, 0, "found it");
    let row = &story.world.audit().rows[&task].task;
    let took = row.elapsed_ms(row.created);
    assert!((20_000..60_000).contains(&took), "it worked for {took} ms");
    story.end();
}

#[test]
fn d2_a_prompt_that_was_not_begun_before_a_sleep_is_not_given_up_after_it() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "wait 9000; say found it");
    story.pass(100);
    story.world.sleep(8 * 60 * MINUTE_MS);
    ends_well_once(&mut story, task, 0, "found it");
    insta::assert_snapshot!(story.end());
}

#[test]
fn k4_a_store_that_is_set_aside_takes_no_conversation_along() {
    let mut story = Story::new();
    let task = story.launch("Done", "say done");
    story.until_settled();
    story.world.set_store_aside();
    story.pass(1_000);
    assert_eq!(story.status(task), None);
    let listed = story.ask("background_list", json!({}));
    assert!(listed.starts_with("No background tasks found.\n\nNote: "), "{listed}");
    assert!(listed.contains("legwork doctor"), "{listed}");
    // The daemon after that one must not remove it either: its records lie there still.
    story.world.kill_daemon();
    story.world.start_daemon();
    story.end();
}

#[test]
fn k2_what_ended_out_of_sight_is_found_before_its_limit_ends_it() {
    let settings = Settings { max_run_minutes: 3, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    story.world.windows[0].unseen = true;
    let task = story.launch("Explore", "wait 2000; say found it");
    story.world.deafen(0, true);
    story.pass(2_500);
    story.world.kill_window(0);
    let second = story.world.boot();
    story.until_status(task, Status::Completed);
    assert!(output_of(&mut story, task).contains("found it"));
    let main = story.main.clone();
    story.world.use_session(second, &main);
    story.until_settled();
    insta::assert_snapshot!(story.end());
}

#[test]
fn k2_nothing_waits_for_ever_for_a_host_that_stays_away() {
    let settings = Settings { max_running: 1, max_run_minutes: 3, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    story.world.windows[0].unseen = true;
    story.launch("Running", "hang");
    let queued = story.launch("Queued", "say never");
    story.pass(1_000);
    story.world.kill_window(0);
    story.until_status(queued, Status::Error);
    assert!(output_of(&mut story, queued).contains("interrupted: the host that it waited for"));
}

fn output_of(story: &mut Story, task: TaskId) -> String {
    let ask = Ask::Output { task: task.to_string(), offset: 0 };
    story.person(ask)
}
