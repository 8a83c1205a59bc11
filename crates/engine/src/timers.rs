//! Timers. There is one for each thing that waits; setting it again moves it.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::{CallId, HostId, MessageId, SessionId, TaskId, Time};

/// What waits. Of those due at the same moment, the first in this list fires first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A blocked caller's time is up, or nothing is left to wait for.
    Wait(CallId),
    /// A blocked caller is given a sign of life.
    Awake(CallId),
    /// A collecting caller is to be answered.
    Collect(CallId),
    /// A run needs something: another try, a look, its end.
    Run(TaskId),
    /// A host that could know whether a parent was deleted is not there any more.
    Doubt(SessionId),
    /// A host may have a free slot.
    Start(HostId),
    /// A host's unfinished runs are to be looked up.
    Poll(HostId),
    /// A host is to be asked which parents are gone.
    FindMissing(HostId),
    /// Nobody may be collecting a run any more.
    Lease(TaskId, u32),
    /// A parent's notices may go out.
    Gather(SessionId),
    /// A delivery is to be sent again or looked for.
    Delivery(MessageId),
    /// A session is to be stopped.
    Stop(TaskId),
    /// A headless host may be needed no more.
    Idle(HostId),
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    by_time: BTreeSet<(Time, Timer)>,
    by_timer: BTreeMap<Timer, Time>,
}

impl Timers {
    pub fn set(&mut self, timer: Timer, at: Time) {
        self.clear(&timer);
        self.by_timer.insert(timer.clone(), at);
        self.by_time.insert((at, timer));
    }

    pub fn clear(&mut self, timer: &Timer) {
        if let Some(at) = self.by_timer.remove(timer) {
            self.by_time.remove(&(at, timer.clone()));
        }
    }

    pub fn postpone(&mut self, ms: u64) {
        for at in self.by_timer.values_mut() {
            *at = at.plus(ms);
        }
        self.by_time = self.by_timer.iter().map(|(timer, at)| (*at, timer.clone())).collect();
    }

    pub fn is_set(&self, timer: &Timer) -> bool {
        self.by_timer.contains_key(timer)
    }

    pub fn first(&self) -> Option<Time> {
        self.by_time.first().map(|(at, _)| *at)
    }

    pub fn due(&mut self, now: Time) -> Option<Timer> {
        if self.first()? > now {
            return None;
        }
        let (_, timer) = self.by_time.pop_first()?;
        self.by_timer.remove(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_again_moves_and_clearing_removes() {
        let mut timers = Timers::default();
        timers.set(Timer::Wait(CallId(1)), Time(5));
        timers.set(Timer::Wait(CallId(2)), Time(3));
        timers.set(Timer::Wait(CallId(2)), Time(9));
        assert_eq!(timers.first(), Some(Time(5)));
        assert_eq!(timers.due(Time(4)), None);
        assert_eq!(timers.due(Time(5)), Some(Timer::Wait(CallId(1))));
        timers.clear(&Timer::Wait(CallId(2)));
        assert_eq!(timers.first(), None);
    }
}
