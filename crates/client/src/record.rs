//! The record of the running daemon. It stands in the store's lock file, so that whoever finds the
//! store finds the daemon, however the environment names the socket's folder.
//!
//! The lock says whether there is a daemon, the record only which one: a record whose lock is free
//! is that of a daemon that is no more.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use legwork_machine::process::{Effort, is_alive, process_mark};
use legwork_machine::{STORE_LOCK, hash8};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// A path, a few numbers and a version; a file of more bytes is none of ours.
const RECORD_MAX_BYTES: u64 = 16 << 10;
/// A daemon that is told to end does so within 2 s.
const FAREWELL: Duration = Duration::from_secs(10);
/// One that did not answer before is given so long. A kill costs it nothing that is saved.
const FAREWELL_OF_SILENT: Duration = Duration::from_secs(4);
/// The same for one that does nothing even then.
const FAREWELL_OF_IDLE: Duration = Duration::from_secs(1);

/// The daemon that holds a store's lock, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub pid: u32,
    /// The same for good, as [`process_mark`] gives it.
    pub mark: String,
    pub build: String,
    /// The version of the line format that it speaks.
    pub lines: u32,
    /// Where it listens; nothing while it starts.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// The number of that file, which no other has while the daemon listens; 0 if it is not known.
    #[serde(default)]
    pub inode: u64,
    #[serde(default)]
    pub leaving: bool,
    /// Helpers that end with it.
    #[serde(default)]
    pub at_work: usize,
}

/// What the lock of a store says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    Nobody,
    /// One has. Without a record it has only just begun, or it is of a legwork that wrote none.
    Daemon(Option<Record>),
}

impl Record {
    /// The record of this very process, which does not listen yet.
    pub fn of_this_process(build: &str, lines: u32) -> Self {
        Self::of_process(std::process::id(), build, lines)
    }

    pub(crate) fn of_process(pid: u32, build: &str, lines: u32) -> Self {
        let mark = process_mark(pid).unwrap_or_default();
        let build = build.to_owned();
        Self { pid, mark, build, lines, socket: None, inode: 0, leaving: false, at_work: 0 }
    }

    /// As it is written down: a line, and a line that says whether the first one is whole.
    pub fn text(&self) -> String {
        // Numbers and texts; a path that is no text was refused before.
        let line = serde_json::to_string(self).unwrap_or_default();
        format!("{line}\n{}\n", hash8(line.as_bytes()))
    }

