//! How bad answers are sorted.

use legwork_engine::work::Scope;
use legwork_engine::{Action, HostError};
use serde_json::{Value, json};

use crate::fake::Fake;

fn probe(status: u16, body: Value) -> Result<legwork_engine::Finding, HostError> {
    let host = Fake::default().on("GET /session/ses_a", status, body);
    host.perform(&Action::Probe { session: "ses_a".parse().unwrap() })
}

fn rejected(why: &str) -> Result<legwork_engine::Finding, HostError> {
    Err(HostError::Rejected { why: why.to_owned() })
}

#[test]
fn every_status_has_one_meaning() {
    for (status, meaning) in [
        (404, HostError::Gone),
        (409, HostError::Busy),
        (429, HostError::Busy),
        (503, HostError::Busy),
        (500, HostError::Unreachable),
        (502, HostError::Unreachable),
        (302, HostError::Unreachable),
    ] {
        assert_eq!(probe(status, json!({})), Err(meaning), "{status}");
    }
}

#[test]
fn a_refusal_is_told_in_the_hosts_words() {
    let payload = json!({
        "name": "BadRequest",
        "data": { "message": "Expected a string\n  at [\"messageID\"]", "kind": "Payload" },
    });
    assert_eq!(probe(400, payload), rejected("Expected a string   at [\"messageID\"]"));
    assert_eq!(probe(400, json!({ "_tag": "BadRequest" })), rejected("BadRequest"));
    assert_eq!(probe(422, Value::Null), rejected("OpenCode answered with status 422"));
}

#[test]
fn a_wrong_password_is_told_as_one() {
    for status in [401, 403] {
        let Err(HostError::Rejected { why }) = probe(status, Value::Null) else { panic!() };
        assert!(why.contains("password"), "{why}");
    }
}

const SURVEY: Action = Action::Poll { scope: Scope::Questions };

#[test]
fn a_page_where_json_was_wanted_is_no_answer() {
    let page = json!("<!doctype html>");
    let check_agent = Action::CheckAgent { agent: "build".to_owned() };
    let host = Fake::default().on("GET /agent", 200, page.clone());
    assert_eq!(host.perform(&check_agent), Err(HostError::Unreachable));
    let host = Fake::recorded().on("GET /session/status", 200, page.clone());
    assert_eq!(host.perform(&SURVEY), Err(HostError::Unreachable));
    let host = Fake::recorded().on("GET /question", 200, page);
    assert_eq!(host.perform(&SURVEY), Err(HostError::Unreachable));
}

#[test]
fn silence_is_unreachable() {
    assert_eq!(Fake::recorded().silent().perform(&SURVEY), Err(HostError::Unreachable));
}
