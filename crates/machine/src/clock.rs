//! The wall clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970. A clock that is set before that counts as 1970.
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
