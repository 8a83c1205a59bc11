//! Sessions that must not go on. A stop is pending until the host has shown the session quiet
//! twice, some seconds apart: an abort that overtakes the start of a turn says that it was done,
//! and the turn starts all the same.

use std::collections::BTreeMap;

use legwork_protocol::limits::{STOP_CONFIRM_MS, STOP_MAX_TRIES};
use legwork_protocol::{HostId, Place, SessionId, TaskId, Time};

use crate::engine::{Engine, Purpose};
use crate::hosts::Presence;
use crate::record::{Change, Stop, Target};
use crate::runs::stop_target;
use crate::slept::postpone;
use crate::task::Task;
use crate::timers::Timer;
use crate::watch::pause_ms;
use crate::work::{Action, Finding, HostError};

#[derive(Debug)]
struct Stopping {
    stop: Stop,
    quiet_since: Option<Time>,
    under_way: bool,
    tries: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Stops(BTreeMap<TaskId, Stopping>);

impl Stops {
    pub fn is_pending(&self, task: TaskId) -> bool {
        self.0.contains_key(&task)
    }

    /// Whether this session is being stopped.
    pub fn names(&self, session: &SessionId) -> bool {
        self.0.values().any(|stopping| match &stopping.stop.target {
            Target::Session(target) | Target::Opened(target) => target == session,
            Target::Marked => false,
        })
    }

    /// So much time passed while nothing ran.
    pub fn slept(&mut self, ms: u64) {
        for stopping in self.0.values_mut() {
            postpone(&mut stopping.quiet_since, ms);
        }
    }

    pub fn restore(&mut self, stop: Stop) {
        self.0.insert(stop.task, Stopping { stop, quiet_since: None, under_way: false, tries: 0 });
    }
}

impl Engine {
    /// The task's session must not go on, whatever becomes of the task.
    pub(crate) fn request_stop(&mut self, task: &Task) {
        let Some(target) = stop_target(task) else { return };
        let stop =
            Stop { task: task.id, place: task.place.clone(), host: task.run.host.clone(), target };
        self.save(Change::StopRequested(stop.clone()));
        self.stops.restore(stop);
        self.tend_stop(task.id);
    }

    pub(crate) fn tend_stop(&mut self, id: TaskId) {
        let Some(Stopping { stop, under_way, .. }) = self.stops.0.get(&id) else { return };
        if *under_way {
            return;
        }
        let host = match (self.hosts.presence(&stop.host), &stop.target) {
            (Presence::Here, _) => Some(stop.host.clone()),
            (Presence::Away, _) => None,
            // With its process, all that it was doing has ended.
            (Presence::Gone, Target::Session(_)) => return self.stopped(id),
            (Presence::Gone, Target::Opened(_) | Target::Marked) => {
                self.hosts.here_at(&stop.place).cloned()
            }
        };
        if let Some(host) = host {
            self.send_stop(id, host);
        }
    }

    fn send_stop(&mut self, id: TaskId, host: HostId) {
        let Some(stopping) = self.stops.0.get_mut(&id) else { return };
        stopping.under_way = true;
        let action = Action::Stop { task: id, target: stopping.stop.target.clone() };
        self.timers.clear(&Timer::Stop(id));
        self.work(host, action, Purpose::Stop(id));
    }

    pub(crate) fn stop_answered(&mut self, id: TaskId, found: Result<Finding, HostError>) {
        let now = self.now;
        let Some(stopping) = self.stops.0.get_mut(&id) else { return };
        stopping.under_way = false;
        stopping.tries += 1;
        let pause = match found {
            Ok(Finding::Quiet) | Err(HostError::Gone) => {
                let since = *stopping.quiet_since.get_or_insert(now);
                if now.since(since) >= STOP_CONFIRM_MS {
                    return self.stopped(id);
                }
                STOP_CONFIRM_MS
            }
            Ok(_) | Err(HostError::Busy | HostError::Rejected { .. }) => {
                stopping.quiet_since = None;
                pause_ms(stopping.tries)
            }
            Err(HostError::Unreachable) => {
                stopping.quiet_since = None;
                // Being out of reach is not being tried in vain.
                stopping.tries -= 1;
                pause_ms(1)
            }
        };
        if stopping.tries >= STOP_MAX_TRIES {
            return self.stopped(id);
        }
        self.timers.set(Timer::Stop(id), now.plus(pause));
    }

    fn stopped(&mut self, id: TaskId) {
        self.timers.clear(&Timer::Stop(id));
        if self.stops.0.remove(&id).is_some() {
            self.save(Change::StopDone { task: id });
        }
    }

    pub(crate) fn tend_stops(&mut self, place: &Place) {
        let pending: Vec<TaskId> = self
            .stops
            .0
            .values()
            .filter(|stopping| stopping.stop.place == *place)
            .map(|stopping| stopping.stop.task)
            .collect();
        for task in pending {
            self.tend_stop(task);
        }
    }
}
