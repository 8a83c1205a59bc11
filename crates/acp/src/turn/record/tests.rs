//! What is told and kept of a turn.

use legwork_protocol::Currency;
use serde_json::json;

use super::*;
use crate::limits::{PLAN_MAX_STEPS, TEXT_MAX_BYTES};

fn session() -> SessionId {
    "acp_1".parse().unwrap()
}

fn begun() -> TurnRecord {
    TurnRecord::new("msg_1".parse().unwrap())
}

/// The entries that an update completes.
fn hear(record: &mut TurnRecord, update: &Value) -> Vec<Entry> {
    record.take(update).complete
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
    let mut said = begun();
    assert!(hear(&mut said, &chunk("agent_message_chunk", "one ")).is_empty());
    assert!(hear(&mut said, &chunk("agent_message_chunk", "two")).is_empty());
    let open = said.open();
    assert_eq!((texts(&open), open[0].open), (vec!["one two"], true));
    let complete = hear(&mut said, &call("tool_call", "a.rs", "in_progress"));
    assert_eq!((texts(&complete), complete[0].open), (vec!["one two"], false));
    assert_eq!(complete[0].key, open[0].key);
    let mut done = call("tool_call_update", "a.rs", "completed");
    done["content"] = json!([{ "type": "content", "content": { "type": "text", "text": "fn" } }]);
    let complete = hear(&mut said, &done);
    let tool = complete[0].tool.as_ref().unwrap();
    assert_eq!((tool.title.as_str(), tool.name.as_str()), ("a.rs", "read"));
    assert_eq!((tool.output.text.as_str(), tool.state), ("fn", ToolState::Done));
    assert!(said.open().is_empty());
}

#[test]
fn p3_thoughts_and_calls_at_once_are_told_apart() {
    let mut said = begun();
    hear(&mut said, &chunk("agent_thought_chunk", "hm"));
    hear(&mut said, &call("tool_call", "a", "in_progress"));
    hear(&mut said, &call("tool_call", "b", "in_progress"));
    let first = hear(&mut said, &call("tool_call_update", "b", "failed"));
    assert_eq!(first[0].tool.as_ref().unwrap().state, ToolState::Failed);
    let rest = said.end("");
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].tool.as_ref().unwrap().state, ToolState::Running, "it never ended");
}

#[test]
fn p3_an_answer_is_kept_once() {
    let mut said = begun();
    hear(&mut said, &chunk("agent_message_chunk", "the answer"));
    let rest = said.end("the answer");
    assert_eq!((rest.len(), rest[0].text.is_empty(), rest[0].open), (1, true, false));
    let mut said = begun();
    hear(&mut said, &chunk("agent_message_chunk", "the answer\n"));
    assert_eq!(texts(&said.end("the answer")), ["the answer\n"]);
}

#[test]
fn g3_what_is_kept_of_a_turn_is_bounded() {
    let mut said = begun();
    let long = "x".repeat(1 << 20);
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for number in 0..SAID_MAX_ENTRIES + 50 {
        let mut done = call("tool_call", &number.to_string(), "completed");
        done["rawOutput"] = json!(long);
        kept.extend(hear(&mut said, &done));
    }
    kept.extend(said.end(""));
    for entry in &kept {
        bytes += entry.tool.as_ref().map_or(0, |tool| tool.output.text.len());
    }
    assert!(bytes <= SAID_MAX_BYTES, "{bytes}");
    assert!(kept.len() <= SAID_MAX_ENTRIES + 1, "{}", kept.len());
    assert!(texts(&kept).last().unwrap().contains("more entries were not kept"));
    let mut said = begun();
    hear(&mut said, &chunk("agent_thought_chunk", &long));
    hear(&mut said, &chunk("agent_thought_chunk", &long));
    let open = said.open();
    assert_eq!(open[0].text.text.len() as u64 + open[0].text.left_out, 2 << 20);
    for number in 0..SAID_MAX_OPEN + 5 {
        hear(&mut said, &call("tool_call", &number.to_string(), "in_progress"));
    }
    assert_eq!(said.open().len(), SAID_MAX_OPEN);
}

