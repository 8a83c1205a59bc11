//! Has one host do its work. Order, limits and deadlines are the same for every kind of host.

use std::collections::HashMap;
use std::sync::Arc;

use legwork_engine::text::toast::Toast;
use legwork_engine::{Finding, HostError, Work, WorkId};
use legwork_host::Host;
use tokio::sync::mpsc;
use tokio::task::{self, AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::lanes::{Lanes, Overdue};
use crate::limits::{TOAST_AFTER, TOASTS_MAX, UNIT_MAX};

/// What came of a unit of work.
pub type Found = (WorkId, Result<Finding, HostError>);

/// Where that goes. As much can wait as units of work were given.
pub type Findings = mpsc::UnboundedSender<Found>;

/// The work of one host. Dropped, the host is gone, and whatever was in flight is given up.
#[derive(Debug)]
pub struct HostWorker {
    work: mpsc::UnboundedSender<Work>,
    /// Each with the moment from which it may be shown.
    toasts: mpsc::Sender<(Instant, Toast)>,
}

impl HostWorker {
    pub fn new(host: Arc<dyn Host>, findings: Findings) -> Self {
        let (work, given) = mpsc::unbounded_channel();
        let (toasts, shown) = mpsc::channel(TOASTS_MAX);
        tokio::spawn(show(host.clone(), shown));
        let (lanes, running) = (Lanes::default(), JoinSet::new());
        let worker = Worker { host, findings, lanes, running, units: HashMap::new() };
        tokio::spawn(worker.run(given));
        Self { work, toasts }
    }

    /// Queues it. A finding follows in any case, unless the worker is dropped before.
    pub fn give(&self, work: Work) {
        // Its task ends only when this is dropped.
        let _ = self.work.send(work);
    }

    /// Shows it; a toast that cannot be shown soon is old news and left out.
    pub fn show(&self, toast: Toast) {
        // The host does one thing at a time: what the toast is about goes first.
        let _ = self.toasts.try_send((Instant::now() + TOAST_AFTER, toast));
    }
}

async fn show(host: Arc<dyn Host>, mut toasts: mpsc::Receiver<(Instant, Toast)>) {
    while let Some((at, toast)) = toasts.recv().await {
        sleep_until(at).await;
        let _ = timeout(UNIT_MAX, host.toast(&toast)).await;
    }
}

struct Worker {
    host: Arc<dyn Host>,
    findings: Findings,
    lanes: Lanes,
    running: JoinSet<Found>,
    /// Which task does which unit.
    units: HashMap<task::Id, (WorkId, AbortHandle)>,
}

impl Worker {
    async fn run(mut self, mut given: mpsc::UnboundedReceiver<Work>) {
        loop {
            let due = self.lanes.first_due();
            tokio::select! {
                work = given.recv() => match work {
                    Some(work) => self.lanes.give(work, Instant::now()),
                    None => return,
                },
                Some(done) = self.running.join_next_with_id() => self.came_back(done),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.give_up();
                }
            }
            while let Some(work) = self.lanes.begin(Instant::now()) {
                self.begin(work);
            }
        }
    }

    fn begin(&mut self, work: Work) {
        let host = self.host.clone();
        let id = work.id;
        let task = self.running.spawn(async move { (id, host.perform(&work.action).await) });
        self.units.insert(task.id(), (id, task));
    }

    fn came_back(&mut self, done: Result<(task::Id, Found), JoinError>) {
        let (task, found) = match done {
            Ok((task, (_, found))) => (task, found),
            // A host that panics has not answered.
            Err(error) => (error.id(), Err(HostError::Unreachable)),
        };
        let Some((work, _)) = self.units.remove(&task) else { return };
        if self.lanes.came_back(work) {
            self.answer(work, found);
        }
    }

    fn give_up(&mut self) {
        for Overdue { work, is_given_up } in self.lanes.overdue(Instant::now()) {
            if is_given_up {
                self.units.retain(|_, (unit, task)| {
                    if *unit == work {
                        task.abort();
                    }
                    *unit != work
                });
            }
            self.answer(work, Err(HostError::Unreachable));
        }
    }

    fn answer(&self, work: WorkId, found: Result<Finding, HostError>) {
        // Without the loop nobody is left to hear it.
        let _ = self.findings.send((work, found));
    }
}

#[cfg(test)]
mod tests;
