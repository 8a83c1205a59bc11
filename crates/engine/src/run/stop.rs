//! Sessions that must not go on. A stop is done when the host has shown the session quiet twice,
//! some seconds apart: an abort that overtakes the start of a turn succeeds, and the turn starts
//! all the same.

use std::collections::BTreeMap;

use legwork_protocol::limits::{STOP_CONFIRM_MS, STOP_MAX_TRIES};
use legwork_protocol::{HostId, Place, SessionId, TaskId, Time};

use super::task::{StageName, Task};
use super::volatile::pause_ms;
use crate::engine::{Engine, Purpose};
use crate::hosts::Presence;
use crate::record::{Change, Stop, Target};
use crate::slept::postpone;
use crate::timers::Timer;
use crate::work::{Action, Finding, HostError};

#[derive(Debug)]
struct Stopping {
    stop: Stop,
    quiet_since: Option<Time>,
    in_flight: bool,
    tries: u32,
}

impl Stopping {
    /// The host answered. Gives back the pause before the next try; None if there is none.
    fn answered(&mut self, found: Result<Finding, HostError>, now: Time) -> Option<u64> {
        self.in_flight = false;
        let pause = match found {
            Ok(Finding::Quiet) | Err(HostError::Gone) => {
                self.tries += 1;
                let since = *self.quiet_since.get_or_insert(now);
                if now.since(since) >= STOP_CONFIRM_MS {
                    return None;
                }
                STOP_CONFIRM_MS
            }
            Ok(_) | Err(HostError::Busy | HostError::Rejected { .. }) => {
                self.tries += 1;
                self.quiet_since = None;
                pause_ms(self.tries)
            }
            // Being out of reach is not being tried in vain.
            Err(HostError::Unreachable) => {
                self.quiet_since = None;
                pause_ms(1)
            }
        };
        (self.tries < STOP_MAX_TRIES).then_some(pause)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Stops(BTreeMap<TaskId, Stopping>);

impl Stops {
    pub fn is_pending(&self, task: TaskId) -> bool {
        self.0.contains_key(&task)
    }

    pub fn names(&self, session: &SessionId) -> bool {
        self.0.values().any(|stopping| match &stopping.stop.target {
            Target::Session(target) | Target::Opened(target) => target == session,
            Target::Marked => false,
        })
    }

    /// Whether something is to be stopped on this host.
    pub fn on(&self, host: &HostId) -> bool {
        self.0.values().any(|stopping| stopping.stop.host == *host)
    }

    pub fn slept(&mut self, ms: u64) {
        for stopping in self.0.values_mut() {
            postpone(&mut stopping.quiet_since, ms);
        }
    }

    pub fn restore(&mut self, stop: Stop) {
        let stopping = Stopping { quiet_since: None, in_flight: false, tries: 0, stop };
        self.0.insert(stopping.stop.task, stopping);
    }
}

impl Engine {
    /// The task's session must not go on, whatever becomes of the task.
    pub(crate) fn request_stop(&mut self, task: &Task) {
        if self.stops.is_pending(task.id) {
            return self.tend_stop(task.id);
        }
        let Some(target) = stop_target(task) else { return };
        let stop =
            Stop { task: task.id, place: task.place.clone(), host: task.run.host.clone(), target };
        self.save(Change::StopRequested(stop.clone()));
        self.stops.restore(stop);
        self.tend_stop(task.id);
    }

    pub(crate) fn tend_stop(&mut self, id: TaskId) {
        let Some(stopping) = self.stops.0.get_mut(&id).filter(|it| !it.in_flight) else { return };
        let Stop { host, place, target, .. } = &stopping.stop;
        let host = match (self.hosts.presence(host), target) {
            (Presence::Here, _) => Some(host),
            (Presence::Away, _) => None,
            // With its process, all that it was doing has ended.
            (Presence::Gone, Target::Session(_)) => return self.stopped(id),
            (Presence::Gone, Target::Opened(_) | Target::Marked) => {
                self.hosts.here_at(place).next()
            }
        };
        let Some(host) = host.cloned() else { return };
        let action = Action::Stop { task: id, target: target.clone() };
        stopping.in_flight = true;
        self.timers.clear(&Timer::Stop(id));
        self.work(host, action, Purpose::Stop(id));
    }

    pub(crate) fn stop_answered(&mut self, id: TaskId, found: Result<Finding, HostError>) {
        let now = self.now;
        let Some(stopping) = self.stops.0.get_mut(&id) else { return };
        match stopping.answered(found, now) {
            Some(pause) => self.timers.set(Timer::Stop(id), now.plus(pause)),
            None => self.stopped(id),
        }
    }

    fn stopped(&mut self, id: TaskId) {
        self.timers.clear(&Timer::Stop(id));
        if self.stops.0.remove(&id).is_some() {
            self.save(Change::StopDone { task: id });
        }
    }

    pub(crate) fn tend_stops(&mut self, place: &Place) {
        let there = self.stops.0.iter().filter(|(_, stopping)| stopping.stop.place == *place);
        for task in there.map(|(task, _)| *task).collect::<Vec<_>>() {
            self.tend_stop(task);
        }
    }
}

/// What there is to stop at a stage.
fn stop_target(task: &Task) -> Option<Target> {
    match (task.stage.name(), &task.session) {
        // Never begun. A resume that waits has a session, in which nothing runs. One that was cut
        // off and waits again may have left something at its first host.
        (StageName::Queued, _) if task.run.continued == 0 => None,
        (StageName::Working, Some(session)) => Some(Target::Session(session.clone())),
        (_, Some(session)) => Some(Target::Opened(session.clone())),
        (_, None) => Some(Target::Marked),
    }
}
