//! Looks at a terminal again and again, and keeps every screen that differs from the one before.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use legwork_testkit::Tui;

/// Twelve times a second; OpenCode's own spinner is not quicker.
const EVERY: Duration = Duration::from_millis(80);

/// A screen, and when it was there first.
pub type Screen = (Duration, String);

/// Adds the screens of `tui` from now on, until nobody waits for more.
pub async fn record(tui: &Tui<'_>, screens: &mut Vec<Screen>) -> Infallible {
    let begun = Instant::now();
    loop {
        let (at, screen) = (begun.elapsed(), tui.painted());
        if screens.last().is_none_or(|(_, last)| *last != screen) {
            screens.push((at, screen));
        }
        tokio::time::sleep(EVERY.saturating_sub(begun.elapsed() - at)).await;
    }
}
