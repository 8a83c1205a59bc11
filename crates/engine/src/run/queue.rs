//! The queue for a host's slots: first in, first out.

use legwork_protocol::{HostId, TaskId};

use super::task::{Stage, Task};
use crate::engine::Engine;
use crate::hosts::Host;
use crate::tasks::Live;

impl Engine {
    /// Whether a new run starts at once: its host has room and nobody waits before it.
    pub(super) fn may_start(&self, host: &HostId) -> bool {
        let most = self.settings.max_running;
        self.hosts.get(host).is_some_and(|host| host.has_slot(most) && host.queue.is_empty())
    }

    pub(crate) fn ahead(&self, task: &Task) -> Option<usize> {
        let before = |host: &Host| host.queue.range(..(task.run.order, task.id)).count();
        (task.stage == Stage::Queued).then(|| self.hosts.get(&task.run.host).map_or(0, before))
    }

    /// Lets runs leave the queue while their host has a slot. What may not be spent any more is not
    /// begun.
    pub(crate) fn start_waiting(&mut self, host: &HostId) {
        let now = self.now;
        while let Some(id) = self.next_to_start(host) {
            let too_dear = self.tasks.live(id).and_then(|live| self.why_too_dear(&live.task));
            if let Some(why) = too_dear {
                self.fail(id, why);
                continue;
            }
            let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
            match volatile.idle_since.take() {
                Some(since) => task.run.paused_ms += now.since(since),
                None => (task.run.started, task.run.paused_ms) = (now, 0),
            }
            volatile.activity.since = now;
            let opened = task.session.is_some();
            let stage = if opened { self.prompting(id) } else { Stage::Opening };
            self.advance(id, stage);
            if let Some(live) = self.tasks.live(id) {
                self.hosts.enlist(&live.task);
            }
            self.tend_run(id);
        }
    }

    fn next_to_start(&self, host: &HostId) -> Option<TaskId> {
        let host = self.hosts.get(host).filter(|host| host.has_slot(self.settings.max_running))?;
        host.queue.first().map(|(_, first)| *first)
    }
}
