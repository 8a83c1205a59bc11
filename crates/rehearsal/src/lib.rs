//! An agent that needs no model: the prompt is a script, and it does what the script says. For
//! trying legwork out, for its tests, and for everything that a real agent does once a year.
//!
//! It is a subprocess like any other agent (`legwork rehearsal`) and speaks ACP on its stdin and
//! stdout. It knows nothing of legwork's tasks, and nothing here is used by the side that speaks
//! to agents.

mod agent;
mod memory;
mod misbehave;
mod out;
pub mod script;
mod turn;

use std::io;
use std::path::PathBuf;

use legwork_acp::agents::MEMORY_VARIABLE;

pub use agent::serve;
pub use misbehave::Misbehaviour;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub memory: Option<PathBuf>,
    pub misbehave: Option<Misbehaviour>,
    /// The models to choose from; the first is that of a new session.
    pub models: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The client has left.
    InputEnded,
    /// As told; the process is to end with this code.
    Crashed(u8),
}

/// Is the agent on the stdin, stdout and stderr of this process.
pub fn run(misbehave: Option<Misbehaviour>, models: Vec<String>) -> io::Result<Ending> {
    let memory = legwork_machine::var(MEMORY_VARIABLE);
    let options = Options { memory: memory.map(PathBuf::from), misbehave, models };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let ending = runtime.block_on(serve(input, output, tokio::io::stderr(), options));
    // A read or write that nobody answers must not keep the process.
    runtime.shutdown_background();
    Ok(ending)
}
