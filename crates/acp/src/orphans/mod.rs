//! Processes that agents start and leave running. They end with their agent: SIGTERM first, then
//! SIGKILL. Services that others use as well are kept.
//!
//! Which process is whose is known by its group, by a variable in its environment, and by its
//! ancestors: the daemon is the subreaper of all that it starts, so an orphan becomes a child of
//! the daemon and cannot get out of sight. (On Linux. Elsewhere there are no subreapers: a process
//! that is orphaned between two scans and hides its variables, as Apple's own programs do, is not
//! found. Without a process table only the group is ended.)

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
use crate::limits::{LEAVE_LOOK_EVERY, LEAVE_MAX, SCAN_EVERY, WALKS_MAX};

/// Names that are kept, read when they are needed.
pub type Keep = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// The identity of this process.
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

/// How the processes that an agent has left are ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// SIGTERM, and SIGKILL after a moment.
    Gently,
    /// SIGKILL, because nobody can wait.
    AtOnce,
}

/// All agents of this process, and what they have started.
pub struct ProcessTree {
    /// The identity of this process and the name of its store, with which every mark begins.
    own: String,
    store: String,
    next: AtomicU64,
    is_subreaper: AtomicBool,
    keep: Keep,
    /// Children of this process that no agent has started.
    detached: Arc<Detached>,
    known: Mutex<Ancestry>,
    started: Notify,
}

#[derive(Default)]
struct Ancestry {
    /// The agents' own processes. Their exit codes are collected elsewhere.
    agents: BTreeMap<u32, Started>,
    /// Descendants of an agent by process id and start time, with that agent's mark.
    seen: BTreeMap<(u32, u64), String>,
}

struct Started {
    mark: String,
    at: u64,
}

impl ProcessTree {
    pub fn new(store: &Path, keep: Keep, detached: Arc<Detached>) -> Arc<Self> {
        let store = store_name(store);
        let own = format!("{}-{store}", own_mark());
        Arc::new(Self {
            own,
            store,
            next: AtomicU64::new(0),
            is_subreaper: AtomicBool::new(false),
            keep,
            detached,
            known: Mutex::default(),
            started: Notify::new(),
        })
    }

    /// For a command that starts agents to look at them, and keeps the default services.
    pub fn of_command(store: &Path) -> Arc<Self> {
        Self::new(store, Box::new(|| KEPT.map(str::to_owned).to_vec()), Arc::default())
    }

