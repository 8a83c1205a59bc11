//! Removing what is kept of tasks that were forgotten.

use legwork_machine::lock;
use legwork_protocol::TaskId;

use super::{LocalHost, marked};

impl LocalHost {
    /// Removes the sessions and the mail of these tasks. The session of one that is still at work
    /// stays until it is stopped. Returns the tasks of which nothing is left.
    pub(super) fn remove_kept(&self, tasks: &[TaskId]) -> std::io::Result<Vec<TaskId>> {
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
