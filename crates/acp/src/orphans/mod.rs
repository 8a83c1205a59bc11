//! Processes that agents start and leave running. They end with their agent: SIGTERM first, then
//! SIGKILL. Services that others use as well are kept.
//!
//! Which process is whose is known by its group, by a variable in its environment, and by its
//! ancestors: the daemon is the subreaper of all that it starts, so that what has lost its parent
//! becomes a child of the daemon and cannot get out of sight. (On Linux. Elsewhere there is no
//! such thing: what has lost its parent between two looks and hides its variables, as Apple's own
//! programs do, is not found. Without a process table the group and the closed stdin have to do.)

mod keep;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Instant;

use legwork_machine::children::is_own_child;
pub use legwork_machine::process::INSIDE;
use legwork_machine::process::{Detached, has_ended_here, process_mark};
use legwork_machine::table::{self, Entry, Table, variables};
use legwork_machine::{hash8, lock};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal as listen};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

pub use self::keep::KEPT;
use self::keep::is_kept;
use crate::limits::{LEAVE_LOOK_EVERY, LEAVE_MAX, LOOK_AROUND_EVERY, WALKS_MAX};

/// Names that are kept, read when they are needed.
pub type Keep = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// Our own process, for good.
pub fn own_mark() -> String {
    process_mark(std::process::id()).unwrap_or_else(|| "unknown".to_owned())
}

/// A short name for the store in this folder, which no other store has while it is there.
pub fn store_name(folder: &Path) -> String {
    match std::fs::metadata(folder) {
        Ok(found) => hash8(format!("{:x} {:x}", found.dev(), found.ino()).as_bytes()),
        Err(_) => "none".to_owned(),
    }
}

/// How what is left ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// It is asked to, and has a moment.
    Gently,
    /// It is killed: nobody can wait.
    AtOnce,
}

/// All agents of this process, and what they have started.
pub struct Family {
    /// This process and its store: what is left by another daemon is none of ours.
    own: String,
    store: String,
    next: AtomicU64,
    adopts: AtomicBool,
    keep: Keep,
    /// Children of this process that are nobody's agents.
    detached: Arc<Detached>,
    known: Mutex<Known>,
    started: Notify,
}

#[derive(Default)]
struct Known {
    /// The agents' own processes. They are waited for elsewhere.
    agents: BTreeMap<u32, Started>,
    /// What was seen below an agent, by number and beginning, with that agent's mark.
    seen: BTreeMap<(u32, u64), String>,
}

struct Started {
    mark: String,
    at: u64,
}