    /// Makes orphans children of this process from now on. The caller has no children but agents in
    /// process groups of their own.
    pub fn become_subreaper(&self) {
        #[cfg(target_os = "linux")]
        if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
            self.is_subreaper.store(true, Ordering::Relaxed);
        }
    }

    /// True if this is the mark of an agent of our store, also of an earlier daemon.
    pub fn is_mark(&self, mark: &str) -> bool {
        self.daemon_in(mark).is_some()
    }

    /// The daemon's identity in the mark of an agent of our store.
    fn daemon_in<'a>(&self, mark: &'a str) -> Option<&'a str> {
        let (daemon, _) = mark.rsplit_once('-')?;
        let (daemon, store) = daemon.rsplit_once('-')?;
        (store == self.store).then_some(daemon)
    }

    /// Starts an agent under a new mark. The lock is held, so that no scan takes the new process
    /// for an orphan.
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

    /// Removes an agent whose process has ended and was waited for.
    pub fn forget(&self, agent: u32) {
        lock(&self.known).agents.remove(&agent);
    }

    /// Scans at intervals while agents run, and whenever a child has ended. Never returns.
    pub async fn tend(self: Arc<Self>) {
        let Ok(mut children) = listen(SignalKind::child()) else { return };
        loop {
            let is_busy = self.is_busy();
            // Without a subreaper there is nothing to reap, and a scan that starts a child (`ps`)
            // would be the reason for the next scan.
            let reaps = self.is_subreaper.load(Ordering::Relaxed);
            tokio::select! {
                _ = children.recv(), if reaps => {}
                () = self.started.notified(), if !is_busy => {}
                () = tokio::time::sleep(SCAN_EVERY), if is_busy => {}
            }
            let processes = self.clone();
            let _ = spawn_blocking(move || processes.scan()).await;
        }
    }

    fn is_busy(&self) -> bool {
        !lock(&self.known).agents.is_empty()
    }

    /// Records the ancestors of processes before those end, and reaps orphans.
    pub fn scan(&self) {
        if let Some(table) = Table::below(std::process::id()) {
            let mut known = lock(&self.known);
            known.record(&table);
            if self.is_subreaper.load(Ordering::Relaxed) {
                known.reap(&table);
            }
        }
    }

    /// Ends the processes of this agent, and the agent itself if it still runs. Returns how many.
    pub fn end_left_by(&self, mark: &str, agent: u32, pace: Pace) -> usize {
        if cfg!(not(target_os = "linux")) && Table::read().is_none() {
            end_group(agent, pace);
            return 0;
        }
        self.end_where(pace, |table, keep| self.left_by(table, mark, agent, keep))
    }

    /// Kills processes left behind by dead daemons of this store. Returns how many.
    pub fn end_all_left(&self) -> usize {
        self.end_where(Pace::Gently, |table, keep| {
            let is_left = |mark: &String| self.daemon_in(mark).is_some_and(has_ended_here);
            let mut marked = marks(table, |_| true);
            marked.retain(|_, mark| is_left(mark));
            let below = |id: u32| table.line_of(id).any(|(above, _)| marked.contains_key(&above));
            table
                .0
                .keys()
                .copied()
                .filter(|id| below(*id) && !is_kept(table, *id, 0, keep))
                .collect()
        })
    }

    fn left_by(&self, table: &Table, mark: &str, agent: u32, keep: &[String]) -> Vec<u32> {
        let is_subreaper = self.is_subreaper.load(Ordering::Relaxed);
        // A subreaper knows processes by their ancestors, and reads the variables of orphans only.
        // They are read before the lock is taken, because a process that hangs in the kernel blocks
        // the read.
        let marks = marks(table, |entry| !is_subreaper || entry.parent == std::process::id());
        let mut known = lock(&self.known);
        known.record(table);
        if is_subreaper {
            known.reap(table);
            known.attribute(table, mark, &marks, &self.detached);
            known.record(table);
        }
        let begun = known.agents.get(&agent).map_or(0, |agent| agent.at);
        // The agent's process id may belong to another process by now, and then its group does too.
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
        let mut its: Vec<u32> =
            table.0.keys().copied().filter(|id| is_its(id) && !is_other(id)).collect();
        drop(known);
        its.retain(|id| !is_kept(table, *id, agent, keep));
        its
    }

    /// Repeats as long as there is something to end, because it may have started more meanwhile.
    fn end_where(&self, pace: Pace, left: impl Fn(&Table, &[String]) -> Vec<u32>) -> usize {
        let keep = (self.keep)();
        let deadline = Instant::now() + LEAVE_MAX;
        let mut asked = BTreeSet::new();
        let mut ended = BTreeSet::new();
        let mut walks = 0;
        while walks < WALKS_MAX {
            let Some(table) = Table::read() else { break };
            let is_alive = |id: &u32| table.0.get(id).is_some_and(|entry| !entry.is_zombie());
            let mut left = left(&table, &keep);
            left.retain(|id| *id != std::process::id() && is_alive(id));
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

impl Ancestry {
    /// Records the descendants of live and recently exited agents, and drops entries of dead
    /// processes.
    fn record(&mut self, table: &Table) {
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
        // A process that is missing in a partial table may be alive.
        let before = std::mem::replace(&mut self.seen, seen);
        let is_there = |(id, start): &(u32, u64)| {
            let elsewhere = || if table::IS_PARTIAL { table::entry(*id) } else { None };
            let entry = table.0.get(id).cloned().or_else(elsewhere);
            entry.is_some_and(|entry| entry.start == *start && !entry.is_zombie())
        };
        self.seen.extend(before.into_iter().filter(|(process, _)| is_there(process)));
    }

    /// Attributes orphans without a recorded ancestor to this agent, unless another agent that runs
    /// may have started them.
    fn attribute(
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

    /// Collects the exit codes of orphans that became our children. Tokio collects those of agents.
    fn reap(&self, table: &Table) {
        for (id, entry) in &table.0 {
            let is_ours = entry.parent == std::process::id() && !self.agents.contains_key(id);
            if is_ours && !is_own_child(*id) && entry.is_zombie() {
                let id = i32::try_from(*id).ok().and_then(Pid::from_raw);
                // This fails if the exit code was collected meanwhile.
                let _ = id.map(|id| waitpid(Some(id), WaitOptions::NOHANG));
            }
        }
    }
}

/// The marks in the environments of these processes.
fn marks(table: &Table, is_wanted: impl Fn(&Entry) -> bool) -> BTreeMap<u32, String> {
    let alive = table.0.iter().filter(|(_, entry)| !entry.is_zombie() && is_wanted(entry));
    variables(alive.map(|(id, _)| *id), INSIDE)
}

fn signal(id: u32, signal: Signal) {
    if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // This fails if the process has just ended.
        let _ = kill_process(id, signal);
    }
}

/// Ends the agent's process group, for systems without a process table.
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
