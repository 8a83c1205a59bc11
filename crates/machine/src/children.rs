//! Processes that this one has started and waits for itself. Whoever collects the exit codes of
//! orphans leaves those alone.

use std::collections::BTreeSet;
use std::io;
use std::process::Child;
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process};

use crate::lock;

static OWN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A process that nobody else waits for, for as long as this value lives.
#[derive(Debug)]
pub struct OwnChild {
    pub child: Child,
    id: u32,
}

impl OwnChild {
    /// Under the lock, so that nobody sees the process before it is known.
    pub fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Self> {
        let mut own = lock(&OWN);
        let child = spawn()?;
        let id = child.id();
        own.insert(id);
        Ok(Self { child, id })
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        lock(&OWN).remove(&self.id);
    }
}

/// Ends all of them. Each still has its number, because nobody has waited for it yet or its owner
/// is about to.
pub fn end_all() {
    for id in lock(&OWN).iter() {
        if let Some(id) = i32::try_from(*id).ok().and_then(Pid::from_raw) {
            // Fails if it has just ended.
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

pub fn is_own_child(id: u32) -> bool {
    lock(&OWN).contains(&id)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_known_until_it_is_let_go() {
        let mut own = OwnChild::start(|| Command::new("true").spawn()).unwrap();
        let id = own.child.id();
        assert!(is_own_child(id));
        own.child.wait().unwrap();
        drop(own);
        assert!(!is_own_child(id));
    }
}
