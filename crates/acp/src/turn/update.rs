//! An update of an agent (`params.update` of `session/update`), read once. Kinds that are not known
//! are signs of life.

use legwork_protocol::Cost;
use legwork_protocol::api::transcript::{PlanStep, ToolState};
use legwork_protocol::refusal::plain;
use serde_json::Value;

use super::used::cost;
use crate::limits::{PLAN_MAX_STEPS, STEP_MAX_CHARS, TITLE_MAX_CHARS};

#[derive(Debug, PartialEq)]
pub enum Update<'a> {
    Text(&'a str),
    Thought(&'a str),
    /// The whole plan as it is now.
    Plan(Vec<PlanStep>),
    Tool {
        call: &'a Value,
        /// False if the call may have begun earlier.
        begins: bool,
    },
    /// What the session has cost so far.
    Cost(Cost),
    /// The state of Codex's thread.
    Thread {
        is_broken: bool,
    },
    Life,
}

impl<'a> Update<'a> {
    pub fn read(update: &'a Value) -> Self {
        let text = update["content"]["text"].as_str();
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => text.map_or(Self::Life, Self::Text),
            Some("agent_thought_chunk") => text.map_or(Self::Life, Self::Thought),
            Some("plan") => Self::Plan(plan_steps(update)),
            Some("tool_call") => Self::Tool { call: update, begins: true },
            Some("tool_call_update") => Self::Tool { call: update, begins: false },
            Some("usage_update") => cost(&update["cost"]).map_or(Self::Life, Self::Cost),
            Some("session_info_update") => {
                let status = update["_meta"]["codex"]["threadStatus"]["type"].as_str();
                status.map_or(Self::Life, |status| Self::Thread {
                    is_broken: status == "systemError",
                })
            }
            _ => Self::Life,
        }
    }
}

pub fn tool_title(call: &Value) -> String {
    let words = call["title"].as_str().or_else(|| call["kind"].as_str());
    plain(words.filter(|words| !words.trim().is_empty()).unwrap_or("tool"), TITLE_MAX_CHARS)
}

/// The steps of a plan (`{entries: [{content, status}]}`), as far as they are kept.
fn plan_steps(update: &Value) -> Vec<PlanStep> {
    let entries = update["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let step = |entry: &Value| {
        let text = plain(entry["content"].as_str()?.trim(), STEP_MAX_CHARS);
        let state = match entry["status"].as_str() {
            Some("in_progress") => ToolState::Running,
            Some("completed") => ToolState::Done,
            _ => ToolState::Pending,
        };
        (!text.is_empty()).then_some(PlanStep { text, state })
    };
    let mut steps: Vec<PlanStep> = entries.iter().take(PLAN_MAX_STEPS).filter_map(step).collect();
    if let Some(more @ 1..) = entries.len().checked_sub(PLAN_MAX_STEPS) {
        let text = format!("… and {more} more");
        steps.push(PlanStep { text, state: ToolState::Pending });
    }
    steps
}

/// A plan in words, one step a line.
pub fn plan_text(steps: &[PlanStep]) -> String {
    let line = |step: &PlanStep| {
        let sign = match step.state {
            ToolState::Pending => "○",
            ToolState::Running => "→",
            ToolState::Done => "✓",
            ToolState::Failed => "✗",
        };
        format!("{sign} {}", step.text)
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}
