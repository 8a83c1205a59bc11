//! What a daemon has from whoever started it. It keeps none of it for itself: not the files that
//! they had open, not their folder, not their idea of who may read what. Programs that it starts
//! for people get the two things back that people set for them: the umask and the limit on open
//! files.

use std::sync::{Mutex, OnceLock};

use rustix::fs::{Mode, RawMode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

use crate::lock;

/// Nobody but the user gets at anything that the daemon makes.
const PRIVATE: RawMode = 0o077;
/// Open files of the daemon, if the system allows it: 256 connections, three pipes for each agent,
/// and as much again in reserve. The usual limit of 1024 is for programs that know no better.
const FILES_WANTED: u64 = 16_384;
/// What the daemon may open while it starts a program.
const FILES_SPARE: u64 = 64;
/// The first file descriptor that is none of the three that every process has.
const FIRST_OTHER: i32 = 3;

#[derive(Debug)]
struct StartedWith {
    umask: Mode,
    files: Rlimit,
}

static STARTED_WITH: OnceLock<StartedWith> = OnceLock::new();
static SPAWNING: Mutex<()> = Mutex::new(());

/// Keeps what is open here from every program that is started from now on.
pub fn close_for_children() {
    close_fds::set_fds_cloexec_threadsafe(FIRST_OTHER, &[]);
}

/// Makes this process independent of whoever started it, but for its stdin, stdout and stderr.
pub fn leave_behind() {
    close_for_children();
    let files = getrlimit(Resource::Nofile);
    let most = files.maximum.unwrap_or(FILES_WANTED).min(FILES_WANTED);
    if files.current.is_some_and(|current| current < most) {
        // Without it there are fewer at once, which is no reason not to start.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..files });
    }
    let before = umask(Mode::from_raw_mode(PRIVATE));
    let _ = STARTED_WITH.set(StartedWith { umask: before, files });
    // A folder that somebody works in cannot be unmounted.
    let _ = std::env::set_current_dir("/");
}

/// Starts a program for a person as they would: with their umask, if it is known, because what it
/// writes is theirs, and with their limit on open files, because some programs set aside memory for
/// each file that they may open.
pub fn spawning<T>(mask: Option<u32>, spawn: impl FnOnce() -> T) -> T {
    // One at a time, else one would take for ours what another has just set.
    let _one = lock(&SPAWNING);
    let before = STARTED_WITH.get();
    let theirs = mask.map(mode).or(before.map(|before| before.umask));
    // Both are for the whole process, but whatever the daemon makes has its mode named, and its
    // limit is lowered only if it has files to spare.
    let our_mask = theirs.map(umask);
    let ours = getrlimit(Resource::Nofile);
    let limited = before.is_some_and(|before| {
        is_enough(before.files.current)
            && setrlimit(Resource::Nofile, Rlimit { current: before.files.current, ..ours }).is_ok()
    });
    let spawned = spawn();
    if limited {
        // It was allowed before.
        let _ = setrlimit(Resource::Nofile, ours);
    }
    our_mask.map(umask);
    spawned
}

/// Whether the daemon has far fewer files open than this.
fn is_enough(files: Option<u64>) -> bool {
    let Some(files) = files else { return true };
    let open = std::fs::read_dir("/dev/fd").map(Iterator::count);
    open.is_ok_and(|open| open as u64 + FILES_SPARE < files)
}

/// The bits of a mask; some systems have 16 for them.
fn mode(mask: u32) -> Mode {
    Mode::from_raw_mode((mask & 0o777) as RawMode)
}
