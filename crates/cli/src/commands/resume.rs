//! `legwork resume`.

use std::io;
use std::time::Duration;

use clap::Args;

use super::run::go_on;
use super::{Exit, Fault, Screen};
use crate::run::prompts::{self, Words};
use crate::run::resume;
use crate::words::parse_duration;

/// Have a task go on
///
/// Has a task go on with something more to do. The helper knows all that was said before. Any task
/// can go on that is not at work, however it ended and whoever launched it, as long as its session
/// exists. The session that launched it is told of the result, and it is printed here too, as by
/// `legwork run`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork resume 4k2 \"now fix what you found\"
  legwork resume 4k2 \"go on where you were cut off\"
  legwork resume 4k2 - < more.md                 the prompt from a file
  legwork resume 4k2 --detach \"and the tests\"    do not wait for it")]
pub struct Resume {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
    /// What is to be done now. `-` reads it from stdin
    #[arg(value_name = "PROMPT", required = true)]
    prompt: Vec<String>,
    /// Print the task's id and do not wait
    #[arg(long)]
    detach: bool,
    /// The longest time to wait, like 90s or 10m; a helper that is at work then goes on
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "detach")]
    timeout: Option<Duration>,
}

impl super::Command for Resume {
    const ACTS: bool = true;
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        // Without quotes it is one prompt all the same: there is only one task.
        let typed = [self.prompt.join(" ")];
        let prompts = prompts::read(&typed, Words::Each, &mut io::stdin())?;
        go_on(resume(&self.task, &prompts)?, self.timeout, self.detach, screen)
    }
}
