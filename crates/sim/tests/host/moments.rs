//! What holds for a moment only: between an announcement and what it announces, before the first
//! busy, through minutes of retries. A client of the real host comes too late for these, or would
//! wait too long; the ones that could be caught there are in the testkit's tests.

use legwork_sim::host::{Kind, Nasty, Prompt, Status};

use crate::contract::{Contract, body, text};
use crate::subject::{host, host_with};

#[test]
fn status_is_absent_before_the_first_busy_and_after_the_end() {
    let mut host = host_with(Nasty { busy_ms: (400, 800), ..Nasty::scripted() });
    let session = host.open();
    host.send(&session, 0, "say hello");
    host.wait(300);
    assert_eq!(host.status(&session), None);
    host.until_busy(&session);
    host.until_quiet(&session);
    assert_eq!(host.status(&session), None);
}

#[test]
fn abort_before_the_first_busy_stops_nothing() {
    let mut host = host_with(Nasty { busy_ms: (300, 800), ..Nasty::scripted() });
    let session = host.open();
    let message = host.send(&session, 0, "say anyway");
    host.wait(200);
    assert!(host.abort(&session));
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &message)), ["anyway"]);
}

#[test]
fn abort_of_a_busy_session_leaves_an_error_after_the_first_idle() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "hang");
    host.until_busy(&session);
    host.abort(&session);
    host.wait(0);
    assert_eq!((host.errors(), host.idles()), (1, 1));
    assert_eq!(host.answers(&session, &message)[0].error, None);
    host.wait(1_000);
    assert_eq!((host.errors(), host.idles()), (1, 2));
    let answers = host.answers(&session, &message);
    assert_eq!(answers[0].error.as_deref(), Some("MessageAbortedError: Aborted"));
    assert!(answers[0].completed.is_some());
}

#[test]
fn the_first_idle_of_an_error_comes_before_the_error_can_be_read() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "fail 401");
    host.until(|host| host.idles() == 1);
    assert_eq!(host.errors(), 1);
    assert_eq!(host.status(&session), None);
    assert_eq!(host.answers(&session, &message)[0].error, None);
    host.until(|host| host.idles() == 2);
    assert!(host.answers(&session, &message)[0].error.is_some());
}

#[test]
fn a_prompt_between_the_two_idles_of_an_error_waits_for_the_next_one() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "fail 401");
    host.until(|host| host.idles() == 1);
    let swallowed = host.send(&session, 1, "say swallowed");
    host.until_quiet(&session);
    assert!(host.answers(&session, &swallowed).is_empty());
    host.prompt(&session, Prompt { parts: Vec::new(), ..body(1, "") }).unwrap();
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &swallowed)), ["swallowed"]);
}

#[test]
fn an_overloaded_provider_is_tried_five_times_again() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "fail 500");
    host.until_retrying(&session);
    host.until_quiet(&session);
    let retries = host.count(|kind| matches!(kind, Kind::Status(Status::Retry { .. })));
    assert_eq!((retries, host.idles()), (5, 2));
    assert!(host.answers(&session, &message)[0].error.is_some());
}

#[test]
fn the_end_of_a_turn_in_a_deleted_session_may_go_untold() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "wait 5000; say late");
    host.until_busy(&session);
    host.delete(&session).unwrap();
    host.forget_events();
    host.until_quiet(&session);
    assert!(host.events().is_empty());
}
