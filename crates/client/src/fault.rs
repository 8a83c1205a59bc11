//! Why the daemon could not be asked. Each text says what is so and what to do.

use std::io;
use std::path::{Path, PathBuf};

use legwork_protocol::line::BadLine;

/// Something for the person in front of the screen.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nothing says where files belong.
    #[error("There is no home folder. Set HOME, or LEGWORK_HOME to a folder for all of legwork.")]
    NoHome,
    /// A folder cannot be looked at.
    #[error(
        "The folder {} cannot be looked at. Check that it and the folders above it are yours.",
        folder.display()
    )]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A name that other programs could not be given.
    #[error(
        "The folder {} has a name that is not UTF-8, which legwork cannot pass on to agents. Set \
         LEGWORK_HOME to a folder with another name.",
        folder.display()
    )]
    NotUtf8 {
        /// Which.
        folder: PathBuf,
    },
    /// Something of ours is another user's.
    #[error("{}", foreign(path, *owner, *user))]
    Foreign {
        /// What.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        user: u32,
    },
    /// The lock of the store cannot be looked at.
    #[error(
        "The file {} cannot be looked at, so nobody knows whether a legwork daemon runs. Check \
         that it belongs to you and that its disk is there.",
        path.display()
    )]
    Lock {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The socket's folder could hold somebody else's socket.
    #[error(
        "The folder {0} of legwork's socket {why}, so it is not used. {remedy} (`{command} {0}`), \
         or set LEGWORK_HOME to another folder.",
        folder.display()
    )]
    NotPrivate {
        /// Which.
        folder: PathBuf,
        /// What is wrong with it.
        why: &'static str,
        /// What to do.
        remedy: &'static str,
        /// The same as a command.
        command: &'static str,
    },
    /// Nobody listens, and nobody was to be started.
    #[error("The legwork daemon is not running. `legwork daemon start` starts it.")]
    NotRunning,
    /// The program of the daemon does not start.
    #[error(
        "The legwork daemon could not be started from {}. If legwork was moved, run `legwork \
         install` again, or set LEGWORK_BIN.",
        program.display()
    )]
    NotStarted {
        /// What was tried.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The daemon ended while somebody waited for it.
    #[error("{}", ended(how, said))]
    Ended {
        /// Its exit status.
        how: std::process::ExitStatus,
        /// Its last words.
        said: String,
    },
    /// A daemon was started, or is ending, and that takes too long.
    #[error(
        "A legwork daemon{} has the records in {} open and was not ready within {seconds} s. A \
         slow disk may be the reason: `legwork daemon log` says what it does. `legwork daemon \
         stop` ends it.",
        process(*pid),
        store.display()
    )]
    TooSlow {
        /// Its process, if it says so.
        pid: Option<u32>,
        /// Its records.
        store: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The daemon runs, and its socket is gone.
    #[error(
        "The legwork daemon (process {pid}) runs but cannot be reached: nobody answers on its \
         socket {}. `legwork daemon stop` ends it, and the next command starts another; tasks are \
         kept.",
        socket.display()
    )]
    Lost {
        /// Its process.
        pid: u32,
        /// Where it ought to listen.
        socket: PathBuf,
    },
    /// The daemon does nothing because it was told to.
    #[error(
        "The legwork daemon (process {pid}) was suspended. `kill -CONT {pid}` lets it go on; \
         `legwork daemon stop` ends it, and tasks are kept."
    )]
    Suspended {
        /// Its process.
        pid: u32,
    },
    /// The store is open where we see no processes.
    #[error(
        "The records in {} are in use by a legwork daemon in another container or on another \
         machine (process {pid} there), which cannot be reached from here. Stop it there, or set \
         LEGWORK_HOME to another folder.",
        store.display()
    )]
    Elsewhere {
        /// Its process, by the numbers of that place.
        pid: u32,
        /// Its records.
        store: PathBuf,
    },
    /// Somebody has the store open and does not say who it is.
    #[error(
        "Another program has the records in {} open, perhaps the daemon of an older legwork whose \
         socket is gone. End it (`fuser {}` names its process), then try again; tasks are kept.",
        store.display(),
        store.join("legwork.lock").display()
    )]
    NoRecord {
        /// The records.
        store: PathBuf,
    },
    /// The socket is there and does not work.
    #[error("The daemon's socket {} cannot be used. See `legwork doctor`.", socket.display())]
    Unreachable {
        /// Which.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The daemon listens and says nothing.
    #[error(
        "The legwork daemon has said nothing for {seconds} s. See `legwork daemon log`; if it \
         hangs, `legwork daemon stop` and try again."
    )]
    Silent {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The link broke, and again after it was opened anew.
    #[error("The link to the legwork daemon broke. Try again; `legwork daemon log` may say why.")]
    Broken(#[source] io::Error),
    /// The daemon will not speak with us.
    #[error("The legwork daemon said: {why}")]
    TurnedAway {
        /// Its words.
        why: String,
    },
    /// What came is no line of ours.
    #[error("The legwork daemon could not be understood. Restart it: `legwork daemon stop`.")]
    Garbled(#[source] BadLine),
    /// An answer that does not fit what was asked.
    #[error("The daemon's answer makes no sense here. Restart it: `legwork daemon stop`.")]
    Unfitting(#[source] legwork_protocol::api::Other),
    /// More than the daemon would read.
    #[error("This is too long to be sent to the legwork daemon. Say less.")]
    TooLong(#[source] BadLine),
    /// The daemon ends.
    #[error("The legwork daemon is just ending. Try again in a moment.")]
    Leaving,
    /// It was told to end and goes on.
    #[error(
        "The legwork daemon (process {pid}) is still there {seconds} s after it was told to end. \
         `kill -9 {pid}` ends it; tasks are kept."
    )]
    StillThere {
        /// Its process.
        pid: u32,
        /// How long it was waited for.
        seconds: u64,
    },
}

fn process(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

fn ended(how: &std::process::ExitStatus, said: &str) -> String {
    if said.is_empty() {
        return format!(
            "The legwork daemon ended as soon as it was started ({how}). `legwork daemon log` says \
             why; `legwork daemon run --foreground` shows it happen."
        );
    }
    format!("The legwork daemon could not start. It said:\n{said}")
}

/// Files that one user leaves in another's folder lock that one out.
fn foreign(path: &Path, owner: u32, user: u32) -> String {
    let path = path.display();
    if user == 0 {
        return format!(
            "{path} belongs to user {owner}, and this is root: legwork would leave files there \
             that user {owner} could not use. Run it without sudo, or set LEGWORK_HOME to a folder \
             of root's own."
        );
    }
    format!(
        "{path} belongs to user {owner}, not to you, so legwork cannot use it. It may come from a \
         legwork that was run with sudo. Make it yours (`sudo chown -R {user} {path}`), or set \
         LEGWORK_HOME to another folder."
    )
}
