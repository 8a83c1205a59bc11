//! Which process is which. A process number is used again after a while, and containers count for
//! themselves; together with the moment at which the process began, the boot that this happened in
//! and the PID namespace that counts, it is one process for good.

use std::collections::BTreeSet;
use std::sync::Mutex;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

use crate::{lock, table};

/// Every agent that the daemon starts has this variable, and what an agent starts. A legwork inside
/// of it offers no tools, so that helpers have no helpers of their own.
pub const INSIDE: &str = "LEGWORK_INSIDE";

/// The name of a host that is a process: its kind, the process's mark, and something of its own,
/// because one process may be several hosts.
pub fn host_name(kind: &str, mark: &str, own: &str) -> String {
    format!("{kind}-{mark}-{own}")
}

/// Extracts the process's mark from the name of a host, if the name has one. [`is_alive`] never
/// counts a text that is no mark as dead.
pub fn mark_in(host: &str) -> Option<&str> {
    let (_, rest) = host.split_once('-')?;
    rest.rsplit_once('-').map(|(mark, _)| mark)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Mark(String),
    /// There is no such process, or only its exit code is left.
    Ended,
    Unknown,
}

/// The mark of a running process: `{pid}-{start}-{boot}.{namespace}`; elsewhere than on Linux there
/// are no namespaces. Nothing if it does not run.
pub fn process_mark(pid: u32) -> Option<String> {
    match look(pid) {
        Seen::Mark(mark) => Some(mark),
        Seen::Ended | Seen::Unknown => None,
    }
}

/// True if the process with this mark is alive. Unknown counts as alive, because callers abandon
/// the work of a dead process. A process in another PID namespace is unknown: our process table
/// does not show it.
pub fn is_alive(mark: &str) -> bool {
    let Some((pid, world)) = pid_and_world(mark) else { return true };
    match whose(world) {
        Whose::Ours => !is_over(pid, mark),
        Whose::EarlierBoot => false,
        Whose::Unknown => true,
    }
}

/// Whether a process was stopped by a signal: it is there, and does nothing until it is told to.
pub fn is_suspended(pid: u32) -> bool {
    table::entry(pid).is_some_and(|entry| entry.state == 'T')
}

/// What a process has done so far, to see later whether it does anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort(Option<u64>);

impl Effort {
    pub fn so_far(pid: u32) -> Self {
        Self(table::used(pid))
    }

    /// Whether the process has done something since, wants to, or waits for a disk. One that does
    /// not, though somebody waits for it, hangs. In doubt it has.
    pub fn has_grown(self, pid: u32) -> bool {
        let waits = table::entry(pid).is_none_or(|entry| matches!(entry.state, 'R' | 'D'));
        waits || self.0.is_none() || Self::so_far(pid) != self
    }
}

/// Whether this mark is that of a process of this boot and PID namespace which runs no more. Unlike
/// what [`is_alive`] says, in doubt it is not.
pub fn has_ended_here(mark: &str) -> bool {
    let of = pid_and_world(mark);
    of.is_some_and(|(pid, world)| whose(world) == Whose::Ours && is_over(pid, mark))
}

/// The process number in a mark, if it is one of our own process table.
pub fn pid_here(mark: &str) -> Option<u32> {
    let (pid, world) = pid_and_world(mark)?;
    (whose(world) == Whose::Ours).then_some(pid)
}

/// Sends a signal to the very process with this mark, if it still runs.
pub fn signal(mark: &str, signal: Signal) {
    let running = pid_here(mark).filter(|pid| process_mark(*pid).as_deref() == Some(mark));
    if let Some(pid) = running.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
        // It may end in this very moment, which is what is wanted.
        let _ = kill_process(pid, signal);
    }
}

/// Processes below us that are on their own: what they do is not done by what we started them for.
#[derive(Debug, Default)]
pub struct Detached(Mutex<BTreeSet<String>>);

impl Detached {
    pub fn insert(&self, pid: u32) {
        let mut marks = lock(&self.0);
        marks.retain(|mark| is_alive(mark));
        marks.extend(process_mark(pid));
    }

    pub fn contains(&self, pid: u32) -> bool {
        let marks = lock(&self.0);
        !marks.is_empty() && process_mark(pid).is_some_and(|mark| marks.contains(&mark))
    }
}

fn pid_and_world(mark: &str) -> Option<(u32, &str)> {
    let mut parts = mark.split('-');
    let pid = parts.next()?.parse().ok()?;
    let (_, world) = (parts.next()?, parts.next()?);
    parts.next().is_none().then_some((pid, world))
}

/// Whether it is not the process that has this number now. Marks of legwork 0.1 named no namespace.
fn is_over(pid: u32, mark: &str) -> bool {
    match look(pid) {
        Seen::Mark(now) => now != mark && now.split_once('.').is_none_or(|(now, _)| now != mark),
        Seen::Ended => true,
        Seen::Unknown => false,
    }
}

/// Whose process numbers a mark speaks of.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has namespaces"))]
enum Whose {
    Ours,
    EarlierBoot,
    /// Those of another container, or it cannot be told.
    Unknown,
}

