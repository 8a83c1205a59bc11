//! A program that could not be the daemon of a store. A newer legwork has the running daemon make
//! way; one whose own daemon then cannot start would do so again with every command, and end what
//! works each time. So the failure is noted, and for a while that program takes nobody's place.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use legwork_machine::epoch_ms;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::note;

/// Beside the note of the newest program.
const FILE: &str = "failed.json";
/// The reason may be gone by then, and to end a daemon that works once in so long is no harm.
const COUNTS_FOR: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failed {
    program: PathBuf,
    /// What its file was like: one that is installed again is another.
    file: String,
    at_ms: u64,
}

impl Failed {
    /// Notes that a daemon of this program ended as soon as it was started. One that somebody ended
    /// might have worked.
    pub fn note(store: &Path, program: &Path, how: Option<ExitStatus>) {
        let by_hand = [Signal::TERM, Signal::KILL, Signal::INT, Signal::HUP];
        let signal = how.and_then(|how| how.signal()).and_then(Signal::from_named_raw);
        if signal.is_some_and(|signal| by_hand.contains(&signal)) {
            return;
        }
        let Some(file) = file(program) else { return };
        let failed = Self { program: program.to_owned(), file, at_ms: epoch_ms() };
        // Without a note it is tried once more, which is what was done before there were any.
        let _ = note::write(store, FILE, &failed);
    }

    /// Whether a daemon of this program, as it is now, has failed lately.
    pub fn is(store: &Path, program: &Path) -> bool {
        Self::read(store).is_some_and(|failed| failed.is_of(program) && failed.counts(epoch_ms()))
    }

    /// A daemon of this program lives.
    pub fn forget(store: &Path, program: &Path) {
        if Self::read(store).is_some_and(|failed| failed.program == program) {
            // It does not count for long anyway.
            let _ = fs::remove_file(store.join(FILE));
        }
    }

    fn read(store: &Path) -> Option<Self> {
        note::read(store, FILE)
    }

    fn is_of(&self, program: &Path) -> bool {
        self.program == program && file(program).is_some_and(|now| now == self.file)
    }

    /// A clock that was set back says nothing.
    fn counts(&self, now_ms: u64) -> bool {
        let ago = now_ms.checked_sub(self.at_ms).map(Duration::from_millis);
        ago.is_some_and(|ago| ago < COUNTS_FOR)
    }
}

fn file(program: &Path) -> Option<String> {
    let file = fs::metadata(program).ok()?;
    Some(format!("{} {} {}.{}", file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_a_program_that_failed_is_known_until_it_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let (store, program) = (folder.path(), folder.path().join("legwork"));
        fs::write(&program, "1").unwrap();
        assert!(!Failed::is(store, &program));
        Failed::note(store, &program, Some(ExitStatus::from_raw(1 << 8)));
        assert!(Failed::is(store, &program));
        assert!(!Failed::is(store, &store.join("other")));
        // Another one that lives says nothing of it.
        Failed::forget(store, &store.join("other"));
        assert!(Failed::is(store, &program));
        fs::write(&program, "22").unwrap();
        assert!(!Failed::is(store, &program), "it was installed again");
        Failed::note(store, &program, None);
        assert!(Failed::is(store, &program));
        Failed::forget(store, &program);
        assert!(!Failed::is(store, &program));
        let left: Vec<_> = fs::read_dir(store).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["legwork"]);
    }

    #[test]
    fn k4_a_note_that_cannot_be_written_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (store, program) = (folder.path(), folder.path().join("legwork"));
        fs::write(&program, "1").unwrap();
        fs::create_dir_all(store.join(FILE).join("in the way")).unwrap();
        Failed::note(store, &program, None);
        let left: Vec<_> = fs::read_dir(store).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn i3_a_failure_counts_for_a_while_and_no_end_by_hand_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let (store, program) = (folder.path(), folder.path().join("legwork"));
        fs::write(&program, "1").unwrap();
        for signal in [Signal::TERM, Signal::KILL] {
            Failed::note(store, &program, Some(ExitStatus::from_raw(signal.as_raw())));
            assert!(!Failed::is(store, &program), "{signal:?}");
        }
        Failed::note(store, &program, Some(ExitStatus::from_raw(Signal::ILL.as_raw())));
        let failed = Failed::read(store).unwrap();
        let while_ms = u64::try_from(COUNTS_FOR.as_millis()).unwrap();
        assert!(failed.counts(failed.at_ms) && failed.counts(failed.at_ms + while_ms - 1));
        assert!(!failed.counts(failed.at_ms + while_ms) && !failed.counts(failed.at_ms - 1));
        for text in ["", "{", "[]"] {
            fs::write(store.join(FILE), text).unwrap();
            assert!(!Failed::is(store, &program), "{text}");
        }
    }
}
