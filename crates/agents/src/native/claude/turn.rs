//! One turn of Claude Code: what its lines show to whoever watches, and how it ended. Plain values
//! in and out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::permission::{call_kind, call_title};
use super::wire::{Block, Limit, Message, Over, Retry, Said, ToolResult};
use crate::native::{Call, Shown, Spent, State, Step, moment};

const PLAN_TOOL: &str = "TodoWrite";

/// Why a turn has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whether somebody has to log in first.
    pub is_login: bool,
    pub why: String,
}

/// What is remembered during a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// The message of the model that was said last.
    message: String,
    /// Whether a text was said since the last tool call.
    has_said: bool,
    /// The kind of error that Claude Code told last.
    error: Option<String>,
    limit: Option<Limit>,
    /// The tool calls without an end.
    calls: BTreeMap<String, Call>,
    pub spent: Spent,
}

impl Turn {
    /// What a message shows.
    pub fn on(&mut self, message: &Message) -> Vec<Shown> {
        match message {
            Message::Began { model, .. } => {
                self.spent.model = Some(model.clone()).filter(|model| !model.is_empty());
                vec![Shown::Life]
            }
            Message::Said(said) => self.said(said),
            Message::Results(results) => {
                results.iter().filter_map(|result| self.result(result)).collect()
            }
            Message::Retry(retry) => vec![Shown::Retry(retrying(retry))],
            Message::Limit(limit) => {
                self.limit = Some(limit.clone());
                vec![Shown::Life]
            }
            // A command of Claude Code itself is answered here only.
            Message::Over(over) if !self.has_said && !over.is_error => {
                let text = Some(over.text.clone()).filter(|text| !text.trim().is_empty());
                text.map(Shown::Text).into_iter().collect()
            }
            Message::Over(_) => Vec::new(),
            _ => vec![Shown::Life],
        }
    }

    fn said(&mut self, said: &Said) -> Vec<Shown> {
        if !said.is_of_model {
            // The end of the turn says it again, and whether it is an answer.
            self.error.clone_from(&said.error);
            return vec![Shown::Life];
        }
        self.error = None;
        let mut shown = Vec::new();
        for block in &said.blocks {
            match block {
                Block::Text(text) if text.trim().is_empty() => {}
                Block::Text(text) => {
                    if self.has_said && self.message != said.message {
                        shown.push(Shown::Text("\n\n".to_owned()));
                    }
                    self.message.clone_from(&said.message);
                    self.has_said = true;
                    shown.push(Shown::Text(text.clone()));
                }
                Block::Thought(text) => shown.push(Shown::Thought(text.clone())),
                Block::Call { id, name, input } => {
                    self.has_said = false;
                    shown.extend(plan(name, input));
                    let call = Call {
                        id: id.clone(),
                        title: call_title(name, input),
                        kind: call_kind(name),
                        input: input.clone(),
                        ..Call::default()
                    };
                    self.calls.insert(id.clone(), call.clone());
                    shown.push(Shown::Call(call));
                }
            }
        }
        shown
    }

    fn result(&mut self, result: &ToolResult) -> Option<Shown> {
        let ToolResult { call, is_error, text } = result;
        let call = self.calls.remove(call)?;
        let state = if *is_error { State::Failed } else { State::Done };
        // What it was given was shown when it began.
        Some(Shown::Call(Call { state, input: Value::Null, output: text.clone(), ..call }))
    }

    /// Why it failed, if it did.
    pub fn failure(&self, over: &Over) -> Option<Failure> {
        if !over.is_error {
            return None;
        }
        let why = match over.text.trim() {
            "" => subtype_words(over),
            text => text.to_owned(),
        };
        let error = self.error.as_deref().unwrap_or_default();
        Some(Failure::told(error, over.api_error_status, why, self.limit.as_ref()))
    }
}