#[cfg(target_os = "linux")]
fn whose(world: &str) -> Whose {
    let Some(here) = here() else { return Whose::Unknown };
    let (boot, namespace) = world.split_once('.').unzip();
    let (our_boot, our_namespace) = here.split_once('.').unwrap_or_default();
    if boot.unwrap_or(world) != our_boot {
        Whose::EarlierBoot
    } else if namespace.is_some_and(|namespace| namespace != our_namespace) {
        Whose::Unknown
    } else {
        Whose::Ours
    }
}

#[cfg(not(target_os = "linux"))]
fn whose(_: &str) -> Whose {
    Whose::Ours
}

/// The boot and the PID namespace of the process table. Nothing if there is none, or if it is that
/// of another namespace than ours: a container may have been given its host's `/proc`.
#[cfg(target_os = "linux")]
fn here() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let ourselves = std::fs::read_link("/proc/self").ok()?;
    if ourselves.to_str()?.parse() != Ok(std::process::id()) {
        return None;
    }
    // As in `pid:[4026531836]`.
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let digits = namespace.to_str()?.chars().filter(char::is_ascii_digit);
    let (boot, number) = (boot.chars().take(8), digits.collect::<String>());
    Some(format!("{}.{:x}", boot.collect::<String>(), number.parse::<u64>().ok()?))
}

#[cfg(target_os = "linux")]
fn look(pid: u32) -> Seen {
    // First, so that a system without this folder is told from a process that ended.
    let Some(here) = here() else { return Seen::Unknown };
    let Ok(stat) = crate::proc::stat(pid) else { return Seen::Ended };
    match crate::proc::parse(&stat) {
        None => Seen::Unknown,
        Some(entry) if entry.is_zombie() => Seen::Ended,
        Some(entry) => Seen::Mark(format!("{pid}-{}-{here}", entry.start)),
    }
}

#[cfg(not(target_os = "linux"))]
fn look(pid: u32) -> Seen {
    match crate::ps::known(pid) {
        None => Seen::Unknown,
        Some(None) => Seen::Ended,
        Some(Some(entry)) if entry.is_zombie() => Seen::Ended,
        // It began at a date, so the boot need not be told.
        Some(Some(entry)) => Seen::Mark(format!("{pid}-{}-0", entry.start)),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_running_process_is_alive_under_its_mark_and_no_other() {
        let pid = std::process::id();
        let mark = process_mark(pid).unwrap();
        assert!(mark.starts_with(&format!("{pid}-")));
        assert!(is_alive(&mark));
        assert!(!is_alive(&format!("{pid}-1-00000000")));
    }

    #[test]
    fn an_ended_process_is_not_alive_even_before_it_is_reaped() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let mark = process_mark(pid).unwrap();
        drop(child.stdin.take());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(180);
        while is_alive(&mark) {
            assert!(std::time::Instant::now() < deadline, "still alive as a zombie");
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!is_alive(&mark));
        assert_eq!(process_mark(pid), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn p9_a_process_that_only_waits_is_told_from_one_that_works() {
        let spawn = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
        };
        let (mut works, mut waits) = (spawn("while :; do :; done"), spawn("echo; read line"));
        // It has begun to wait when it has said so, or soon after.
        std::io::Read::read_exact(waits.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(180);
        while Effort::so_far(waits.id()).has_grown(waits.id()) {
            assert!(std::time::Instant::now() < deadline, "it waits");
        }
        assert!(Effort::so_far(works.id()).has_grown(works.id()));
        for process in [&mut works, &mut waits] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        assert!(Effort(None).has_grown(std::process::id()), "in doubt");
    }

    #[test]
    fn what_is_no_mark_is_not_taken_for_dead() {
        for text in ["", "x", "1", "1-2", "1-2-3-4", "x-2-3"] {
            assert!(is_alive(text) && !has_ended_here(text), "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn k5_a_process_of_another_namespace_is_never_taken_for_dead() {
        let pid = std::process::id();
        let mark = process_mark(pid).unwrap();
        let (here, _) = mark.rsplit_once('.').unwrap();
        let (_, boot) = here.rsplit_once('-').unwrap();
        // One that has our number there, and one whose number nobody has here.
        for elsewhere in [format!("{here}.1"), format!("{}-7-{boot}.1", u32::MAX)] {
            assert!(is_alive(&elsewhere), "{elsewhere}");
            assert!(!has_ended_here(&elsewhere) && pid_here(&elsewhere).is_none());
        }
        let gone = format!("{pid}-1-{}", mark.rsplit_once('-').unwrap().1);
        assert!(!is_alive(&gone) && has_ended_here(&gone), "{gone}");
        let earlier = format!("{pid}-1-00000000.1");
        assert!(!is_alive(&earlier) && !has_ended_here(&earlier));
        assert_eq!(pid_here(&mark), Some(pid));
        assert!(is_alive(here), "marks of legwork 0.1 name no namespace");
    }
}
