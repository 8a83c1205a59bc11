//! How an answer is written in each dialect: as a stream of events, or in one piece for who does
//! not want a stream. Nothing here knows of scripts or of time.

use serde_json::{Value, json};

use super::chat::Offered;
use super::dialect::Dialect;

/// A call that was written.
struct Called {
    id: String,
    name: String,
    group: Option<String>,
    arguments: String,
}

/// An answer in the making.
pub(super) struct Voice {
    dialect: Dialect,
    streams: bool,
    model: Value,
    /// Of this answer, for ids that no other answer has.
    number: usize,
    text: String,
    calls: Vec<Called>,
}

impl Voice {
    pub fn new(dialect: Dialect, streams: bool, model: Value, number: usize) -> Self {
        Self { dialect, streams, model, number, text: String::new(), calls: Vec::new() }
    }

    /// How many bytes of text were written.
    pub fn written(&self) -> usize {
        self.text.len()
    }

    /// What stands before everything else.
    pub fn begin(&self) -> String {
        match self.dialect {
            _ if !self.streams => String::new(),
            Dialect::Chat | Dialect::Gemini => String::new(),
            Dialect::Messages => event(&json!({
                "type": "message_start", "message": self.message(json!([]), Value::Null),
            })),
            Dialect::Responses => event(&json!({
                "type": "response.created", "response": self.response("in_progress", json!([])),
            })),
        }
    }

    /// A piece of the text.
    pub fn text(&mut self, text: &str) -> String {
        let first = self.text.is_empty() && !text.is_empty();
        self.text.push_str(text);
        if !self.streams {
            return String::new();
        }
        match self.dialect {
            Dialect::Chat => self.chunk(json!({ "role": "assistant", "content": text }), None),
            Dialect::Gemini => data(&self.content(json!([{ "text": text }]), Value::Null)),
            Dialect::Messages => {
                let start = json!({ "type": "content_block_start", "index": 0,
                    "content_block": { "type": "text", "text": "" } });
                let delta = json!({ "type": "content_block_delta", "index": 0,
                    "delta": { "type": "text_delta", "text": text } });
                let start = if first { event(&start) } else { String::new() };
                start + &event(&delta)
            }
            Dialect::Responses => {
                let added = json!({ "type": "response.output_item.added", "output_index": 0,
                    "item": self.item_of_text("in_progress", "") });
                let delta = json!({ "type": "response.output_text.delta", "output_index": 0,
                    "content_index": 0, "item_id": self.text_id(), "delta": text });
                let added = if first { event(&added) } else { String::new() };
                added + &event(&delta)
            }
        }
    }

    /// A call. Its place is behind the text, whenever that was written.
    pub fn call(&mut self, id: &str, tool: &Offered, arguments: &str) -> String {
        let place = self.calls.len();
        self.calls.push(Called {
            id: id.to_owned(),
            name: tool.name.clone(),
            group: tool.group.clone(),
            arguments: arguments.to_owned(),
        });
        if self.dialect != Dialect::Chat || !self.streams {
            return String::new();
        }
        let mut call = self.chat_call(&self.calls[place]);
        call["index"] = json!(place);
        self.chunk(json!({ "role": "assistant", "tool_calls": [call] }), None)
    }

    /// All that is left to write.
    pub fn end(&self) -> String {
        match (self.dialect, self.streams) {
            (Dialect::Chat, true) => {
                let mut usage = self.chat(json!([]));
                usage["usage"] = self.chat_usage();
                let end = self.chunk(json!({}), Some(self.reason()));
                format!("{end}{}data: [DONE]\n\n", data(&usage))
            }
            (Dialect::Chat, false) => {
                let calls: Vec<Value> = self.calls.iter().map(|one| self.chat_call(one)).collect();
                let mut message = json!({ "role": "assistant", "content": self.text });
                if !calls.is_empty() {
                    message["tool_calls"] = json!(calls);
                }
                let choice =
                    json!({ "index": 0, "message": message, "finish_reason": self.reason() });
                let mut whole = self.chat(json!([choice]));
                whole["object"] = json!("chat.completion");
                whole["usage"] = self.chat_usage();
                whole.to_string()
            }
            (Dialect::Messages, true) => self.message_end(),
            (Dialect::Messages, false) => {
                let text = json!({ "type": "text", "text": self.text });
                let calls = self.calls.iter().map(tool_use);
                let blocks: Vec<Value> =
                    (!self.text.is_empty()).then_some(text).into_iter().chain(calls).collect();
                self.message(json!(blocks), self.stop_reason()).to_string()
            }
            (Dialect::Responses, true) => self.response_end(),
            (Dialect::Responses, false) => {
                self.response("completed", json!(self.items())).to_string()
            }
            (Dialect::Gemini, true) => {
                data(&self.content(json!(self.function_calls()), json!("STOP")))
            }
            (Dialect::Gemini, false) => {
                let mut parts = self.function_calls();
                if !self.text.is_empty() {
                    parts.insert(0, json!({ "text": self.text }));
                }
                self.content(json!(parts), json!("STOP")).to_string()
            }
        }
    }

