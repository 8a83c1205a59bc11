//! `legwork rehearsal`: the agent that follows a script and needs no model. Started by whoever
//! speaks to agents; stdout is its protocol.

use clap::Args;
use legwork_agents::{Ending, rehearsal};

use super::{Exit, Fault, Screen};

/// Be an agent that follows a script and needs no model
///
/// Speaks the Agent Client Protocol on stdin and stdout: the prompt is the script, one command a
/// line or with ; between them. With LEGWORK_REHEARSAL_MEMORY, a folder, its conversations outlive
/// it and can be loaded.
#[derive(Args)]
#[command(after_help = commands())]
pub struct Rehearsal {
    /// Offer these models, the first one by default
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    models: Vec<String>,
}

impl super::Command for Rehearsal {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, _: &Screen) -> Result<Exit, Fault> {
        match rehearsal::run(self.models).map_err(Fault::Input)? {
            Ending::InputEnded => Ok(Exit::Done),
            Ending::Crashed(code) => std::process::exit(code.into()),
        }
    }
}

fn commands() -> String {
    format!("Commands of a script:\n{}", rehearsal::script::explained())
}
