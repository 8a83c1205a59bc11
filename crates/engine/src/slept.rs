//! Time in which the machine slept. Nobody worked, was silent or kept anybody waiting in it, so
//! every moment that something is counted from, or waits for, moves on by as much.

use legwork_protocol::{TaskId, Time};

use crate::engine::Engine;
use crate::record::Change;

impl Engine {
    pub(crate) fn slept(&mut self, ms: u64) {
        self.timers.postpone(ms);
        self.hosts.slept(ms);
        self.stops.slept(ms);
        self.starts.values_mut().for_each(|start| start.slept(ms));
        for recipient in self.outbox.recipients.values_mut() {
            postpone(&mut recipient.held_until, ms);
            postpone(&mut recipient.settles_until, ms);
            postpone(&mut recipient.questions_held_until, ms);
        }
        self.outbox.read.values_mut().for_each(|at| *at = at.plus(ms));
        let unfinished: Vec<TaskId> = self.tasks.unfinished().map(|live| live.task.id).collect();
        for id in unfinished {
            let Some(live) = self.tasks.live_mut(id) else { continue };
            live.volatile.slept(ms);
            // One that nobody works on gets all of that time taken off at once, later.
            if live.task.stage.holds_slot() && live.volatile.idle_since.is_none() {
                live.task.run.paused_ms = live.task.run.paused_ms.saturating_add(ms);
                let (task, from) = (live.task.clone(), live.task.stage.name());
                self.save(Change::Moved { task, from });
            }
        }
    }
}

/// A moment that is waited for, or counted from, comes so much later.
pub(crate) fn postpone(moment: &mut Option<Time>, ms: u64) {
    *moment = moment.map(|moment| moment.plus(ms));
}
