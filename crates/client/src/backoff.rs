//! The pauses between attempts to reach a daemon that is away.

use std::time::Duration;

/// The first pause: a daemon that was replaced is back by then.
const FIRST: Duration = Duration::from_millis(250);
/// The longest one where somebody may be looking.
const MOST: Duration = Duration::from_secs(2);

/// A short pause first, then each twice as long as the one before, up to a longest one.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    next: Duration,
    most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::up_to(MOST)
    }
}

impl Backoff {
    pub fn up_to(most: Duration) -> Self {
        Self { next: FIRST.min(most), most }
    }

    /// How long to wait before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        pause
    }

    /// It worked, so the next pause is the first again.
    pub fn reset(&mut self) {
        *self = Self::up_to(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v8_pauses_double_up_to_the_longest_and_begin_again_once_it_worked() {
        let mut backoff = Backoff::up_to(Duration::from_secs(30));
        let pauses: Vec<u128> = (0..9).map(|_| backoff.pause().as_millis()).collect();
        assert_eq!(pauses, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        backoff.reset();
        assert_eq!(backoff.pause(), FIRST);
    }
}
