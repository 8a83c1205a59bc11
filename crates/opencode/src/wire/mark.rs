//! How we know again what is ours: sessions by their metadata, messages by their parts' metadata.
//! Where only a message's id is told, its form says so (`MessageId::is_ours`).

use legwork_protocol::TaskId;
use serde_json::{Value, json};

pub const KEY: &str = "legwork";

/// The metadata of every part that we write.
pub fn part() -> Value {
    json!({ KEY: true })
}

pub fn bears(marked: &Value) -> bool {
    marked["metadata"].get(KEY).is_some()
}

/// Of these sessions the one that was opened for the task. Should there be two, the elder.
pub fn find(task: TaskId, sessions: &[Value]) -> Option<&Value> {
    let task = task.to_string();
    let ours = |session: &&Value| session["metadata"][KEY]["task"] == task;
    let created = |session: &&Value| session["time"]["created"].as_u64();
    sessions.iter().filter(ours).min_by_key(created)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_sessions_with_one_mark_the_elder_is_taken() {
        let task = TaskId::from_number(7);
        let session = |id: &str, created: u64| {
            let metadata = json!({ KEY: { "task": task } });
            json!({ "id": id, "metadata": metadata, "time": { "created": created } })
        };
        let sessions = [json!({ "id": "ses_0" }), session("ses_b", 2), session("ses_a", 1)];
        assert_eq!(find(task, &sessions).unwrap()["id"], "ses_a");
        assert!(find(TaskId::from_number(8), &sessions).is_none());
    }
}
