//! The answer to a prompt, put together from events: a reply is announced, then its parts are, each
//! again when it is whole, and at last that the reply is complete.

use legwork_engine::work::{Observation, RunState};
use legwork_engine::{PromptUsage, Usage};
use legwork_protocol::MessageId;
use serde_json::{Value, json};

use crate::limits::REPLY_MAX_BYTES;
use crate::operations::observe;
use crate::wire::event::EventKind;
use crate::wire::usage::Spending;

/// A prompt that was handed over, and the newest reply to it.
#[derive(Debug)]
pub struct ReplyBuilder {
    prompt: MessageId,
    /// As it would be read, `{info, parts}`; without parts if some of them are not known.
    reply: Value,
    bytes: usize,
    /// What all replies used up.
    spending: Spending,
    told: Usage,
    /// The first replies were not heard, but read: only what they used up is known.
    only_counts: bool,
}

impl ReplyBuilder {
    pub fn new(prompt: &MessageId) -> Self {
        Self {
            prompt: prompt.clone(),
            reply: Value::Null,
            bytes: 0,
            spending: Spending::default(),
            told: Usage::default(),
            only_counts: false,
        }
    }

    /// One that only counts on, from what was read.
    pub fn counting(prompt: &MessageId, spending: Spending) -> Self {
        let told = spending.usage();
        Self { spending, told, only_counts: true, ..Self::new(prompt) }
    }

    /// Puts no answer together any more, because a part of it may be missing.
    pub fn only_count(&mut self) {
        self.only_counts = true;
        self.reply = Value::Null;
        self.bytes = 0;
    }

    /// Returns what the prompt has used so far, if the event changes that.
    pub fn hear(&mut self, event: &EventKind<'_>) -> Option<PromptUsage> {
        match event {
            EventKind::MessageUpdated(message) => {
                if message.answers(self.prompt.as_str()) {
                    self.announced(message.info());
                }
                let usage = self.count(message.info())?;
                return Some(PromptUsage { prompt: self.prompt.clone(), usage });
            }
            EventKind::PartUpdated(part) => self.part(part),
            EventKind::MessageRemoved { .. } | EventKind::PartRemoved => self.give_up(),
            _ => {}
        }
        None
    }

    /// Replies to other prompts count too, if they come after this one: they overtook it, or
    /// compacted the conversation. Ids sort by time.
    fn count(&mut self, info: &Value) -> Option<Usage> {
        let prompt = self.prompt.as_str();
        let answers = info["parentID"].as_str() == Some(prompt);
        let is_later = info["id"].as_str().is_some_and(|id| id > prompt);
        if !(answers || is_later) || !self.spending.hear(info) {
            return None;
        }
        let usage = self.spending.usage();
        let is_news = usage != self.told;
        self.told.clone_from(&usage);
        is_news.then_some(usage)
    }

    pub fn is_for(&self, prompt: &MessageId) -> bool {
        self.prompt == *prompt
    }

    /// These replies were read, and there are no others before them.
    pub fn counts_from(&mut self, read: Spending) {
        self.spending.learn(read);
    }

    /// What the prompt used up so far, if all of these replies to it are known, as they are.
    pub fn usage_with<'a>(
        &self,
        prompt: &MessageId,
        mut read: impl Iterator<Item = &'a Value>,
    ) -> Option<Usage> {
        let knows = self.is_for(prompt) && read.all(|info| self.spending.knows(info));
        knows.then(|| self.spending.usage())
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
        if self.prompt != *prompt || !self.reply["parts"].is_array() || self.only_counts {
            return None;
        }
        let observation = observe::observation(std::slice::from_ref(&self.reply), prompt.as_str());
        let observation = Observation { usage: self.spending.usage(), ..observation };
        matches!(observation.state, RunState::Answered { .. }).then_some(observation)
    }
}
