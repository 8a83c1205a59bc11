//! From the words of the virtual host to those of the real one and back: scripts, messages, events.
//! What the virtual host does not know (titles, summaries, diffs) is left out, so that a test
//! counts the same things in both.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use legwork_protocol::{MessageId, Time};
use legwork_sim::host::script::{self, Step};
use legwork_sim::host::{ApiError, Assistant, Finish, Kind, Spent, Status};
use legwork_testkit::{Answer, Event, call};
use serde_json::{Value, json};

use crate::contract::Read;

/// What a prompt becomes.
pub struct Translated {
    pub text: String,
    pub model: Option<Value>,
}

/// A virtual script as one of the model's. What takes time there waits for a gate here, and a tool
/// for a file: `open` is the name of both.
pub fn translate(text: &str, open: &str, tmp: &Path) -> Translated {
    let Some(steps) = script::parse(text) else {
        return Translated { text: text.to_owned(), model: None };
    };
    let mut out = String::from("#script");
    let mut model = None;
    for step in steps.iter() {
        let line = match step {
            Step::Say(text) | Step::Text(text) => format!("say {text}"),
            Step::Count => "count".to_owned(),
            Step::Wait(_) => format!("gate {open}"),
            Step::Tool(..) => {
                let file = tmp.join(open);
                let command = format!("while [ ! -e '{}' ]; do sleep 0.05; done", file.display());
                let arguments = json!({ "command": command, "description": "waits" });
                format!("{}\n--", call("bash", &arguments))
            }
            Step::Ask(text) => {
                let command = if &**text == "bash" { "bash -c true" } else { text };
                let arguments = json!({ "command": command, "description": "asks" });
                format!("{}\n--", call("bash", &arguments))
            }
            Step::Fail(code) => format!("fail {code} fake failure {code}"),
            Step::Retry(times) => {
                vec!["fail-once 500 fake failure 500"; *times as usize].join("\n")
            }
            Step::Drop => "break-off\n--".to_owned(),
            Step::Hang => "hang".to_owned(),
            Step::NoModel => {
                model = Some(json!({ "providerID": "no", "modelID": "model" }));
                "say never".to_owned()
            }
        };
        out.push('\n');
        out.push_str(&line);
    }
    Translated { text: out, model }
}

pub fn refused(answer: &Answer) -> Option<ApiError> {
    match answer.status {
        200..300 => None,
        404 => Some(ApiError::NotFound),
        400 => Some(ApiError::BadRequest(answer.body.to_string())),
        _ => Some(ApiError::ServerError),
    }
}

pub fn why(error: &Value) -> Arc<str> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}: {}", text(&error["name"]), text(&error["data"]["message"])).into()
}

pub fn status(status: &Value) -> Status {
    match status["type"].as_str() {
        Some("busy") => Status::Busy,
        Some("idle") => Status::Idle,
        Some("retry") => Status::Retry {
            attempt: status["attempt"].as_u64().unwrap() as u32,
            next: Time(status["next"].as_u64().unwrap()),
        },
        _ => panic!("a status: {status}"),
    }
}

/// A message as a client reads it. The map leads from the ids that were sent to those that the
/// tests know.
pub fn read(given: &BTreeMap<String, MessageId>, message: &Value) -> Read {
    let (info, parts) = (&message["info"], message["parts"].as_array().unwrap());
    let texts = parts.iter().filter(|part| part["type"] == "text");
    if info["role"] == "user" {
        return Read::Prompt(texts.count());
    }
    let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
    let to = info["parentID"].as_str().unwrap();
    Read::Answer(Assistant {
        answers: given.get(to).cloned().unwrap_or_else(|| to.parse().unwrap()),
        text: texts.join("\n").into(),
        tool_calls: parts.iter().filter(|part| part["type"] == "tool").count() as u32,
        completed: info["time"]["completed"].as_u64().map(Time),
        finish: finish(&info["finish"]),
        error: info.get("error").map(why),
        spent: Spent::default(),
    })
}

fn finish(value: &Value) -> Option<Finish> {
    match value.as_str()? {
        "stop" => Some(Finish::Stop),
        "tool-calls" => Some(Finish::ToolCalls),
        "unknown" => Some(Finish::Unknown),
        other => panic!("another finish: {other}"),
    }
}

/// What an event is in the virtual host, if it is anything there. Prompts are announced too, but
/// only the progress of answers counts.
pub fn event(event: &Event, prompts: &mut Vec<String>) -> Option<Kind> {
    let p = &event.properties;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(match &*event.kind {
        "session.idle" => Kind::Idle,
        "session.status" => Kind::Status(status(&p["status"])),
        "session.error" => Kind::Error { why: why(&p["error"]) },
        "session.deleted" => Kind::Deleted,
        "permission.asked" => Kind::Asked {
            question: text(&p["id"]).parse().unwrap(),
            text: text(&p["patterns"][0]).into(),
        },
        "permission.replied" => Kind::Replied { question: text(&p["requestID"]).parse().unwrap() },
        "message.updated" if p["info"]["role"] == "user" => {
            prompts.push(text(&p["info"]["id"]));
            return None;
        }
        "message.updated" => Kind::Progress { tool: None, spent: None },
        "message.part.updated" if !prompts.contains(&text(&p["part"]["messageID"])) => {
            let tool = p["part"]["tool"].as_str().map(Into::into);
            Kind::Progress { tool, spent: None }
        }
        _ => return None,
    })
}
