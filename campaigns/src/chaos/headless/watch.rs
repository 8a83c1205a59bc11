//! Looks all the time how many headless OpenCodes there are. Two at once are one too many: a daemon
//! that was killed while it started one may leave it to the next, which ends the one that is idle.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::processes;

const LOOK: Duration = Duration::from_millis(250);

/// Two headless OpenCodes at once, from when to when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    from: Instant,
    to: Instant,
}

impl Overlap {
    /// How long it was, from the last of these moments in it.
    pub fn since(self, restarts: &[Instant]) -> Duration {
        let within = restarts.iter().copied().filter(|at| (self.from..self.to).contains(at));
        self.to - within.max().unwrap_or(self.from)
    }
}

/// Somebody who looks.
#[derive(Debug)]
pub struct Watch {
    enough: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Overlap>>,
}

impl Watch {
    /// Begins to look at the processes of this home.
    pub fn begin(root: PathBuf) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let stop = enough.clone();
        let thread = std::thread::spawn(move || {
            let (mut found, mut since) = (Vec::new(), None);
            while !stop.load(Ordering::Relaxed) {
                let now = Instant::now();
                match (processes::headless(&root).len() > 1, since) {
                    (true, None) => since = Some(now),
                    (false, Some(from)) => {
                        found.push(Overlap { from, to: now });
                        since = None;
                    }
                    _ => {}
                }
                std::thread::sleep(LOOK);
            }
            found.extend(since.map(|from| Overlap { from, to: Instant::now() }));
            found
        });
        Self { enough, thread }
    }

    /// What was seen.
    pub fn end(self) -> Vec<Overlap> {
        self.enough.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlap_counts_from_the_last_restart_of_the_daemon_in_it() {
        let from = Instant::now();
        let at = |s: u64| from + Duration::from_secs(s);
        let overlap = Overlap { from, to: at(30) };
        assert_eq!(overlap.since(&[]), Duration::from_secs(30));
        assert_eq!(overlap.since(&[at(5), at(20), at(40)]), Duration::from_secs(10));
    }
}
