//! Prompts: when they are stored, and which of them are answered.

use legwork_protocol::PartId;
use legwork_sim::host::{ApiError, Finish, Kind, Prompt, Status};

use crate::contract::{Contract, Read, body, id, text};
use crate::subject::host;

#[test]
fn a_prompt_is_answered_under_its_own_id() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "say hello");
    host.until_quiet(&session);
    let answers = host.answers(&session, &message);
    assert_eq!(text(&answers), ["hello"]);
    assert_eq!(answers[0].finish, Some(Finish::Stop));
    assert!(answers[0].completed.is_some());
    assert_eq!((host.idles(), host.errors()), (1, 0));
}

#[test]
fn a_text_without_a_script_is_answered() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "[BACKGROUND TASK COMPLETED] bg_00000001");
    host.until_quiet(&session);
    assert_eq!(host.answers(&session, &message).len(), 1);
}

#[test]
fn busy_is_announced_several_times_and_idle_comes_last() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "tool bash 10; say hello");
    host.until_quiet(&session);
    assert!(host.busies() > 1);
    let last: Vec<&Kind> = host.events().iter().rev().take(2).map(|event| &event.kind).collect();
    assert_eq!(last, [&Kind::Idle, &Kind::Status(Status::Idle)]);
}

#[test]
fn ids_with_other_prefixes_are_refused() {
    let mut host = host();
    let session = host.open();
    let mut bad = body(0, "say a");
    bad.message = "nope".parse().unwrap();
    assert!(matches!(host.prompt(&session, bad), Err(ApiError::BadRequest(_))));
    let mut bad = body(0, "say a");
    bad.parts[0].id = "nope".parse().unwrap();
    assert!(matches!(host.prompt(&session, bad), Err(ApiError::BadRequest(_))));
}

#[test]
fn the_same_message_again_is_not_answered_again_and_stirs_idle() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "say once");
    host.until_quiet(&session);
    host.forget_events();
    host.send(&session, 0, "say once");
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &message)), ["once"]);
    assert_eq!(host.prompts(&session), 1);
    assert_eq!((host.busies(), host.idles()), (1, 1));
}

#[test]
fn the_same_message_while_it_is_answered_changes_nothing() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "wait 3000; say once");
    host.until_busy(&session);
    host.send(&session, 0, "wait 3000; say once");
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &message)), ["once"]);
    assert_eq!((host.prompts(&session), host.idles()), (1, 1));
}

#[test]
fn the_same_message_with_another_part_id_grows() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "say once");
    host.until_quiet(&session);
    let mut again = body(0, "say once");
    again.parts[0].id = "prt_other".parse::<PartId>().unwrap();
    host.prompt(&session, again).unwrap();
    host.until_quiet(&session);
    let messages = host.messages(&session).unwrap();
    assert!(messages.iter().any(|message| matches!(message, Read::Prompt(2))));
}

#[test]
fn the_same_message_in_another_session_is_not_created() {
    let mut host = host();
    let (one, other) = (host.open(), host.open());
    host.send(&one, 0, "say a");
    host.until_quiet(&one);
    host.forget_events();
    host.send(&other, 0, "say a");
    host.until_quiet(&other);
    assert!(host.messages(&other).unwrap().is_empty());
    assert!(host.errors() > 0);
}

#[test]
fn an_old_message_again_is_answered_again_after_a_newer_one() {
    let mut host = host();
    let session = host.open();
    let old = host.send(&session, 0, "say old");
    host.until_quiet(&session);
    host.send(&session, 1, "say new");
    host.until_quiet(&session);
    host.send(&session, 0, "say old");
    host.until_quiet(&session);
    assert_eq!(host.answers(&session, &old).len(), 2);
    host.send(&session, 0, "say old");
    host.until_quiet(&session);
    assert_eq!(host.answers(&session, &old).len(), 2);
}

#[test]
fn a_failed_prompt_sent_again_runs_again() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "fail 400");
    // A prompt between the two of an error starts no turn.
    host.until(|host| host.idles() == 2);
    host.until_quiet(&session);
    host.send(&session, 0, "fail 400");
    host.until_quiet(&session);
    assert_eq!(host.answers(&session, &message).len(), 2);
}

#[test]
fn a_prompt_into_a_busy_session_is_stored_at_once_and_answered_by_the_same_turn() {
    let mut host = host();
    let session = host.open();
    let first = host.send(&session, 0, "wait 3000; say first");
    host.until_busy(&session);
    let second = host.send(&session, 1, "say second");
    host.until(|host| host.prompts(&session) == 2);
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &first)), ["first"]);
    assert_eq!(text(&host.answers(&session, &second)), ["second"]);
    assert_eq!(host.idles(), 1);
}

#[test]
fn a_prompt_between_two_tool_steps_overtakes_the_one_before() {
    let mut host = host();
    let session = host.open();
    let first = host.send(&session, 0, "tool bash 3000; say first");
    host.until(|host| host.progress() > 0);
    let second = host.send(&session, 1, "say second");
    host.until(|host| host.prompts(&session) == 2);
    host.until_quiet(&session);
    let answers = host.answers(&session, &first);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].finish, Some(Finish::ToolCalls));
    assert_eq!(text(&host.answers(&session, &second)), ["second"]);
}

#[test]
fn of_two_queued_prompts_only_the_newer_is_answered_under_its_id() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "wait 3000; say first");
    host.until_busy(&session);
    let second = host.send(&session, 1, "say second");
    let third = host.send(&session, 2, "say third");
    host.until(|host| host.prompts(&session) == 3);
    host.until_quiet(&session);
    assert!(host.answers(&session, &second).is_empty());
    assert_eq!(text(&host.answers(&session, &third)), ["third"]);
}

#[test]
fn no_reply_into_a_quiet_session_only_stores() {
    let mut host = host();
    let session = host.open();
    host.prompt(&session, Prompt { no_reply: true, ..body(0, "say a") }).unwrap();
    host.until(|host| host.prompts(&session) == 1);
    host.wait(60_000);
    assert_eq!(host.messages(&session).unwrap().len(), 1);
    assert!(host.events().is_empty());
}

#[test]
fn no_reply_into_a_busy_session_is_answered() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "wait 3000; say first");
    host.until_busy(&session);
    host.prompt(&session, Prompt { no_reply: true, ..body(1, "say second") }).unwrap();
    host.until(|host| host.prompts(&session) == 2);
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &id(1))), ["second"]);
}

#[test]
fn a_later_prompt_sees_the_whole_history() {
    let mut host = host();
    let session = host.open();
    for number in 0..3 {
        let message = host.send(&session, number, "count");
        host.until_quiet(&session);
        assert_eq!(text(&host.answers(&session, &message)), [(number + 1).to_string()]);
    }
}

#[test]
fn a_message_that_was_stored_without_a_turn_is_answered_by_a_prompt_without_parts_under_its_id() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "say first");
    host.until_quiet(&session);
    let script = body(1, "say as it is");
    host.prompt(&session, Prompt { no_reply: true, ..script }).unwrap();
    host.until(|host| host.prompts(&session) == 2);
    host.prompt(&session, Prompt { parts: Vec::new(), ..body(1, "") }).unwrap();
    host.until_quiet(&session);
    assert_eq!(text(&host.answers(&session, &id(1))), ["as it is"]);
    assert_eq!(host.prompts(&session), 2);
}
