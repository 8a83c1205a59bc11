//! The answer to a prompt, put together from events: a reply is announced, then its parts are, each
//! again when it is whole, and at last that the reply is complete.

use legwork_engine::work::{Observation, RunState};
use legwork_protocol::MessageId;
use serde_json::{Value, json};

use crate::limits::REPLY_MAX_BYTES;
use crate::operations::observe;
use crate::wire::message::Message;

/// A prompt that was handed over, and the newest reply to it.
#[derive(Debug)]
pub struct ReplyBuilder {
    prompt: MessageId,
    /// As it would be read, `{info, parts}`; without parts if some of them are not known.
    reply: Value,
    bytes: usize,
}

impl ReplyBuilder {
    pub fn new(prompt: &MessageId) -> Self {
        Self { prompt: prompt.clone(), reply: Value::Null, bytes: 0 }
    }

    pub fn hear(&mut self, name: &str, properties: &Value) {
        match name {
            "message.updated" if Message::read(properties).answers(self.prompt.as_str()) => {
                self.announced(&properties["info"]);
            }
            "message.part.updated" => self.part(&properties["part"]),
            "message.removed" | "message.part.removed" => self.give_up(),
            _ => {}
        }
    }

    fn announced(&mut self, info: &Value) {
        if self.reply["info"]["id"] == info["id"] {
            self.reply["info"] = info.clone();
        } else {
            self.reply = json!({ "info": info, "parts": [] });
            self.bytes = 0;
        }
    }

    fn part(&mut self, told: &Value) {
        if self.reply["info"]["id"] != told["messageID"] || told["messageID"].is_null() {
            return;
        }
        // A text that was too long to be passed on, or to be kept.
        let text = told["text"].as_str().map(str::len);
        self.bytes += text.unwrap_or_default();
        if told["type"] == "text" && text.is_none() || self.bytes > REPLY_MAX_BYTES {
            return self.give_up();
        }
        let Some(parts) = self.reply["parts"].as_array_mut() else { return };
        match parts.iter_mut().find(|part| part["id"] == told["id"]) {
            Some(part) => *part = told.clone(),
            None => parts.push(told.clone()),
        }
    }

    /// This reply has to be read, whatever is still told of it.
    fn give_up(&mut self) {
        self.reply["parts"] = Value::Null;
    }

    /// What a look would find, if that is an answer.
    pub fn answer_to(&self, prompt: &MessageId) -> Option<Observation> {
        if self.prompt != *prompt || !self.reply["parts"].is_array() {
            return None;
        }
        let observation = observe::observation(std::slice::from_ref(&self.reply), prompt.as_str());
        matches!(observation.state, RunState::Answered { .. }).then_some(observation)
    }
}