#[test]
fn g3_texts_of_a_turn_are_kept_up_to_a_bound_and_the_rest_is_counted() {
    let mut said = begun();
    let mut kept = Vec::new();
    for number in 0..6 {
        hear(&mut said, &chunk("agent_message_chunk", &"x".repeat(1 << 20)));
        kept.extend(hear(&mut said, &call("tool_call", &number.to_string(), "completed")));
    }
    let bytes: usize = kept.iter().map(|entry| entry.text.text.len()).sum();
    let left_out: u64 = kept.iter().map(|entry| entry.text.left_out).sum();
    assert_eq!((bytes, left_out), (SAID_MAX_BYTES, 2 << 20));
}

#[test]
fn p3_whoever_follows_hears_of_every_change_and_nobody_else_costs_anything() {
    let records = Records::default();
    records.begin(&session(), &"msg_1".parse().unwrap());
    let mut changes = records.follow(&session());
    changes.mark_unchanged();
    records.change(&session(), |record| record.take(&chunk("agent_message_chunk", "x")));
    assert!(changes.has_changed().unwrap());
    drop(changes);
    drop(records.follow(&"acp_2".parse().unwrap()));
    assert_eq!(lock(&records.0).followed.len(), 1, "the one that left is gone");
}

#[test]
fn g2_rubbish_is_nothing_said() {
    let mut said = begun();
    for update in [json!(null), json!({ "sessionUpdate": 7 }), json!({ "content": [] })] {
        assert!(hear(&mut said, &update).is_empty());
    }
    hear(&mut said, &json!({ "sessionUpdate": "tool_call" }));
    assert_eq!(said.open()[0].tool.as_ref().unwrap().name, "tool");
}

/// Gemini says no more of a call that it was allowed to make, or not.
#[test]
fn p6_a_tool_call_that_waited_for_a_person_goes_on_or_is_over_with_the_answer() {
    let mut said = begun();
    for call in ["a", "b", "c"] {
        said.mentioned(&json!({ "toolCallId": call, "title": call }));
    }
    said.answered("a", true);
    said.answered("b", false);
    said.answered("unknown", true);
    let open = said.open();
    let state = |call: usize| open[call].tool.as_ref().unwrap().state;
    assert_eq!([0, 1, 2].map(state), [ToolState::Running, ToolState::Failed, ToolState::Running]);
    let ended = said.end("");
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
    let mut said = begun();
    assert_eq!(hear(&mut said, &plan(&[("look", "pending"), ("mend", "pending")])), []);
    assert_eq!(hear(&mut said, &plan(&[("look", "in_progress"), ("mend", "pending")])), []);
    let open = said.open();
    assert_eq!((open.len(), &*open[0].text.text), (1, "→ look\n○ mend"));
    let closed = hear(
        &mut said,
        &json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "read" }),
    );
    assert_eq!(closed[0].plan.iter().filter(|step| step.text == "look").count(), 1);
    // One that says nothing new is no entry.
    assert_eq!(hear(&mut said, &plan(&[("look", "in_progress"), ("mend", "pending")])), []);
    assert_eq!(said.open().len(), 1);
    hear(&mut said, &plan(&[("look", "completed"), ("mend", "in_progress")]));
    let open = said.open();
    assert!(open[1].is_plan() && open[1].text.text == "✓ look\n→ mend", "{open:?}");
    // A thought is none of its steps.
    let thought = json!({ "sessionUpdate": "agent_thought_chunk", "content": { "text": "hm" } });
    assert!(hear(&mut said, &thought)[0].is_plan());
}

#[test]
fn g3_a_plan_has_so_many_steps_and_no_more() {
    let mut said = begun();
    let long = "x\u{1b}".repeat(10_000);
    let steps = vec![(long.as_str(), "pending"); 1_000];
    hear(&mut said, &plan(&steps));
    let open = said.open();
    assert_eq!(open[0].plan.len(), PLAN_MAX_STEPS + 1);
    assert!(open[0].text.text.len() < 20_000 && open[0].text.text.ends_with("○ … and 950 more"));
    for rubbish in [json!({ "sessionUpdate": "plan" }), plan(&[]), plan(&[("", "x")])] {
        assert_eq!(hear(&mut said, &rubbish), []);
    }
}

