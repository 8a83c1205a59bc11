//! What stands in the sessions of OpenCode, as far as a campaign wants to know it: notices and
//! the moments that OpenCode writes down itself, in milliseconds since 1970.

use legwork_testkit::{parts, texts};
use serde_json::Value;

/// One headline of a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it says of which task: `TASK COMPLETED`, `RESUME FAILED`, `TASK WAITING`.
    pub says: String,
    /// The task's id.
    pub task: String,
    /// The whole line.
    pub line: String,
    /// The result that goes with it.
    pub result: String,
    /// When it was stored.
    pub stored: u64,
}

/// All notices of legwork in a session, oldest first. One message may have several.
pub fn notices(messages: &[Value]) -> Vec<Notice> {
    messages.iter().filter(|one| one["info"]["role"] == "user").flat_map(in_message).collect()
}

fn in_message(message: &Value) -> Vec<Notice> {
    let result = |task: &str| {
        let halves = texts(message, true).filter_map(|text| text.split_once('\n'));
        let found = halves.into_iter().find(|(head, _)| head.contains(task)).unwrap_or_default();
        found.1.trim_start_matches('\n').to_owned()
    };
    let notice = |line: &str| {
        let (says, rest) = line.strip_prefix("[BACKGROUND ")?.split_once("] ")?;
        let task = rest.split(' ').next()?.to_owned();
        let stored = message["info"]["time"]["created"].as_u64()?;
        let result = result(&task);
        Some(Notice { says: says.to_owned(), task, line: line.to_owned(), result, stored })
    };
    texts(message, false).flat_map(str::lines).filter_map(notice).collect()
}

/// What OpenCode's own background `task` told a session, oldest first.
pub fn native_notices(messages: &[Value]) -> Vec<Notice> {
    let told = |message: &Value| {
        let text = parts(message).iter().find_map(|part| part["text"].as_str())?;
        let (task, rest) = text.strip_prefix("<task id=\"")?.split_once('"')?;
        let (state, result) = rest.strip_prefix(" state=\"")?.split_once('"')?;
        let says = if state == "completed" { "TASK COMPLETED" } else { "TASK FAILED" };
        Some(Notice {
            says: says.to_owned(),
            task: task.to_owned(),
            line: text.lines().next().unwrap_or_default().to_owned(),
            result: result.to_owned(),
            stored: message["info"]["time"]["created"].as_u64()?,
        })
    };
    messages.iter().filter(|one| one["info"]["role"] == "user").filter_map(told).collect()
}

/// When the last answer in a session was complete.
pub fn completed(messages: &[Value]) -> Option<u64> {
    let answers = messages.iter().rev().filter(|one| one["info"]["role"] == "assistant");
    answers.into_iter().find_map(|one| one["info"]["time"]["completed"].as_u64())
}

/// When the first message of a session was stored.
pub fn began(messages: &[Value]) -> Option<u64> {
    messages.first()?["info"]["time"]["created"].as_u64()
}

/// How what a helper is told begins that was cut off with its host and is to go on.
pub const GO_ON: &str = "You were interrupted";

/// How many prompts a session has got, and how many of them only ask it to go on.
pub fn prompts(messages: &[Value]) -> (usize, usize) {
    let prompts = || messages.iter().filter(|one| one["info"]["role"] == "user");
    let goes_on = |one: &&Value| texts(one, false).any(|text| text.starts_with(GO_ON));
    (prompts().count(), prompts().filter(goes_on).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(role: &str, parts: Value) -> Value {
        let time = json!({ "created": 5, "completed": 9 });
        json!({ "info": { "role": role, "time": time }, "parts": parts })
    }

    #[test]
    fn each_headline_of_a_delivery_is_a_notice_with_its_result() {
        let head = "[BACKGROUND TASK COMPLETED] bg_1 One (2s)\n[BACKGROUND RESUME FAILED] bg_2 T \
                    (1s)\n2 background tasks finished, 0 still running.";
        let delivery = message(
            "user",
            json!([
                { "type": "text", "text": head },
                { "type": "text", "synthetic": true, "text": "What came of bg_2:\n\nno" },
                { "type": "text", "synthetic": true, "text": "What came of bg_1:\n\nyes" },
            ]),
        );
        let found = notices(&[delivery.clone(), message("assistant", delivery["parts"].clone())]);
        let short: Vec<_> = found.iter().map(|n| (&*n.says, &*n.task, &*n.result)).collect();
        assert_eq!(short, [("TASK COMPLETED", "bg_1", "yes"), ("RESUME FAILED", "bg_2", "no")]);
        assert_eq!(found[0].stored, 5);
        assert!(notices(&[message("user", json!([{ "type": "text", "text": "hi" }]))]).is_empty());
    }

    #[test]
    fn opencodes_own_notices_are_read() {
        let text = "<task id=\"ses_1\" state=\"error\">\n<task_error>no</task_error>\n</task>";
        let told = message("user", json!([{ "type": "text", "synthetic": true, "text": text }]));
        let found = native_notices(&[told]);
        assert_eq!((&*found[0].task, &*found[0].says), ("ses_1", "TASK FAILED"));
        assert!(found[0].result.contains("<task_error>no"));
    }

    #[test]
    fn moments_and_prompts_are_read() {
        let go_on = json!([{ "type": "text", "text": "You were interrupted because it ended." }]);
        let messages = [("user", json!([])), ("assistant", json!([])), ("user", go_on)];
        let messages = messages.map(|(role, parts)| message(role, parts));
        assert_eq!((completed(&messages), began(&messages)), (Some(9), Some(5)));
        assert_eq!(prompts(&messages), (2, 1));
    }
}
