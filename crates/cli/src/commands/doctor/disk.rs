//! The disks that legwork writes to: room for what comes next.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use legwork_machine::private_file;
use rustix::fs::statvfs;

use super::check::DoctorContext;
use super::codes;
use super::finding::Finding;
use crate::plugin::word;
use crate::words::size;

/// A few results and what is written while the records are made smaller.
const FULL_BYTES: u64 = 4 << 20;
/// Room for a day of work.
const SCARCE_BYTES: u64 = 32 << 20;
/// As much as an ordinary result: a full disk takes less than that for a while.
static TRIAL: [u8; 64 << 10] = [b'x'; 64 << 10];
const TRIAL_NAME: &str = ".doctor-trial";

pub fn disk(context: &DoctorContext) -> Vec<Finding> {
    let folders = &context.folders;
    let log = folders.log.parent().unwrap_or(&folders.log);
    let mut least = u64::MAX;
    for folder in [folders.store.as_path(), &folders.sessions, log] {
        let Some(there) = folder.ancestors().find(|above| above.exists()) else { continue };
        if let Err(why) = try_to_write(folder) {
            return vec![codes::disk_unwritable(there.display(), why, word(there))];
        }
        let Ok(found) = statvfs(there) else { continue };
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free < FULL_BYTES || (found.f_files > 0 && found.f_favail == 0) {
            return vec![codes::disk_full(there.display(), size(free), word(there))];
        }
        least = least.min(free);
    }
    if least < SCARCE_BYTES {
        return vec![codes::disk_scarce(size(least))];
    }
    vec![Finding::good("disk", format!("{} left", size(least)))]
}

/// A quota or a disk that can only be read does not show in its numbers.
fn try_to_write(folder: &Path) -> io::Result<()> {
    // A folder that is not there yet is made by the daemon, and one that is closed to us is another
    // check's finding.
    if !folder.is_dir() || rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
        return Ok(());
    }
    let path = folder.join(TRIAL_NAME);
    let written = private_file()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .and_then(|mut file| file.write_all(&TRIAL));
    // Gone already if it could not be made.
    let _ = fs::remove_file(&path);
    written
}
