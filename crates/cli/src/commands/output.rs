//! `legwork output`.

use clap::Args;

use crate::asking::{connect, find, result};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mail;
use crate::screen::Screen;

/// Print the whole result of a task
///
/// Prints the whole result of a task's last run to stdout, and nothing else. Of a task that failed
/// or was cancelled it prints why, and the exit code says so. Never waits.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork output 4k2 > report.md
  legwork wait 4k2 && legwork output 4k2")]
pub struct Output {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
}

impl Output {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let id = find(&mut client, &self.task)?;
        let found = result(&mut client, None, id)?;
        mail::seen_here(id);
        if found.task.status.is_unfinished() && !screen.is_json() {
            return Err(Fault::Refused(format!(
                "{id} is still {}. `legwork wait {id}` waits for it.",
                found.task.status
            )));
        }
        if screen.is_json() {
            screen.value(&found)?;
        } else {
            screen.raw(found.text.as_deref().unwrap_or_default())?;
        }
        Ok(match Exit::of_tasks([&found.task]) {
            // Nobody waited.
            Exit::TimedOut => Exit::Done,
            exit => exit,
        })
    }
}
