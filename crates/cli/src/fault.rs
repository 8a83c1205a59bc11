//! Why a command failed, for the person who typed it: what is so, and what to do.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use legwork_protocol::Refusal;

use crate::exit::Exit;
use crate::sentences;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The daemon could not be asked.
    #[error(transparent)]
    Client(#[from] legwork_client::Fault),
    /// This process was to be the daemon and cannot.
    #[error(transparent)]
    Daemon(#[from] legwork_daemon::Fault),
    /// The daemon said no.
    #[error("{}", sentences::refusal(.0))]
    Denied(Refusal),
    /// Somebody said no, in these words.
    #[error("{0}")]
    Refused(String),
    /// What was typed makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file is in the way or cannot be used.
    #[error("Could not {tried} {}.", path.display())]
    File { tried: &'static str, path: PathBuf, source: io::Error },
    /// Nobody reads what we print.
    #[error("The output cannot be written.")]
    Output(#[source] io::Error),
    /// The terminal or pipe that an answer was to come from.
    #[error("The input cannot be read.")]
    Input(#[source] io::Error),
}

impl From<legwork_machine::Fault> for Fault {
    /// Without its folders the daemon cannot be reached.
    fn from(fault: legwork_machine::Fault) -> Self {
        Self::Client(fault.into())
    }
}

impl Fault {
    /// How the program ends with it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Client(legwork_client::Fault::TooLong(_)) => Exit::Refused,
            Self::Client(_) => Exit::NoDaemon,
            Self::Usage(_) => Exit::Usage,
            Self::Daemon(_)
            | Self::Denied(_)
            | Self::Refused(_)
            | Self::File { .. }
            | Self::Output(_)
            | Self::Input(_) => Exit::Refused,
        }
    }

    /// Whether the reader of our output has gone, which is no fault.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The message and its causes, each on a line of its own.
    pub fn in_full(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(&format!("\n  because: {error}"));
            cause = error.source();
        }
        text
    }
}
