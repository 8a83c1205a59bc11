//! What work used up, as far as its host tells. What a host does not tell is unknown, which is not
//! nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::{HOST_TEXT_MAX_CHARS, USED_UP_MAX};
use crate::money::{Cost, Currency};
use crate::refusal::plain;

/// What a prompt, or a whole run, used up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Fields", into = "Fields")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct Usage {
    pub tokens: Option<u64>,
    pub cost: Option<Cost>,
    /// Who answers, in the host's words: `provider/model`.
    pub model: Option<Arc<str>>,
}

/// How views write it: flat, the cost in two fields.
#[derive(Serialize, Deserialize)]
struct Fields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_micros: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    currency: Option<Currency>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Arc<str>>,
}

impl From<Fields> for Usage {
    fn from(fields: Fields) -> Self {
        let Fields { tokens, cost_micros, currency, model } = fields;
        let cost = cost_micros.zip(currency).map(|(micros, currency)| Cost { micros, currency });
        Self { tokens, cost, model }
    }
}

impl From<Usage> for Fields {
    fn from(usage: Usage) -> Self {
        let Usage { tokens, cost, model } = usage;
        let (cost_micros, currency) = (cost.map(|it| it.micros), cost.map(|it| it.currency));
        Self { tokens, cost_micros, currency, model }
    }
}

impl Usage {
    /// This and what came before it. Of two currencies only the newer counts: no run has two.
    pub fn after(self, before: &Self) -> Self {
        let cost = match (self.cost, before.cost) {
            (Some(now), Some(was)) if now.currency == was.currency => {
                Some(Cost { micros: now.micros.saturating_add(was.micros), ..now })
            }
            (now, was) => now.or(was),
        };
        let tokens = match (self.tokens, before.tokens) {
            (Some(now), Some(was)) => Some(now.saturating_add(was)),
            (now, was) => now.or(was),
        };
        Self { tokens, cost, model: self.model.or_else(|| before.model.clone()) }
    }

    /// The host tells this with the end: it is all, and what was told before may have been of what
    /// came behind the end. What it does not tell stays as it was.
    pub fn settle(&mut self, told: Self) -> bool {
        let before = self.clone();
        self.tokens = self.tokens.filter(|_| told.tokens.is_none());
        self.cost = self.cost.filter(|_| told.cost.is_none());
        self.learn(told);
        *self != before
    }

    /// The host tells this now. What was used up stays used up, so that news that comes late takes
    /// nothing back. Says whether something is new.
    pub fn learn(&mut self, told: Self) -> bool {
        let before = self.clone();
        let told_cost = told.cost.map(|cost| Cost { micros: cost.micros.min(USED_UP_MAX), ..cost });
        self.tokens = self.tokens.max(told.tokens.map(|tokens| tokens.min(USED_UP_MAX)));
        self.cost = match (self.cost, told_cost) {
            (Some(was), Some(now)) if was.currency == now.currency => Some(was.max(now)),
            (was, now) => now.or(was),
        };
        if let Some(model) = told.model.filter(|model| self.model.as_ref() != Some(model)) {
            self.model = Some(plain(&model, HOST_TEXT_MAX_CHARS).into());
        }
        *self != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64, micros: u64) -> Usage {
        let cost = Some(Cost { micros, currency: Currency::USD });
        Usage { tokens: Some(tokens), cost, model: Some("a/b".into()) }
    }

    #[test]
    fn p4_what_is_unknown_is_not_nothing_and_adds_nothing() {
        let unknown = Usage::default();
        assert_eq!(unknown.clone().after(&unknown), unknown);
        assert_eq!(unknown.clone().after(&usage(1, 2)), usage(1, 2));
        assert_eq!(usage(1, 2).after(&unknown), usage(1, 2));
        assert_eq!(usage(1, 2).after(&usage(10, 20)), usage(11, 22));
    }

    #[test]
    fn p4_what_was_used_is_written_flat() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct View {
            calls: u32,
            #[serde(flatten)]
            usage: Usage,
        }
        let known = View { calls: 1, usage: usage(2, 3) };
        let line = r#"{"calls":1,"tokens":2,"cost_micros":3,"currency":"USD","model":"a/b"}"#;
        assert_eq!(serde_json::to_string(&known).unwrap(), line);
        assert_eq!(serde_json::from_str::<View>(line).unwrap(), known);
        let unknown = View { calls: 1, usage: Usage::default() };
        assert_eq!(serde_json::to_string(&unknown).unwrap(), r#"{"calls":1}"#);
        for line in [r#"{"calls":1}"#, r#"{"calls":1,"tokens":null,"cost_micros":3}"#] {
            assert_eq!(serde_json::from_str::<View>(line).unwrap(), unknown, "{line}");
        }
    }

    #[test]
    fn p4_news_that_comes_late_takes_nothing_back() {
        let mut known = usage(10, 20);
        assert!(!known.learn(usage(9, 19)) && !known.learn(Usage::default()));
        assert!(known.learn(usage(11, 19)));
        assert_eq!(known, usage(11, 20));
        assert!(!known.settle(Usage::default()) && known.settle(usage(5, 6)));
        assert_eq!(known, usage(5, 6), "with the end comes the truth");
    }
}
