//! Messages as a person reads them: what was asked, written, thought and done.

use legwork_protocol::api::transcript::{Entry, EntryKind, ToolState, ToolUse};
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::refusal::plain;
use legwork_protocol::{MessageId, Time};
use serde_json::Value;

use crate::wire::error;
use crate::wire::message::{Message, is_persons_text};

/// Arguments that say what a call is about, the first that is there.
pub const SUBJECTS: [&str; 7] =
    ["command", "filePath", "path", "pattern", "url", "query", "description"];

/// The entries of these messages. A message that does not say its run belongs to the run of the one
/// before.
pub fn of(messages: &[Value]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut run = messages.iter().find_map(run_of).unwrap_or_default();
    for told in messages {
        run = run_of(told).unwrap_or(run);
        let message = Message::read(told);
        let Some(id) = message.id() else { continue };
        let from = entries.len();
        if message.info()["role"] == "user" {
            entries.extend(written(id, &message));
        } else {
            entries.extend(message.parts().iter().filter_map(|part| done(id, &message, part)));
            entries.extend(failed(id, &message));
        }
        entries[from..].iter_mut().for_each(|entry| entry.run = run);
    }
    entries
}

/// The message of an entry.
pub fn message_of(key: &str) -> &str {
    key.split_once('/').map_or(key, |(message, _)| message)
}

fn run_of(told: &Value) -> Option<u32> {
    let info = &told["info"];
    [&info["id"], &info["parentID"]].into_iter().find_map(|id| MessageId::prompts_run(id.as_str()?))
}

/// A message to the helper.
fn written(id: &str, message: &Message<'_>) -> Option<Entry> {
    let texts = message.parts().iter().filter(|part| part["type"] == "text");
    let text = texts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n");
    let kind = if MessageId::prompts_run(id).is_some() {
        EntryKind::Prompt
    } else if !MessageId::is_ours(id) && message.parts().iter().any(is_persons_text) {
        EntryKind::Person
    } else {
        EntryKind::Notice
    };
    let at = time(&message.info()["time"]["created"]);
    let entry = Entry { key: id.to_owned(), kind, at, text: text.into(), ..Entry::default() };
    (!entry.text.is_empty()).then_some(entry)
}

/// A part of a reply.
fn done(id: &str, message: &Message<'_>, part: &Value) -> Option<Entry> {
    let is_over = message.info()["time"]["completed"].is_u64();
    let key = format!("{id}/{}", part["id"].as_str()?);
    let kind = match part["type"].as_str()? {
        "text" if !message.is_reply() => EntryKind::Notice,
        "text" => EntryKind::Text,
        "reasoning" => EntryKind::Thought,
        "tool" => return Some(Entry { key, ..tool(part, is_over) }),
        _ => return None,
    };
    let (at, ended) = (time(&part["time"]["start"]), time(&part["time"]["end"]));
    let at = at.or(time(&message.info()["time"]["created"]));
    let text = part["text"].as_str().unwrap_or_default();
    let open = ended.is_none() && !is_over;
    Some(Entry { key, kind, at, ended, open, text: text.into(), ..Entry::default() })
}

fn tool(part: &Value, is_over: bool) -> Entry {
    let state = &part["state"];
    let text = |key: &str| state[key].as_str().unwrap_or_default();
    let input = &state["input"];
    let has_input = input.as_object().is_some_and(|input| !input.is_empty());
    let is = match text("status") {
        "pending" => ToolState::Pending,
        "completed" => ToolState::Done,
        "error" => ToolState::Failed,
        _ => ToolState::Running,
    };
    let tool = ToolUse {
        name: plain(part["tool"].as_str().unwrap_or("tool"), HOST_TEXT_MAX_CHARS),
        title: plain(subject(state).unwrap_or_default(), HOST_TEXT_MAX_CHARS),
        state: is,
        input: if has_input { input.to_string() } else { String::new() }.into(),
        output: text("output").into(),
        error: text("error").into(),
    };
    Entry {
        kind: EntryKind::Tool,
        at: time(&state["time"]["start"]),
        ended: time(&state["time"]["end"]),
        open: !is.is_over() && !is_over,
        tool: Some(tool),
        ..Entry::default()
    }
}

