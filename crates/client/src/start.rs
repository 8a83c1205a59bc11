//! Finding the daemon: connects to its socket, and starts it if nobody listens. Of several that are
//! started at once the store's lock lets one live; the others end by themselves, so that everybody
//! here only waits for the socket.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use crate::fault::Fault;
use crate::folders::{Folders, check_private};
use crate::process::INSIDE;

/// A cold start opens the store and looks up what was unfinished: some 50 ms, more on a slow disk.
/// A plugin gives its bridge 10 s, and should hear why there is no daemon.
const PATIENCE: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(15);
/// Before another daemon is started because the last one found a leaving one in its way.
const AGAIN: Duration = Duration::from_millis(200);

/// What to do if nobody listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Say so.
    Never,
    /// Start the daemon.
    IfNeeded,
}

/// A connection to whoever listens, which is the daemon: nobody else can enter the folder.
pub(crate) fn reach(folders: &Folders, start: Start) -> Result<UnixStream, Fault> {
    match (knock(folders)?, start) {
        (Some(stream), _) => Ok(stream),
        (None, Start::Never) => Err(Fault::NotRunning),
        (None, Start::IfNeeded) => start_and_wait(folders),
    }
}

fn knock(folders: &Folders) -> Result<Option<UnixStream>, Fault> {
    if let Some(folder) = folders.socket.parent()
        && !check_private(folder)?
    {
        return Ok(None);
    }
    match UnixStream::connect(&folders.socket) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(Fault::Unreachable { socket: folders.socket.clone(), source: error }),
        },
    }
}

fn start_and_wait(folders: &Folders) -> Result<UnixStream, Fault> {
    let deadline = Instant::now() + PATIENCE;
    let mut daemon = Some(spawn()?);
    let mut ended = Instant::now();
    while Instant::now() < deadline {
        if let Some(stream) = knock(folders)? {
            if let Some(daemon) = daemon {
                reap(daemon);
            }
            return Ok(stream);
        }
        if let Some(how) = daemon.as_mut().and_then(exit_status) {
            if !how.success() {
                return Err(Fault::Ended { how });
            }
            // It found another one in its way; if that was leaving, nobody will listen.
            daemon = None;
            ended = Instant::now();
        }
        if daemon.is_none() && ended.elapsed() > AGAIN {
            daemon = Some(spawn()?);
        }
        thread::sleep(PAUSE);
    }
    Err(Fault::TooSlow { socket: folders.socket.clone(), seconds: PATIENCE.as_secs() })
}

fn spawn() -> Result<Child, Fault> {
    let program = program()
        .map_err(|source| Fault::NotStarted { program: "the running program".into(), source })?;
    Command::new(&program)
        .args(["daemon", "run"])
        // Whoever starts it may be inside of an agent; a daemon is in none, and outlives them.
        .env_remove(INSIDE)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| Fault::NotStarted { program, source })
}

/// The program that is legwork, for whoever has to start it.
pub fn program() -> io::Result<PathBuf> {
    if let Some(named) = env::var_os("LEGWORK_BIN").filter(|named| !named.is_empty()) {
        return std::path::absolute(named);
    }
    let running = env::current_exe()?;
    // Linux says so of a program that was replaced while it ran; the new one is what we want.
    let replaced = running.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    Ok(replaced.map_or_else(|| running.clone(), PathBuf::from))
}

fn exit_status(daemon: &mut Child) -> Option<ExitStatus> {
    daemon.try_wait().ok().flatten()
}

/// A bridge lives for days and is the daemon's parent: without this an ended daemon stays in the
/// process table as a zombie.
fn reap(mut daemon: Child) {
    thread::spawn(move || daemon.wait());
}
