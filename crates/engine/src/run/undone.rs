//! A person undid the message that launched a helper. What the helper does may be wanted all the
//! same, so it is not stopped; the person is told that it works on, and how to stop it.

use legwork_protocol::{HostId, SessionId, TaskId, Time};

use crate::engine::Engine;
use crate::record::Change;

impl Engine {
    /// An undo is pending in the session, or none any more. Said with every change there.
    pub(crate) fn undone(&mut self, host: &HostId, session: &SessionId, since: Option<Time>) {
        if !self.shares_place(host, session) {
            return;
        }
        let Some(recipient) = self.outbox.recipients.get_mut(session) else { return };
        if recipient.undone_since == since {
            return;
        }
        recipient.undone_since = since;
        let Some(since) = since else { return };
        let undone =
            |(id, created): &(TaskId, Time)| *created >= since && self.tasks.live(*id).is_some();
        let launched = self.tasks.family(session).map(|task| (task.id, task.created));
        for (task, _) in launched.filter(undone).collect::<Vec<_>>() {
            let run = self.tasks.get(task).map_or(0, |task| task.run.number);
            self.save(Change::LaunchUndone { task, run });
        }
    }
}
