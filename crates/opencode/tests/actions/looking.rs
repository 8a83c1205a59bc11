//! The completion rule, and how little is read for it.

use legwork_engine::work::{Observation, RunState};
use legwork_engine::{Action, Finding, HostError};
use legwork_protocol::Time;
use serde_json::{Value, json};

use crate::fake::{Fake, fixture, messages};

pub const PROMPT: &str = "msg_1df51d96e000p0000000000007";

pub fn observe_at(host: &Fake, message: &str) -> Observation {
    let session = "ses_helper".parse().unwrap();
    let look = Action::Observe { session, message: message.parse().unwrap() };
    match host.perform(&look) {
        Ok(Finding::Observed(observation)) => observation,
        other => panic!("{other:?}"),
    }
}

fn with(history: Vec<Value>) -> Fake {
    Fake::recorded().history("ses_helper", history)
}

fn prompt_of(history: &[Value]) -> String {
    history[0]["info"]["id"].as_str().unwrap().to_owned()
}

/// A turn that somebody else started: a prompt and its answer.
fn turn(number: u64) -> [Value; 2] {
    let time = 1_794_749_000_000 + number * 10;
    let prompt = format!("msg_other{number:04}");
    let answer = json!({
        "id": format!("msg_reply{number:04}"), "role": "assistant", "parentID": prompt,
        "time": { "created": time + 1, "completed": time + 2 }, "finish": "stop",
    });
    let text = |text: String| json!([{ "type": "text", "text": text }]);
    [
        json!({ "info": { "id": prompt, "role": "user", "time": { "created": time } },
                "parts": text(format!("other {number}")) }),
        json!({ "info": answer, "parts": text(format!("answer {number}")) }),
    ]
}

#[test]
fn d2_a_finished_run_is_seen_with_one_small_read() {
    let host = Fake::recorded();
    let observation = observe_at(&host, PROMPT);
    assert_eq!(observation.state, RunState::Answered { text: "found it ".to_owned() });
    assert_eq!(observation.tool_calls, 2);
    let last = messages("answered").pop().unwrap()["info"]["time"]["completed"].as_u64();
    assert_eq!(observation.moved, last.map(Time));
    assert_eq!(host.reads(), ["GET /session/ses_helper/message?limit=4"]);
}

#[test]
fn d2_text_before_a_tool_call_is_not_the_end() {
    let mut history = messages("answered");
    history.pop();
    let busy = json!({ "ses_helper": { "type": "busy" } });
    let observation =
        observe_at(&with(history.clone()).on("GET /session/status", 200, busy), PROMPT);
    assert_eq!(observation.state, RunState::Busy);
    let observation = observe_at(&with(history), PROMPT);
    assert_eq!(observation.state, RunState::Still { text: "calling".to_owned() });
}

#[test]
fn d2_an_answer_that_came_while_it_was_asked_who_is_busy_is_seen() {
    let mut history = messages("answered");
    let answer = history.pop().unwrap();
    let host = with(history).then_on("GET /session/status", "ses_helper", answer);
    let found = RunState::Answered { text: "found it ".to_owned() };
    assert_eq!(observe_at(&host, PROMPT).state, found);
}

#[test]
fn d3_an_error_is_told_with_its_cause() {
    let history = messages("failed");
    let observation = observe_at(&with(history.clone()), &prompt_of(&history));
    let reason = "APIError: fake failure 400 (status 400)".to_owned();
    assert_eq!(observation.state, RunState::Failed { reason });
}

#[test]
fn d3_an_abort_is_told_as_one_with_the_text_so_far() {
    let history = messages("aborted");
    let observation = observe_at(&with(history.clone()), &prompt_of(&history));
    assert_eq!(observation.state, RunState::Aborted { text: "half".to_owned() });
}

/// Seen in 1.18.33: the refused reply is over and says nothing, then a compaction and the answer to
/// OpenCode's own words follow.
#[test]
fn d3_a_reply_that_a_compaction_follows_is_no_end() {
    let mut history = messages("aborted");
    let prompt = prompt_of(&history);
    history.last_mut().unwrap()["info"]["error"] = Value::Null;
    let busy = json!({ "ses_helper": { "type": "busy" } });
    let host = with(history.clone()).on("GET /session/status", 200, busy.clone());
    assert_eq!(observe_at(&host, &prompt).state, RunState::Busy, "it may go on");
    let [asks, mut summary] = turn(1);
    summary["info"]["mode"] = json!("compaction");
    history.extend([asks, summary]);
    let host = with(history.clone()).on("GET /session/status", 200, busy);
    assert_eq!(observe_at(&host, &prompt).state, RunState::Busy);
    history.extend(turn(2));
    let answer = RunState::Answered { text: "answer 2".to_owned() };
    assert_eq!(observe_at(&with(history), &prompt).state, answer);
}

