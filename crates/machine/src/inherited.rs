//! What a daemon has from whoever started it. It keeps none of it for itself: not the files that
//! they had open, not their folder, not their idea of who may read what. Programs that it starts
//! for people get the two things back that people set for them: the umask and the limit on open
//! files.

use std::sync::OnceLock;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

/// Nobody but the user gets at anything that the daemon makes.
const PRIVATE: u32 = 0o077;
/// Open files of the daemon, if the system allows it: 256 connections, three pipes for each agent,
/// and as much again in reserve. The usual limit of 1024 is for programs that know no better.
const FILES_WANTED: u64 = 16_384;
/// The first file descriptor that is none of the three that every process has.
const FIRST_OTHER: i32 = 3;

#[derive(Debug)]
struct StartedWith {
    umask: Mode,
    files: Rlimit,
}

static STARTED_WITH: OnceLock<StartedWith> = OnceLock::new();

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

/// Starts a program for a person, with their umask, if it is known: what it writes is theirs, not
/// the daemon's.
pub fn spawning<T>(mask: Option<u32>, spawn: impl FnOnce() -> T) -> T {
    let started_with = STARTED_WITH.get().map(|before| before.umask);
    let Some(theirs) = mask.map(Mode::from_raw_mode).or(started_with) else { return spawn() };
    // For the whole process, but whatever the daemon makes has its mode named.
    let ours = umask(theirs);
    let spawned = spawn();
    umask(ours);
    spawned
}

/// Gives a program that was just started the limit on open files that people have: some set aside
/// memory for each file that they may open.
#[cfg(target_os = "linux")]
pub fn limit_files(pid: u32) {
    use rustix::process::{Pid, prlimit};

    let pid = Pid::from_raw(pid.cast_signed());
    if let (Some(before), Some(pid)) = (STARTED_WITH.get(), pid) {
        let _ = prlimit(Some(pid), Resource::Nofile, before.files);
    }
}

/// Elsewhere it keeps the daemon's.
#[cfg(not(target_os = "linux"))]
pub fn limit_files(_: u32) {}
