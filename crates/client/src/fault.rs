//! Why the daemon could not be asked. Each text says what is so and what to do.

use std::io;
use std::path::PathBuf;

use legwork_protocol::line::BadLine;

/// Something for the person in front of the screen.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nothing says where files belong.
    #[error("There is no home folder. Set HOME, or LEGWORK_HOME to a folder for all of legwork.")]
    NoHome,
    /// A folder cannot be looked at.
    #[error("The folder {} cannot be looked at. See `legwork doctor`.", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The socket's folder could hold somebody else's socket.
    #[error(
        "The folder {0} of legwork's socket {why}, so it is not used. Make it yours alone \
         (`chmod 700 {0}`), or set LEGWORK_HOME to another folder.",
        folder.display()
    )]
    NotPrivate {
        /// Which.
        folder: PathBuf,
        /// What is wrong with it.
        why: &'static str,
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
    /// The daemon ended while somebody waited for its socket.
    #[error(
        "The legwork daemon ended as soon as it was started ({how}). `legwork daemon log` says \
         why; `legwork daemon run --foreground` shows it happen."
    )]
    Ended {
        /// Its exit status.
        how: std::process::ExitStatus,
    },
    /// The daemon was started, and nobody listens.
    #[error(
        "The legwork daemon was started but does not listen on {} after {seconds} s. See `legwork \
         daemon log` and `legwork doctor`.",
        socket.display()
    )]
    TooSlow {
        /// Where.
        socket: PathBuf,
        /// How long it was waited for.
        seconds: u64,
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
    Unfitting(#[source] serde_json::Error),
    /// More than the daemon would read.
    #[error("This is too long to be sent to the legwork daemon. Say less.")]
    TooLong(#[source] BadLine),
    /// The daemon ends.
    #[error("The legwork daemon is just ending. Try again in a moment.")]
    Leaving,
    /// It was told to end and goes on.
    #[error(
        "The legwork daemon (process {pid}) is still there {seconds} s after it was told to end. \
         `kill {pid}` ends it; tasks are kept."
    )]
    StillThere {
        /// Its process.
        pid: u32,
        /// How long it was waited for.
        seconds: u64,
    },
}
