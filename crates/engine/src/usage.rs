//! What work used up, as far as its host tells. What a host does not tell is unknown, which is not
//! nothing.

use std::sync::Arc;

use legwork_protocol::limits::{HOST_TEXT_MAX_CHARS, USED_UP_MAX};
use legwork_protocol::refusal::plain;
use legwork_protocol::{Cost, MessageId};

/// What a prompt, or a whole run, used up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    pub tokens: Option<u64>,
    pub cost: Option<Cost>,
    /// Who answers, in the host's words: `provider/model`.
    pub model: Option<Arc<str>>,
}

/// What one prompt used up so far. It names the prompt, because news may be late: what an earlier
/// run used up is not the present one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptUsage {
    pub prompt: MessageId,
    pub usage: Usage,
}

impl Usage {
    /// This and what came before it. Of two currencies only the newer counts: no run has two.
    pub(crate) fn after(self, before: &Self) -> Self {
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
    pub(crate) fn settle(&mut self, told: Self) -> bool {
        let before = self.clone();
        self.tokens = self.tokens.filter(|_| told.tokens.is_none());
        self.cost = self.cost.filter(|_| told.cost.is_none());
        self.learn(told);
        *self != before
    }

    /// The host tells this now. What was used up stays used up, so that news that comes late takes
    /// nothing back. Says whether something is new.
    pub(crate) fn learn(&mut self, told: Self) -> bool {
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
    use legwork_protocol::Currency;

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
    fn p4_news_that_comes_late_takes_nothing_back() {
        let mut known = usage(10, 20);
        assert!(!known.learn(usage(9, 19)) && !known.learn(Usage::default()));
        assert!(known.learn(usage(11, 19)));
        assert_eq!(known, usage(11, 20));
        assert!(!known.settle(Usage::default()) && known.settle(usage(5, 6)));
        assert_eq!(known, usage(5, 6), "with the end comes the truth");
    }
}