/// What a tool call is about, in the words of the host if it has some.
pub fn subject(state: &Value) -> Option<&str> {
    let title = state["title"].as_str().filter(|title| !title.is_empty());
    title.or_else(|| SUBJECTS.iter().find_map(|key| state["input"][key].as_str()))
}

fn failed(id: &str, message: &Message<'_>) -> Option<Entry> {
    let error = message.info().get("error").filter(|error| !error.is_null())?;
    let at = time(&message.info()["time"]["completed"]);
    let (key, kind) = (format!("{id}/error"), EntryKind::Error);
    Some(Entry { key, kind, at, text: error::reason(error).into(), ..Entry::default() })
}

fn time(told: &Value) -> Option<Time> {
    told.as_u64().map(Time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(run: u32) -> String {
        let task = legwork_protocol::TaskId::from_number(7);
        let what = legwork_protocol::ids::MessageUse::Prompt(0);
        MessageId::make(Time(1_794_747_750_924), task, run, what).to_string()
    }

    fn user(id: &str, text: &str) -> Value {
        let part = json!({ "id": "prt_0", "type": "text", "text": text });
        json!({ "info": { "id": id, "role": "user", "time": { "created": 5 } }, "parts": [part] })
    }

    fn reply(id: &str, to: &str, parts: Value) -> Value {
        let time = json!({ "created": 6 });
        let info = json!({ "id": id, "role": "assistant", "parentID": to, "time": time });
        json!({ "info": info, "parts": parts })
    }

    #[test]
    fn p3_messages_are_read_with_who_said_what_and_in_which_run() {
        let bash = json!({
            "id": "prt_3", "type": "tool", "tool": "bash", "callID": "x",
            "state": {
                "status": "completed", "input": { "command": "ls" }, "output": "a\nb",
                "title": "List", "time": { "start": 7, "end": 9 },
            },
        });
        let parts = json!([
            { "id": "prt_1", "type": "step-start" },
            { "id": "prt_2", "type": "reasoning", "text": "hm", "time": { "start": 6, "end": 7 } },
            bash,
            { "id": "prt_4", "type": "text", "text": "so f", "time": { "start": 9 } },
        ]);
        let messages = [
            user(&prompt(0), "do it"),
            reply("msg_1", &prompt(0), parts),
            // OpenCode's own id, by chance with what says `prompt` in ours.
            user("msg_1df4d5d01001pwaj2XxGPXHfQg", "and that"),
            user(&prompt(1), "more"),
        ];
        let entries = of(&messages);
        let kinds: Vec<(EntryKind, u32)> = entries.iter().map(|e| (e.kind, e.run)).collect();
        use EntryKind::{Person, Prompt, Text, Thought, Tool};
        assert_eq!(
            kinds,
            [(Prompt, 0), (Thought, 0), (Tool, 0), (Text, 0), (Person, 0), (Prompt, 1)]
        );
        let tool = entries[2].tool.as_ref().unwrap();
        assert_eq!((tool.name.as_str(), tool.title.as_str()), ("bash", "List"));
        assert_eq!((tool.output.text.as_str(), tool.state), ("a\nb", ToolState::Done));
        assert_eq!((entries[2].at, entries[2].ended), (Some(Time(7)), Some(Time(9))));
        assert!(entries[3].open && !entries[2].open && !entries[1].open);
        assert_eq!(
            (entries[3].key.as_str(), message_of(&entries[3].key)),
            ("msg_1/prt_4", "msg_1")
        );
    }

    #[test]
    fn g2_rubbish_is_no_entry_and_no_panic() {
        for told in [json!(null), json!(7), json!({ "info": 3, "parts": {} }), user("", "")] {
            assert!(of(&[told]).is_empty());
        }
        let parts = json!([null, {}, { "id": 3, "type": "text" }, { "id": "p", "type": "tool" }]);
        let entries = of(&[reply("msg_1", "msg_0", parts)]);
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].tool.as_ref().unwrap().name, "tool");
    }
}