impl Family {
    pub fn new(store: &Path, keep: Keep, detached: Arc<Detached>) -> Arc<Self> {
        let store = store_name(store);
        let own = format!("{}-{store}", own_mark());
        let (next, adopts, known) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default());
        let started = Notify::new();
        Arc::new(Self { own, store, next, adopts, keep, detached, known, started })
    }

    /// Of a command that starts agents to look at them, and keeps what is kept by default.
    pub fn of_command(store: &Path) -> Arc<Self> {
        Self::new(store, Box::new(|| KEPT.map(str::to_owned).to_vec()), Arc::default())
    }

    /// Makes orphans our children from now on. Whoever calls this has no children but agents in
    /// process groups of their own.
    pub fn adopt(&self) {
        #[cfg(target_os = "linux")]
        if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
            self.adopts.store(true, Ordering::Relaxed);
        }
    }

    /// Whether this is the mark of an agent of our store, of whichever daemon.
    pub fn is_mark(&self, mark: &str) -> bool {
        self.daemon_in(mark).is_some()
    }

    /// The daemon's mark in that of an agent of our store.
    fn daemon_in<'a>(&self, mark: &'a str) -> Option<&'a str> {
        let (daemon, _) = mark.rsplit_once('-')?;
        let (daemon, store) = daemon.rsplit_once('-')?;
        (store == self.store).then_some(daemon)
    }

    /// Starts an agent under a new mark. Under the lock, so that nobody who looks around takes the
    /// new process for one that has lost its parent.
    pub fn start(
        &self,
        spawn: impl FnOnce(&str) -> std::io::Result<Child>,
    ) -> std::io::Result<(Child, String)> {
        let mut known = lock(&self.known);
        let mark = format!("{}-{}", self.own, self.next.fetch_add(1, Ordering::Relaxed));
        let child = spawn(&mark)?;
        if let Some(id) = child.id() {
            let at = table::entry(id).map_or(0, |entry| entry.start);
            known.agents.insert(id, Started { mark: mark.clone(), at });
        }
        self.started.notify_one();
        Ok((child, mark))
    }

    /// This agent's process has ended and nobody waits for it any more.
    pub fn forget(&self, agent: u32) {
        lock(&self.known).agents.remove(&agent);
    }

    /// Looks around as long as agents run, and whenever a child has ended. Never ends.
    pub async fn tend(self: Arc<Self>) {
        let Ok(mut children) = listen(SignalKind::child()) else { return };
        loop {
            let is_busy = self.is_busy();
            // Where nobody is adopted there is nobody to bury, and where looking takes a child, the
            // end of that one would be the reason for the next look.
            let buries = self.adopts.load(Ordering::Relaxed);
            tokio::select! {
                _ = children.recv(), if buries => {}
                () = self.started.notified(), if !is_busy => {}
                () = tokio::time::sleep(LOOK_AROUND_EVERY), if is_busy => {}
            }
            let family = self.clone();
            let _ = spawn_blocking(move || family.look_around()).await;
        }
    }

    fn is_busy(&self) -> bool {
        !lock(&self.known).agents.is_empty()
    }

    /// Notes who has started what, before parents are gone, and reaps orphans that became ours.
    pub fn look_around(&self) {
        if let Some(table) = Table::below(std::process::id()) {
            let mut known = lock(&self.known);
            known.look(&table);
            if self.adopts.load(Ordering::Relaxed) {
                known.bury(&table);
            }
        }
    }

    /// Ends what this agent has left, and the agent itself if it still runs.
    pub fn end_left_by(&self, mark: &str, agent: u32, pace: Pace) -> usize {
        if cfg!(not(target_os = "linux")) && Table::read().is_none() {
            end_group(agent, pace);
            return 0;
        }
        self.end_where(pace, |table, keep| self.left_by(table, mark, agent, keep))
    }

    /// Ends what daemons of our store that are no more have left. Gives back how many processes
    /// that were.
    pub fn end_all_left(&self) -> usize {
        self.end_where(Pace::Gently, |table, keep| {
            let is_left = |mark: &String| self.daemon_in(mark).is_some_and(has_ended_here);
            let mut marked = marks(table, |_| true);
            marked.retain(|_, mark| is_left(mark));
            let below = |id: u32| table.line_of(id).any(|(above, _)| marked.contains_key(&above));
            let left = table.0.keys().copied().filter(|id| below(*id));
            left.filter(|id| !is_kept(table, *id, 0, keep)).collect()
        })
    }

    fn left_by(&self, table: &Table, mark: &str, agent: u32, keep: &[String]) -> Vec<u32> {
        let adopts = self.adopts.load(Ordering::Relaxed);
        // What we adopt is known by its ancestors, and nothing else is looked at. Before the lock
        // is taken, because a process that hangs in the kernel may keep us waiting here.
        let marks = marks(table, |entry| !adopts || entry.parent == std::process::id());
        let mut known = lock(&self.known);
        known.look(table);
        if adopts {
            known.bury(table);
            known.claim(table, mark, &marks, &self.detached);
            known.look(table);
        }
        let begun = known.agents.get(&agent).map_or(0, |agent| agent.at);
        // Its number may be another process's by now, and then its group is.
        let is_used_again = table.0.get(&agent).is_some_and(|entry| entry.start != begun);
        let is_its = |id: &u32| {
            let Some(entry) = table.0.get(id) else { return false };
            let seen = known.seen.get(&(*id, entry.start));
            !is_used_again && entry.group == agent && entry.start >= begun
                || *id == agent && !is_used_again
                || seen.is_some_and(|by| by == mark)
                || seen.is_none() && marks.get(id).is_some_and(|bears| bears == mark)
        };
        let is_other = |id: &u32| *id != agent && known.agents.contains_key(id);
        let its = table.0.keys().copied().filter(|id| is_its(id) && !is_other(id));
        let its: Vec<u32> = its.collect();
        drop(known);
        its.into_iter().filter(|id| !is_kept(table, *id, agent, keep)).collect()
    }

    /// Walks again as long as there is something to end: it may have started more meanwhile.
    fn end_where(&self, pace: Pace, left: impl Fn(&Table, &[String]) -> Vec<u32>) -> usize {
        let (keep, ourselves) = ((self.keep)(), std::process::id());
        let deadline = Instant::now() + LEAVE_MAX;
        let (mut asked, mut ended, mut walks) = (BTreeSet::new(), BTreeSet::new(), 0);
        while walks < WALKS_MAX {
            let Some(table) = Table::read() else { break };
            let is_alive = |id: &u32| table.0.get(id).is_some_and(|entry| !entry.is_zombie());
            let left = left(&table, &keep).into_iter();
            let left: Vec<u32> = left.filter(|id| *id != ourselves && is_alive(id)).collect();
            if left.is_empty() {
                break;
            }
            let is_patient = pace == Pace::Gently && Instant::now() < deadline;
            for id in left {
                if !is_patient {
                    signal(id, Signal::KILL);
                } else if asked.insert(id) {
                    signal(id, Signal::TERM);
                }
                ended.insert(id);
            }
            walks += usize::from(!is_patient);
            if pace == Pace::Gently {
                sleep(LEAVE_LOOK_EVERY);
            }
        }
        ended.len()
    }
}

