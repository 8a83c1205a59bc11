//! A message as OpenCode tells it, `{info, parts}`, and what can be read from it.

use legwork_protocol::{MessageId, Time};
use serde_json::Value;

use crate::wire::choice::Choice;
use crate::wire::mark;

/// Error of a turn that was aborted.
const ABORTED: &str = "MessageAbortedError";

#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    info: &'a Value,
    parts: &'a [Value],
}

/// How a reply ended its turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End<'a> {
    Answer,
    Aborted,
    /// It says neither how nor why. It was aborted while its provider was being tried again; or its
    /// context was too long, and the turn goes on after a compaction (1.18.33).
    Unsaid,
    Error(&'a Value),
}

impl<'a> Message<'a> {
    pub fn read(told: &'a Value) -> Self {
        let parts = told["parts"].as_array().map(Vec::as_slice);
        Self { info: &told["info"], parts: parts.unwrap_or_default() }
    }

    pub fn info(&self) -> &'a Value {
        self.info
    }

    pub fn parts(&self) -> &'a [Value] {
        self.parts
    }

    pub fn id(&self) -> Option<&'a str> {
        self.word("id")
    }

    /// Written by a model as part of a turn. The summary of a compaction is not: it would look like
    /// a complete answer in the middle of a run.
    pub fn is_reply(&self) -> bool {
        self.word("role") == Some("assistant")
            && self.word("mode") != Some("compaction")
            && self.info["summary"] != true
    }

    pub fn answers(&self, prompt: &str) -> bool {
        self.is_reply() && self.word("parentID") == Some(prompt)
    }

    /// Whether the reply is the last of its turn. One that calls tools is followed by another, and
    /// so is one whose stream broke off (`unknown`).
    pub fn end(&self) -> Option<End<'a>> {
        self.info["time"]["completed"].as_u64()?;
        if let Some(error) = self.info.get("error").filter(|error| !error.is_null()) {
            let aborted = error["name"].as_str() == Some(ABORTED);
            return Some(if aborted { End::Aborted } else { End::Error(error) });
        }
        match self.word("finish") {
            Some("tool-calls" | "unknown") => None,
            Some(_) => Some(End::Answer),
            None => Some(End::Unsaid),
        }
    }

    /// Whether it is written by a model, and nothing follows in its turn.
    pub fn is_last_reply(&self) -> bool {
        self.is_reply() && self.end().is_some()
    }

    /// What the model wrote for others to read. A stream that broke and was tried again leaves an
    /// empty part before the whole one (1.18.33).
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter(|part| is_shown_text(part));
        let texts = texts.filter_map(|part| part["text"].as_str());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The last that is known of a turn that stopped: what the model wrote, and which of its tools
    /// failed. A permission that a person rejects stops a turn and is told nowhere else (1.18.33).
    pub fn last_words(&self) -> String {
        let failed = self.parts.iter().filter_map(|part| {
            let why = part["state"]["error"].as_str()?;
            let tool = part["tool"].as_str().unwrap_or("a tool");
            Some(format!("{tool}: {why}"))
        });
        let words = Some(self.text()).filter(|text| !text.is_empty());
        words.into_iter().chain(failed).collect::<Vec<_>>().join("\n")
    }

    pub fn tool_calls(&self) -> usize {
        self.parts.iter().filter(|part| part["type"] == "tool").count()
    }

    /// The newest time in it.
    pub fn moved(&self) -> Option<Time> {
        let of = |told: &Value, path: &str| told.pointer(path).and_then(Value::as_u64);
        let own = ["/time/created", "/time/completed"].into_iter();
        let of_parts = ["/time/start", "/time/end", "/state/time/start", "/state/time/end"];
        let own = own.filter_map(|path| of(self.info, path));
        let parts =
            self.parts.iter().flat_map(|part| of_parts.iter().filter_map(|path| of(part, path)));
        own.chain(parts).max().map(Time)
    }

    /// Written by a person: not by us, and not by OpenCode in a person's name.
    pub fn is_a_persons(&self) -> bool {
        self.word("role") == Some("user")
            && !self.id().is_some_and(MessageId::is_ours)
            && self.parts.iter().any(is_persons_text)
    }

    /// True if it was sent to a model by somebody else than us.
    pub fn is_by_another_user(&self) -> bool {
        self.word("role") == Some("user") && self.id().is_some_and(|id| !MessageId::is_ours(id))
    }

    pub fn choice(&self) -> Choice {
        Choice::read(self.info)
    }

    fn word(&self, key: &str) -> Option<&'a str> {
        self.info[key].as_str()
    }
}

/// Of the parts of messages that are not ours, one that shows a person wrote it.
pub fn is_persons_text(part: &Value) -> bool {
    is_shown_text(part) && !mark::bears(part)
}

fn is_shown_text(part: &Value) -> bool {
    part["type"] == "text" && part["synthetic"] != true
}
