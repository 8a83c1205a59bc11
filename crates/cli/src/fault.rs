//! Why a command failed, for the person who typed it: what is so, and what to do.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use legwork_protocol::Refusal;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::sentences;

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Client(#[from] legwork_client::Fault),
    #[error(transparent)]
    Daemon(#[from] legwork_daemon::Fault),
    #[error(transparent)]
    Page(#[from] legwork_views::page::Fault),
    #[error(transparent)]
    Top(#[from] legwork_views::terminal::Fault),
    #[error("{}", sentences::refusal(.0))]
    Denied(Refusal),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Usage(String),
    #[error("Broken off.")]
    BrokenOff,
    #[error("Could not {tried} {}.", path.display())]
    File { tried: &'static str, path: PathBuf, source: io::Error },
    #[error("The output cannot be written.")]
    Output(#[source] io::Error),
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
    /// What to make of the error that came of trying something with this file.
    pub fn file(tried: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File { tried, path: path.to_owned(), source }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Client(legwork_client::Fault::TooLong(_)) => Exit::Refused,
            Self::Client(_) => Exit::NoDaemon,
            Self::BrokenOff => Exit::Interrupted,
            Self::Usage(_) | Self::Top(legwork_views::terminal::Fault::NoTerminal) => Exit::Usage,
            _ => Exit::Refused,
        }
    }

    /// Whether the reader of our output has gone, which is no fault.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What a program is told: the same words, how we end, and the refusal where there is one.
    pub fn for_programs(&self) -> Value {
        let mut error = json!({ "text": self.in_full(), "exit_code": self.exit() as i32 });
        if let Self::Denied(refusal) = self {
            error["refusal"] = json!(refusal);
        }
        json!({ "error": error })
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
