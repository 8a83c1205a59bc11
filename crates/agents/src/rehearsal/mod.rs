//! An agent that needs no model: the prompt is a script, and it does what the script says
//! (`legwork rehearsal`). For trying legwork out and for `legwork demo`.
//!
//! What no good agent does is in the test kit, which adds commands by [`Extra`].

mod agent;
pub mod memory;
pub mod script;
mod turn;

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use legwork_acp::agents::MEMORY_VARIABLE;

use tokio::io::{AsyncRead, AsyncWrite};

use self::agent::Rehearsal;
use crate::Ending;
pub use turn::Turn;

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The folder in which conversations outlive the process.
    pub memory: Option<PathBuf>,
    /// The models to choose from; the first is that of a new session.
    pub models: Vec<String>,
    pub extra: Option<&'static dyn Extra>,
}

/// Commands beyond those of [`script::COMMANDS`].
pub trait Extra: Debug + Sync {
    /// True if the script may contain this command with these arguments.
    fn knows(&self, word: &str, rest: &str) -> bool;

    /// Does the command. An error ends the turn.
    fn perform<'a>(&'a self, word: &'a str, rest: &'a str, turn: &'a mut Turn) -> Performing<'a>;
}

pub type Performing<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Serves a client until the input ends or a script crashes the agent.
pub async fn serve<I, O, E>(input: I, output: O, errors: E, options: Options) -> Ending
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Send + Unpin + 'static,
    E: AsyncWrite + Send + Unpin + 'static,
{
    crate::serve::serve(input, output, errors, Rehearsal::new(options)).await
}

/// Serves the stdin, stdout and stderr of this process.
pub fn run(models: Vec<String>) -> io::Result<Ending> {
    let memory = legwork_machine::var(MEMORY_VARIABLE).map(PathBuf::from);
    crate::run(|| Rehearsal::new(Options { memory, models, extra: None }))
}
