//! Why the daemon could not be asked. Each text says what is so and what to do.

use std::io;
use std::path::PathBuf;

use legwork_protocol::line::BadLine;

/// Something for the person in front of the screen.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A folder or its owner.
    #[error(transparent)]
    Machine(#[from] legwork_machine::Fault),
    /// The lock of the store cannot be looked at.
    #[error(
        "The file {} cannot be looked at, so nobody knows whether a legwork daemon runs. Check \
         that it belongs to you and that its disk is there.",
        path.display()
    )]
    Lock { path: PathBuf, source: io::Error },
    /// Nobody listens, and nobody was to be started.
    #[error("The legwork daemon is not running. `legwork daemon start` starts it.")]
    NotRunning,
    /// The program of the daemon does not start.
    #[error(
        "The legwork daemon could not be started from {}. If legwork was moved, run `legwork \
         install` again, or set LEGWORK_BIN.",
        program.display()
    )]
    NotStarted { program: PathBuf, source: io::Error },
    /// The daemon ended while somebody waited for it.
    #[error("{}", ended(how, said))]
    Ended {
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
        pid: u32,
        /// Where it ought to listen.
        socket: PathBuf,
    },
    /// The daemon does nothing because it was told to.
    #[error(
        "The legwork daemon (process {pid}) was suspended. `kill -CONT {pid}` lets it go on; \
         `legwork daemon stop` ends it, and tasks are kept."
    )]
    Suspended { pid: u32 },
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
        store: PathBuf,
    },
    /// Somebody has the store open and does not say who it is.
    #[error(
        "Another program has the records in {} open, perhaps the daemon of an older legwork whose \
         socket is gone. End it (`fuser {}` names its process), then try again; tasks are kept.",
        store.display(),
        store.join(legwork_machine::STORE_LOCK).display()
    )]
    NoRecord { store: PathBuf },
    /// The socket is there and does not work.
    #[error("The daemon's socket {} cannot be used. See `legwork doctor`.", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
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
    TurnedAway { why: String },
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
