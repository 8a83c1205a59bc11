//! Finding the daemon: by the record in the store's lock, and starting it if nobody holds that. Of
//! several that are started at once the lock lets one live; the others end by themselves, so that
//! everybody here only waits for the record.

use std::io::Read;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use legwork_machine::inherited::close_for_children;
use legwork_machine::process::{Effort, INSIDE, has_ended_here, is_suspended};
use legwork_machine::{Folders, STORE_LOCK, check_owner, check_private, program, var};

use crate::failed::Failed;
use crate::fault::Fault;
use crate::newest::Newest;
use crate::record::{Holder, Record, holder};
use crate::version::is_newer;

/// A cold start opens the store and looks up what was unfinished: some 50 ms, more on a slow disk.
/// A plugin gives its bridge 10 s, and should hear why there is no daemon.
const PATIENCE: Duration = Duration::from_secs(8);
/// Whoever waits longer is told what for.
const SAY_AFTER: Duration = Duration::from_secs(2);
/// A starting daemon that uses no CPU for this long is hung. Longer than the daemon waits for
/// another program that has the records locked.
const IDLE_MAX: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(15);
/// Between the starts of two daemons: the first may have found a leaving one in its way.
const AGAIN: Duration = Duration::from_millis(200);
/// How long a daemon that holds the lock and cannot be reached is given: one whose socket is gone
/// is told so and listens again within milliseconds, if it gets the processor: one that waits for
/// that is given more.
const UNREACHED_MAX: Duration = Duration::from_secs(1);
/// How long a daemon that has just taken the lock is given to say where it listens. Until then the
/// usual socket is not tried, because a daemon with other records may have that name.
const SAID_BY: Duration = Duration::from_millis(500);
const LAST_WORDS_MAX_BYTES: u64 = 4 << 10;

/// What to do if nobody listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Never,
    IfNeeded,
    /// If there are records: a view that is left open must not bring back what was removed.
    IfKept,
}

impl Start {
    /// For a daemon that was there already.
    pub(crate) fn again(self) -> Self {
        if self == Self::Never { Self::Never } else { Self::IfKept }
    }
}

enum Knocked {
    /// And its process, if we see it.
    In(UnixStream, Option<u32>),
    Free,
    /// A daemon that does not listen yet, or not any more; and its process.
    Busy(u32),
    /// A daemon that ought to listen. Without a record it is of a legwork that wrote none.
    Unreached(Option<Record>),
}

/// Told why it takes long, once, while there is still hope; says whether to go on.
pub(crate) type Tell<'a> = dyn FnMut(&Fault) -> ControlFlow<()> + 'a;

/// A connection to the daemon, and its process if we see it.
pub(crate) fn reach(
    folders: &Folders,
    start: Start,
    tell: &mut Tell<'_>,
) -> Result<(UnixStream, Option<u32>), Fault> {
    check_owner(folders)?;
    let deadline = Instant::now() + PATIENCE;
    let mut starter = Starter::default();
    let mut unreached: Option<Instant> = None;
    let mut lost: Option<u32> = None;
    let mut getting_ready: Option<GettingReady> = None;
    loop {
        // Before it is looked for, so that one that has done its work since is found.
        let is_at_work = lost.is_some_and(|pid| Effort::so_far(pid).has_grown(pid));
        let knocked = knock(folders, unreached)?;
        if !matches!(knocked, Knocked::Unreached(_)) {
            unreached = None;
        }
        let pid = match knocked {
            Knocked::In(stream, pid) => {
                starter.succeeded();
                return Ok((stream, pid));
            }
            Knocked::Free if start == Start::Never => return Err(Fault::NotRunning),
            Knocked::Free if start == Start::IfKept && !is_kept(&folders.store) => {
                return Err(Fault::Removed { store: folders.store.clone() });
            }
            Knocked::Free => {
                starter.start(folders, start)?;
                starter.child.as_ref().map(Child::id)
            }
            Knocked::Busy(pid) => Some(pid),
            Knocked::Unreached(record) => {
                if let (None, Some(record)) = (unreached, &record) {
                    record.nudge();
                }
                let since = *unreached.get_or_insert_with(Instant::now);
                if since.elapsed() > UNREACHED_MAX && !is_at_work {
                    return Err(not_reached(folders, record));
                }
                let here = record.as_ref().filter(|record| record.is_process_here());
                lost = here.map(|record| record.pid);
                record.map(|record| record.pid)
            }
        };
        if getting_ready.as_ref().is_none_or(|daemon| daemon.pid != pid) {
            getting_ready = Some(GettingReady::new(pid));
        }
        if let Some(daemon) = &mut getting_ready {
            daemon.check(&folders.store, tell)?;
        }
        if Instant::now() > deadline {
            let store = folders.store.clone();
            return Err(Fault::TooSlow { pid, store, seconds: PATIENCE.as_secs() });
        }
        starter.look(folders)?;
        thread::sleep(PAUSE);
    }
}

