//! The one clock: the wall clock in milliseconds, but never backwards. Ids of messages sort by it
//! among those that a host makes itself, so it never falls behind the wall clock; and when that is
//! set back, time goes on from where it was, because whatever waits for a moment must get there.

use std::time::{Duration, Instant};

use legwork_machine::epoch_ms;
use legwork_protocol::Time;
use legwork_protocol::limits::POLL_EVERY_MS;

use crate::limits::AWAKE_GAP_MS;

#[derive(Debug)]
pub struct Clock {
    /// The wall clock's time at some moment, or later.
    time: Time,
    at: Instant,
    /// What it last said.
    said: Time,
    /// Time that passed between two readings that were too far apart, and that nobody knows of yet.
    slept_ms: u64,
}

impl Default for Clock {
    fn default() -> Self {
        let time = wall();
        Self { time, at: Instant::now(), said: time, slept_ms: 0 }
    }
}

impl Clock {
    pub fn now(&mut self) -> Time {
        self.read(wall(), Instant::now())
    }

    fn read(&mut self, wall: Time, at: Instant) -> Time {
        let passed = self.time.plus(ms(at.saturating_duration_since(self.at)));
        if wall >= passed {
            // Taken anew, so that only a wall clock that was set back is corrected.
            (self.time, self.at) = (wall, at);
        }
        let now = wall.max(passed);
        // Whoever is awake reads the clock at least with every poll.
        let since = now.since(self.said);
        if since > AWAKE_GAP_MS {
            self.slept_ms = self.slept_ms.saturating_add(since);
        }
        self.said = now;
        now
    }

    /// How long nothing ran: the machine slept, this process was stopped, or the wall clock was set
    /// forward. Each time is told once.
    pub fn slept(&mut self) -> Option<u64> {
        let slept_ms = std::mem::take(&mut self.slept_ms);
        (slept_ms > 0).then_some(slept_ms)
    }

    /// How long to sleep until a moment. Never long: the clock may be set meanwhile, and timers of
    /// the system stand still while the machine sleeps.
    pub fn until(&mut self, moment: Option<Time>) -> Duration {
        let now = self.now();
        let ms = moment.map_or(POLL_EVERY_MS, |moment| moment.since(now).min(POLL_EVERY_MS));
        Duration::from_millis(ms)
    }
}

pub fn wall() -> Time {
    Time(epoch_ms())
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_the_wall_clocks_and_goes_on_when_that_is_set_back() {
        let start = Instant::now();
        let mut clock = Clock { time: Time(1_000), at: start, said: Time(1_000), slept_ms: 0 };
        let mut read =
            |wall, passed| clock.read(Time(wall), start + Duration::from_millis(passed)).0;
        assert_eq!(read(1_010, 10), 1_010);
        assert_eq!(read(500, 20), 1_020, "set back");
        assert_eq!(read(600, 120), 1_120);
        assert_eq!(read(5_000, 130), 5_000, "set forward, or the machine slept");
        assert_eq!(read(5_001, 140), 5_010, "never backwards");
        assert_eq!(read(5_030, 150), 5_030);
    }

    #[test]
    fn d4_time_in_which_nothing_ran_is_told_once_and_apart() {
        let start = Instant::now();
        let mut clock = Clock { time: Time(1_000), at: start, said: Time(1_000), slept_ms: 0 };
        let mut read = |wall, passed| {
            clock.read(Time(wall), start + Duration::from_millis(passed));
            clock.slept()
        };
        assert_eq!(read(1_000 + AWAKE_GAP_MS, AWAKE_GAP_MS), None, "a slow disk is no sleep");
        let suspended = 31 * 60_000;
        let wall = 1_000 + AWAKE_GAP_MS + suspended;
        assert_eq!(read(wall, AWAKE_GAP_MS), Some(suspended));
        assert_eq!(read(wall + 5, AWAKE_GAP_MS + 5), None);
        assert_eq!(read(500, AWAKE_GAP_MS + 10), None, "set back");
    }

    #[test]
    fn no_sleep_is_long_and_none_is_for_the_past() {
        let mut clock = Clock::default();
        let now = clock.now();
        assert_eq!(clock.until(Some(Time(now.0 - 1))), Duration::ZERO);
        assert_eq!(clock.until(Some(now.plus(1 << 40))), Duration::from_millis(POLL_EVERY_MS));
        assert_eq!(clock.until(None), Duration::from_millis(POLL_EVERY_MS));
    }
}
