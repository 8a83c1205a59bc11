//! What a turn used up, as its agent tells it: the cost of the session so far while it works, and
//! the turn's tokens at its end. An agent need not tell either. How full its context is (`used` of
//! an update) is something else.

use legwork_engine::Usage;
use legwork_protocol::Cost;
use legwork_protocol::refusal::plain;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::NAME_MAX_CHARS;
use crate::wire::SPENT;

/// What a turn used up so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What all turns of the session have cost, as the agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_cost: Option<Cost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Used {
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    pub fn usage(&self) -> Usage {
        let Self { tokens, cost, model, .. } = self;
        Usage { tokens: *tokens, cost: *cost, model: model.as_deref().map(Into::into) }
    }

    /// The session has cost so much, and had cost that much before the turn. An agent that was
    /// started again may count from the beginning.
    pub fn session_costs(&mut self, now: Cost, before: Option<Cost>) {
        let before = before.filter(|before| before.currency == now.currency);
        let before = before.map(|before| before.micros).filter(|before| *before <= now.micros);
        self.cost = Some(Cost { micros: now.micros - before.unwrap_or(0), ..now });
        self.session_cost = Some(now);
    }

    /// The answer to a prompt (`{stopReason, usage: {totalTokens}}`), or the data of an error. Our
    /// own agents also tell the model and what the turn alone has cost.
    pub fn answered(&mut self, answer: &Value) {
        self.tokens = answer["usage"]["totalTokens"].as_u64().or(self.tokens);
        let spent = &answer["_meta"][SPENT];
        self.cost = cost(&spent["cost"]).or(self.cost);
        let model = spent["model"].as_str().map(|model| plain(model, NAME_MAX_CHARS));
        self.model = model.or_else(|| self.model.take());
    }
}

/// `{amount, currency}`
pub fn cost(told: &Value) -> Option<Cost> {
    let currency = told["currency"].as_str()?.parse().ok()?;
    Cost::of(told["amount"].as_f64()?, currency)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usd(amount: f64) -> Option<Cost> {
        cost(&json!({ "amount": amount, "currency": "USD" }))
    }

    #[test]
    fn p4_a_turn_costs_what_the_session_cost_more() {
        let mut used = Used::default();
        used.session_costs(usd(0.25).unwrap(), None);
        assert_eq!(used.cost, usd(0.25));
        used.session_costs(usd(0.75).unwrap(), usd(0.25));
        assert_eq!((used.cost, used.session_cost), (usd(0.5), usd(0.75)));
        used.session_costs(usd(0.1).unwrap(), usd(0.25));
        assert_eq!(used.cost, usd(0.1), "it counts from the beginning again");
    }

    #[test]
    fn p4_what_an_agent_does_not_tell_is_unknown() {
        let mut used = Used::default();
        used.answered(&json!({ "stopReason": "end_turn" }));
        assert!(used.is_unknown() && used.usage() == Usage::default());
        used.answered(&json!({ "usage": { "totalTokens": 53_000, "inputTokens": 50_000 } }));
        assert_eq!(used.usage().tokens, Some(53_000));
        let spent = json!({ "model": "m", "cost": { "amount": 0.5, "currency": "USD" } });
        used.answered(&json!({ "_meta": { SPENT: spent } }));
        assert_eq!((used.cost, used.session_cost), (usd(0.5), None));
        assert_eq!((used.tokens, used.model.as_deref()), (Some(53_000), Some("m")));
        for rubbish in
            [json!(null), json!({ "amount": 1 }), json!({ "amount": -1, "currency": "USD" })]
        {
            assert_eq!(cost(&rubbish), None, "{rubbish}");
        }
    }
}
