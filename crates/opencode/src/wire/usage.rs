//! What messages used up. OpenCode writes tokens and cost into each reply when its step is over,
//! and tells them with every change of it. The cost is in US dollars.

use std::collections::BTreeMap;

use legwork_engine::Usage;
use legwork_protocol::{Cost, Currency};
use serde_json::Value;

use crate::limits::SPENDING_MAX_REPLIES;

/// What one reply used up, or several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    tokens: u64,
    dollars: f64,
    /// `provider/model`.
    model: Option<String>,
}

impl Spent {
    /// Of a message (`info`); nothing if no model wrote it. A compaction is paid for too.
    pub fn read(info: &Value) -> Option<Self> {
        let by_model = info["role"] == "assistant" && info["tokens"].is_object();
        by_model.then(|| Self {
            tokens: tokens(&info["tokens"]),
            dollars: info["cost"].as_f64().filter(|cost| *cost >= 0.0).unwrap_or_default(),
            model: model(info),
        })
    }

    fn add(&mut self, other: &Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.dollars += other.dollars;
        if other.model.is_some() {
            self.model.clone_from(&other.model);
        }
    }
}

/// `{input, output, reasoning, cache: {read, write}}`, each without the others.
fn tokens(told: &Value) -> u64 {
    let paths = ["/input", "/output", "/reasoning", "/cache/read", "/cache/write"];
    let numbers = paths.iter().filter_map(|path| told.pointer(path)?.as_u64());
    numbers.fold(0, u64::saturating_add)
}

fn model(info: &Value) -> Option<String> {
    let (provider, model) = (info["providerID"].as_str()?, info["modelID"].as_str()?);
    Some(format!("{provider}/{model}"))
}

/// What the replies to a prompt used up, each by its id: one is told of many times.
#[derive(Debug, Default)]
pub struct Spending {
    replies: BTreeMap<String, Spent>,
    /// Of the oldest ones, when there are too many.
    earlier: Spent,
}

impl Spending {
    /// Of these messages.
    pub fn of<'a>(infos: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut spending = Self::default();
        for info in infos {
            spending.hear(info);
        }
        spending
    }

    /// A message, told of for the first time or again. Says whether it is news.
    pub fn hear(&mut self, info: &Value) -> bool {
        let Some((id, spent)) = info["id"].as_str().zip(Spent::read(info)) else { return false };
        if self.replies.get(id) == Some(&spent) {
            return false;
        }
        self.replies.insert(id.to_owned(), spent);
        if self.replies.len() > SPENDING_MAX_REPLIES
            && let Some((_, oldest)) = self.replies.pop_first()
        {
            self.earlier.add(&oldest);
        }
        true
    }

    /// Whether it is as was told last, or nothing that counts.
    pub fn knows(&self, info: &Value) -> bool {
        let known = info["id"].as_str().and_then(|id| self.replies.get(id));
        Spent::read(info).is_none_or(|spent| known == Some(&spent))
    }

    /// What was read, where less was heard: a reply that was told of anew may have been missed.
    pub fn learn(&mut self, read: Self) {
        for (id, spent) in read.replies {
            let known = self.replies.entry(id).or_default();
            if spent.tokens >= known.tokens {
                *known = spent;
            }
        }
    }

    /// Unknown as long as no model has written anything.
    pub fn usage(&self) -> Usage {
        if self.replies.is_empty() {
            return Usage::default();
        }
        let mut sum = self.earlier.clone();
        self.replies.values().for_each(|spent| sum.add(spent));
        // Added up first: one reply may cost less than what is kept apart.
        let cost = Cost::of(sum.dollars, Currency::USD);
        Usage { tokens: Some(sum.tokens), cost, model: sum.model.map(Into::into) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(id: &str, input: u64, cost: f64) -> Value {
        json!({
            "id": id, "role": "assistant", "cost": cost, "providerID": "p", "modelID": "m",
            "tokens": { "input": input, "output": 1, "cache": { "read": 2 } },
        })
    }

    #[test]
    fn p4_each_reply_counts_once_however_often_it_is_told_of() {
        let mut spending = Spending::default();
        assert_eq!(spending.usage(), Usage::default(), "nobody has said anything");
        assert!(spending.hear(&reply("msg_1", 0, 0.0)));
        assert!(spending.hear(&reply("msg_1", 10, 0.000_000_4)));
        assert!(!spending.hear(&reply("msg_1", 10, 0.000_000_4)));
        assert!(spending.hear(&reply("msg_2", 20, 0.000_000_4)));
        assert!(!spending.hear(&json!({ "id": "msg_3", "role": "user", "tokens": {} })));
        let usage = spending.usage();
        assert_eq!((usage.tokens, usage.model.as_deref()), (Some(36), Some("p/m")));
        assert_eq!(usage.cost.unwrap().to_string(), "0.000001 USD", "parts of a millionth add up");
    }

    #[test]
    fn g3_too_many_replies_are_added_up() {
        let many = SPENDING_MAX_REPLIES + 10;
        let all: Vec<Value> = (0..many).map(|n| reply(&format!("msg_{n:08}"), 1, 0.0)).collect();
        let spending = Spending::of(&all);
        assert_eq!(spending.replies.len(), SPENDING_MAX_REPLIES);
        assert_eq!(spending.usage().tokens, Some(4 * many as u64));
    }
}
