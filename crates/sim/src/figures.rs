//! What runs used up: the records against what the hosts told, and the ledgers against the runs.

use std::collections::{BTreeMap, BTreeSet};

use legwork_engine::Usage;
use legwork_engine::record::Change;
use legwork_engine::task::{Outcome, Stage, StageName, Task};
use legwork_protocol::{SessionId, Settings, TaskId, Time};

use crate::audit::Audit;
use crate::world::{World, shared_place};

const DAY_MS: u64 = 24 * 60 * 60_000;

/// The auditor's own sums, in millionths.
#[derive(Debug, Default)]
pub struct Figures {
    /// What runs under way have cost, and for whom.
    under_way: BTreeMap<TaskId, Cost>,
    /// What the others have cost, by root session.
    spent: BTreeMap<SessionId, u64>,
    /// The same as the records have it, the sum of the day too.
    ledgers: BTreeMap<SessionId, u64>,
    limits: Limits,
    /// Runs that are past their own budget, and those that are being stopped.
    overspent: BTreeSet<TaskId>,
    stopped: BTreeSet<TaskId>,
    /// What is beyond a budget.
    over: Option<String>,
}

#[derive(Debug)]
struct Cost {
    root: SessionId,
    of_terminal: bool,
    micros: u64,
}

/// In millionths; 0 for no limit.
#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    session: u64,
    run: u64,
    day: u64,
}

impl Figures {
    pub fn within(settings: &Settings) -> Self {
        let limits = Limits {
            session: settings.max_cost_micros,
            run: settings.max_cost_per_run_micros,
            day: settings.max_cost_per_day_micros,
        };
        Self { limits, ..Self::default() }
    }

    /// The same with nothing in them.
    pub fn begun_anew(&self) -> Self {
        Self { limits: self.limits, ..Self::default() }
    }

    pub fn apply(&mut self, at: Time, change: &Change) {
        match change {
            Change::Launched { task, .. } | Change::Resumed { task, .. } => self.begins(at, task),
            Change::Moved { task, from: StageName::Queued } if task.stage != Stage::Queued => {
                self.begins(at, task);
            }
            _ => {}
        }
        match change {
            Change::Launched { task, .. }
            | Change::Resumed { task, .. }
            | Change::Moved { task, .. } => {
                let (root, of_terminal) = (task.root.clone(), task.realm == shared_place());
                let cost = Cost { root, of_terminal, micros: micros(&task.run.usage) };
                self.under_way.insert(task.id, cost);
            }
            Change::Used { task, usage, .. } => {
                if let Some(cost) = self.under_way.get_mut(task) {
                    cost.micros = micros(usage);
                }
                if self.limits.run != 0 && micros(usage) >= self.limits.run {
                    self.overspent.insert(*task);
                }
            }
            Change::StopRequested(stop) => {
                self.stopped.insert(stop.task);
            }
            Change::Ended { task, .. } => {
                self.over_with(task.id);
                *self.spent.entry(task.root.clone()).or_default() += micros(&task.run.usage);
            }
            Change::Forgotten { task, .. } => self.forgotten(*task),
            Change::Cleared { tasks } => tasks.iter().for_each(|task| self.forgotten(*task)),
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

    fn forgotten(&mut self, task: TaskId) {
        if let Some(cost) = self.over_with(task) {
            *self.spent.entry(cost.root).or_default() += cost.micros;
        }
    }

    fn over_with(&mut self, task: TaskId) -> Option<Cost> {
        self.overspent.remove(&task);
        self.stopped.remove(&task);
        self.under_way.remove(&task)
    }

    fn begins(&mut self, at: Time, task: &Task) {
        let (of_session, limit) = (self.total(&task.root), self.limits.session);
        if limit != 0 && of_session >= limit {
            self.over = Some(format!("{} begins at {of_session} of {limit}", task.id));
        }
        let (of_day, limit) = (self.total_of_day(at), self.limits.day);
        if limit != 0 && of_day >= limit && task.realm == shared_place() {
            self.over = Some(format!("{} begins at {of_day} of {limit} a day", task.id));
        }
    }

    fn total(&self, root: &SessionId) -> u64 {
        let under_way = self.under_way.values().filter(|cost| cost.root == *root);
        let under_way: u64 = under_way.map(|cost| cost.micros).sum();
        self.spent.get(root).copied().unwrap_or_default() + under_way
    }

    /// Of ended runs as the records have it.
    fn total_of_day(&self, at: Time) -> u64 {
        let under_way = self.under_way.values().filter(|cost| cost.of_terminal);
        let under_way: u64 = under_way.map(|cost| cost.micros).sum();
        let day = format!("_of_day_{}", at.0 / DAY_MS);
        let ledger = self.ledgers.iter().find(|(root, _)| root.as_str().ends_with(&day));
        ledger.map_or(0, |(_, micros)| *micros) + under_way
    }

    /// A run beyond a budget, or a ledger that is not what the ended runs cost.
    pub fn wrong(&self) -> Option<String> {
        if self.over.is_some() {
            return self.over.clone();
        }
        if let Some(task) = self.overspent.difference(&self.stopped).next() {
            return Some(format!("{task} is past what a run may cost, and goes on"));
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
