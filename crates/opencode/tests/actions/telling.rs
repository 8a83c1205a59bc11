//! Deliveries to parents.

use legwork_engine::work::{Part, Shown, Tried, Wake};
use legwork_engine::{Action, Finding, HostError};
use serde_json::{Value, json};

use crate::fake::{Fake, fixture, messages};

pub fn tell(tried: Tried, session: &str, message: &str, wake: Wake) -> Action {
    let part = |id: &str, shown, text: &str| Part {
        id: id.parse().unwrap(),
        shown,
        text: text.into(),
        result: None,
    };
    Action::Deliver {
        tried,
        session: session.parse().unwrap(),
        message: message.parse().unwrap(),
        notices: Vec::new(),
        parts: vec![
            part("prt_1", Shown::ToAll, "[BACKGROUND TASK COMPLETED]"),
            part("prt_2", Shown::ToModel, "The result."),
        ],
        wake,
    }
}

fn sent(host: &Fake, action: &Action) -> Value {
    assert_eq!(host.perform(action), Ok(Finding::Done));
    host.write().1
}

#[test]
fn n2_the_headline_is_visible_and_the_result_is_synthetic() {
    let body =
        sent(&Fake::recorded(), &tell(Tried::Perhaps, "ses_parent", "msg_new", Wake::StartTurn));
    let ours = json!({ "legwork": true });
    let parts = json!([
        { "id": "prt_1", "type": "text", "text": "[BACKGROUND TASK COMPLETED]", "metadata": ours },
        { "id": "prt_2", "type": "text", "text": "The result.", "metadata": ours,
          "synthetic": true },
    ]);
    assert_eq!((&body["messageID"], &body["parts"]), (&json!("msg_new"), &parts));
    assert_eq!(body.get("noReply"), None);
}

#[test]
fn n4_it_speaks_to_the_agent_and_model_that_the_person_last_used() {
    let mut history = messages("parents_messages");
    let mut ours = history[0].clone();
    ours["info"]["agent"] = json!("build");
    ours["info"]["model"] = json!({ "providerID": "fake", "modelID": "fake" });
    let mut by_id = ours.clone();
    by_id["info"]["id"] = json!("msg_1df5a6e5a000e0000000000007");
    let mut by_part = ours.clone();
    by_part["parts"][0]["metadata"] = json!({ "legwork": true });
    let mut synthetic = ours;
    synthetic["parts"][0]["synthetic"] = json!(true);
    history.extend([by_id, by_part, synthetic]);
    history.extend(messages("compacted"));
    let host = Fake::recorded().history("ses_parent", history);
    let body = sent(&host, &tell(Tried::Perhaps, "ses_parent", "msg_new", Wake::StartTurn));
    assert_eq!(body["agent"], "plan");
    assert_eq!(body["model"], json!({ "providerID": "fake", "modelID": "other" }));
    assert_eq!(body["variant"], "high");
}

#[test]
fn a_helper_is_told_as_itself_and_not_as_the_default_agent() {
    let body =
        sent(&Fake::recorded(), &tell(Tried::Perhaps, "ses_helper", "msg_new", Wake::StayIdle));
    assert_eq!(body["agent"], "explore");
    assert_eq!(body["model"], json!({ "providerID": "fake", "modelID": "fake" }));
    assert_eq!(body.get("variant"), None, "`default` is none");
}

#[test]
fn n4_a_delivery_that_is_to_wait_starts_no_turn() {
    let body =
        sent(&Fake::recorded(), &tell(Tried::Perhaps, "ses_parent", "msg_new", Wake::StayIdle));
    assert_eq!(body["noReply"], true);
}

#[test]
fn n1_a_delivery_that_is_there_is_not_sent_again() {
    let host = Fake::recorded().on("GET /session/ses_parent", 200, fixture("undoing"));
    let there =
        tell(Tried::Perhaps, "ses_parent", "msg_1df5a6e5a001WonwIiyhqfqoD7", Wake::StartTurn);
    assert_eq!(host.perform(&there), Ok(Finding::Delivered));
    assert!(host.wrote_nothing());
    assert_eq!(host.reads().len(), 1);
}

/// A session that is idle and whose newest message is this one.
fn swallowing(id: &str) -> Fake {
    let message =
        json!({ "info": { "id": id, "role": "user", "sessionID": "ses_parent" }, "parts": [] });
    let mut history = messages("parents_messages");
    history.push(message.clone());
    let there = format!("GET /session/ses_parent/message/{id}");
    Fake::recorded().history("ses_parent", history).on(&there, 200, message)
}

#[test]
fn n4_a_delivery_that_starts_no_turn_is_given_one_without_its_text_again() {
    let host = swallowing("msg_zz");
    let look = tell(Tried::Perhaps, "ses_parent", "msg_zz", Wake::StartTurn);
    assert_eq!(host.perform(&look), Ok(Finding::Unanswered));
    assert!(host.wrote_nothing());
    let quiet = tell(Tried::Perhaps, "ses_parent", "msg_zz", Wake::StayIdle);
    assert_eq!(host.perform(&quiet), Ok(Finding::Delivered));
    let body = sent(&host, &tell(Tried::Unanswered, "ses_parent", "msg_zz", Wake::StartTurn));
    assert_eq!((&body["messageID"], &body["parts"]), (&json!("msg_zz"), &json!([])));
}

#[test]
fn n4_a_delivery_in_a_busy_session_or_behind_an_undo_is_given_no_turn() {
    let again = tell(Tried::Unanswered, "ses_parent", "msg_zz", Wake::StartTurn);
    let busy = json!({ "ses_parent": { "type": "busy" } });
    let busy = swallowing("msg_zz").on("GET /session/status", 200, busy);
    let undoing = swallowing("msg_zz").on("GET /session/ses_parent", 200, fixture("undoing"));
    for host in [busy, undoing] {
        assert_eq!(host.perform(&again), Ok(Finding::Delivered));
        assert!(host.wrote_nothing());
    }
}

#[test]
fn n1_a_delivery_that_was_never_sent_is_not_looked_for() {
    let Action::Deliver { session, message, notices, parts, wake, .. } =
        tell(Tried::Perhaps, "ses_parent", "msg_new", Wake::StartTurn)
    else {
        panic!()
    };
    let host = Fake::recorded();
    let tried = Tried::Never;
    sent(&host, &Action::Deliver { tried, session, message, notices, parts, wake });
    let reads = ["/session/ses_parent", "/session/ses_parent/message?limit=4"];
    assert_eq!(host.reads(), reads.map(|path| format!("GET {path}")));
}

#[test]
fn n6_it_is_not_sent_into_a_session_with_an_undo_pending() {
    let host = Fake::recorded().on("GET /session/ses_parent", 200, fixture("undoing"));
    let found = host.perform(&tell(Tried::Perhaps, "ses_parent", "msg_new", Wake::StartTurn));
    assert_eq!(found, Ok(Finding::UndoPending));
    assert!(host.wrote_nothing());
}

#[test]
fn n7_a_parent_that_is_gone_is_told_so() {
    let found =
        Fake::recorded().perform(&tell(Tried::Perhaps, "ses_gone", "msg_new", Wake::StartTurn));
    assert_eq!(found, Err(HostError::Gone));
}
