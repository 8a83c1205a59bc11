//! Many seeds at once, on as many threads as there are. Each seed is a world of its own, so the
//! outcome does not depend on how they are spread.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::audit::Broken;
use crate::books::Keeper;
use crate::edges::Edge;
use crate::names::Names;
use crate::seeds;
use crate::trace::Trace;
use crate::world::START;

/// Seeds that a thread takes at a time.
pub const BATCH: u64 = 64;

/// What the records of a history are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Books {
    /// Plain maps: quick.
    Memory,
    /// A file, as the daemon does.
    Sqlite,
}

impl Books {
    fn keeper(self) -> Keeper {
        match self {
            Self::Memory => in_memory(),
            Self::Sqlite => on_disk(),
        }
    }
}

/// What came of a campaign.
#[derive(Debug, Default)]
pub struct Report {
    pub seeds: u64,
    /// Tasks launched in them.
    pub tasks: u64,
    /// Requests made to hosts in them.
    pub requests: u64,
    /// The transitions that they took.
    pub edges: BTreeSet<Edge>,
    /// The first broken seed, with what is wrong.
    pub broken: Option<(u64, Vec<Broken>)>,
}

/// Plays seeds from `first` on, `count` of them, and stops early if one is broken. `tick` is told
/// now and then how many are done.
pub fn run(
    first: u64,
    count: u64,
    threads: usize,
    books: Books,
    tick: &(dyn Fn(u64) + Sync),
) -> Report {
    let next = AtomicU64::new(first);
    let stop = AtomicBool::new(false);
    let total = Mutex::new(Report::default());
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let from = next.fetch_add(BATCH, Ordering::Relaxed);
                    if from >= first + count {
                        return;
                    }
                    let batch = batch(from, (from + BATCH).min(first + count), books);
                    let Ok(mut total) = total.lock() else { return };
                    if batch.broken.is_some() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    total.add(batch);
                    tick(total.seeds);
                }
            });
        }
    });
    total.into_inner().unwrap_or_default()
}

fn batch(from: u64, to: u64, books: Books) -> Report {
    let mut report = Report::default();
    for seed in from..to {
        let history = seeds::play(seed, books.keeper(), Trace::default());
        report.seeds += 1;
        report.tasks += history.tasks as u64;
        report.requests += history.requests;
        report.edges.extend(history.edges);
        if !history.broken.is_empty() {
            report.broken = Some((seed, history.broken));
            break;
        }
    }
    report
}

impl Report {
    fn add(&mut self, other: Report) {
        self.seeds += other.seeds;
        self.tasks += other.tasks;
        self.requests += other.requests;
        self.edges.extend(other.edges);
        let earlier = match (&self.broken, &other.broken) {
            (Some((mine, _)), Some((theirs, _))) => theirs < mine,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if earlier {
            self.broken = other.broken;
        }
    }
}

/// Books in plain maps.
pub fn in_memory() -> Keeper {
    Keeper::Memory(Box::default())
}

/// Books in a file of their own, which goes with them.
pub fn on_disk() -> Keeper {
    match tempfile::tempdir() {
        Ok(folder) => Keeper::File(folder, None),
        Err(fault) => unreachable!("no folder for temporary files: {fault}"),
    }
}

/// The story of one seed, and what is wrong with it.
pub fn story(seed: u64, books: Books) -> (String, Vec<Broken>) {
    let history = seeds::play(seed, books.keeper(), Trace::kept(START));
    let mut names = Names::new(BTreeMap::new(), "session");
    let lines: Vec<String> = history.story.lines().map(|line| names.apply(line)).collect();
    (lines.join("\n"), history.broken)
}
