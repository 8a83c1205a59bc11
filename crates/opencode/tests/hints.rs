//! Hints from recorded events, as they arrive: cut down to what is wanted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use legwork_engine::Hint;
use legwork_opencode::{Event, project, wanted};
use legwork_protocol::HostId;
use serde_json::{Value, json};

fn host() -> HostId {
    "opencode-1".parse().unwrap()
}

fn hints(host: &HostId, name: &str, properties: &Value) -> Vec<Hint> {
    legwork_opencode::hints(host, &Event::read(name, properties))
}

fn recorded() -> Vec<(String, Value)> {
    let path = format!("{}/tests/fixtures/events.jsonl", env!("CARGO_MANIFEST_DIR"));
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        (event["type"].as_str().unwrap().to_owned(), event["properties"].clone())
    };
    std::fs::read_to_string(path).unwrap().lines().map(event).collect()
}

/// The hints of all recorded events that the test is about, one line each.
fn heard(about: impl Fn(&str, &Value) -> bool) -> Vec<String> {
    let wanted = wanted();
    let events = recorded().into_iter().filter(|(name, properties)| about(name, properties));
    let hints = events.flat_map(|(name, properties)| {
        hints(&host(), &name, &project(&wanted, &name, &properties).unwrap())
    });
    hints.map(|hint| words(&hint)).collect()
}

fn words(hint: &Hint) -> String {
    match hint {
        Hint::Changed { session } => format!("{session} changed"),
        Hint::Deleted { session, .. } => format!("{session} deleted"),
        Hint::Errored { session, why } => format!("{session} errored: {why}"),
        Hint::Asked { session, question } => format!("{session} asks {}", question.subject),
        Hint::Answered { session, reply, .. } => format!("{session} answered {reply:?}"),
        Hint::Undone { session, since, .. } => format!("{session} undone: {}", since.is_some()),
        Hint::Used { session, .. } => format!("{session} used"),
        Hint::Doing { session, what } => format!("{session} does: {what}"),
        Hint::Progress { session, tool, used: None } => format!("{session} goes on: {tool:?}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn nothing_is_lost_by_cutting_events_down() {
    let wanted = wanted();
    for (name, properties) in recorded() {
        let cut = project(&wanted, &name, &properties).unwrap();
        assert_eq!(hints(&host(), &name, &cut), hints(&host(), &name, &properties), "{name}");
        assert!(cut.to_string().len() < 600, "{name}: {cut}");
    }
}

#[test]
fn a_call_of_a_tool_is_heard_once() {
    let tools = heard(|name, _| name == "message.part.updated");
    let begun = |line: &&String| line.contains("goes on") && line.contains("bash");
    let bash: Vec<&String> = tools.iter().filter(begun).collect();
    assert_eq!(bash.len(), 2, "two calls, announced nine times");
    assert_eq!(bash[0], "ses_helper goes on: Some(\"bash\")");
}

#[test]
fn v1_what_a_tool_call_is_about_is_heard() {
    let mut does = heard(|name, _| name == "message.part.updated");
    does.retain(|line| line.contains("does"));
    does.dedup();
    assert_eq!(does, ["ses_helper does: bash ls", "ses_helper does: bash pwd"]);
}

#[test]
fn the_end_of_a_run_is_heard() {
    let about = |name: &str, _: &Value| name == "session.idle" || name == "session.status";
    assert_eq!(heard(about), ["ses_helper changed"; 2], "busy and retry say nothing");
    let replies =
        heard(|name, told| name == "message.updated" && told["info"]["role"] == "assistant");
    assert_eq!(replies, ["ses_helper changed"], "calls of tools are followed by more");
    let errors = heard(|name, _| name == "session.error");
    let expected = [
        "ses_failed errored: APIError: fake failure 400 (status 400)",
        "ses_hanging errored: MessageAbortedError: Aborted",
    ];
    assert_eq!(errors, expected);
    assert_eq!(heard(|name, _| name == "session.deleted"), ["ses_helper deleted"]);
}

#[test]
fn d5_questions_are_heard_with_their_text() {
    let about =
        |name: &str, _: &Value| name.starts_with("permission.") || name.starts_with("question.");
    let expected = [
        "ses_permission asks bash: echo permitted",
        "ses_permission answered Some(Once)",
        "ses_question asks Which colour?",
        "ses_question answered Some(Reject(None))",
    ];
    assert_eq!(heard(about), expected);
}

#[test]
fn a_person_is_heard_and_we_are_not() {
    let used = heard(|name, _| name == "message.updated");
    assert_eq!(used, ["ses_parent used", "ses_helper changed"], "the helper's prompt is ours");
}

#[test]
fn n6_a_change_of_a_parent_may_be_the_end_of_an_undo() {
    let about =
        |name: &str, told: &Value| name == "session.updated" && told["sessionID"] == "ses_parent";
    let expected = [
        "ses_parent changed",
        "ses_parent undone: true",
        "ses_parent changed",
        "ses_parent undone: false",
    ];
    assert_eq!(heard(about), expected, "the undo and its end");
}

#[test]
fn what_is_not_wanted_or_not_understood_hints_at_nothing() {
    assert_eq!(project(&wanted(), "lsp.updated", &json!({})), None);
    assert_eq!(hints(&host(), "lsp.updated", &json!({})), []);
    assert_eq!(hints(&host(), "session.error", &json!({ "error": { "name": "x" } })), []);
    for (name, _) in recorded() {
        assert_eq!(hints(&host(), &name, &Value::Null), [], "{name}");
    }
}

/// Only a daemon that knows the event asks for it.
#[test]
fn n4_a_session_on_the_screen_is_a_hint_and_so_is_a_screen_without_one() {
    let shown = json!({ "sessionID": "ses_1", "more": 1 });
    let shown = project(&wanted(), "legwork.screen", &shown).unwrap();
    let session = Some("ses_1".parse().unwrap());
    assert_eq!(hints(&host(), "legwork.screen", &shown), [Hint::Shown { host: host(), session }]);
    let home = project(&wanted(), "legwork.screen", &json!({ "sessionID": null })).unwrap();
    let none = Hint::Shown { host: host(), session: None };
    assert_eq!(hints(&host(), "legwork.screen", &home), [none]);
}
