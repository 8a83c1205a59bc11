//! A task as the page shows it: what the daemon says of it, and its row in words.

use legwork_protocol::view::TaskView;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Debug, Serialize)]
pub struct Item {
    task: TaskView,
    row: Value,
}

impl From<TaskView> for Item {
    fn from(task: TaskView) -> Self {
        Self { row: Value::Null, task }
    }
}

pub fn blocks(text: &str) -> Value {
    json!([{ "is": "paragraph", "of": [{ "is": "text", "text": text }] }])
}

pub fn why(task: &TaskView) -> Value {
    json!({ "text": task.reason, "since": null })
}