impl Known {
    /// Remembers what is below an agent, or below what was; forgets what is no more.
    fn look(&mut self, table: &Table) {
        let mut seen = BTreeMap::new();
        for (id, entry) in &table.0 {
            let agent = |id: &u32, at: u64| self.agents.get(id).filter(|agent| agent.at == at);
            if agent(id, entry.start).is_some() {
                continue;
            }
            let by = table.line_of(*id).find_map(|(above, entry)| {
                let agent = agent(&above, entry.start).map(|agent| &agent.mark);
                agent.or_else(|| self.seen.get(&(above, entry.start)))
            });
            if let Some(by) = by {
                seen.insert((*id, entry.start), by.clone());
            }
        }
        // What is missing in a table need not be gone.
        let before = std::mem::replace(&mut self.seen, seen);
        let is_there = |(id, start): &(u32, u64)| {
            let elsewhere = || if table::IS_PARTIAL { table::entry(*id) } else { None };
            let entry = table.0.get(id).cloned().or_else(elsewhere);
            entry.is_some_and(|entry| entry.start == *start && !entry.is_zombie())
        };
        self.seen.extend(before.into_iter().filter(|(process, _)| is_there(process)));
    }

    /// What has become our child and was never seen below its agent is taken for one of this
    /// agent's, unless another one that runs may have started it.
    fn claim(
        &mut self,
        table: &Table,
        mark: &str,
        marks: &BTreeMap<u32, String>,
        detached: &Detached,
    ) {
        let Some(ourselves) = table.0.get(&std::process::id()) else { return };
        for (id, entry) in &table.0 {
            let is_child = entry.parent == std::process::id() && entry.group != ourselves.group;
            let is_known =
                self.agents.contains_key(id) || self.seen.contains_key(&(*id, entry.start));
            if !is_child
                || is_own_child(*id)
                || is_known
                || entry.is_zombie()
                || marks.contains_key(id)
            {
                continue;
            }
            let mut others = self.agents.values().filter(|agent| agent.mark != mark);
            if !others.any(|other| other.at <= entry.start) && !detached.contains(*id) {
                self.seen.insert((*id, entry.start), mark.to_owned());
            }
        }
    }

    /// Collects the exit codes of orphans that became our children. Those of agents are tokio's.
    fn bury(&self, table: &Table) {
        for (id, entry) in &table.0 {
            let is_ours = entry.parent == std::process::id() && !self.agents.contains_key(id);
            if is_ours && !is_own_child(*id) && entry.is_zombie() {
                let id = i32::try_from(*id).ok().and_then(Pid::from_raw);
                // It is no child of ours any more if somebody was quicker.
                let _ = id.map(|id| waitpid(Some(id), WaitOptions::NOHANG));
            }
        }
    }
}

/// The marks of processes, where they are wanted.
fn marks(table: &Table, is_wanted: impl Fn(&Entry) -> bool) -> BTreeMap<u32, String> {
    let alive = table.0.iter().filter(|(_, entry)| !entry.is_zombie() && is_wanted(entry));
    variables(alive.map(|(id, _)| *id), INSIDE)
}

fn signal(id: u32, signal: Signal) {
    if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // Fails if it has just ended, which is what is wanted.
        let _ = kill_process(id, signal);
    }
}

/// Where there is no table, nothing is known but the group.
fn end_group(agent: u32, pace: Pace) {
    let Some(group) = i32::try_from(agent).ok().and_then(Pid::from_raw) else { return };
    if pace == Pace::Gently && kill_process_group(group, Signal::TERM).is_ok() {
        let deadline = Instant::now() + LEAVE_MAX;
        while Instant::now() < deadline && rustix::process::test_kill_process_group(group).is_ok() {
            sleep(LEAVE_LOOK_EVERY);
        }
    }
    let _ = kill_process_group(group, Signal::KILL);
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