fn say(text: &str) -> Value {
    chunk("agent_message_chunk", text)
}

fn tool(id: &str, title: &str) -> Value {
    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title })
}

#[test]
fn the_answer_is_what_was_said_after_the_last_tool_call() {
    let mut turn = begun();
    turn.take(&say("Let me look."));
    let begun = turn.take(&tool("1", "read a.rs")).progress;
    assert_eq!(begun, Progress::Tool("read a.rs".to_owned()));
    let again = turn.take(&tool("1", "read a.rs")).progress;
    assert_eq!(again, Progress::Life, "the same call again");
    turn.take(&say("It is "));
    turn.take(&say("fine.\n"));
    assert_eq!((turn.answer.text(), turn.tool_calls), ("It is fine.", 1));
}

#[test]
fn a_tool_call_whose_beginning_was_not_told_counts_once() {
    let mut turn = begun();
    turn.take(&say("Let me look."));
    let asked = json!({ "toolCallId": "1", "title": "ls" });
    assert_eq!(turn.mentioned(&asked).progress, Progress::Tool("ls".to_owned()));
    let done = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1" });
    assert_eq!(turn.take(&done).progress, Progress::Life);
    let unnamed = turn.mentioned(&json!({ "title": "ls" })).progress;
    assert_eq!(unnamed, Progress::Life, "which is not said");
    let other = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "2", "kind": "read" });
    assert_eq!(turn.take(&other).progress, Progress::Tool("read".to_owned()));
    turn.take(&say("Done."));
    assert_eq!((turn.answer.text(), turn.tool_calls), ("Done.", 2));
}

#[test]
fn a_tool_call_at_the_end_does_not_hide_the_answer() {
    let mut turn = begun();
    turn.take(&say("Done."));
    turn.take(&tool("1", "tick off"));
    turn.take(&tool("2", "tick off"));
    assert_eq!((turn.answer.text(), turn.tool_calls), ("Done.", 2));
}

#[test]
fn what_is_used_is_told_where_the_agent_tells_it() {
    let mut turn = begun();
    let cost = json!({ "amount": 0.25, "currency": "USD" });
    let usage = json!({ "sessionUpdate": "usage_update", "used": 7, "size": 9, "cost": cost });
    let cost = Cost { micros: 250_000, currency: Currency::USD };
    assert_eq!(turn.take(&usage).progress, Progress::Cost(cost));
    let usage = json!({ "sessionUpdate": "usage_update", "used": 7, "size": 9 });
    let progress = turn.take(&usage).progress;
    assert_eq!(progress, Progress::Life, "how full the context is, is no usage");
}

#[test]
fn rubbish_is_a_sign_of_life_and_no_more() {
    let mut turn = begun();
    for update in [json!(null), json!(7), json!({}), json!({ "sessionUpdate": "new" })] {
        assert_eq!(turn.take(&update), Taken::default());
    }
    let unnamed = turn.take(&json!({ "sessionUpdate": "tool_call" })).progress;
    assert_eq!(unnamed, Progress::Tool("tool".into()));
    assert_eq!(turn.answer.text(), "");
}

#[test]
fn a_flood_is_seen() {
    let mut turn = begun();
    turn.take(&say(&"x".repeat(TEXT_MAX_BYTES)));
    assert!(!turn.answer.is_flood());
    turn.take(&tool("1", "t"));
    turn.take(&say("x"));
    assert!(turn.answer.is_flood());
}

#[test]
fn d3_the_state_of_codexs_thread_is_the_last_that_it_told() {
    let mut turn = begun();
    for (status, is_broken) in [("systemError", true), ("active", false)] {
        let meta = json!({ "codex": { "threadStatus": { "type": status } } });
        turn.take(&json!({ "sessionUpdate": "session_info_update", "_meta": meta }));
        turn.take(&json!({ "sessionUpdate": "session_info_update" }));
        assert_eq!(turn.answer.is_broken, is_broken);
    }
}
