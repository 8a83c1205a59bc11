//! Opening a helper's session, and prompting in it.

use legwork_engine::work::Tried;
use legwork_engine::{Action, Finding, HostError};
use legwork_protocol::TaskId;
use serde_json::{Value, json};

use crate::fake::{Fake, fixture, messages};

pub fn open(tried: Tried, agent: &str, nested: bool) -> Action {
    Action::Open {
        tried,
        task: TaskId::from_number(7),
        parent: "ses_parent".parse().unwrap(),
        directory: "/project".to_owned(),
        title: "Look around".to_owned(),
        agent: agent.to_owned(),
        nested,
        fork_before: None,
    }
}

fn made() -> Fake {
    Fake::recorded().on("POST /session", 200, json!({ "id": "ses_new" }))
}

fn body_for(host: &Fake, action: &Action) -> Value {
    assert_eq!(host.perform(action), Ok(Finding::Opened { session: "ses_new".parse().unwrap() }));
    let (line, body) = host.write();
    assert_eq!(line, "POST /session");
    body
}

fn denied(body: &Value) -> Vec<&str> {
    let rules = body["permission"].as_array().unwrap().iter();
    let denied = rules.filter(|rule| rule["action"] == "deny" && rule["pattern"] == "*");
    denied.map(|rule| rule["permission"].as_str().unwrap()).collect()
}

#[test]
fn a_session_that_bears_the_mark_is_taken() {
    let host = made().on("GET /session/ses_parent/children", 200, fixture("children"));
    let found = Finding::Opened { session: "ses_helper".parse().unwrap() };
    assert_eq!(host.perform(&open(Tried::Perhaps, "explore", false)), Ok(found));
    assert!(host.wrote_nothing());
}

#[test]
fn a_session_that_was_never_asked_for_is_not_looked_for() {
    let first = open(Tried::Never, "explore", false);
    let host = made().remembering();
    assert_eq!(
        host.perform(&Action::CheckAgent { agent: "explore".to_owned() }),
        Ok(Finding::AgentKnown)
    );
    body_for(&host, &first);
    let reads = ["/agent", "/session/ses_parent", "/session/ses_parent/message?limit=4"];
    assert_eq!(host.reads(), reads.map(|path| format!("GET {path}")));
}

#[test]
fn l5_a_new_session_is_a_child_with_a_title_and_the_mark() {
    let body = body_for(&made(), &open(Tried::Perhaps, "explore", false));
    assert_eq!(body["parentID"], "ses_parent");
    assert_eq!(body["title"], "Look around");
    assert_eq!(body["metadata"]["legwork"]["task"], "bg_00000007");
}

#[test]
fn l5_a_helper_keeps_its_parents_denials_and_cannot_ask_or_launch() {
    let body = body_for(&made(), &open(Tried::Perhaps, "explore", false));
    let mut expected = vec!["webfetch", "edit", "todowrite", "task", "question"];
    expected.extend(["background_task", "background_output", "background_block"]);
    expected.extend(["background_list", "background_cancel", "background_clear"]);
    assert_eq!(denied(&body), expected);
    let outside = json!({
        "permission": "external_directory", "pattern": "/elsewhere/*", "action": "allow"
    });
    let rules = body["permission"].as_array().unwrap();
    assert!(rules.contains(&outside));
    assert!(!rules.iter().any(|rule| rule["permission"] == "bash"), "what is allowed stays behind");
}

#[test]
fn l5_a_helper_that_may_nest_keeps_the_six_tools() {
    let body = body_for(&made(), &open(Tried::Perhaps, "explore", true));
    assert_eq!(denied(&body), ["webfetch", "edit", "todowrite", "task", "question"]);
}

#[test]
fn only_under_an_agent_that_may_not_edit_a_helper_may_not() {
    let mut history = messages("parents_messages");
    for (agent, edits) in [("plan", false), ("build", true), ("explore", false)] {
        history[0]["info"]["agent"] = json!(agent);
        let host = made().history("ses_parent", history.clone());
        let body = body_for(&host, &open(Tried::Perhaps, "general", false));
        assert_eq!(!denied(&body).contains(&"edit"), edits, "{agent}");
    }
}

