//! What stands in a session's messages, as OpenCode tells of them.

use serde_json::Value;

/// The parts of a message.
pub fn parts(message: &Value) -> &[Value] {
    message["parts"].as_array().map_or(&[], Vec::as_slice)
}

/// The texts of a message that a person sees, or those that are for the model alone.
pub fn texts(message: &Value, synthetic: bool) -> impl Iterator<Item = &str> {
    let is_so = move |part: &&Value| {
        part["type"] == "text" && part["synthetic"].as_bool().unwrap_or(false) == synthetic
    };
    parts(message).iter().filter(is_so).filter_map(|part| part["text"].as_str())
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// `completed`, `error`, `running`, `pending`.
    pub status: String,
    /// What the tool said, or why it would not.
    pub text: String,
    /// What it was called with.
    pub input: Value,
    /// What is shown for it.
    pub title: String,
    /// What the tool left for programs.
    pub metadata: Value,
    /// When it began, in milliseconds since 1970.
    pub began: Option<u64>,
    /// When it was answered.
    pub ended: Option<u64>,
}

impl Call {
    /// All tool calls in these messages, oldest first.
    pub fn all(messages: &[Value]) -> Vec<Self> {
        let parts = messages.iter().flat_map(parts);
        parts.filter(|part| part["type"] == "tool").map(Self::of).collect()
    }

    fn of(part: &Value) -> Self {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = &part["state"];
        let text = if state["status"] == "error" { &state["error"] } else { &state["output"] };
        Self {
            tool: word(&part["tool"]),
            status: word(&state["status"]),
            text: word(text),
            input: state["input"].clone(),
            title: word(&state["title"]),
            metadata: state["metadata"].clone(),
            began: state["time"]["start"].as_u64(),
            ended: state["time"]["end"].as_u64(),
        }
    }

    /// Whether the tool would not.
    pub fn refused(&self) -> bool {
        self.status == "error"
    }

    /// How long it took, in milliseconds.
    pub fn took(&self) -> Option<f64> {
        Some(self.ended?.checked_sub(self.began?)? as f64)
    }

    /// The rest of the line that begins so, in what the tool said.
    pub fn line(&self, begin: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(begin)).map(str::trim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_read() {
        let told = |status: &str, said: &str| {
            let state = json!({ "status": status, said: "Task ID: bg_1\nStatus: running",
                "input": { "description": "d" }, "time": { "start": 10, "end": 25 } });
            let call = json!({ "type": "tool", "tool": "t", "state": state });
            json!({ "parts": [{ "type": "text" }, call] })
        };
        let calls = Call::all(&[told("completed", "output"), json!({}), told("error", "error")]);
        assert_eq!(calls.len(), 2);
        assert_eq!((calls[0].took(), calls[0].line("Status:")), (Some(15.0), Some("running")));
        assert!(!calls[0].refused() && calls[1].refused());
        assert_eq!((&*calls[1].tool, &calls[1].text), ("t", &calls[0].text));
    }
}