/// A daemon that is there and is not ready.
struct GettingReady {
    pid: Option<u32>,
    since: Instant,
    said: bool,
    /// Since when it has done nothing.
    idle: Instant,
    effort: Option<Effort>,
}

impl GettingReady {
    fn new(pid: Option<u32>) -> Self {
        let now = Instant::now();
        Self { pid, since: now, said: false, idle: now, effort: pid.map(Effort::so_far) }
    }

    /// Gives up one that does nothing, and says what is waited for.
    fn check(&mut self, store: &Path, tell: &mut Tell<'_>) -> Result<(), Fault> {
        if self.since.elapsed() < SAY_AFTER {
            return Ok(());
        }
        let seconds = self.since.elapsed().as_secs();
        let fault = Fault::TooSlow { pid: self.pid, store: store.to_owned(), seconds };
        if let Some((pid, effort)) = self.pid.zip(self.effort) {
            if effort.has_grown(pid) {
                (self.idle, self.effort) = (Instant::now(), Some(Effort::so_far(pid)));
            } else if self.idle.elapsed() > IDLE_MAX {
                return Err(fault);
            }
        }
        if !self.said && tell(&fault).is_break() {
            return Err(fault);
        }
        self.said = true;
        Ok(())
    }
}

/// Looks once; told since when nobody could be reached.
fn knock(folders: &Folders, unreached: Option<Instant>) -> Result<Knocked, Fault> {
    let Holder::Daemon(record) = holder(&folders.store)? else { return Ok(Knocked::Free) };
    let here = record.as_ref().filter(|record| record.is_process_here());
    if let Some(record) = here {
        if record.leaving {
            return Ok(Knocked::Busy(record.pid));
        }
        if is_suspended(record.pid) {
            return Err(Fault::Suspended { pid: record.pid });
        }
        if record.socket.is_none() {
            return Ok(Knocked::Busy(record.pid));
        }
    }
    // There is no record yet, or that of a daemon that was killed.
    let is_unsaid = record.as_ref().is_none_or(|record| has_ended_here(&record.mark));
    if is_unsaid && unreached.is_none_or(|since| since.elapsed() < SAID_BY) {
        return Ok(Knocked::Unreached(record));
    }
    // If we do not see the process of the record, the daemon is in another container, or the next
    // one cannot replace the record of one that was killed, because the disk is full.
    let usual = here.is_none().then_some(&folders.socket);
    let named = record.as_ref().and_then(|record| record.socket.as_ref());
    for socket in named.into_iter().chain(usual) {
        if let Some(stream) = connect(socket, here)? {
            return Ok(Knocked::In(stream, here.map(|record| record.pid)));
        }
    }
    Ok(Knocked::Unreached(record))
}

/// Nothing if nobody listens there, or somebody else than the daemon that the record names.
fn connect(socket: &Path, record: Option<&Record>) -> Result<Option<UnixStream>, Fault> {
    if let Some(folder) = socket.parent()
        && !check_private(folder)?
    {
        return Ok(None);
    }
    match UnixStream::connect(socket) {
        Ok(stream) => Ok(is_meant(socket, record).then_some(stream)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(Fault::Unreachable { socket: socket.to_owned(), source: error }),
        },
    }
}

/// Whether this is the socket that the daemon of the record has made. A daemon with other records
/// may have taken the name of one that was lost.
fn is_meant(socket: &Path, record: Option<&Record>) -> bool {
    let made = record.map_or(0, |record| record.inode);
    made == 0 || fs::symlink_metadata(socket).is_ok_and(|found| found.ino() == made)
}

fn not_reached(folders: &Folders, record: Option<Record>) -> Fault {
    let store = folders.store.clone();
    match record {
        None => Fault::NoRecord { store },
        Some(record) if !record.is_process_here() => Fault::Elsewhere { pid: record.pid, store },
        Some(Record { pid, socket, .. }) => {
            Fault::Lost { pid, socket: socket.unwrap_or_else(|| folders.socket.clone()) }
        }
    }
}

#[derive(Default)]
struct Starter {
    child: Option<Child>,
    /// The program of the last one.
    program: PathBuf,
    started: Option<Instant>,
    /// What is started is a newer legwork than this one.
    is_newer: bool,
    /// A newer one did not work.
    own_only: bool,
}

impl Starter {
    /// Starts one, unless one is being started.
    fn start(&mut self, folders: &Folders, start: Start) -> Result<(), Fault> {
        let is_due = self.started.is_none_or(|started| started.elapsed() > AGAIN);
        if self.child.is_none() && is_due {
            let newer = if self.own_only { None } else { newer(folders) };
            self.is_newer = newer.is_some();
            self.program = newer.map_or_else(own, Ok)?;
            self.started = Some(Instant::now());
            match spawn(folders, &self.program, start) {
                Ok(child) => self.child = Some(child),
                Err(fault) => {
                    Failed::note(&folders.store, &self.program, None);
                    if !self.gives_way_to_own() {
                        return Err(fault);
                    }
                }
            }
        }
        Ok(())
    }

