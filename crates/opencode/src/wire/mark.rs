//! How we know again what is ours: sessions by their metadata, messages by their parts' metadata
//! and, where only an id is told, by its form.

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

/// Whether a message's id is one that `MessageId::make` makes. OpenCode's own have the same form
/// but count from 1 within a millisecond, where ours have a 0.
pub fn is_our_message(id: &str) -> bool {
    let Some((time, rest)) = id.strip_prefix("msg_").and_then(|id| id.split_at_checked(12)) else {
        return false;
    };
    let delivery = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    time.ends_with("000")
        && time.bytes().all(|byte| byte.is_ascii_hexdigit())
        && rest.len() == 14
        && rest.starts_with(['p', 'e', 'q'])
        && rest.bytes().all(delivery)
}

#[cfg(test)]
mod tests {
    use super::*;
    use legwork_protocol::ids::MessageUse;
    use legwork_protocol::{MessageId, Time};

    #[test]
    fn our_messages_are_known_by_their_id_and_others_are_not() {
        let task = TaskId::from_number(7);
        for what in [MessageUse::Prompt(3), MessageUse::End, MessageUse::Question(1)] {
            let id = MessageId::make(Time(1_794_747_750_924), task, 12, what);
            assert!(is_our_message(id.as_str()), "{id}");
        }
        let others =
            ["", "msg_", "msg_1df4d5d01001NIm2XxGPXHfQge", "msg_1df4d5d01000NIm2XxGPXHfQge"];
        for id in others.iter().chain(&["msg_1df4d5d01001p000000000007a", "msg_1df4d5d0100é"]) {
            assert!(!is_our_message(id), "{id}");
        }
    }

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
