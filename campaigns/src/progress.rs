//! How far a campaign is, on stderr, and how everything here waits: look, pause, look again, and
//! give up with words. Results go to stdout, so that they can be kept apart.

use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::fault::{Done, Fault};

static BEGUN: OnceLock<Instant> = OnceLock::new();

/// Says how far it is, with the time since the first such line.
pub fn note(words: impl Display) {
    let took = BEGUN.get_or_init(Instant::now).elapsed().as_secs();
    // Whoever closed stderr does not want to know.
    let _ = writeln!(std::io::stderr(), "[{:>2}:{:02}] {words}", took / 60, took % 60);
}

/// Prints a line of the result; a reader that has seen enough is no reason to fail.
pub fn say(words: impl Display) {
    let _ = writeln!(std::io::stdout(), "{words}");
}

/// Looks every so often until there is an answer.
pub async fn until<T>(
    what: &str,
    within: Duration,
    every: Duration,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> Done<T> {
    let end = Instant::now() + within;
    loop {
        if let Some(found) = look().await {
            return Ok(found);
        }
        if Instant::now() >= end {
            return Err(Fault::new(format!("after {within:?} it was still not so: {what}")));
        }
        tokio::time::sleep(every).await;
    }
}

/// The same for who is not asynchronous.
pub fn wait<T>(
    what: &str,
    within: Duration,
    every: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Done<T> {
    let end = Instant::now() + within;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() >= end {
            return Err(Fault::new(format!("after {within:?} it was still not so: {what}")));
        }
        std::thread::sleep(every);
    }
}
