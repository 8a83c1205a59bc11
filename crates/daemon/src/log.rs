//! The daemon's log: one file that only its user can read, cut into pieces of a megabyte. A line is
//! a time, a level and words. Prompts and results never get here.
//!
//! A line that cannot be written is not worth ending for, and is passed over.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use legwork_machine::{create_folder, lock, private_file, protect};
use legwork_protocol::Time;
use legwork_protocol::refusal::plain;

use crate::clock::wall;
use crate::fault::Fault;
use crate::limits::{LOG_LINE_MAX_CHARS, LOG_MAX_BYTES, OLD_LOGS, PEER_LINES_A_MINUTE};

const MINUTE_MS: u64 = 60_000;

/// The log. Clones write into the same file.
#[derive(Debug, Clone)]
pub struct Log(Arc<Mutex<Pages>>);

#[derive(Debug)]
struct Pages {
    path: PathBuf,
    file: File,
    bytes: u64,
    also_stderr: bool,
    quota: Quota,
}

impl Log {
    /// Goes on with the log in this file, and makes it and its folder if they are not there.
    pub fn open(path: &Path, also_stderr: bool) -> Result<Self, Fault> {
        if let Some(folder) = path.parent() {
            create_folder(folder).map_err(Fault::file("create the folder", folder))?;
        }
        let file = private(path).map_err(Fault::file("open the log", path))?;
        let bytes = file.metadata().map_or(0, |found| found.len());
        let quota = Quota::default();
        let pages = Pages { path: path.to_owned(), file, bytes, also_stderr, quota };
        Ok(Self(Arc::new(Mutex::new(pages))))
    }

    /// Something that is as it should be.
    pub fn info(&self, what: impl Display) {
        self.write("info", &what);
    }

    /// Something that an operator should know.
    pub fn warn(&self, what: impl Display) {
        self.write("warn", &what);
    }

    /// Something that a connection did. Of many such lines some are left out.
    pub fn peer(&self, what: impl Display) {
        let Some(left_out) = lock(&self.0).quota.allows(wall()) else { return };
        if left_out > 0 {
            self.write("connection", &format_args!("{left_out} lines were left out here"));
        }
        self.write("connection", &what);
    }

    /// Begins a new file if the one that is open was deleted or moved; a folder that was deleted is
    /// not made again.
    pub fn reopen_if_gone(&self) {
        let mut pages = lock(&self.0);
        let open = pages.file.metadata().map(|open| open.ino()).ok();
        let named = fs::metadata(&pages.path).map(|named| named.ino()).ok();
        if open != named
            && let Ok(file) = private(&pages.path)
        {
            pages.bytes = file.metadata().map_or(0, |found| found.len());
            pages.file = file;
        }
    }

    fn write(&self, level: &str, what: &dyn Display) {
        let text = plain(&what.to_string(), LOG_LINE_MAX_CHARS);
        lock(&self.0).write(&format!("{} {level} {text}\n", utc(wall())));
    }
}

impl Pages {
    fn write(&mut self, line: &str) {
        if self.bytes > 0 && self.bytes + line.len() as u64 > LOG_MAX_BYTES {
            self.turn();
        }
        if self.file.write_all(line.as_bytes()).is_ok() {
            self.bytes += line.len() as u64;
        }
        if self.also_stderr {
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }

    fn turn(&mut self) {
        for number in (1..OLD_LOGS).rev() {
            let _ = fs::rename(old(&self.path, number), old(&self.path, number + 1));
        }
        let _ = fs::rename(&self.path, old(&self.path, 1));
        if let Ok(file) = private(&self.path) {
            self.file = file;
        }
        // Also if that failed: it is tried again a megabyte later.
        self.bytes = 0;
    }
}

fn old(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn private(path: &Path) -> io::Result<File> {
    let file = private_file().append(true).create(true).open(path)?;
    protect(path)?;
    Ok(file)
}

/// How many lines of one kind may still be written in this minute.
#[derive(Debug, Default)]
struct Quota {
    since: Time,
    written: u32,
    left_out: u32,
}

impl Quota {
    /// Whether one more may be written, and how many were left out before it.
    fn allows(&mut self, now: Time) -> Option<u32> {
        if now.since(self.since) >= MINUTE_MS {
            (self.since, self.written) = (now, 0);
        }
        if self.written >= PEER_LINES_A_MINUTE {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// `2026-01-31T12:00:00.000Z`; a time that no calendar has is shown as its milliseconds.
fn utc(time: Time) -> String {
    let moment = i64::try_from(time.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    moment.map_or_else(|| time.0.to_string(), |moment| format!("{moment:.3}"))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_225_599_000, "2025-12-31T23:59:59.000Z"),
            (1_772_323_200_000, "2026-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(Time(ms)), text);
        }
    }

    #[test]
    fn a_full_file_is_put_behind_and_three_old_ones_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("deep/daemon.log");
        let log = Log::open(&path, false).unwrap();
        let words = "x".repeat(LOG_LINE_MAX_CHARS);
        for number in 0..6 * (LOG_MAX_BYTES as usize / LOG_LINE_MAX_CHARS) {
            log.info(format_args!("{number} {words}"));
        }
        let files = fs::read_dir(home.path().join("deep")).unwrap().count();
        assert_eq!(files, 1 + OLD_LOGS as usize);
        for file in [path.clone(), old(&path, 1), old(&path, 2), old(&path, 3)] {
            let found = fs::metadata(&file).unwrap();
            assert!(found.len() <= LOG_MAX_BYTES, "{}", found.len());
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn g1_a_log_that_others_could_read_is_protected() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("daemon.log");
        fs::write(&path, "before\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        Log::open(&path, false).unwrap().info("after\nwards");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("before\n"), "{text}");
        assert!(text.ends_with(" info after wards\n"), "{text}");
    }

    #[test]
    fn a_log_that_was_deleted_is_begun_anew_and_a_deleted_folder_stays_away() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("deep/daemon.log");
        let log = Log::open(&path, false).unwrap();
        log.info("before");
        fs::remove_file(&path).unwrap();
        log.reopen_if_gone();
        log.info("after");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("after\n") && !text.contains("before"), "{text}");
        fs::remove_dir_all(home.path().join("deep")).unwrap();
        log.reopen_if_gone();
        assert!(!home.path().join("deep").exists());
    }

    #[test]
    fn a_noisy_peer_does_not_wash_out_the_log() {
        let mut quota = Quota::default();
        let start = Time(1_000_000);
        let written = (0..1_000).filter(|_| quota.allows(start) == Some(0)).count();
        assert_eq!(written, PEER_LINES_A_MINUTE as usize);
        let left_out = 1_000 - PEER_LINES_A_MINUTE;
        assert_eq!(quota.allows(start.plus(MINUTE_MS)), Some(left_out));
        assert_eq!(quota.allows(start.plus(MINUTE_MS)), Some(0));
    }
}
