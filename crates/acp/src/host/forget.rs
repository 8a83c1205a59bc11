//! Removing what is kept of tasks that were forgotten.

use legwork_protocol::TaskId;

use super::{Host, marked};
use crate::lock::lock;

impl Host {
    /// These tasks are forgotten: so is what is kept of them, and what was told of them. The
    /// session of one that is still at work stays until it is stopped. Gives back those of which
    /// nothing is left.
    pub fn forget(&self, tasks: &[TaskId]) -> std::io::Result<Vec<TaskId>> {
        let mut gone = Vec::new();
        for task in tasks {
            let Ok(session) = marked(*task) else { continue };
            if self.0.turns.of(&session).is_none() {
                self.0.kept.remove(&session)?;
                gone.push(*task);
            }
        }
        lock(&self.0.mail).forget(&gone)?;
        Ok(gone)
    }
}