#[test]
fn files_that_the_parents_agent_may_not_edit_its_helper_may_not_either() {
    let mut agents = fixture("agents");
    let secret = json!({ "permission": "edit", "pattern": "secret/*", "action": "deny" });
    agents[0]["permission"].as_array_mut().unwrap().push(secret.clone());
    let mut history = messages("parents_messages");
    history[0]["info"]["agent"] = agents[0]["name"].clone();
    let host = made().on("GET /agent", 200, agents).history("ses_parent", history);
    let body = body_for(&host, &open(Tried::Perhaps, "general", false));
    assert!(body["permission"].as_array().unwrap().contains(&secret));
    assert!(!denied(&body).contains(&"edit"));
}

#[test]
fn an_agent_that_names_a_tool_itself_is_not_denied_it() {
    let body = body_for(&made(), &open(Tried::Perhaps, "general", false));
    assert!(!denied(&body).contains(&"todowrite"), "general has a rule of its own");
    assert!(denied(&body).contains(&"task"));
}

#[test]
fn the_model_is_the_agents_own_or_that_which_the_person_last_chose() {
    let persons = json!({ "providerID": "fake", "modelID": "other", "variant": "high" });
    let body = body_for(&made(), &open(Tried::Perhaps, "explore", false));
    assert_eq!(body["metadata"]["legwork"]["model"], persons);
    let body = body_for(&made(), &open(Tried::Perhaps, "own", false));
    let own = json!({ "providerID": "fake", "modelID": "other" });
    assert_eq!(body["metadata"]["legwork"]["model"], own);
}

#[test]
fn without_a_persons_message_the_model_is_the_sessions() {
    let host = made().history("ses_parent", Vec::new());
    let body = body_for(&host, &open(Tried::Perhaps, "explore", false));
    assert_eq!(body["metadata"]["legwork"]["model"]["modelID"], "other");
    assert!(denied(&body).contains(&"edit"), "the session's agent is plan");
}

#[test]
fn nothing_is_opened_under_a_parent_that_is_gone() {
    let host = Fake::default().on("GET /agent", 200, fixture("agents"));
    assert_eq!(host.perform(&open(Tried::Perhaps, "explore", false)), Err(HostError::Gone));
    assert!(host.wrote_nothing());
}

pub fn prompt(tried: Tried, message: &str) -> Action {
    Action::Prompt {
        tried,
        session: "ses_helper".parse().unwrap(),
        message: message.parse().unwrap(),
        part: "prt_1".parse().unwrap(),
        agent: "explore".to_owned(),
        text: "Go and look.".to_owned(),
    }
}

#[test]
fn a_prompt_goes_out_with_fixed_ids_and_the_model_of_the_opening() {
    let host = Fake::recorded();
    assert_eq!(host.perform(&prompt(Tried::Perhaps, "msg_new")), Ok(Finding::Done));
    let (line, body) = host.write();
    assert_eq!(line, "POST /session/ses_helper/prompt_async");
    let expected = json!({
        "messageID": "msg_new",
        "agent": "explore",
        "model": { "providerID": "fake", "modelID": "other" },
        "variant": "high",
        "parts": [{
            "id": "prt_1", "type": "text", "text": "Go and look.", "metadata": { "legwork": true }
        }],
    });
    assert_eq!(body, expected);
}

#[test]
fn a_prompt_that_is_there_is_not_sent_again() {
    let host = Fake::recorded();
    assert_eq!(
        host.perform(&prompt(Tried::Perhaps, "msg_1df51d96e000p0000000000007")),
        Ok(Finding::Done)
    );
    assert!(host.wrote_nothing());
}

#[test]
fn a_first_prompt_is_one_request_and_goes_to_the_model_of_the_opening() {
    let host = made().remembering().on("POST /session/ses_new/prompt_async", 204, Value::Null);
    host.perform(&open(Tried::Perhaps, "explore", false)).unwrap();
    let Action::Prompt { message, part, agent, text, .. } = prompt(Tried::Perhaps, "msg_new")
    else {
        panic!()
    };
    let session = "ses_new".parse().unwrap();
    let tried = Tried::Never;
    let before = host.reads().len();
    let first = Action::Prompt { tried, session, message, part, agent, text };
    assert_eq!(host.perform(&first), Ok(Finding::Done));
    assert_eq!(host.reads().len(), before);
    let body = host.writes().pop().unwrap().1;
    assert_eq!(body["model"], json!({ "providerID": "fake", "modelID": "other" }));
    assert_eq!(body["variant"], "high");
}

#[test]
fn a_prompt_to_a_session_that_is_gone_is_not_sent() {
    let host = Fake::default();
    assert_eq!(host.perform(&prompt(Tried::Perhaps, "msg_new")), Err(HostError::Gone));
    assert!(host.wrote_nothing());
}
