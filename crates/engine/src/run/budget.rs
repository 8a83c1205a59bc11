//! The budget: what all runs of one root session may cost (`limits.max_cost`). A ledger for each
//! root session holds what its ended runs cost; it outlives them, so that clearing tasks makes no
//! room. What runs that are under way have cost so far is added when it is asked for.

use std::collections::BTreeMap;

use legwork_protocol::limits::{BUDGET_WARN_PERCENT, LEDGERS_MAX};
use legwork_protocol::view::BudgetView;
use legwork_protocol::{Cost, Currency, Refusal, SessionId, TaskId};

use super::task::Task;
use crate::engine::Engine;
use crate::record::{Change, Ledger};
use crate::tasks::Live;
use crate::usage::{PromptUsage, Usage};

/// The ledgers, one for each root session and currency: amounts of two cannot be added.
pub(crate) type Ledgers = BTreeMap<(SessionId, Currency), Ledger>;

impl Engine {
    /// The host tells what the run's present prompt used up so far.
    pub(super) fn used(&mut self, id: TaskId, told: PromptUsage) {
        let Some(Live { task, .. }) = self.tasks.live(id) else { return };
        if task.stage.prompt() == Some(&told.prompt) {
            self.learn_usage(id, told.usage, false);
        }
    }

    /// Takes over what the present prompt used up: so far, or altogether, which is saved with the
    /// end.
    pub(super) fn learn_usage(&mut self, id: TaskId, told: Usage, is_end: bool) {
        let Some(Live { task, .. }) = self.tasks.unfinished_mut(id) else { return };
        let told = told.after(&task.run.used_before);
        let usage = &mut task.run.usage;
        let is_news = if is_end { usage.settle(told) } else { usage.learn(told) };
        if !is_news {
            return;
        }
        let (root, usage) = (task.root.clone(), usage.clone());
        let (run, tool_calls, cost) = (task.run.number, task.run.tool_calls, usage.cost);
        if !is_end {
            self.save(Change::Used { task: id, run, tool_calls, usage });
        }
        if let Some(cost) = cost {
            self.warn_of_budget(&root, cost.currency);
        }
    }

    /// The run is over, or forgotten before its end: what it cost is in the ledger from now on.
    pub(crate) fn settle_cost(&mut self, task: &Task) {
        let Some(cost) = task.run.usage.cost.filter(|cost| cost.micros > 0) else { return };
        let mut ledger = self.ledger(&task.root, cost.currency);
        ledger.micros = ledger.micros.saturating_add(cost.micros);
        self.keep_ledger(ledger, None);
    }

    fn ledger(&self, root: &SessionId, currency: Currency) -> Ledger {
        let known = self.ledgers.get(&(root.clone(), currency)).cloned();
        let (micros, warned_micros, at) = (0, 0, self.now);
        known.unwrap_or(Ledger { root: root.clone(), currency, micros, warned_micros, at })
    }

    fn keep_ledger(&mut self, mut ledger: Ledger, warning: Option<BudgetView>) {
        ledger.at = self.now;
        let key = (ledger.root.clone(), ledger.currency);
        self.ledgers.insert(key.clone(), ledger.clone());
        self.save(Change::LedgerKept { ledger, warning });
        if self.ledgers.len() > LEDGERS_MAX {
            let others = self.ledgers.iter().filter(|(other, _)| **other != key);
            let oldest = others.min_by_key(|(_, ledger)| ledger.at).map(|(key, _)| key.0.clone());
            oldest.iter().for_each(|root| self.forget_ledgers(root));
        }
    }

    /// The session is gone and asks for nothing any more.
    pub(crate) fn forget_ledgers(&mut self, root: &SessionId) {
        let (first, last) = (Currency::FIRST, Currency::LAST);
        let own = self.ledgers.range((root.clone(), first)..=(root.clone(), last));
        let own: Vec<_> = own.map(|(key, _)| key.clone()).collect();
        if !own.is_empty() {
            self.save(Change::LedgerForgotten { root: root.clone() });
        }
        for key in own {
            self.ledgers.remove(&key);
        }
    }

    /// What all runs of the root session have cost so far, by currency.
    fn spent(&self, root: &SessionId) -> BTreeMap<Currency, u64> {
        let (first, last) = (Currency::FIRST, Currency::LAST);
        let ended = self.ledgers.range((root.clone(), first)..=(root.clone(), last));
        let ended = ended.map(|((_, currency), ledger)| (*currency, ledger.micros));
        let under_way = self.tasks.unfinished().filter(|live| live.task.root == *root);
        let under_way = under_way.filter_map(|live| live.task.run.usage.cost);
        let under_way = under_way.map(|Cost { micros, currency }| (currency, micros));
        let mut spent = BTreeMap::new();
        for (currency, micros) in ended.chain(under_way) {
            let sum: &mut u64 = spent.entry(currency).or_default();
            *sum = sum.saturating_add(micros);
        }
        spent
    }

    /// The budget of a root session, if so much of it is used up that the person is to know.
    pub(crate) fn budget_of(&self, root: &SessionId) -> Option<BudgetView> {
        let limit_micros = self.settings.max_cost_micros;
        if limit_micros == 0 {
            return None;
        }
        let spent = self.spent(root).into_iter().max_by_key(|(_, micros)| *micros);
        let (currency, spent_micros) = spent.filter(|(_, spent)| is_near(*spent, limit_micros))?;
        Some(BudgetView { root: root.clone(), spent_micros, currency, limit_micros })
    }

    /// Whether the root session's runs have cost less than they may.
    pub(super) fn may_spend(&self, root: &SessionId) -> Result<(), Refusal> {
        let over = self.budget_of(root).filter(|budget| budget.spent_micros >= budget.limit_micros);
        over.map_or(Ok(()), |BudgetView { spent_micros, limit_micros, currency, .. }| {
            Err(Refusal::OverBudget { spent_micros, limit_micros, currency })
        })
    }

    /// Tells the person, once for each limit, that the budget is nearly used up.
    fn warn_of_budget(&mut self, root: &SessionId, currency: Currency) {
        let Some(budget) = self.budget_of(root) else { return };
        let ledger = self.ledger(root, currency);
        if budget.currency == currency && ledger.warned_micros != budget.limit_micros {
            let warned_micros = budget.limit_micros;
            self.keep_ledger(Ledger { warned_micros, ..ledger }, Some(budget));
        }
    }
}

fn is_near(spent_micros: u64, limit_micros: u64) -> bool {
    u128::from(spent_micros) * 100 >= u128::from(limit_micros) * u128::from(BUDGET_WARN_PERCENT)
}