impl Failure {
    /// One that Claude Code tells with this kind of error, status and text.
    pub fn told(error: &str, status: Option<u64>, why: String, limit: Option<&Limit>) -> Self {
        let is_login =
            error == "authentication_failed" || status == Some(401) || why.contains("/login");
        let reset = limit.filter(|limit| limit.is_reached()).and_then(|limit| limit.resets_at);
        let reset = reset.filter(|_| !is_login).and_then(moment);
        let why = match reset {
            // Claude Code says it by the clock of this machine, without the day.
            Some(reset) => format!("{why} (until {reset})"),
            None => why,
        };
        Self { is_login, why }
    }
}

/// Why a turn has failed that says nothing more.
fn subtype_words(over: &Over) -> String {
    match over.subtype.as_str() {
        "error_max_turns" => "It has reached its limit of steps in one turn.".to_owned(),
        "error_max_budget_usd" => "It has reached its limit of costs.".to_owned(),
        subtype => match &over.terminal_reason {
            Some(reason) => format!("It ended its turn with {subtype} ({reason})."),
            None => format!("It ended its turn with {subtype}."),
        },
    }
}

fn retrying(retry: &Retry) -> String {
    let Retry { attempt, max, delay_ms, status, error } = retry;
    let seconds = delay_ms.div_ceil(1_000);
    let status = status.map(|status| format!("{status} ")).unwrap_or_default();
    let error = if error.is_empty() { "no answer" } else { error };
    format!("{status}{error}, attempt {attempt} of {max} in {seconds} s")
}

