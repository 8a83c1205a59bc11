//! What runs used up: the records against what the hosts told, and the ledgers against the runs.

use std::collections::BTreeMap;

use legwork_engine::Usage;
use legwork_engine::record::Change;
use legwork_engine::task::Outcome;
use legwork_protocol::{SessionId, TaskId};

use crate::audit::Audit;
use crate::world::World;

/// The auditor's own sums, in millionths.
#[derive(Debug, Default)]
pub struct Figures {
    /// What runs under way have cost, and for whom.
    under_way: BTreeMap<TaskId, (SessionId, u64)>,
    /// What the others have cost, by root session.
    spent: BTreeMap<SessionId, u64>,
    /// The same as the records have it.
    ledgers: BTreeMap<SessionId, u64>,
    /// What the runs of one root session may cost; 0 for no limit.
    max_cost_micros: u64,
    /// A run that began although that was used up.
    over: Option<String>,
}

impl Figures {
    pub fn within(max_cost_micros: u64) -> Self {
        Self { max_cost_micros, ..Self::default() }
    }

    /// The same with nothing in them.
    pub fn begun_anew(&self) -> Self {
        Self::within(self.max_cost_micros)
    }

    pub fn apply(&mut self, change: &Change) {
        if let Change::Launched { task, .. } | Change::Resumed { task, .. } = change {
            let (spent, limit) = (self.total(&task.root), self.max_cost_micros);
            if limit != 0 && spent >= limit {
                self.over = Some(format!("{} begins at {spent} of {limit}", task.id));
            }
        }
        match change {
            Change::Launched { task, .. }
            | Change::Resumed { task, .. }
            | Change::Moved { task, .. } => {
                let cost = (task.root.clone(), micros(&task.run.usage));
                self.under_way.insert(task.id, cost);
            }
            Change::Used { task, usage, .. } => {
                if let Some((_, cost)) = self.under_way.get_mut(task) {
                    *cost = micros(usage);
                }
            }
            Change::Ended { task, .. } => {
                self.under_way.remove(&task.id);
                *self.spent.entry(task.root.clone()).or_default() += micros(&task.run.usage);
            }
            Change::Forgotten { task, .. } => {
                if let Some((root, cost)) = self.under_way.remove(task) {
                    *self.spent.entry(root).or_default() += cost;
                }
            }
            Change::LedgerKept { ledger, .. } => {
                self.ledgers.insert(ledger.root.clone(), ledger.micros);
            }
            Change::LedgerForgotten { root } => {
                self.ledgers.remove(root);
                self.spent.remove(root);
            }
            _ => {}
        }
    }

    fn total(&self, root: &SessionId) -> u64 {
        let under_way = self.under_way.values().filter(|(of, _)| of == root);
        let under_way: u64 = under_way.map(|(_, cost)| *cost).sum();
        self.spent.get(root).copied().unwrap_or_default() + under_way
    }

    /// A run beyond the budget, or a ledger that is not what the ended runs cost.
    pub fn wrong(&self) -> Option<String> {
        if self.over.is_some() {
            return self.over.clone();
        }
        let kept = |root: &SessionId| self.ledgers.get(root).copied().unwrap_or_default();
        let wrong = self.spent.iter().find(|(root, spent)| kept(root) != **spent);
        wrong.map(|(root, spent)| format!("{root} has {}, its runs cost {spent}", kept(root)))
    }
}

fn micros(usage: &Usage) -> u64 {
    usage.cost.map_or(0, |cost| cost.micros)
}

/// A run that was answered has the figures that the host told with the answer, and no call of a
/// model counts for two runs.
pub fn check(audit: &mut Audit, world: &World) {
    let mut found = Vec::new();
    for ((task, number), run) in &audit.runs {
        let told = run.prompts.last().and_then(|prompt| world.answers_told.get(prompt));
        let answered = run.ended == Some(Outcome::Completed);
        let exact = answered && run.continued == 0;
        if let Some(told) = told.filter(|told| exact && run.usage != **told) {
            found.push(format!("{task} run {number}: kept {:?}, told {told:?}", run.usage));
        }
        if answered && told.is_none() {
            found.push(format!("{task} run {number} was answered, and nobody told so"));
        }
    }
    let mut used: BTreeMap<TaskId, u64> = BTreeMap::new();
    for session in world.oc.ever() {
        if let Some(mark) = session.mark {
            let replies = session.replies().map(|reply| reply.spent.tokens);
            *used.entry(mark).or_default() += replies.sum::<u64>();
        }
    }
    for (mark, used) in used {
        let runs = audit.runs.range((mark, 0)..=(mark, u32::MAX));
        let kept: u64 = runs.map(|(_, run)| run.usage.tokens.unwrap_or_default()).sum();
        if kept > used {
            found.push(format!("{mark} has {kept} tokens in its runs, its sessions {used}"));
        }
    }
    for what in found {
        audit.broken("the figures are the host's", what);
    }
}
