//! What is told and kept of a turn.

use serde_json::json;

use super::*;
use crate::limits::PLAN_MAX_STEPS;

fn session() -> SessionId {
    "acp_1".parse().unwrap()
}

fn begun() -> Said {
    let said = Said::default();
    said.begin(&session(), &"msg_1".parse().unwrap());
    said
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

fn call(update: &str, id: &str, status: &str) -> Value {
    json!({ "sessionUpdate": update, "toolCallId": id, "title": id, "kind": "read", "status": status })
}

fn texts(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.text.text.as_str()).collect()
}

#[test]
fn p3_texts_are_open_until_something_else_comes() {
    let said = begun();
    assert!(said.hear(&session(), &chunk("agent_message_chunk", "one ")).is_empty());
    assert!(said.hear(&session(), &chunk("agent_message_chunk", "two")).is_empty());
    let open = said.open(&session());
    assert_eq!((texts(&open), open[0].open), (vec!["one two"], true));
    let complete = said.hear(&session(), &call("tool_call", "a.rs", "in_progress"));
    assert_eq!((texts(&complete), complete[0].open), (vec!["one two"], false));
    assert_eq!(complete[0].key, open[0].key);
    let mut done = call("tool_call_update", "a.rs", "completed");
    done["content"] = json!([{ "type": "content", "content": { "type": "text", "text": "fn" } }]);
    let complete = said.hear(&session(), &done);
    let tool = complete[0].tool.as_ref().unwrap();
    assert_eq!((tool.title.as_str(), tool.name.as_str()), ("a.rs", "read"));
    assert_eq!((tool.output.text.as_str(), tool.state), ("fn", ToolState::Done));
    assert!(said.open(&session()).is_empty());
}

#[test]
fn p3_thoughts_and_calls_at_once_are_told_apart() {
    let said = begun();
    said.hear(&session(), &chunk("agent_thought_chunk", "hm"));
    said.hear(&session(), &call("tool_call", "a", "in_progress"));
    said.hear(&session(), &call("tool_call", "b", "in_progress"));
    let first = said.hear(&session(), &call("tool_call_update", "b", "failed"));
    assert_eq!(first[0].tool.as_ref().unwrap().state, ToolState::Failed);
    let rest = said.end(&session(), "");
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].tool.as_ref().unwrap().state, ToolState::Running, "it never ended");
}

#[test]
fn p3_an_answer_is_kept_once() {
    let said = begun();
    said.hear(&session(), &chunk("agent_message_chunk", "the answer"));
    let rest = said.end(&session(), "the answer");
    assert_eq!((rest.len(), rest[0].text.is_empty(), rest[0].open), (1, true, false));
    let said = begun();
    said.hear(&session(), &chunk("agent_message_chunk", "the answer\n"));
    assert_eq!(texts(&said.end(&session(), "the answer")), ["the answer\n"]);
}

#[test]
fn g3_what_is_kept_of_a_turn_is_bounded() {
    let said = begun();
    let long = "x".repeat(1 << 20);
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for number in 0..SAID_MAX_ENTRIES + 50 {
        let mut done = call("tool_call", &number.to_string(), "completed");
        done["rawOutput"] = json!(long);
        kept.extend(said.hear(&session(), &done));
    }
    kept.extend(said.end(&session(), ""));
    for entry in &kept {
        bytes += entry.tool.as_ref().map_or(0, |tool| tool.output.text.len());
    }
    assert!(bytes <= SAID_MAX_BYTES, "{bytes}");
    assert!(kept.len() <= SAID_MAX_ENTRIES + 1, "{}", kept.len());
    assert!(texts(&kept).last().unwrap().contains("more entries were not kept"));
    let said = begun();
    said.hear(&session(), &chunk("agent_thought_chunk", &long));
    said.hear(&session(), &chunk("agent_thought_chunk", &long));
    let open = said.open(&session());
    assert_eq!(open[0].text.text.len() as u64 + open[0].text.left_out, 2 << 20);
    for number in 0..SAID_MAX_OPEN + 5 {
        said.hear(&session(), &call("tool_call", &number.to_string(), "in_progress"));
    }
    assert_eq!(said.open(&session()).len(), SAID_MAX_OPEN);
}

