//! Budgets: what all runs of one root session may cost (`limits.max_cost`), what all runs that
//! terminals ask for may cost in a day (`limits.max_cost_per_day`), because every command is a
//! session of its own there, and what one run may cost (`limits.max_cost_per_run`).
//!
//! A ledger for each root session, and one for the day, holds what ended runs cost; it outlives
//! them, so that clearing tasks makes no room. What runs that are under way have cost so far is
//! added when it is asked for. A used up budget begins nothing more, what waits neither; only a run
//! that is past its own is stopped.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::limits::{BUDGET_WARN_PERCENT, LEDGERS_MAX};
use legwork_protocol::view::{BudgetOf, BudgetView};
use legwork_protocol::{Cost, Currency, Place, Refusal, SessionId, TaskId, Usage};

use super::task::Task;
use crate::engine::Engine;
use crate::record::{Change, Ledger};
use crate::tasks::Live;
use crate::text::words;
use crate::timers::Timer;
use crate::work::PromptUsage;

const DAY: &str = "terminals_of_day_";
const DAY_MS: u64 = 24 * 60 * 60_000;

/// The ledgers, one for each root session and currency: amounts of two cannot be added. The one of
/// the day stands among them under a name that no host gives to a session.
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
        let usage = usage.clone();
        let task = task.clone();
        let (run, tool_calls, cost) = (task.run.number, task.run.tool_calls, usage.cost);
        if !is_end {
            self.save(Change::Used { task: id, run, tool_calls, usage });
            self.stop_if_overspent(&task);
        }
        if let Some(cost) = cost {
            self.warn_of_budget(&task, cost.currency);
        }
    }

    /// Whether the run has cost what it may.
    pub(super) fn is_overspent(&self, task: &Task) -> bool {
        let limit = self.settings.max_cost_per_run_micros;
        limit != 0 && task.run.usage.cost.is_some_and(|cost| cost.micros >= limit)
    }

    /// A run that has cost what it may is called off in its session, and ends with what it has
    /// said when the host shows that.
    fn stop_if_overspent(&mut self, task: &Task) {
        if !self.is_overspent(task) || self.stops.is_pending(task.id) {
            return;
        }
        self.request_stop(task);
        let now = self.now;
        if let Some(live) = self.tasks.live_mut(task.id) {
            live.volatile.overspent.get_or_insert(now);
        }
        self.soon(Timer::Run(task.id));
    }

    pub(super) fn why_overspent(&self, id: TaskId, last_text: &str) -> String {
        let cost = self.tasks.live(id).and_then(|live| live.task.run.usage.cost);
        let limit = self.settings.max_cost_per_run_micros;
        cost.map(|cost| words::cost_too_much(cost, limit, last_text)).unwrap_or_default()
    }

    /// Why a run whose turn has come may not begin, or go on.
    pub(super) fn why_too_dear(&self, task: &Task) -> Option<String> {
        if self.is_overspent(task) {
            return Some(self.why_overspent(task.id, ""));
        }
        let budget = self.used_up(&task.root, &task.realm)?;
        Some(words::over_budget(&budget, task.run.continued > 0))
    }

    /// The run is over, or forgotten before its end: what it cost is in the ledger from now on.
    pub(crate) fn settle_cost(&mut self, task: &Task) {
        let Some(cost) = task.run.usage.cost.filter(|cost| cost.micros > 0) else { return };
        let day = self.is_of_terminal(&task.realm).then(|| self.day()).flatten();
        if let Some(day) = &day {
            self.forget_days_but(day);
        }
        for root in [Some(task.root.clone()), day].into_iter().flatten() {
            let mut ledger = self.ledger(&root, cost.currency);
            ledger.micros = ledger.micros.saturating_add(cost.micros);
            self.keep_ledger(ledger, None);
        }
    }

    /// Whether sessions of this place are terminals: they live at a host that serves everyone.
    fn is_of_terminal(&self, realm: &Place) -> bool {
        self.terminals.contains(realm)
    }

    /// The name of today's ledger.
    fn day(&self) -> Option<SessionId> {
        format!("{DAY}{}", self.now.0 / DAY_MS).parse().ok()
    }

    fn forget_days_but(&mut self, today: &SessionId) {
        let roots = self.ledgers.keys().map(|(root, _)| root);
        let past = roots.filter(|root| root.as_str().starts_with(DAY) && *root != today);
        for root in past.cloned().collect::<BTreeSet<_>>() {
            self.forget_ledgers(&root);
        }
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

    /// What the runs of a ledger have cost so far, by currency: the ended ones and these.
    fn spent(
        &self,
        root: &SessionId,
        is_its_own: impl Fn(&Task) -> bool,
    ) -> BTreeMap<Currency, u64> {
        let (first, last) = (Currency::FIRST, Currency::LAST);
        let ended = self.ledgers.range((root.clone(), first)..=(root.clone(), last));
        let ended = ended.map(|((_, currency), ledger)| (*currency, ledger.micros));
        let under_way = self.tasks.unfinished().filter(|live| is_its_own(&live.task));
        let under_way = under_way.filter_map(|live| live.task.run.usage.cost);
        let under_way = under_way.map(|Cost { micros, currency }| (currency, micros));
        let mut spent = BTreeMap::new();
        for (currency, micros) in ended.chain(under_way) {
            let sum: &mut u64 = spent.entry(currency).or_default();
            *sum = sum.saturating_add(micros);
        }
        spent
    }

    /// The budgets that the runs of a root session of this place spend from, with what is used up.
    fn budgets(&self, root: &SessionId, realm: &Place) -> impl Iterator<Item = BudgetView> {
        let limit_micros = self.settings.max_cost_micros;
        let session = (limit_micros != 0).then(|| {
            let spent = self.spent(root, |task| task.root == *root);
            (root.clone(), spent, limit_micros, BudgetOf::Session)
        });
        let limit_micros = self.settings.max_cost_per_day_micros;
        let is_limited = limit_micros != 0 && self.is_of_terminal(realm);
        let day = is_limited.then(|| self.day()).flatten().map(|day| {
            let spent = self.spent(&day, |task| self.is_of_terminal(&task.realm));
            (day, spent, limit_micros, BudgetOf::Day)
        });
        [session, day].into_iter().flatten().filter_map(|(root, spent, limit_micros, of)| {
            let (currency, spent_micros) = spent.into_iter().max_by_key(|(_, micros)| *micros)?;
            Some(BudgetView { root, spent_micros, currency, limit_micros, of })
        })
    }

    /// The budget of a root session of this place, if so much of it is used up that the person is
    /// to know; of two the one that ends sooner.
    pub(crate) fn budget_of(&self, root: &SessionId, realm: &Place) -> Option<BudgetView> {
        let near = self.budgets(root, realm);
        let near = near.filter(|budget| is_near(budget.spent_micros, budget.limit_micros));
        near.min_by_key(|budget| budget.limit_micros.saturating_sub(budget.spent_micros))
    }

    fn used_up(&self, root: &SessionId, realm: &Place) -> Option<BudgetView> {
        self.budget_of(root, realm).filter(|budget| budget.spent_micros >= budget.limit_micros)
    }

    /// Whether the root session's runs have cost less than they may.
    pub(super) fn may_spend(&self, root: &SessionId, realm: &Place) -> Result<(), Refusal> {
        let over = self.used_up(root, realm);
        over.map_or(Ok(()), |BudgetView { spent_micros, limit_micros, currency, of, .. }| {
            Err(Refusal::OverBudget { spent_micros, limit_micros, currency, of })
        })
    }

    /// Tells the person, once for each limit, that a budget is nearly used up.
    fn warn_of_budget(&mut self, task: &Task, currency: Currency) {
        let near = self.budgets(&task.root, &task.realm);
        let near = near.filter(|budget| is_near(budget.spent_micros, budget.limit_micros));
        for budget in near.collect::<Vec<_>>() {
            let ledger = self.ledger(&budget.root, currency);
            if budget.currency == currency && ledger.warned_micros != budget.limit_micros {
                let warned_micros = budget.limit_micros;
                self.keep_ledger(Ledger { warned_micros, ..ledger }, Some(budget));
            }
        }
    }
}

fn is_near(spent_micros: u64, limit_micros: u64) -> bool {
    u128::from(spent_micros) * 100 >= u128::from(limit_micros) * u128::from(BUDGET_WARN_PERCENT)
}
