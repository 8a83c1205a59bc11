//! The agents inside the binary. Each is a subprocess like any other agent and speaks ACP on its
//! stdin and stdout.
//!
//! - [`rehearsal`] follows a script and needs no model.
//! - [`native`] drives a program of the person: the `claude` or `codex` that is installed.
//!
//! They know nothing of legwork's tasks, and nothing here is used by the side that speaks to
//! agents.

pub mod native;
mod out;
pub mod rehearsal;
pub mod serve;

use std::io;

pub use out::Out;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The client has left.
    InputEnded,
    /// A turn crashed the agent; the process is to end with this code.
    Crashed(u8),
}

/// Serves the stdin, stdout and stderr of this process with an agent.
pub fn run<A: serve::Agent>(agent: impl FnOnce() -> A) -> io::Result<Ending> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ending = runtime.block_on(async {
        serve::serve(tokio::io::stdin(), tokio::io::stdout(), tokio::io::stderr(), agent()).await
    });
    // A read or write that nobody answers must not keep the process.
    runtime.shutdown_background();
    Ok(ending)
}