/// The plan that a tool call writes down, if it does.
fn plan(tool: &str, input: &Value) -> Option<Shown> {
    if tool != PLAN_TOOL {
        return None;
    }
    let steps = input["todos"].as_array()?.iter().filter_map(|step| {
        let state = match step["status"].as_str()? {
            "completed" => State::Done,
            "in_progress" => State::Running,
            _ => State::Pending,
        };
        Some(Step { text: step["content"].as_str()?.to_owned(), state })
    });
    Some(Shown::Plan(steps.collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(turn: &mut Turn, line: &Value) -> Vec<Shown> {
        turn.on(&Message::read(line))
    }

    fn over(line: &Value) -> Box<Over> {
        match Message::read(line) {
            Message::Over(over) => over,
            other => panic!("{other:?}"),
        }
    }

    fn said(message: &str, block: Value) -> Value {
        let message = json!({ "id": message, "model": "scripted", "content": [block] });
        json!({ "type": "assistant", "message": message, "parent_tool_use_id": null })
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    fn result(more: Value) -> Value {
        let mut line = json!({ "type": "result", "subtype": "success", "is_error": false });
        for (key, value) in more.as_object().unwrap() {
            line[key] = value.clone();
        }
        line
    }

    #[test]
    fn h5_texts_of_two_messages_are_two_paragraphs() {
        let mut turn = Turn::default();
        let mut all = Vec::new();
        for (message, part) in [("m1", "one"), ("m1", " two"), ("m2", "three")] {
            all.extend(shown(&mut turn, &said(message, text(part))));
        }
        let all: Vec<String> = all
            .into_iter()
            .map(|shown| match shown {
                Shown::Text(text) => text,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(all, ["one", " two", "\n\n", "three"]);
    }

    #[test]
    fn h5_a_tool_call_is_shown_from_its_beginning_to_its_end() {
        let mut turn = Turn::default();
        let input = json!({ "command": "ls" });
        let call = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": input });
        let begun = shown(&mut turn, &said("m1", call));
        let content = json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": true }]);
        let line = json!({
            "type": "user", "parent_tool_use_id": null,
            "message": { "role": "user", "content": content },
        });
        let ended = shown(&mut turn, &line);
        let call = Call {
            id: "t1".to_owned(),
            title: "Bash: ls".to_owned(),
            kind: "execute",
            state: State::Running,
            input,
            output: String::new(),
        };
        assert_eq!(begun, [Shown::Call(call.clone())]);
        let output = "a".to_owned();
        let failed = Call { state: State::Failed, input: Value::Null, output, ..call };
        assert_eq!(ended, [Shown::Call(failed)]);
    }

    #[test]
    fn h5_what_a_sub_agent_does_is_no_part_of_the_answer() {
        let mut line = said("m1", text("aside"));
        line["parent_tool_use_id"] = "t1".into();
        assert_eq!(shown(&mut Turn::default(), &line), [Shown::Life]);
    }

    #[test]
    fn h5_a_plan_is_shown_as_it_is_now() {
        let todo = |content: &str, status: &str| json!({ "content": content, "status": status });
        let todos = [todo("a", "completed"), todo("b", "in_progress"), todo("c", "pending")];
        let input = json!({ "todos": todos });
        let call = json!({ "type": "tool_use", "id": "t", "name": "TodoWrite", "input": input });
        let all = shown(&mut Turn::default(), &said("m", call));
        let step = |text: &str, state| Step { text: text.to_owned(), state };
        let steps =
            vec![step("a", State::Done), step("b", State::Running), step("c", State::Pending)];
        assert_eq!(all[0], Shown::Plan(steps));
    }

    #[test]
    fn h5_a_retry_says_why_and_when() {
        let retry = json!({
            "type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10,
            "retry_delay_ms": 19_400.5, "error_status": 429, "error": "rate_limit",
        });
        let all = shown(&mut Turn::default(), &retry);
        assert_eq!(all, [Shown::Retry("429 rate_limit, attempt 2 of 10 in 20 s".to_owned())]);
    }

    #[test]
    fn h5_is_error_is_a_failure_whatever_the_subtype_says() {
        let mut turn = Turn::default();
        let limit = json!({
            "type": "rate_limit_event",
            "rate_limit_info": {
                "status": "rejected", "resetsAt": 1_795_115_340, "rateLimitType": "five_hour",
            },
        });
        shown(&mut turn, &limit);
        let why = "You've hit your 5-hour limit · resets 7:09pm";
        let mut refusal = said("x", text(why));
        refusal["message"]["model"] = "<synthetic>".into();
        refusal["error"] = "rate_limit".into();
        assert_eq!(shown(&mut turn, &refusal), [Shown::Life], "it is no answer");
        let end = result(json!({ "is_error": true, "api_error_status": 429, "result": why }));
        assert_eq!(shown(&mut turn, &end), []);
        let why = format!("{why} (until 2026-11-19 19:09 UTC)");
        assert_eq!(turn.failure(&over(&end)), Some(Failure { is_login: false, why }));
    }

    #[test]
    fn h5_a_login_that_is_missing_is_told_apart() {
        let end =
            result(json!({ "is_error": true, "result": "Not logged in · Please run /login" }));
        assert!(Turn::default().failure(&over(&end)).unwrap().is_login);
    }

    #[test]
    fn h7_an_end_of_an_unknown_kind_is_a_failure() {
        for (end, why) in [
            (json!({ "subtype": "error_max_turns" }), "limit of steps"),
            (json!({ "subtype": "gave_up" }), "gave_up"),
            (json!({ "subtype": "gave_up", "errors": ["a", "b"] }), "a\nb"),
        ] {
            let failure = Turn::default().failure(&over(&result(end))).unwrap();
            assert!(failure.why.contains(why), "{}", failure.why);
        }
    }

    #[test]
    fn h5_an_answer_that_only_the_end_has_is_shown() {
        let end = result(json!({ "result": "Total cost: $0" }));
        let mut turn = Turn::default();
        assert_eq!(shown(&mut turn, &end), [Shown::Text("Total cost: $0".to_owned())]);
        assert_eq!(turn.failure(&over(&end)), None);
        shown(&mut turn, &said("m", text("said")));
        assert_eq!(shown(&mut turn, &result(json!({ "result": "said" }))), []);
    }

    #[test]
    fn h7_unknown_lines_are_signs_of_life() {
        for line in [json!({}), json!({ "type": "news" }), json!({ "type": "system" }), json!(3)] {
            assert_eq!(shown(&mut Turn::default(), &line), [Shown::Life]);
        }
    }
}
