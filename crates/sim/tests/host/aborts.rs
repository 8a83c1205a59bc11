//! Aborts, permissions and killed processes.

use legwork_protocol::{MessageId, SessionId};
use legwork_sim::host::{ApiError, Finish, Kind, Question, Reply, Status};

use crate::contract::Contract;
use crate::subject::{Subject, host, host_alone};

#[test]
fn abort_says_true_to_everything() {
    let mut host = host();
    let session = host.open();
    assert!(host.abort(&session));
    assert!(host.abort(&"ses_unknown".parse().unwrap()));
    host.until(|host| host.idles() == 2);
    host.wait(60_000);
    assert_eq!(host.idles(), 2);
    assert_eq!(host.count(|kind| *kind == Kind::Status(Status::Idle)), 2);
}

#[test]
fn abort_of_a_busy_session_leaves_an_error_and_idle_comes_twice() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "hang");
    host.until_busy(&session);
    host.abort(&session);
    host.until(|host| host.idles() == 2);
    assert_eq!(host.errors(), 1);
    let answers = host.answers(&session, &message);
    assert_eq!(answers[0].error.as_deref(), Some("MessageAbortedError: Aborted"));
    assert!(answers[0].completed.is_some());
}

#[test]
fn abort_during_a_provider_retry_ends_it() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "fail 500");
    host.until_retrying(&session);
    host.abort(&session);
    host.until(|host| host.idles() > 0);
    assert_eq!(host.status(&session), None);
    let is_retry = |kind: &Kind| matches!(kind, Kind::Status(Status::Retry { .. }));
    let before = host.count(is_retry);
    assert!(before > 0);
    host.wait(100_000);
    assert_eq!((host.status(&session), host.count(is_retry)), (None, before));
}

#[test]
fn abort_leaves_a_queued_prompt_unanswered() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "hang");
    host.until_busy(&session);
    let queued = host.send(&session, 1, "say queued");
    host.until(|host| host.prompts(&session) == 2);
    host.abort(&session);
    host.wait(60_000);
    assert!(host.answers(&session, &queued).is_empty());
    assert_eq!(host.prompts(&session), 2);
}

#[test]
fn an_aborted_prompt_sent_again_runs_again() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "wait 5000; say after all");
    host.until_busy(&session);
    host.abort(&session);
    // The second of them would be taken for the end of the turn that follows.
    host.until(|host| host.idles() == 2);
    host.send(&session, 0, "wait 5000; say after all");
    host.until_quiet(&session);
    assert_eq!(&*host.answers(&session, &message)[1].text, "after all");
}

fn asking(mut host: Subject, script: &str) -> (Subject, SessionId, MessageId, Question) {
    let session = host.open();
    let message = host.send(&session, 0, script);
    host.until(|host| !host.questions().is_empty());
    let question = host.questions().remove(0);
    (host, session, message, question)
}

#[test]
fn a_question_keeps_the_session_busy_until_it_is_answered() {
    let (mut host, session, message, question) = asking(host(), "ask echo; say allowed");
    host.wait(3_600_000);
    assert_eq!(host.status(&session), Some(Status::Busy));
    assert_eq!((&question.session, &*question.text), (&session, "echo"));
    assert_eq!(host.reply(&question, Reply::Yes), Ok(true));
    assert_eq!(host.reply(&question, Reply::Yes), Err(ApiError::NotFound));
    host.until_quiet(&session);
    assert_eq!(&*host.answers(&session, &message)[1].text, "allowed");
    assert_eq!(host.count(|kind| matches!(kind, Kind::Asked { .. })), 1);
    assert_eq!(host.count(|kind| matches!(kind, Kind::Replied { .. })), 1);
}

#[test]
fn a_bare_no_stops_the_turn_without_an_error() {
    let (mut host, session, message, question) = asking(host(), "ask; say never");
    host.reply(&question, Reply::No).unwrap();
    host.until_quiet(&session);
    let answers = host.answers(&session, &message);
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].finish, &answers[0].error), (Some(Finish::ToolCalls), &None));
    assert_eq!((host.errors(), host.idles()), (0, 1));
}

#[test]
fn a_no_with_words_lets_the_turn_go_on() {
    let (mut host, session, message, question) = asking(host(), "ask; say otherwise");
    host.reply(&question, Reply::NoBut("use less".into())).unwrap();
    host.until_quiet(&session);
    assert_eq!(&*host.answers(&session, &message)[1].text, "otherwise");
}

#[test]
fn an_aborted_question_stays_in_the_list() {
    let (mut host, session, _, question) = asking(host(), "ask; say never");
    host.abort(&session);
    host.wait(500);
    assert_eq!(host.questions(), std::slice::from_ref(&question));
    assert_eq!(host.reply(&question, Reply::Yes), Ok(true));
    host.wait(60_000);
    assert_eq!(host.status(&session), None);
}

#[test]
fn a_killed_host_leaves_a_half_message_and_no_event() {
    let mut host = host_alone();
    let session = host.open();
    let message = host.send(&session, 0, "text half; wait 5000; say whole");
    host.until(|host| host.progress() > 0);
    host.restart();
    host.forget_events();
    host.wait(60_000);
    let half = &host.answers(&session, &message)[0];
    assert_eq!((half.completed, half.finish, &half.error), (None, None, &None));
    // Deltas are kept when their part is whole.
    assert!("half".starts_with(&*half.text));
    assert_eq!(host.status(&session), None);
    assert!(host.events().is_empty());
}

#[test]
fn a_killed_host_forgets_its_questions() {
    let (mut host, _, _, question) = asking(host_alone(), "ask; say never");
    host.restart();
    assert!(host.questions().is_empty());
    assert_eq!(host.reply(&question, Reply::Yes), Err(ApiError::NotFound));
}

#[test]
fn a_prompt_that_was_cut_off_runs_again_when_it_is_sent_again() {
    let mut host = host_alone();
    let session = host.open();
    let message = host.send(&session, 0, "wait 5000; say whole");
    host.until_busy(&session);
    host.restart();
    host.send(&session, 0, "wait 5000; say whole");
    host.until_quiet(&session);
    assert_eq!(&*host.answers(&session, &message).pop().unwrap().text, "whole");
    assert_eq!(host.prompts(&session), 1);
}
