//! A folder that was deleted under a run, and is there again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod desk;

use legwork_engine::input::{Headless, NotStarted, Serves};
use legwork_engine::task::Outcome;
use legwork_engine::work::{Finding, RunState};
use legwork_engine::{Hint, Input};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{CallId, Settings, TaskId};

use desk::{Desk, PLACE, answered, host_id, parent};

const FOLDER: &str = "/project";

/// A helper is at work in the folder, in this window.
fn at_work(desk: &mut Desk, number: u32) -> TaskId {
    let name = format!("ses_{number}");
    desk.working(parent(&format!("call_{number}")), "Explore", &name)
}

fn comes_in(desk: &mut Desk, host: &str, lifetime: HostLifetime) {
    let (host, place) = (host_id(host), PLACE.parse().unwrap());
    desk.hint(Hint::HostIn { host: host.clone(), directory: FOLDER.to_owned() });
    desk.hint(Hint::HostCame { host, place, lifetime, serves: Serves::OwnPlace });
}

/// The window ends, and a host without a window is asked for in the folder.
fn window_ends(desk: &mut Desk, host: &str) -> Vec<Headless> {
    let mut asked = desk.on(Input::Hint(Hint::HostGone { host: host_id(host) })).headless;
    let end = desk.now.plus(30_000);
    while let Some(at) = desk.wake_at.filter(|at| *at <= end && asked.is_empty()) {
        desk.now = desk.now.max(at);
        asked = desk.on(Input::Tick).headless;
    }
    asked
}

fn is_gone(desk: &mut Desk) {
    let (place, directory) = (PLACE.parse().unwrap(), FOLDER.to_owned());
    let (why, lasts) = (format!("its folder {FOLDER} is not there"), NotStarted::DirectoryGone);
    desk.hint(Hint::NotStarted { place, directory, why, lasts });
    desk.pass(60_000);
}

/// A window in the folder ended, and the folder was gone by then.
fn with_a_folder_that_was_gone() -> Desk {
    let mut desk = Desk::new(Settings::default());
    let lost = at_work(&mut desk, 1);
    assert_eq!(window_ends(&mut desk, "host_1").len(), 1);
    is_gone(&mut desk);
    assert_eq!(desk.tasks[&lost].outcome(), Some(Outcome::Failed));
    assert!(desk.details[&(lost, 0)].contains("is not there"));
    desk
}

#[test]
fn k6_a_folder_that_is_there_again_is_looked_for_when_another_run_needs_it() {
    let mut desk = with_a_folder_that_was_gone();
    desk.host_comes("host_1");
    desk.pass(10_000);
    let task = at_work(&mut desk, 2);
    assert_eq!(window_ends(&mut desk, "host_1").len(), 1, "it may be there again");
    assert!(desk.tasks[&task].outcome().is_none());
    comes_in(&mut desk, "headless", HostLifetime::Headless);
    desk.looked(RunState::Still { text: String::new() });
    assert!(desk.tasks[&task].outcome().is_none(), "it goes on there");
    let _ = desk.found("prompt", Ok(Finding::Done));
    desk.ends("ses_2", answered("Done."));
    assert_eq!(desk.tasks[&task].outcome(), Some(Outcome::Completed));
}

#[test]
fn k6_a_folder_that_is_still_gone_is_said_of_the_next_run_too() {
    let mut desk = with_a_folder_that_was_gone();
    desk.host_comes("host_1");
    desk.pass(10_000);
    let task = at_work(&mut desk, 2);
    assert_eq!(window_ends(&mut desk, "host_1").len(), 1);
    is_gone(&mut desk);
    assert_eq!(desk.tasks[&task].outcome(), Some(Outcome::Failed));
}

#[test]
fn k6_a_run_goes_on_in_a_window_of_a_folder_that_is_there_again() {
    let mut desk = with_a_folder_that_was_gone();
    comes_in(&mut desk, "host_1", HostLifetime::Interactive);
    comes_in(&mut desk, "host_2", HostLifetime::Interactive);
    desk.pass(10_000);
    let task = at_work(&mut desk, 2);
    assert_eq!(window_ends(&mut desk, "host_1"), []);
    desk.looked(RunState::Still { text: String::new() });
    assert!(desk.tasks[&task].outcome().is_none(), "{:?}", desk.details);
}

#[test]
fn k6_helpers_go_beside_a_window_again_when_its_folder_is_there_again() {
    let mut desk = Desk::new(Settings { max_in_window: 1, ..Settings::default() });
    at_work(&mut desk, 1);
    at_work(&mut desk, 2);
    is_gone(&mut desk);
    let (call, spare) = (CallId(100), desk::task_id(100));
    let (caller, ask) = (parent("call_100"), desk::launch("Explore"));
    let _ = desk.on(Input::Ask { call, caller, ask, spare });
    let reaction = desk.found("check_agent", Ok(Finding::AgentKnown));
    assert_eq!(reaction.headless.len(), 1);
}
