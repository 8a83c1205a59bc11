//! The time in which a run's host waits to try the provider again. Nobody works in it and nothing
//! hangs, so it is no run time and no silence, and has a limit of its own.

use legwork_protocol::TaskId;
use legwork_protocol::limits::PROVIDER_WAIT_SAVED_EVERY_MS;

use crate::engine::Engine;
use crate::record::Change;
use crate::tasks::Live;
use crate::work::Retry;

impl Engine {
    /// The host says when it tries the run's provider again; none: it does not wait for it.
    pub(super) fn provider_told(&mut self, id: TaskId, retry: Option<Retry>) {
        let now = self.now;
        let Some(Live { volatile, .. }) = self.tasks.live_mut(id) else { return };
        if volatile.retry != retry {
            volatile.activity.since = now;
        }
        let waits = retry.is_some();
        match (volatile.retry.is_some(), waits) {
            (false, false) => return,
            (false, true) => volatile.retry_since = Some(now),
            (true, true) => {}
            (true, false) => volatile.retry_since = None,
        }
        volatile.retry = retry;
        let since = *volatile.idle_since.get_or_insert(now);
        if waits && now.since(since) < PROVIDER_WAIT_SAVED_EVERY_MS {
            return;
        }
        self.provider_wait_passed(id);
        if let Some(Live { volatile, .. }) = self.tasks.live_mut(id).filter(|_| waits) {
            volatile.idle_since = Some(now);
        }
    }

    /// The wait so far is no time of the run's, whatever ends this daemon.
    fn provider_wait_passed(&mut self, id: TaskId) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.live_mut(id) else { return };
        let Some(since) = volatile.idle_since.take().filter(|since| *since < now) else { return };
        task.run.paused_ms = task.run.paused_ms.saturating_add(now.since(since));
        let (task, from) = (task.clone(), task.stage.name());
        self.save(Change::Moved { task, from });
    }
}
