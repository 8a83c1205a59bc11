//! `legwork show`.

use clap::Args;

use crate::asking::{connect, find_task};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mail;
use crate::screen::{DIM, Screen, paint};
use crate::views;

/// Show one task
///
/// Shows everything that is known of a task, and what can be done with it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork show bg_4k2m9x0a
  legwork show 4k2                  the beginning of an id is enough")]
pub struct Show {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
}

impl Show {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let task = find_task(&mut client, &self.task)?;
        mail::seen_here(task.id);
        if screen.is_json() {
            return screen.value(&task).map(|()| Exit::Done);
        }
        screen.lines(views::page(&task))?;
        screen.line("")?;
        screen.lines(views::next_steps(&task).into_iter().map(|step| paint(DIM, step)))?;
        Ok(Exit::Done)
    }
}
