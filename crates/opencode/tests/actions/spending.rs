//! What a run used up is the sum of its own replies: heard with events, or read.

use std::sync::Arc;

use legwork_engine::work::{RunState, Tried};
use legwork_engine::{Finding, Usage};
use legwork_opencode::{Event, EventCache, project, wanted};
use serde_json::{Value, json};

use crate::fake::{Fake, messages};
use crate::looking::{PROMPT, observe_at};
use crate::opening::prompt;

/// Hears of a message what the plugin would pass on. Gives back the tokens that are news.
fn hear(event_cache: &EventCache, told: &Value) -> Option<u64> {
    let properties = json!({ "sessionID": "ses_helper", "info": told["info"] });
    let passed_on = project(&wanted(), "message.updated", &properties).unwrap();
    event_cache.hear(&Event::read("message.updated", &passed_on))?.1.usage.tokens
}

/// A reply to the recorded prompt that calls a tool.
fn step(number: u64) -> Value {
    let time = 1_794_748_609_200 + number;
    json!({
        "info": {
            "id": format!("msg_1df5a73{number:05}"), "role": "assistant", "parentID": PROMPT,
            "sessionID": "ses_helper", "time": { "created": time, "completed": time },
            "finish": "tool-calls", "cost": 0.000_01, "providerID": "fake", "modelID": "fake",
            "tokens": { "input": 4, "output": 1, "reasoning": 0, "cache": { "read": 5 } },
        },
        "parts": [],
    })
}

/// The recorded run with so many more steps before its end, behind an earlier run.
fn long_run(steps: u64) -> Vec<Value> {
    let mut run = messages("answered");
    let end = run.pop().unwrap();
    run.extend((0..steps).map(step));
    run.push(end);
    let mut earlier = step(77_777);
    earlier["info"]["id"] = json!("msg_0");
    earlier["info"]["parentID"] = json!("msg_earlier");
    run.insert(0, earlier);
    run
}

fn figures(usage: &Usage) -> (Option<u64>, String, Option<&str>) {
    let cost = usage.cost.map(|cost| cost.to_string()).unwrap_or_default();
    (usage.tokens, cost, usage.model.as_deref())
}

#[test]
fn p4_a_run_that_is_read_has_the_figures_of_its_replies() {
    let seen = observe_at(&Fake::recorded(), PROMPT);
    assert_eq!(figures(&seen.usage), (Some(45), "0.000060 USD".to_owned(), Some("fake/fake")));
}

#[test]
fn p4_a_long_run_is_read_back_to_its_prompt_and_not_beyond() {
    let host = Fake::recorded().history("ses_helper", long_run(20));
    let seen = observe_at(&host, PROMPT);
    assert_eq!(seen.usage.tokens, Some(45 + 200));
    assert_eq!(host.reads().len(), 2);
}

#[test]
fn p4_what_comes_behind_the_end_is_not_the_runs() {
    let mut history = messages("answered");
    let mut later = step(1);
    later["info"]["parentID"] = json!("msg_2df5a73");
    history.push(later);
    let seen = observe_at(&Fake::recorded().history("ses_helper", history), PROMPT);
    assert!(matches!(seen.state, RunState::Answered { .. }));
    assert_eq!(seen.usage.tokens, Some(45));
}

#[test]
fn p4_what_was_heard_is_told_with_the_answer_and_while_the_run_goes_on() {
    let event_cache = Arc::new(EventCache::default());
    let host = Fake::recorded().hearing(event_cache.clone());
    assert_eq!(host.perform(&prompt(Tried::Never, PROMPT)), Ok(Finding::Done));
    let run = messages("answered");
    let mut news = Vec::new();
    for told in &run {
        news.extend(hear(&event_cache, told));
        assert_eq!(hear(&event_cache, told), None, "that is no news");
    }
    assert_eq!(news, [15, 30, 45]);
    let mut old = step(1);
    old["info"]["id"] = json!("msg_0");
    old["info"]["parentID"] = json!("msg_earlier");
    assert_eq!(hear(&event_cache, &old), None, "an earlier run's");
    let last = run.last().unwrap();
    for part in last["parts"].as_array().unwrap() {
        let properties = json!({ "sessionID": "ses_helper", "part": part });
        let passed_on = project(&wanted(), "message.part.updated", &properties).unwrap();
        event_cache.hear(&Event::read("message.part.updated", &passed_on));
    }
    let before = host.reads().len();
    let seen = observe_at(&host, PROMPT);
    assert_eq!((seen.usage.tokens, host.reads().len()), (Some(45), before), "nothing is read");
}

#[test]
fn p4_after_a_gap_a_run_is_counted_on_from_what_was_read() {
    let mut history = long_run(20);
    history.pop();
    let event_cache = Arc::new(EventCache::default());
    let busy = json!({ "ses_helper": { "type": "busy" } });
    let host = Fake::recorded()
        .history("ses_helper", history)
        .on("GET /session/status", 200, busy)
        .hearing(event_cache.clone());
    let seen = observe_at(&host, PROMPT);
    assert_eq!((seen.state, seen.usage.tokens), (RunState::Busy, Some(30 + 200)));
    assert_eq!(hear(&event_cache, &step(20)), Some(30 + 210));
    let before = host.reads().len();
    assert_eq!(observe_at(&host, PROMPT).usage.tokens, Some(30 + 210));
    assert_eq!(host.reads().len() - before, 2, "one page and the status");
}

#[test]
fn p4_what_was_not_heard_is_read() {
    let event_cache = Arc::new(EventCache::default());
    let host = Fake::recorded().history("ses_helper", long_run(20)).hearing(event_cache.clone());
    assert_eq!(host.perform(&prompt(Tried::Never, PROMPT)), Ok(Finding::Done));
    assert_eq!(hear(&event_cache, &step(0)), Some(10));
    assert_eq!(observe_at(&host, PROMPT).usage.tokens, Some(45 + 200));
}
