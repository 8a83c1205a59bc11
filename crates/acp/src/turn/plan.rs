//! A plan as an agent tells it: each time all of its steps.

use legwork_protocol::api::transcript::{PlanStep, ToolState};
use legwork_protocol::refusal::plain;
use serde_json::Value;

use crate::limits::{PLAN_MAX_STEPS, STEP_MAX_CHARS};

/// The steps of an update (`{entries: [{content, status}]}`), as far as they are kept.
pub fn steps(update: &Value) -> Vec<PlanStep> {
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

/// The same in words, a line each.
pub fn told(steps: &[PlanStep]) -> String {
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
