//! `legwork adapt`: an agent over ACP that drives a program of the person. Started by whoever
//! speaks to agents; stdout is its protocol.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use legwork_agents::native::claude::Claude;
use legwork_agents::native::codex::Codex;
use legwork_agents::{Ending, run};

use super::{Exit, Fault, Screen};

/// Be an agent that drives a program of yours
///
/// Speaks the Agent Client Protocol on stdin and stdout, and the program's own protocol with the
/// program, which works with your login and your settings. The agents that `legwork agents` shows
/// as native are started so.
#[derive(Args)]
#[command(after_help = "\
Example, for the settings:
  [agents.codex-next]
  command = [\"legwork\", \"adapt\", \"codex\", \"--program\", \"/opt/codex-next/bin/codex\"]")]
pub struct Adapt {
    /// The program
    #[arg(value_enum)]
    agent: Native,
    /// Where it is, if not on the PATH under its name
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Native {
    Claude,
    Codex,
}

impl super::Command for Adapt {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, _: &Screen) -> Result<Exit, Fault> {
        let named = |name: &str| self.program.clone().unwrap_or_else(|| PathBuf::from(name));
        let ending = match self.agent {
            Native::Claude => run(|| Claude::new(named("claude"))),
            Native::Codex => run(|| Codex::new(named("codex"))),
        };
        match ending.map_err(Fault::Input)? {
            Ending::InputEnded => Ok(Exit::Done),
            Ending::Crashed(code) => std::process::exit(code.into()),
        }
    }
}
