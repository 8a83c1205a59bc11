//! Why the daemon could not be asked. Each text says what is so and what to do.

use std::io;
use std::path::PathBuf;

use legwork_protocol::line::BadLine;

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Machine(#[from] legwork_machine::Fault),
    #[error(
        "The file {} cannot be looked at, so nobody knows whether a legwork daemon runs. Check \
         that it belongs to you and that its disk is there.",
        path.display()
    )]
    Lock { path: PathBuf, source: io::Error },
    #[error("The legwork daemon is not running. `legwork daemon start` starts it.")]
    NotRunning,
    #[error(
        "The records in {} are gone: legwork was removed from here. The next command that needs \
         them begins anew.",
        store.display()
    )]
    Removed { store: PathBuf },
    #[error(
        "The legwork daemon could not be started from {}. If legwork was moved, run `legwork \
         install` again, or set LEGWORK_BIN.",
        program.display()
    )]
    NotStarted { program: PathBuf, source: io::Error },
    #[error("{}", ended(how, said))]
    Ended { how: std::process::ExitStatus, said: String },
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
        seconds: u64,
    },
    #[error(
        "The legwork daemon (process {pid}) runs but cannot be reached: nobody answers on its \
         socket {}. `legwork daemon stop` ends it, and the next command starts another; tasks are \
         kept.",
        socket.display()
    )]
    Lost { pid: u32, socket: PathBuf },
    #[error(
        "The legwork daemon (process {pid}) was suspended. `kill -CONT {pid}` lets it go on; \
         `legwork daemon stop` ends it, and tasks are kept."
    )]
    Suspended { pid: u32 },
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
    #[error(
        "Another program has the records in {} open, perhaps the daemon of an older legwork whose \
         socket is gone. End it (`fuser {}` names its process), then try again; tasks are kept.",
        store.display(),
        store.join(legwork_machine::STORE_LOCK).display()
    )]
    NoRecord { store: PathBuf },
    #[error("The daemon's socket {} cannot be used. See `legwork doctor`.", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
    #[error(
        "The legwork daemon{} does not answer: it has said nothing for {seconds} s. `legwork daemon \
         stop` ends it, and the next command starts another; tasks are kept. `legwork daemon log` \
         may say why.",
        process(*pid)
    )]
    Silent {
        /// Its process, if it says so.
        pid: Option<u32>,
        seconds: u64,
    },
    /// The link broke, and again after it was opened anew.
    #[error("The link to the legwork daemon broke. Try again; `legwork daemon log` may say why.")]
    Broken(#[source] io::Error),
    #[error("The legwork daemon said: {why}")]
    TurnedAway { why: String },
    #[error("The legwork daemon could not be understood. Restart it: `legwork daemon stop`.")]
    Garbled(#[source] BadLine),
    #[error("The daemon's answer makes no sense here. Restart it: `legwork daemon stop`.")]
    Unfitting(#[source] legwork_protocol::api::Other),
    #[error("This is too long to be sent to the legwork daemon. Say less.")]
    TooLong(#[source] BadLine),
    #[error("The legwork daemon is just ending. Try again in a moment.")]
    Leaving,
    #[error(
        "The legwork daemon (process {pid}) is still there {seconds} s after it was told to end. \
         `kill -9 {pid}` ends it; tasks are kept."
    )]
    StillThere { pid: u32, seconds: u64 },
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