    /// Nothing if the record is not whole, because it is just being written.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (line, check) = (lines.next()?, lines.next()?);
        (hash8(line.as_bytes()) == check).then(|| serde_json::from_str(line).ok()).flatten()
    }

    /// Whether its process is one of this machine's, or of this container's, and runs. What is not
    /// known for certain is not.
    pub fn is_process_here(&self) -> bool {
        process_mark(self.pid).is_some_and(|mark| mark == self.mark)
    }

    /// Has the daemon look whether its socket is still there.
    pub(crate) fn nudge(&self) {
        self.signal(Signal::HUP);
    }

    /// Ends a daemon that does not answer: one that hangs hears no signal but the last.
    pub fn end(&self, store: &Path) -> Result<(), Fault> {
        self.signal(Signal::TERM);
        // One that was stopped by a signal hears nothing else before.
        self.signal(Signal::CONT);
        let effort = Effort::so_far(self.pid);
        let mut ended = self.wait_for(store, FAREWELL_OF_IDLE);
        if matches!(ended, Err(Fault::StillThere { .. })) && effort.has_grown(self.pid) {
            ended = self.wait_for(store, FAREWELL_OF_SILENT);
        }
        if !matches!(ended, Err(Fault::StillThere { .. })) {
            return ended;
        }
        self.signal(Signal::KILL);
        self.wait_for_end(store)
    }

    /// Waits until this daemon, which was told to end, has: its process, or where we do not see
    /// that, its hold on the store.
    pub(crate) fn wait_for_end(&self, store: &Path) -> Result<(), Fault> {
        self.wait_for(store, FAREWELL)
    }

    fn wait_for(&self, store: &Path, at_most: Duration) -> Result<(), Fault> {
        let deadline = Instant::now() + at_most;
        let is_here = self.is_process_here();
        loop {
            let is_there = if is_here { is_alive(&self.mark) } else { self.holds(store)? };
            if !is_there {
                return Ok(());
            }
            if Instant::now() > deadline {
                let (pid, seconds, store) = (self.pid, at_most.as_secs(), store.to_owned());
                return Err(if is_here {
                    Fault::StillThere { pid, seconds }
                } else {
                    Fault::Elsewhere { pid, store }
                });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn holds(&self, store: &Path) -> Result<bool, Fault> {
        Ok(match holder(store)? {
            Holder::Daemon(Some(now)) => (now.pid, &now.mark) == (self.pid, &self.mark),
            Holder::Daemon(None) | Holder::Nobody => false,
        })
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid.cast_signed());
        if let Some(pid) = pid.filter(|_| self.is_process_here()) {
            // It fails if the process has just ended, which is looked at afterwards.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Who has the store in this folder open.
pub fn holder(store: &Path) -> Result<Holder, Fault> {
    let path = store.join(STORE_LOCK);
    let fault = |source| Fault::Lock { path: path.clone(), source };
    let mut lock = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
        opened => opened.map_err(fault)?,
    };
    // For a moment only, in which a daemon that starts tries again.
    match lock.try_lock_shared() {
        Ok(()) => return Ok(Holder::Nobody),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(fault(error)),
    }
    let mut text = Vec::new();
    lock.by_ref().take(RECORD_MAX_BYTES).read_to_end(&mut text).map_err(fault)?;
    Ok(Holder::Daemon(Record::read(&String::from_utf8_lossy(&text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let mut record = Record::of_this_process("1.2.3", 7);
        record.socket = Some("/run/a b/ü.sock".into());
        record
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_torn_one_not_at_all() {
        let text = record().text();
        assert_eq!(Record::read(&text), Some(record()));
        // Shorter than the one before it, whose end is still there.
        assert_eq!(Record::read(&format!("{text}rest of an older one\n")), Some(record()));
        for end in 0..text.len() - 1 {
            let torn = text.get(..end).unwrap_or_default();
            assert_eq!(Record::read(torn), None, "{torn}");
        }
        let newer = text.replace(":7", ":8");
        assert_eq!(Record::read(&newer), None, "half old, half new");
    }

    #[test]
    fn p9_a_record_of_another_version_is_understood() {
        let line = r#"{"pid":1,"mark":"1-2-3","build":"9.0.0","lines":99,"more":[1]}"#;
        let read = Record::read(&format!("{line}\n{}\n", hash8(line.as_bytes()))).unwrap();
        assert_eq!((read.pid, read.lines, read.socket), (1, 99, None));
    }

    #[test]
    fn p9_a_record_counts_only_while_its_lock_is_held() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(holder(store.path()).unwrap(), Holder::Nobody);
        let path = store.path().join(STORE_LOCK);
        std::fs::write(&path, record().text()).unwrap();
        assert_eq!(holder(store.path()).unwrap(), Holder::Nobody);
        let lock = File::open(&path).unwrap();
        lock.lock().unwrap();
        assert_eq!(holder(store.path()).unwrap(), Holder::Daemon(Some(record())));
        std::fs::write(&path, "").unwrap();
        assert_eq!(holder(store.path()).unwrap(), Holder::Daemon(None));
        drop(lock);
        assert_eq!(holder(store.path()).unwrap(), Holder::Nobody);
    }

    #[test]
    fn p9_a_process_number_that_is_used_again_is_not_the_daemon() {
        let mut other = record();
        assert!(other.is_process_here());
        other.mark = format!("{}-1-00000000", other.pid);
        assert!(!other.is_process_here());
        // Would end this test.
        other.signal(Signal::TERM);
    }
}
