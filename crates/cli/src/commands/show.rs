//! `legwork show`.

use clap::Args;
use legwork_protocol::api::Request;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find_task, get};
use crate::mail;
use crate::screen::{DIM, paint};
use crate::views::{self, Depth};

/// Show one task
///
/// Shows what is known of a task, what it was asked to do, and what can be done with it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork show bg_4k2m9x0a
  legwork show 4k2                  the beginning of an id is enough
  legwork show 4k2 --full           with the whole prompts")]
pub struct Show {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
    /// Show the prompts whole
    #[arg(long)]
    full: bool,
    /// Show the ids of sessions and hosts too
    #[arg(long, short)]
    verbose: bool,
}

impl super::Command for Show {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let mut task = find_task(&mut client, &self.task)?;
        mail::seen_here(task.id);
        task.runs = get(&mut client, Request::Runs { task: task.id.to_string() })?;
        screen.report(
            || &task,
            || {
                let depth = Depth { full: self.full, verbose: self.verbose };
                let mut lines = views::page(&task, &task.runs, depth, screen.columns());
                lines.push(String::new());
                lines.extend(views::next_steps(&task).into_iter().map(|step| paint(DIM, step)));
                lines
            },
        )
    }
}
