//! An agent that needs no model: the prompt is a script, and it does what the script says. For
//! trying legwork out and for `legwork demo`.
//!
//! It is a subprocess like any other agent (`legwork rehearsal`) and speaks ACP on its stdin and
//! stdout. It knows nothing of legwork's tasks, and nothing here is used by the side that speaks
//! to agents. What no good agent does is in the test kit, which adds commands by [`Extra`].

mod agent;
pub mod memory;
mod out;
pub mod script;
mod turn;

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use legwork_acp::agents::MEMORY_VARIABLE;

pub use agent::serve;
pub use out::Out;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The client has left.
    InputEnded,
    /// A script crashed the agent; the process is to end with this code.
    Crashed(u8),
}

/// Serves the stdin, stdout and stderr of this process.
pub fn run(models: Vec<String>) -> io::Result<Ending> {
    let memory = legwork_machine::var(MEMORY_VARIABLE).map(PathBuf::from);
    let options = Options { memory, models, extra: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let agent = serve(tokio::io::stdin(), tokio::io::stdout(), tokio::io::stderr(), options);
    let ending = runtime.block_on(agent);
    // A read or write that nobody answers must not keep the process.
    runtime.shutdown_background();
    Ok(ending)
}
