//! The wall clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970. A clock that is set before that counts as 1970.
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The same in milliseconds.
pub fn epoch_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}
