//! `legwork retry`.

use std::time::Duration;

use clap::Args;

use super::run::go_on;
use super::{Exit, Fault, Screen};
use crate::run::retry;
use crate::words::parse_duration;

/// Have a task try again what it did not complete
///
/// Gives a task that failed, was interrupted or was cancelled the prompt of its last run again, in
/// the session that it had, so the helper knows how far it came. A task that never got a session
/// is launched anew. The result is printed here, as by `legwork run`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork retry 4k2
  legwork retry 4k2 --detach        do not wait for it")]
pub struct Retry {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
    /// Print the task's id and do not wait
    #[arg(long)]
    detach: bool,
    /// The longest time to wait, like 90s or 10m; a helper that is at work then goes on
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "detach")]
    timeout: Option<Duration>,
}

impl super::Command for Retry {
    const ACTS: bool = true;
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        go_on(retry(&self.task)?, self.timeout, self.detach, screen)
    }
}
