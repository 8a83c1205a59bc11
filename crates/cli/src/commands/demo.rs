//! `legwork demo`.

use clap::Args;

use super::{Exit, Fault, Screen};
use crate::demo::Show;

/// See what legwork does, in ten seconds
///
/// Launches helpers, waits for them, lets one go on with what it knows, cancels one, and kills
/// its own daemon in the middle to show that nothing is lost. Everything in it is real but the
/// model: the helpers are processes that follow a script. It has a home of its own among the
/// temporary files and leaves nothing behind.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork demo                      with progress and colours
  legwork demo | less               to read it in peace")]
pub struct Demo {
    /// Do not linger, for tests
    #[arg(long)]
    fast: bool,
}

impl super::Command for Demo {
    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        if screen.is_json() {
            return Err(Fault::Usage("The demo is for people: it has no JSON.".to_owned()));
        }
        Show::open(self.fast, screen)?.play()?;
        Ok(Exit::Done)
    }
}