    fn tokens(&self) -> usize {
        1 + self.text.len() / 4
    }

    // Chat

    fn reason(&self) -> &'static str {
        if self.calls.is_empty() { "stop" } else { "tool_calls" }
    }

    fn chat(&self, choices: Value) -> Value {
        json!({
            "id": "scripted", "object": "chat.completion.chunk", "created": 0,
            "model": self.model, "choices": choices,
        })
    }

    fn chat_usage(&self) -> Value {
        let output = self.tokens();
        json!({ "prompt_tokens": 100, "completion_tokens": output, "total_tokens": 100 + output })
    }

    fn chat_call(&self, call: &Called) -> Value {
        let function = json!({ "name": call.name, "arguments": call.arguments });
        json!({ "id": call.id, "type": "function", "function": function })
    }

    fn chunk(&self, delta: Value, reason: Option<&str>) -> String {
        data(&self.chat(json!([{ "index": 0, "delta": delta, "finish_reason": reason }])))
    }

    // Messages

    fn stop_reason(&self) -> Value {
        json!(if self.calls.is_empty() { "end_turn" } else { "tool_use" })
    }

    fn message(&self, content: Value, stop_reason: Value) -> Value {
        json!({
            "id": format!("msg_{}", self.number), "type": "message", "role": "assistant",
            "model": self.model, "content": content, "stop_reason": stop_reason,
            "stop_sequence": null, "usage": self.message_usage(),
        })
    }

    fn message_usage(&self) -> Value {
        json!({
            "input_tokens": 100, "output_tokens": self.tokens(),
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        })
    }

    fn message_end(&self) -> String {
        let mut out = String::new();
        let text = usize::from(!self.text.is_empty());
        let stop = |index: usize| event(&json!({ "type": "content_block_stop", "index": index }));
        if text > 0 {
            out += &stop(0);
        }
        for (place, call) in self.calls.iter().enumerate() {
            let index = text + place;
            let mut block = tool_use(call);
            block["input"] = json!({});
            let start =
                json!({ "type": "content_block_start", "index": index, "content_block": block });
            let delta = json!({ "type": "content_block_delta", "index": index,
                "delta": { "type": "input_json_delta", "partial_json": call.arguments } });
            out += &(event(&start) + &event(&delta) + &stop(index));
        }
        let delta = json!({ "stop_reason": self.stop_reason(), "stop_sequence": null });
        let usage = self.message_usage();
        out += &event(&json!({ "type": "message_delta", "delta": delta, "usage": usage }));
        out + &event(&json!({ "type": "message_stop" }))
    }

    // Responses

    fn text_id(&self) -> String {
        format!("msg_{}", self.number)
    }

    fn item_of_text(&self, status: &str, text: &str) -> Value {
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        json!({
            "type": "message", "id": self.text_id(), "role": "assistant", "status": status,
            "content": if text.is_empty() { json!([]) } else { content },
        })
    }

    fn items(&self) -> Vec<Value> {
        let text = (!self.text.is_empty()).then(|| self.item_of_text("completed", &self.text));
        let calls = self.calls.iter().map(|call| {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
                "name": call.name, "arguments": call.arguments, "status": "completed",
            });
            if let Some(group) = &call.group {
                item["namespace"] = json!(group);
            }
            item
        });
        text.into_iter().chain(calls).collect()
    }

    fn response(&self, status: &str, output: Value) -> Value {
        let tokens = self.tokens();
        json!({
            "id": format!("resp_{}", self.number), "object": "response", "created_at": 0,
            "status": status, "model": self.model, "output": output,
            "usage": {
                "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": tokens, "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": 100 + tokens,
            },
        })
    }

    fn response_end(&self) -> String {
        let items = self.items();
        let mut out = String::new();
        for (index, item) in items.iter().enumerate() {
            if item["type"] == "function_call" {
                out += &event(&json!({
                    "type": "response.output_item.added", "output_index": index, "item": item,
                }));
            }
            out += &event(&json!({
                "type": "response.output_item.done", "output_index": index, "item": item,
            }));
        }
        let response = self.response("completed", json!(items));
        out + &event(&json!({ "type": "response.completed", "response": response }))
    }

    // Gemini

    fn function_calls(&self) -> Vec<Value> {
        let arguments = |call: &Called| serde_json::from_str(&call.arguments).unwrap_or_default();
        let part = |call: &Called| {
            let arguments: Value = arguments(call);
            json!({ "functionCall": { "id": call.id, "name": call.name, "args": arguments } })
        };
        self.calls.iter().map(part).collect()
    }

    fn content(&self, parts: Value, reason: Value) -> Value {
        let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
        if !reason.is_null() {
            candidate["finishReason"] = reason;
        }
        let tokens = self.tokens();
        json!({
            "candidates": [candidate], "modelVersion": "scripted",
            "usageMetadata": {
                "promptTokenCount": 100, "candidatesTokenCount": tokens,
                "totalTokenCount": 100 + tokens,
            },
        })
    }
}

