//! The dialects in which clients ask: OpenAI's chat (OpenCode, Goose) and Responses (Codex),
//! Anthropic's Messages (Claude Code), Gemini's API. Each request is read into the same plain
//! conversation, so that one script serves all clients. How an answer is written, `voice.rs` knows.

use serde_json::Value;

use super::chat::{Offered, Said};

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Chat,
    Responses,
    Messages,
    Gemini,
}

impl Dialect {
    /// The dialect of a path, and whether the answer is to be a stream.
    pub fn of(path: &str, raw: &Value) -> Option<(Self, bool)> {
        let streams = raw["stream"] == true;
        match path.rsplit(['/', ':']).next()? {
            "completions" if path.ends_with("/chat/completions") => Some((Self::Chat, streams)),
            "responses" => Some((Self::Responses, streams)),
            "messages" => Some((Self::Messages, streams)),
            "generateContent" => Some((Self::Gemini, false)),
            "streamGenerateContent" => Some((Self::Gemini, true)),
            _ => None,
        }
    }

    /// The conversation. What several parts of one round say is one thing said, and what tools
    /// gave comes before what else stands beside it.
    pub fn messages(self, raw: &Value) -> Vec<Said> {
        match self {
            Self::Chat => list(&raw["messages"]).iter().map(of_chat).collect(),
            Self::Responses => of_responses(raw),
            Self::Messages => {
                let system = text_of(&raw["system"]);
                let system = (!system.is_empty()).then(|| said("system", system));
                let rest = list(&raw["messages"]).iter().flat_map(of_message);
                system.into_iter().chain(rest).collect()
            }
            Self::Gemini => list(&raw["contents"]).iter().flat_map(of_content).collect(),
        }
    }

