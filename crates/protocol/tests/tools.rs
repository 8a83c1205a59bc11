//! The six tools as models get them.

#![expect(clippy::expect_used, reason = "in a test, what is not there is a failure")]

use legwork_protocol::Status;
use legwork_protocol::api::ToolCall;
use legwork_protocol::limits::AGENTS_MAX_OFFERED;
use legwork_protocol::refusal::Refusal;
use legwork_protocol::tools::{OfferedAgent, Telling, Tool, tools, tools_with};
use serde_json::{Map, Value, json};

fn named(name: &str) -> Tool {
    tools().into_iter().find(|tool| tool.name == name).expect(name)
}

fn properties(tool: &Tool) -> Map<String, Value> {
    tool.schema.get("properties").and_then(Value::as_object).cloned().expect("properties")
}

fn required(tool: &Tool) -> Vec<String> {
    let listed = tool.schema.get("required").cloned().unwrap_or_else(|| json!([]));
    serde_json::from_value(listed).expect("a list of names")
}

#[test]
fn there_are_exactly_six_tools() {
    let names: Vec<String> = tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(
        names,
        [
            "background_task",
            "background_output",
            "background_block",
            "background_list",
            "background_cancel",
            "background_clear"
        ]
    );
}

#[test]
fn only_what_must_be_given_is_required() {
    let expected: [(&str, &[&str], &[&str]); 6] = [
        ("background_task", &["prompt"], &["agent", "description", "fork", "prompt", "resume"]),
        ("background_output", &["task_id"], &["offset", "task_id"]),
        ("background_block", &["task_ids"], &["any", "task_ids", "timeout"]),
        ("background_list", &[], &["all", "status"]),
        ("background_cancel", &["task_id"], &["task_id"]),
        ("background_clear", &[], &[]),
    ];
    for (name, must, may) in expected {
        let tool = named(name);
        assert_eq!(required(&tool), must, "{name}");
        let mut shown: Vec<String> = properties(&tool).keys().cloned().collect();
        shown.sort();
        assert_eq!(shown, may, "{name}");
    }
}

#[test]
fn o6_block_and_timeout_are_not_shown_but_may_come() {
    let tool = named("background_output");
    assert!(!properties(&tool).contains_key("block"));
    assert!(!properties(&tool).contains_key("timeout"));
    assert_eq!(tool.schema.get("additionalProperties"), Some(&json!(true)));
}

#[test]
fn schemas_are_plain_enough_for_every_model() {
    for tool in tools() {
        let whole = serde_json::to_string(&tool.schema).expect("a schema");
        for ugly in ["$ref", "$defs", "$schema", "anyOf", "oneOf", "null", "format", "\\n"] {
            assert!(!whole.contains(ugly), "{}: {ugly} in {whole}", tool.name);
        }
        assert_eq!(tool.schema.get("type"), Some(&json!("object")));
        for (name, property) in properties(&tool) {
            let said = property["description"].as_str().expect("a description");
            assert!(said.len() > 10, "{}.{name}: {said}", tool.name);
            let kind = property["type"].as_str().expect("one type");
            let known = ["string", "integer", "boolean", "array"];
            assert!(known.contains(&kind), "{}.{name}: {kind}", tool.name);
        }
    }
}

#[test]
fn descriptions_tell_a_model_when_to_use_each() {
    for tool in tools() {
        assert!(tool.description.len() > 40, "{}", tool.name);
        assert!(!tool.description.contains(['\n', '\t']) && !tool.description.contains("  "));
    }
    let block = named("background_block").description;
    assert!(block.contains("Emergency only"), "{block}");
    assert!(block.contains("the notice comes by itself"), "{block}");
    let task = named("background_task").description;
    assert!(task.contains("You are told in this conversation when it is done"), "{task}");
    assert!(task.contains("do not wait, poll or check"), "{task}");
    let output = named("background_output").description;
    assert!(output.contains("a notice brings them by itself"), "{output}");
    let status = &properties(&named("background_list"))["status"];
    for word in Status::ALL {
        assert!(status["description"].as_str().expect("text").contains(word.as_str()));
    }
}

fn example(property: &Value) -> Value {
    match property["type"].as_str() {
        Some("string") => json!("completed"),
        Some("integer") => json!(7),
        Some("boolean") => json!(true),
        Some("array") => json!(["bg_00000001"]),
        other => panic!("no example of {other:?}"),
    }
}

#[test]
fn everything_a_schema_shows_is_taken() {
    for tool in tools() {
        let all: Map<String, Value> =
            properties(&tool).iter().map(|(name, shown)| (name.clone(), example(shown))).collect();
        let must = required(&tool);
        let least: Map<String, Value> =
            all.iter().filter(|(name, _)| must.contains(name)).map(own).collect();
        assert!(ToolCall::read(&tool.name, Value::Object(all.clone())).is_ok(), "{}", tool.name);
        let few = ToolCall::read(&tool.name, Value::Object(least));
        let launch = Err(Refusal::Missing(vec!["description".into(), "agent".into()]));
        assert!(few.is_ok() || few == launch, "{}: {few:?}", tool.name);

        // Models write null for what they leave out.
        for name in all.keys().filter(|name| !must.contains(name)) {
            let mut with_null = all.clone();
            with_null.insert(name.clone(), Value::Null);
            let asked = ToolCall::read(&tool.name, Value::Object(with_null));
            assert!(asked.is_ok(), "{}.{name}: {asked:?}", tool.name);
        }
    }
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

fn offered(name: &str, purpose: &str) -> OfferedAgent {
    OfferedAgent { name: name.to_owned(), purpose: purpose.to_owned() }
}

#[test]
fn l8_background_task_lists_the_agents_in_a_line_each() {
    let agents = [
        offered("explore", "Finds things.\nUse it for questions about code."),
        offered("build", ""),
        offered("odd\nname", &"x\u{1b}[2J".repeat(1_000)),
    ];
    let task = tools_with(&agents, Telling::ByItself).remove(0);
    let (before, list) = task.description.split_once("\n\nAgents:\n").expect("a list");
    assert_eq!(before, named("background_task").description);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[..2], ["- explore: Finds things.", "- build"]);
    assert!(lines[2].starts_with("- odd name: x"), "{}", lines[2]);
    assert!(lines.len() == 3 && lines[2].chars().count() < 200, "{}", lines[2]);
    assert!(!list.contains('\u{1b}'));
    assert_eq!(tools_with(&[], Telling::ByItself)[0], named("background_task"));
    assert_eq!(tools_with(&agents, Telling::ByItself)[1..], tools()[1..]);
}

#[test]
fn l8_many_agents_are_cut_with_their_number() {
    let agents: Vec<OfferedAgent> = (0..90).map(|n| offered(&format!("a{n}"), "Works.")).collect();
    let task = tools_with(&agents, Telling::ByItself).remove(0);
    assert_eq!(task.description.matches("\n- ").count(), AGENTS_MAX_OFFERED + 1);
    let last = task.description.lines().next_back().expect("lines");
    assert!(last.starts_with(&format!("- {} more", 90 - AGENTS_MAX_OFFERED)), "{last}");
}