/// Seen in 1.18.33: an abort while the provider is being tried again writes no error.
#[test]
fn d3_a_reply_that_is_over_without_an_end_was_aborted() {
    let mut history = messages("aborted");
    let reply = history.last_mut().unwrap();
    reply["info"].as_object_mut().unwrap().remove("error");
    let observation = observe_at(&with(history.clone()), &prompt_of(&history));
    assert_eq!(observation.state, RunState::Aborted { text: "half".to_owned() });
}

#[test]
fn d3_a_stream_that_was_tried_again_leaves_no_trace_in_the_answer() {
    let mut history = messages("answered");
    let parts = history.last_mut().unwrap()["parts"].as_array_mut().unwrap();
    parts.insert(0, json!({ "type": "text", "text": "" }));
    let observation = observe_at(&with(history), PROMPT);
    assert_eq!(observation.state, RunState::Answered { text: "found it ".to_owned() });
}

#[test]
fn d5_a_turn_that_a_rejection_stopped_tells_of_it() {
    let mut history = messages("answered");
    history.pop();
    let parts = history.last_mut().unwrap()["parts"].as_array_mut().unwrap();
    let state = json!({ "status": "error", "error": "The user rejected it." });
    parts.push(json!({ "type": "tool", "tool": "bash", "state": state }));
    let observation = observe_at(&with(history), PROMPT);
    let text = "calling\nbash: The user rejected it.".to_owned();
    assert_eq!(observation.state, RunState::Still { text });
}

#[test]
fn a_half_message_is_no_end() {
    let history = messages("half");
    let observation = observe_at(&with(history.clone()), &prompt_of(&history));
    assert_eq!(observation.state, RunState::Still { text: String::new() });
    assert!(observation.moved.is_some());
}

#[test]
fn a_provider_that_is_tried_again_is_busy() {
    let status = json!({ "ses_helper": fixture("retrying")["ses_retrying"] });
    let history = messages("half");
    let host = with(history.clone()).on("GET /session/status", 200, status);
    assert_eq!(observe_at(&host, &prompt_of(&history)).state, RunState::Busy);
}

#[test]
fn the_summary_of_a_compaction_is_no_answer() {
    let mut history = messages("answered");
    history.pop();
    history.extend(messages("compacted"));
    let observation = observe_at(&with(history.clone()), PROMPT);
    assert_eq!(observation.state, RunState::Still { text: "calling".to_owned() });
    history.extend(turn(1));
    let observation = observe_at(&with(history), PROMPT);
    assert_eq!(observation.state, RunState::Answered { text: "answer 1".to_owned() });
}

#[test]
fn a_prompt_that_a_later_one_overtook_has_its_answer_there() {
    let mut history = messages("answered");
    history.truncate(2);
    history.extend(turn(1));
    history.extend(turn(2));
    let observation = observe_at(&with(history), PROMPT);
    assert_eq!(observation.state, RunState::Answered { text: "answer 1".to_owned() });
}

#[test]
fn an_earlier_answer_is_not_this_runs() {
    let mut history: Vec<Value> = turn(1).into();
    history.push(messages("answered")[0].clone());
    let observation = observe_at(&with(history), PROMPT);
    assert_eq!(observation.state, RunState::Still { text: String::new() });
    assert_eq!((observation.tool_calls, observation.moved), (0, None));
}

#[test]
fn a_prompt_written_down_again_behind_its_answer_is_answered() {
    let mut history = messages("answered");
    history.rotate_left(1);
    for number in 1..3 {
        history.extend(turn(number));
    }
    let observation = observe_at(&with(history), PROMPT);
    assert_eq!(observation.state, RunState::Answered { text: "found it ".to_owned() });
}

#[test]
fn an_answer_far_back_is_found_page_by_page() {
    let mut history = messages("answered");
    (0..50).for_each(|number| history.extend(turn(number)));
    let host = with(history.clone());
    let found = RunState::Answered { text: "found it ".to_owned() };
    assert_eq!(observe_at(&host, PROMPT).state, found);
    let pages = host.reads().iter().filter(|read| read.contains("limit=32")).count();
    assert_eq!(pages, 4, "4 messages, then 3 × 32, then the rest");
    assert_eq!(observe_at(&with(history).without_cursors(), PROMPT).state, found);
}

#[test]
fn a_prompt_that_is_not_there_is_still() {
    let observation = observe_at(&Fake::recorded(), "msg_never");
    assert_eq!(observation.state, RunState::Still { text: String::new() });
}

#[test]
fn a_session_that_is_gone_is_gone() {
    let host = Fake::recorded();
    let session = "ses_gone".parse().unwrap();
    let look = Action::Observe { session, message: PROMPT.parse().unwrap() };
    assert_eq!(host.perform(&look), Err(HostError::Gone));
}