    /// The tools.
    pub fn offered(self, raw: &Value) -> Vec<Offered> {
        let tools = list(&raw["tools"]).iter();
        match self {
            Self::Chat => tools.map(|tool| tool_of(&tool["function"], "parameters")).collect(),
            Self::Messages => tools.map(|tool| tool_of(tool, "input_schema")).collect(),
            Self::Gemini => {
                let declared = tools.flat_map(|tool| list(&tool["functionDeclarations"]));
                declared.map(|tool| tool_of(tool, "parametersJsonSchema")).collect()
            }
            Self::Responses => tools.flat_map(of_group).collect(),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn said(role: &str, text: String) -> Said {
    Said { role: role.to_owned(), text, calls: Vec::new() }
}

/// An empty line between two texts: what a client adds to a prompt does not belong to its script.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => joined(parts.iter(), "\n\n"),
        _ => String::new(),
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a Value>, between: &str) -> String {
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(between)
}

fn tool_of(tool: &Value, schema: &str) -> Offered {
    Offered {
        name: word(&tool["name"]),
        group: None,
        description: word(&tool["description"]),
        schema: tool[schema].clone(),
    }
}

/// Codex has a group for the tools of one MCP server.
fn of_group(tool: &Value) -> Vec<Offered> {
    if tool["type"] != "namespace" {
        return vec![tool_of(tool, "parameters")];
    }
    let group = tool["name"].as_str().map(str::to_owned);
    let one = |tool| Offered { group: group.clone(), ..tool_of(tool, "parameters") };
    list(&tool["tools"]).iter().map(one).collect()
}

fn of_chat(message: &Value) -> Said {
    let text = match &message["content"] {
        Value::Array(parts) => joined(parts.iter(), "\n"),
        content => text_of(content),
    };
    let calls = list(&message["tool_calls"]).iter();
    let calls = calls.filter_map(|call| call["function"]["name"].as_str().map(str::to_owned));
    Said { role: word(&message["role"]), text, calls: calls.collect() }
}

fn of_message(message: &Value) -> Vec<Said> {
    let role = word(&message["role"]);
    let Value::Array(blocks) = &message["content"] else {
        return vec![said(&role, text_of(&message["content"]))];
    };
    let of_type = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let mut all: Vec<Said> =
        of_type("tool_result").map(|one| said("tool", text_of(&one["content"]))).collect();
    let text = joined(of_type("text"), "\n\n");
    let calls: Vec<String> = of_type("tool_use").map(|call| word(&call["name"])).collect();
    if !text.is_empty() || !calls.is_empty() || all.is_empty() {
        all.push(Said { role, text, calls });
    }
    all
}

fn of_content(content: &Value) -> Vec<Said> {
    let role = if content["role"] == "model" { "assistant" } else { "user" };
    let parts = list(&content["parts"]);
    let responses = parts.iter().filter(|part| part["functionResponse"].is_object());
    let mut all: Vec<Said> = responses
        .map(|part| said("tool", strings(&part["functionResponse"]["response"]).join("\n")))
        .collect();
    let calls = parts.iter().filter_map(|part| part["functionCall"]["name"].as_str());
    let calls: Vec<String> = calls.map(str::to_owned).collect();
    let text = joined(parts.iter().filter(|part| part["thought"] != true), "\n\n");
    if !text.is_empty() || !calls.is_empty() || all.is_empty() {
        all.push(Said { role: role.to_owned(), text, calls });
    }
    all
}

/// Every text in a value, so that no escaping hides what a tool gave.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(all) => all.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Each call and each text is an item of its own here; those of one round are put together.
fn of_responses(raw: &Value) -> Vec<Said> {
    let instructions = raw["instructions"].as_str().map(|text| said("system", text.to_owned()));
    let mut all: Vec<Said> = instructions.into_iter().collect();
    let mut round = false;
    for item in list(&raw["input"]) {
        let one = match item["type"].as_str() {
            Some("function_call") => {
                Said { calls: vec![word(&item["name"])], ..said("assistant", String::new()) }
            }
            Some("function_call_output") => said("tool", text_of(&item["output"])),
            Some("reasoning") => continue,
            _ => {
                let role = item["role"].as_str().unwrap_or_default();
                let role = if role == "developer" { "system" } else { role };
                said(role, text_of(&item["content"]))
            }
        };
        let goes_on = round && one.role == "assistant";
        round = one.role == "assistant";
        match all.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.text.push_str(&one.text);
                last.calls.extend(one.calls);
            }
            None => all.push(one),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(dialect: Dialect, raw: &Value) -> Vec<(String, String)> {
        let all = dialect.messages(raw).into_iter();
        all.map(|said| (said.role, format!("{}{}", said.text, said.calls.join("+")))).collect()
    }

    fn expected() -> Vec<(String, String)> {
        [("user", "a\n\nb"), ("assistant", "okt+u"), ("tool", "out"), ("user", "news")]
            .map(|(role, text)| (role.to_owned(), text.to_owned()))
            .to_vec()
    }

    #[test]
    fn a_path_says_the_dialect() {
        let of = |path: &str| Dialect::of(path, &json!({ "stream": true }));
        assert_eq!(of("/v1/chat/completions"), Some((Dialect::Chat, true)));
        assert_eq!(of("/v1/messages"), Some((Dialect::Messages, true)));
        assert_eq!(of("/v1/responses"), Some((Dialect::Responses, true)));
        let stream = of("/v1beta/models/m:streamGenerateContent");
        assert_eq!(stream, Some((Dialect::Gemini, true)));
        assert_eq!(of("/v1beta/models/m:generateContent"), Some((Dialect::Gemini, false)));
        assert_eq!(of("/v1/messages/count_tokens"), None);
    }

    #[test]
    fn parts_calls_and_tools_of_a_chat_are_read() {
        let request = json!({
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "a" }, { "text": "b" }] },
                { "role": "assistant", "content": null,
                  "tool_calls": [{ "function": { "name": "bash" } }] },
            ],
            "tools": [{ "function": { "name": "bash", "parameters": { "type": "object" } } }],
        });
        let messages = Dialect::Chat.messages(&request);
        assert_eq!(messages[0].text, "a\nb");
        assert_eq!(messages[1].calls, ["bash"]);
        assert_eq!(Dialect::Chat.offered(&request)[0].schema, json!({ "type": "object" }));
    }

    #[test]
    fn what_comes_with_a_tools_result_is_said_after_it() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let call = |name: &str| json!({ "type": "tool_use", "name": name });
        let result = json!({ "type": "tool_result", "content": [text("out")] });
        let raw = json!({ "messages": [
            { "role": "user", "content": [text("a"), text("b")] },
            { "role": "assistant", "content": [text("ok"), call("t"), call("u")] },
            { "role": "user", "content": [text("news"), result] },
        ] });
        assert_eq!(told(Dialect::Messages, &raw), expected());
    }

    #[test]
    fn items_of_one_round_are_one_thing_said() {
        let call = |name: &str| json!({ "type": "function_call", "name": name });
        let text = |role: &str, texts: &[&str]| {
            let parts: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
            json!({ "type": "message", "role": role, "content": parts })
        };
        let raw = json!({ "input": [
            text("user", &["a", "b"]), text("assistant", &["ok"]), call("t"), call("u"),
            { "type": "function_call_output", "output": "out" }, text("user", &["news"]),
        ] });
        assert_eq!(told(Dialect::Responses, &raw), expected());
        let group = json!({ "type": "namespace", "name": "g", "tools": [{ "name": "t" }] });
        let offered = Dialect::Responses.offered(&json!({ "tools": [group] }));
        assert_eq!((&*offered[0].name, offered[0].group.as_deref()), ("t", Some("g")));
    }

    #[test]
    fn contents_are_read() {
        let call = |name: &str| json!({ "functionCall": { "name": name } });
        let response = json!({ "functionResponse": { "response": { "output": "out" } } });
        let raw = json!({ "contents": [
            { "role": "user", "parts": [{ "text": "a" }, { "text": "b" }] },
            { "role": "model", "parts": [{ "text": "ok" }, call("t"), call("u")] },
            { "role": "user", "parts": [response, { "text": "news" }] },
        ] });
        assert_eq!(told(Dialect::Gemini, &raw), expected());
    }
}