    /// A daemon that ended because it cannot run says why. One that found another in its way ends
    /// in peace.
    fn look(&mut self, folders: &Folders) -> Result<(), Fault> {
        let Some(child) = &mut self.child else { return Ok(()) };
        let Some(how) = child.try_wait().ok().flatten() else { return Ok(()) };
        let said = last_words(child);
        self.child = None;
        if how.success() {
            return Ok(());
        }
        Failed::note(&folders.store, &self.program, Some(how));
        if self.gives_way_to_own() { Ok(()) } else { Err(Fault::Ended { how, said }) }
    }

    /// After a failure: whether it was a newer one's. This one may work, and if not, it says why.
    fn gives_way_to_own(&mut self) -> bool {
        let was_newer = std::mem::take(&mut self.is_newer);
        self.own_only |= was_newer;
        was_newer
    }

    /// A bridge lives for days and is the daemon's parent: without this an ended daemon stays in
    /// the process table as a zombie.
    fn succeeded(self) {
        if let Some(mut child) = self.child {
            thread::spawn(move || child.wait());
        }
    }
}

/// What a daemon that has ended wrote to its stderr, without what could steer a terminal.
fn last_words(child: &mut Child) -> String {
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // What cannot be read was not said.
        let _ = stderr.take(LAST_WORDS_MAX_BYTES).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    let said = said.trim().trim_start_matches("legwork: ");
    said.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn own() -> Result<PathBuf, Fault> {
    let program = program();
    program.map_err(|source| Fault::NotStarted { program: "the running program".into(), source })
}

/// Whether a daemon that is started from here is at least as new as this program, and has not just
/// failed. Who names another one may name an older one, and either would take the place of the
/// daemon that runs again and again.
pub(crate) fn starts_this_build(folders: &Folders) -> bool {
    let real = |path: io::Result<PathBuf>| path.and_then(fs::canonicalize).ok();
    (var("LEGWORK_BIN").is_none() || real(program()) == real(std::env::current_exe()))
        && program().is_ok_and(|program| !Failed::is(&folders.store, &program))
}

/// A newer legwork than this one that has been the daemon here, unless somebody says which one is
/// to be taken.
fn newer(folders: &Folders) -> Option<PathBuf> {
    if var("LEGWORK_BIN").is_some() {
        return None;
    }
    let newest = Newest::of(&folders.store)?;
    is_newer(&newest.version, env!("CARGO_PKG_VERSION")).then_some(newest.program)
}

fn is_kept(store: &Path) -> bool {
    store.join(STORE_LOCK).exists()
}

fn spawn(folders: &Folders, program: &Path, start: Start) -> Result<Child, Fault> {
    // What whoever started us left open, a lock perhaps, is not for a daemon to keep.
    close_for_children();
    let mut command = Command::new(program);
    // Relative names mean something else in the daemon's folder.
    if var("LEGWORK_HOME").is_some()
        && let Some(home) = folders.store.parent()
    {
        command.env("LEGWORK_HOME", home);
    }
    if var("LEGWORK_BIN").is_some() {
        command.env("LEGWORK_BIN", program);
    }
    command
        .args(["daemon", "run"])
        // The records may be removed before it is there.
        .args((start == Start::IfKept).then_some("--only-if-kept"))
        // Whoever starts it may be inside of an agent; a daemon is in none, and outlives them.
        .env_remove(INSIDE)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // Until it listens, it says here why it cannot.
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| Fault::NotStarted { program: program.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn p9_who_has_just_taken_the_lock_is_not_looked_for_where_another_daemon_may_listen() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let folders = Folders::in_home(home.path());
        fs::create_dir(&folders.store).unwrap();
        let _other = UnixListener::bind(&folders.socket).unwrap();
        let path = folders.store.join(STORE_LOCK);
        let lock = File::create(&path).unwrap();
        lock.lock().unwrap();
        let mut killed = Record::of_this_process("9.9.9", 1);
        let world = killed.mark.rsplit_once('-').unwrap().1.to_owned();
        killed.mark = format!("{}-1-{world}", killed.pid);
        for text in [String::new(), killed.text()] {
            fs::write(&path, text).unwrap();
            assert!(matches!(knock(&folders, None), Ok(Knocked::Unreached(_))));
            // One that cannot write a record is found there all the same.
            let long_since = Instant::now().checked_sub(SAID_BY);
            assert!(matches!(knock(&folders, long_since), Ok(Knocked::In(_, None))));
        }
    }
}