fn tool_use(call: &Called) -> Value {
    let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

/// An event that bears its own type as its name, as both OpenAI and Anthropic have it.
fn event(value: &Value) -> String {
    format!("event: {}\n{}", value["type"].as_str().unwrap_or_default(), data(value))
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::chat;

    const ALL: [Dialect; 4] =
        [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

    /// An answer with a text and a call, as it is sent.
    fn answer(dialect: Dialect, streams: bool) -> String {
        let mut voice = Voice::new(dialect, streams, json!("m"), 7);
        let tool = Offered { group: Some("g".to_owned()), ..chat::tool(&[], "t") };
        let begin = voice.begin();
        let text = voice.text("one ") + &voice.text("two");
        let call = voice.call("c1", &tool, r#"{"a":1}"#);
        begin + &text + &call + &voice.end()
    }

    /// What a client puts into its next request of an answer in one piece.
    fn kept(dialect: Dialect, answer: &Value) -> Value {
        match dialect {
            Dialect::Chat => json!({ "messages": [answer["choices"][0]["message"]] }),
            Dialect::Responses => json!({ "input": answer["output"] }),
            Dialect::Messages => json!({ "messages": [answer] }),
            Dialect::Gemini => json!({ "contents": [answer["candidates"][0]["content"]] }),
        }
    }

    #[test]
    fn an_answer_is_read_again_as_what_it_was() {
        for dialect in ALL {
            let answer: Value = serde_json::from_str(&answer(dialect, false)).unwrap();
            let said = dialect.messages(&kept(dialect, &answer));
            assert_eq!(said.len(), 1, "{dialect:?}: {answer}");
            let one = &said[0];
            assert_eq!((&*one.role, &*one.text), ("assistant", "one two"), "{dialect:?}");
            assert_eq!(one.calls, ["t"], "{dialect:?}");
        }
    }

    #[test]
    fn a_stream_has_the_text_in_pieces_and_the_call_once() {
        for dialect in ALL {
            let stream = answer(dialect, true);
            let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
            let events: Vec<Value> =
                events.filter_map(|one| serde_json::from_str(one).ok()).collect();
            let has = |wanted: &str| events.iter().any(|one| one.to_string().contains(wanted));
            assert!(has("one ") && has("two") && has("\"t\""), "{dialect:?}: {stream}");
            let end = match dialect {
                Dialect::Chat => "data: [DONE]",
                Dialect::Responses => "event: response.completed",
                Dialect::Messages => "event: message_stop",
                Dialect::Gemini => "\"finishReason\":\"STOP\"",
            };
            assert_eq!(stream.matches(end).count(), 1, "{dialect:?}: {stream}");
        }
        assert!(answer(Dialect::Responses, true).contains("\"namespace\":\"g\""));
    }
}
