//! What an agent does in one turn, read from its updates: its text, its tool calls, what it uses.
//! Updates of kinds that are not known are signs of life.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use legwork_protocol::Cost;
use legwork_protocol::refusal::plain;
use serde_json::Value;

use super::used::cost;
use crate::limits::{TEXT_MAX_BYTES, TITLE_MAX_CHARS, TOOL_CALLS_MAX};

#[derive(Debug, Default)]
pub struct Transcript {
    /// The text since the last tool call.
    text: String,
    /// Where its last piece begins.
    piece_at: usize,
    /// The last text before that.
    before: String,
    bytes: usize,
    /// The hashes of the calls' ids.
    calls: BTreeSet<u64>,
    hasher: RandomState,
    pub tool_calls: u32,
    /// Whether the agent says that its thread has an error, as Codex does.
    pub is_broken: bool,
}

#[derive(Debug, PartialEq)]
pub enum Update {
    Tool(String),
    /// What the session has cost so far.
    Cost(Cost),
    Life,
}

impl Transcript {
    /// Takes in an update (`params.update` of `session/update`).
    pub fn take(&mut self, update: &Value) -> Update {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                let content = &update["content"];
                if let Some(text) = content["text"].as_str() {
                    self.bytes += text.len();
                    self.piece_at = self.text.len();
                    self.text.push_str(text);
                }
                Update::Life
            }
            Some("tool_call") => self.tool(update),
            Some("tool_call_update") => self.mentioned(update),
            Some("session_info_update") => {
                let status = &update["_meta"]["codex"]["threadStatus"]["type"];
                if let Some(status) = status.as_str() {
                    self.is_broken = status == "systemError";
                }
                Update::Life
            }
            Some("usage_update") => cost(&update["cost"]).map_or(Update::Life, Update::Cost),
            _ => Update::Life,
        }
    }

    /// A tool call that was mentioned. Gemini (seen in 0.61.0) does not say that one begins for
    /// which it wants a permission.
    pub fn mentioned(&mut self, call: &Value) -> Update {
        let is_named = call["toolCallId"].as_str().is_some_and(|id| !id.is_empty());
        // Where no more are told apart, this one may be known.
        if is_named && self.calls.len() < TOOL_CALLS_MAX { self.tool(call) } else { Update::Life }
    }

    /// Whether it has written more than anybody can read.
    pub fn is_flood(&self) -> bool {
        self.bytes > TEXT_MAX_BYTES
    }

    /// The answer: what was said last.
    pub fn answer(&self) -> &str {
        let last = self.text.trim();
        if last.is_empty() { self.before.trim() } else { last }
    }

    /// What was said before the last piece, and that piece.
    pub fn last_piece(&self) -> (&str, &str) {
        let (before, piece) = self.text.split_at(self.piece_at);
        (if before.trim().is_empty() { &self.before } else { before }, piece)
    }

    fn tool(&mut self, update: &Value) -> Update {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let hash = self.hasher.hash_one(id);
        if self.calls.contains(&hash) {
            return Update::Life;
        }
        if self.calls.len() < TOOL_CALLS_MAX && !id.is_empty() {
            self.calls.insert(hash);
        }
        self.tool_calls += 1;
        if !self.text.trim().is_empty() {
            self.before = std::mem::take(&mut self.text);
            self.piece_at = 0;
        }
        Update::Tool(tool_title(update))
    }
}

pub fn tool_title(call: &Value) -> String {
    let words = call["title"].as_str().or_else(|| call["kind"].as_str());
    plain(words.filter(|words| !words.trim().is_empty()).unwrap_or("tool"), TITLE_MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Currency;
    use serde_json::json;

    use super::*;

    fn say(text: &str) -> Value {
        let content = json!({ "type": "text", "text": text });
        json!({ "sessionUpdate": "agent_message_chunk", "content": content })
    }

    fn tool(id: &str, title: &str) -> Value {
        json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title })
    }

    #[test]
    fn the_answer_is_what_was_said_after_the_last_tool_call() {
        let mut turn = Transcript::default();
        turn.take(&say("Let me look."));
        assert_eq!(turn.take(&tool("1", "read a.rs")), Update::Tool("read a.rs".to_owned()));
        assert_eq!(turn.take(&tool("1", "read a.rs")), Update::Life, "the same call again");
        turn.take(&say("It is "));
        turn.take(&say("fine.\n"));
        assert_eq!((turn.answer(), turn.tool_calls), ("It is fine.", 1));
    }

    #[test]
    fn a_tool_call_whose_beginning_was_not_told_counts_once() {
        let mut turn = Transcript::default();
        turn.take(&say("Let me look."));
        let asked = json!({ "toolCallId": "1", "title": "ls" });
        assert_eq!(turn.mentioned(&asked), Update::Tool("ls".to_owned()));
        let done = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1" });
        assert_eq!(turn.take(&done), Update::Life);
        assert_eq!(turn.mentioned(&json!({ "title": "ls" })), Update::Life, "which is not said");
        let other =
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "2", "kind": "read" });
        assert_eq!(turn.take(&other), Update::Tool("read".to_owned()));
        turn.take(&say("Done."));
        assert_eq!((turn.answer(), turn.tool_calls), ("Done.", 2));
    }

    #[test]
    fn a_tool_call_at_the_end_does_not_hide_the_answer() {
        let mut turn = Transcript::default();
        turn.take(&say("Done."));
        turn.take(&tool("1", "tick off"));
        turn.take(&tool("2", "tick off"));
        assert_eq!((turn.answer(), turn.tool_calls), ("Done.", 2));
    }

    #[test]
    fn what_is_used_is_told_where_the_agent_tells_it() {
        let mut turn = Transcript::default();
        let cost = json!({ "amount": 0.25, "currency": "USD" });
        let usage = json!({ "sessionUpdate": "usage_update", "used": 7, "size": 9, "cost": cost });
        let cost = Cost { micros: 250_000, currency: Currency::USD };
        assert_eq!(turn.take(&usage), Update::Cost(cost));
        let usage = json!({ "sessionUpdate": "usage_update", "used": 7, "size": 9 });
        assert_eq!(turn.take(&usage), Update::Life, "how full the context is, is no usage");
    }

    #[test]
    fn rubbish_is_a_sign_of_life_and_no_more() {
        let mut turn = Transcript::default();
        for update in [json!(null), json!(7), json!({}), json!({ "sessionUpdate": "new" })] {
            assert_eq!(turn.take(&update), Update::Life);
        }
        assert_eq!(
            turn.take(&json!({ "sessionUpdate": "tool_call" })),
            Update::Tool("tool".into())
        );
        assert_eq!(turn.answer(), "");
    }

    #[test]
    fn a_flood_is_seen() {
        let mut turn = Transcript::default();
        turn.take(&say(&"x".repeat(TEXT_MAX_BYTES)));
        assert!(!turn.is_flood());
        turn.take(&tool("1", "t"));
        turn.take(&say("x"));
        assert!(turn.is_flood());
    }
}
