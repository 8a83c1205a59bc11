//! How a turn ends, well or badly.

use legwork_sim::host::{Finish, Prompt, Status};

use crate::contract::{Contract, body, text};
use crate::subject::host;

#[test]
fn text_before_a_tool_is_not_the_end() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "text looking; tool bash 500; say found");
    host.until_quiet(&session);
    let answers = host.answers(&session, &message);
    assert_eq!(text(&answers), ["looking", "found"]);
    assert_eq!(answers[0].finish, Some(Finish::ToolCalls));
    assert_eq!((answers[0].tool_calls, answers[1].tool_calls), (1, 0));
}

#[test]
fn a_dropped_stream_ends_unknown_and_another_call_follows() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "text half; drop; say whole");
    host.until_quiet(&session);
    let answers = host.answers(&session, &message);
    assert_eq!(answers[0].finish, Some(Finish::Unknown));
    assert_eq!(answers[1].finish, Some(Finish::Stop));
    assert_eq!((&*answers[1].text, host.idles()), ("whole", 1));
}

#[test]
fn a_refused_request_fails_at_once_and_idle_comes_twice() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "fail 401");
    host.until(|host| host.idles() == 2);
    host.until_quiet(&session);
    let answers = host.answers(&session, &message);
    assert!(answers[0].error.is_some() && answers[0].completed.is_some());
    assert_eq!(answers[0].finish, None);
    assert_eq!((host.errors(), host.idles()), (1, 2));
}

#[test]
fn a_provider_that_comes_back_is_no_error() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "retry 1; say there");
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &message)), ["there"]);
    assert_eq!((host.errors(), host.idles()), (0, 1));
}

#[test]
fn a_hanging_model_stays_busy() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "hang");
    host.until(|host| !host.answers(&session, &message).is_empty());
    host.wait(3_600_000);
    assert_eq!(host.status(&session), Some(Status::Busy));
    assert_eq!(host.answers(&session, &message)[0].completed, None);
}

#[test]
fn an_unknown_agent_gives_two_errors_and_nothing_else() {
    let mut host = host();
    let session = host.open();
    let prompt = Prompt { agent: Some("nope".into()), ..body(0, "say a") };
    assert_eq!(host.prompt(&session, prompt), Ok(()));
    host.until(|host| host.errors() == 2);
    host.wait(60_000);
    assert!(host.messages(&session).unwrap().is_empty());
    assert_eq!((host.errors(), host.events().len()), (2, 2));
}

#[test]
fn an_unknown_model_stores_the_prompt_and_has_no_answer() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "nomodel");
    host.until(|host| host.errors() == 2 && host.idles() == 1);
    host.until_quiet(&session);
    assert_eq!(host.prompts(&session), 1);
    assert!(host.answers(&session, &message).is_empty());
    assert_eq!((host.errors(), host.idles()), (2, 1));
}
