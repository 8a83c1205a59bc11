//! What agents leave running. An agent is ended with its process group, but the commands that it
//! starts may have groups of their own (those of OpenCode 1.18 do), and an agent whose daemon was
//! killed may not notice it. All of them are known by a variable in their environment: it names the
//! daemon's process, and which of its agents it is.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub use legwork_client::process::INSIDE;
use legwork_client::process::process_mark;

/// Our own process, for good.
pub fn own_mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| process_mark(std::process::id()).unwrap_or_else(|| "unknown".to_owned()))
}

/// The mark of the next agent.
pub fn next_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", own_mark(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Ends what this agent has left. Gives back how many processes that were.
pub fn end_left_by(agent: &str) -> usize {
    end_where(|mark| mark == agent)
}

/// Ends what daemons that are no more have left. Gives back how many processes that were.
pub fn end_all() -> usize {
    use legwork_client::process::is_alive;
    end_where(|mark| mark.rsplit_once('-').is_some_and(|(daemon, _)| !is_alive(daemon)))
}

/// Walks again as long as there was something to end: it may have started more meanwhile.
#[cfg(target_os = "linux")]
fn end_where(is_left: impl Fn(&str) -> bool) -> usize {
    const WALKS_MAX: usize = 5;

    let mut ended = std::collections::BTreeSet::new();
    for _ in 0..WALKS_MAX {
        let before = ended.len();
        end_once(&is_left, &mut ended);
        if ended.len() == before {
            break;
        }
    }
    ended.len()
}

#[cfg(target_os = "linux")]
fn end_once(is_left: impl Fn(&str) -> bool, ended: &mut std::collections::BTreeSet<i32>) {
    use rustix::process::{Pid, Signal, kill_process};

    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    let ourselves = std::process::id().cast_signed();
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // Only our own user's can be read.
        let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
        if id == ourselves || !mark_in(&environment).is_some_and(&is_left) {
            continue;
        }
        if Pid::from_raw(id).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok()) {
            ended.insert(id);
        }
    }
}

/// Elsewhere no environment can be read; the group and the closed stdin have to do.
#[cfg(not(target_os = "linux"))]
fn end_where(_: impl Fn(&str) -> bool) -> usize {
    0
}

#[cfg(target_os = "linux")]
fn mark_in(environment: &[u8]) -> Option<&str> {
    let mut variables = environment.split(|byte| *byte == 0);
    let mark = variables
        .find_map(|variable| variable.strip_prefix(INSIDE.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(mark).ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn cat(mark: &str) -> std::process::Child {
        let mut cat = Command::new("cat");
        cat.env(INSIDE, mark).stdin(Stdio::piped()).process_group(0).spawn().unwrap()
    }

    #[test]
    fn what_a_dead_daemon_left_is_ended_and_what_a_living_one_has_is_not() {
        let gone = format!("{}-1-00000000-7", std::process::id());
        let (mut orphan, mut kept) = (cat(&gone), cat(&next_mark()));
        assert!(end_all() >= 1);
        assert!(!orphan.wait().unwrap().success(), "it was killed");
        drop(kept.stdin.take());
        assert!(kept.wait().unwrap().success(), "it ended by itself");
    }

    #[test]
    fn what_one_agent_left_is_ended_and_another_ones_is_not() {
        let (one, other) = (next_mark(), next_mark());
        let (mut left, mut kept) = (cat(&one), cat(&other));
        assert_eq!(end_left_by(&one), 1);
        assert!(!left.wait().unwrap().success(), "it was killed");
        drop(kept.stdin.take());
        assert!(kept.wait().unwrap().success(), "it ended by itself");
    }

    #[test]
    fn a_variable_that_only_looks_like_it_is_none() {
        assert_eq!(mark_in(b"A=1\0LEGWORK_INSIDE=7-8-9\0B=2"), Some("7-8-9"));
        assert_eq!(mark_in(b"A=1\0LEGWORK_INSIDES=7\0X_LEGWORK_INSIDE=7"), None);
        assert_eq!(mark_in(b""), None);
    }
}
