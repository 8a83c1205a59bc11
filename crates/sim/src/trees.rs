//! The auditor on trees of helpers: who ends with whom.

use legwork_engine::Change;
use legwork_engine::task::{Outcome, Task};
use legwork_engine::text::words;

use crate::audit::Audit;

impl Audit {
    /// A helper that failed or was cancelled takes its own helpers along, and no other does.
    pub(crate) fn check_trees(&mut self, changes: &[Change]) {
        let ended = |change: &Change| match change {
            Change::Ended { task, .. } => Some((task.outcome()?, task.session.clone()?)),
            _ => None,
        };
        for (outcome, session) in changes.iter().filter_map(ended) {
            let below = self
                .rows
                .values()
                .map(|row| &row.task)
                .find(|task| task.parent == session && !task.is_finished());
            if outcome != Outcome::Completed
                && let Some(what) = below.map(|task| task.id)
            {
                self.broken("the tree goes", format!("{what} outlives its parent {session}"));
            }
        }
        let felled = changes.iter().find_map(|change| match change {
            Change::Ended { task, detail, .. } if detail == words::CANCELLED_WITH_PARENT => {
                Some(task)
            }
            _ => None,
        });
        let with = |task: &Task| {
            let parents = changes.iter().filter_map(ended);
            parents
                .filter(|(outcome, _)| *outcome != Outcome::Completed)
                .any(|(_, session)| session == task.parent)
        };
        if let Some(task) = felled.filter(|task| !with(task)) {
            let what = format!("{} was called off with a parent that was not", task.id);
            self.broken("the tree goes", what);
        }
    }
}
