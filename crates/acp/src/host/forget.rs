//! Removing what is kept of tasks that were forgotten.

use legwork_protocol::TaskId;

use super::{Host, marked};
use crate::lock::lock;

impl Host {
    /// These tasks are forgotten: so is what is kept of them, and what was told of them. The
    /// session of one that is still at work stays until it is stopped.
    pub fn forget(&self, tasks: &[TaskId]) -> std::io::Result<()> {
        for session in tasks.iter().filter_map(|task| marked(*task).ok()) {
            if self.0.turns.of(&session).is_none() {
                self.0.kept.remove(&session)?;
            }
        }
        lock(&self.0.mail).forget(tasks)
    }
}