#[test]
fn g3_texts_of_a_turn_are_kept_up_to_a_bound_and_the_rest_is_counted() {
    let said = begun();
    let mut kept = Vec::new();
    for number in 0..6 {
        said.hear(&session(), &chunk("agent_message_chunk", &"x".repeat(1 << 20)));
        kept.extend(said.hear(&session(), &call("tool_call", &number.to_string(), "completed")));
    }
    let bytes: usize = kept.iter().map(|entry| entry.text.text.len()).sum();
    let left_out: u64 = kept.iter().map(|entry| entry.text.left_out).sum();
    assert_eq!((bytes, left_out), (SAID_MAX_BYTES, 2 << 20));
}

#[test]
fn p3_whoever_follows_hears_of_every_change_and_nobody_else_costs_anything() {
    let said = begun();
    let mut changes = said.follow(&session());
    changes.mark_unchanged();
    said.hear(&session(), &chunk("agent_message_chunk", "x"));
    assert!(changes.has_changed().unwrap());
    drop(changes);
    drop(said.follow(&"acp_2".parse().unwrap()));
    assert_eq!(lock(&said.0).followed.len(), 1, "the one that left is gone");
}

#[test]
fn g2_rubbish_is_nothing_said() {
    let said = begun();
    for update in [json!(null), json!({ "sessionUpdate": 7 }), json!({ "content": [] })] {
        assert!(said.hear(&session(), &update).is_empty());
    }
    said.hear(&session(), &json!({ "sessionUpdate": "tool_call" }));
    assert_eq!(said.open(&session())[0].tool.as_ref().unwrap().name, "tool");
}

/// Gemini says no more of a call that it was allowed to make, or not.
#[test]
fn p6_a_tool_call_that_waited_for_a_person_goes_on_or_is_over_with_the_answer() {
    let said = begun();
    let state = |call: usize| said.open(&session())[call].tool.as_ref().unwrap().state;
    for call in ["a", "b", "c"] {
        said.mentioned(&session(), &json!({ "toolCallId": call, "title": call }));
    }
    said.answered(&session(), "a", true);
    said.answered(&session(), "b", false);
    said.answered(&session(), "unknown", true);
    assert_eq!([0, 1, 2].map(state), [ToolState::Running, ToolState::Failed, ToolState::Running]);
    let ended = said.end(&session(), "");
    let states = ended.iter().map(|entry| entry.tool.as_ref().unwrap().state).collect::<Vec<_>>();
    assert_eq!(states, [ToolState::Done, ToolState::Failed, ToolState::Running]);
}

fn plan(steps: &[(&str, &str)]) -> Value {
    let step = |(content, status): &(&str, &str)| json!({ "content": content, "priority": "medium", "status": status });
    let entries: Vec<Value> = steps.iter().map(step).collect();
    json!({ "sessionUpdate": "plan", "entries": entries })
}

#[test]
fn p3_a_plan_is_kept_as_it_was_last_told_between_other_things() {
    let (said, session) = (begun(), session());
    let hear = |update: &Value| said.hear(&session, update);
    assert_eq!(hear(&plan(&[("look", "pending"), ("mend", "pending")])), []);
    assert_eq!(hear(&plan(&[("look", "in_progress"), ("mend", "pending")])), []);
    let open = said.open(&session);
    assert_eq!((open.len(), &*open[0].text.text), (1, "→ look\n○ mend"));
    let closed = hear(&json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "read" }));
    assert_eq!(closed[0].plan.iter().filter(|step| step.text == "look").count(), 1);
    // One that says nothing new is no entry.
    assert_eq!(hear(&plan(&[("look", "in_progress"), ("mend", "pending")])), []);
    assert_eq!(said.open(&session).len(), 1);
    hear(&plan(&[("look", "completed"), ("mend", "in_progress")]));
    let open = said.open(&session);
    assert!(open[1].is_plan() && open[1].text.text == "✓ look\n→ mend", "{open:?}");
    // A thought is none of its steps.
    let thought = json!({ "sessionUpdate": "agent_thought_chunk", "content": { "text": "hm" } });
    assert!(hear(&thought)[0].is_plan());
}

#[test]
fn g3_a_plan_has_so_many_steps_and_no_more() {
    let (said, session) = (begun(), session());
    let long = "x\u{1b}".repeat(10_000);
    let steps = vec![(long.as_str(), "pending"); 1_000];
    said.hear(&session, &plan(&steps));
    let open = said.open(&session);
    assert_eq!(open[0].plan.len(), PLAN_MAX_STEPS + 1);
    assert!(open[0].text.text.len() < 20_000 && open[0].text.text.ends_with("○ … and 950 more"));
    for rubbish in [json!({ "sessionUpdate": "plan" }), plan(&[]), plan(&[("", "x")])] {
        assert_eq!(said.hear(&session, &rubbish), []);
    }
}
