//! Agents whose daemon was killed. They see their stdin closed and end; what does not, or was
//! started by one and left behind, is ended by the next daemon. They are known by a variable in
//! their environment that names the daemon's process.

use std::sync::OnceLock;

use legwork_client::INSIDE;
use legwork_client::process::process_mark;

/// Our own process, for good.
pub fn own_mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| process_mark(std::process::id()).unwrap_or_else(|| "unknown".to_owned()))
}

/// Ends what daemons that are no more have left. Gives back how many processes that were.
#[cfg(target_os = "linux")]
pub fn end_all() -> usize {
    use legwork_client::process::is_alive;
    use rustix::process::{Pid, Signal, kill_process};

    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let ourselves = rustix::process::getpid();
    let mut ended = 0;
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // Only our own user's can be read.
        let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
        let is_orphan = mark_in(&environment).is_some_and(|mark| !is_alive(mark));
        if let (true, Some(id)) = (is_orphan, Pid::from_raw(id).filter(|id| *id != ourselves)) {
            ended += usize::from(kill_process(id, Signal::KILL).is_ok());
        }
    }
    ended
}

/// Elsewhere no environment can be read; the closed stdin has to do.
#[cfg(not(target_os = "linux"))]
pub fn end_all() -> usize {
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
    use std::process::{Command, Stdio};

    use super::*;

    fn cat(mark: &str) -> std::process::Child {
        Command::new("cat").env(INSIDE, mark).stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn what_a_dead_daemon_left_is_ended_and_what_a_living_one_has_is_not() {
        let gone = format!("{}-1-00000000", std::process::id());
        let (mut orphan, mut kept) = (cat(&gone), cat(own_mark()));
        assert!(end_all() >= 1);
        assert!(!orphan.wait().unwrap().success(), "it was killed");
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
