//! The one clock: the wall clock in milliseconds, but never backwards. Ids of messages sort by it
//! among those that a host makes itself, so it never falls behind the wall clock; and when that is
//! set back, time goes on from where it was, because whatever waits for a moment must get there.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use legwork_protocol::Time;
use legwork_protocol::limits::POLL_EVERY_MS;

#[derive(Debug)]
pub struct Clock {
    /// The wall clock's time at some moment, or later.
    time: Time,
    at: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self { time: wall(), at: Instant::now() }
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
        wall.max(passed)
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
    Time(ms(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
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
        let mut clock = Clock { time: Time(1_000), at: start };
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
    fn no_sleep_is_long_and_none_is_for_the_past() {
        let mut clock = Clock::default();
        let now = clock.now();
        assert_eq!(clock.until(Some(Time(now.0 - 1))), Duration::ZERO);
        assert_eq!(clock.until(Some(now.plus(1 << 40))), Duration::from_millis(POLL_EVERY_MS));
        assert_eq!(clock.until(None), Duration::from_millis(POLL_EVERY_MS));
    }
}
