//! `legwork cancel`.

use clap::Args;
use legwork_protocol::api::{Answer, Ask, List};
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find_all, unfinished};
use crate::mail;
use crate::screen::{BAD, Report, agrees, paint, remark};
use crate::words::counted;

/// Cancel tasks
///
/// Cancels tasks at once: their sessions are stopped, and the session that asked for each is
/// notified. A finished task cannot be cancelled. With --all it cancels whatever is unfinished, of
/// all projects, and asks first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork cancel 4k2
  legwork cancel --all
  legwork cancel --all --yes        without asking")]
pub struct Cancel {
    /// The tasks' ids, or the beginnings of them
    #[arg(value_name = "TASK", required_unless_present = "all")]
    tasks: Vec<String>,
    /// All tasks that are unfinished
    #[arg(long, conflicts_with = "tasks")]
    all: bool,
    /// Do not ask
    #[arg(long, short, requires = "all")]
    yes: bool,
}

impl super::Command for Cancel {
    const ACTS: bool = true;
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let ids = match self.all {
            true => {
                let all = unfinished(&mut client, &List::default())?.tasks;
                all.into_iter().map(|task| task.id).collect()
            }
            false => find_all(&mut client, &self.tasks)?,
        };
        if self.all && ids.is_empty() && !screen.is_json() {
            screen.line("There is no unfinished task.")?;
        }
        let question = format!("Cancel {}?", counted(ids.len(), "task"));
        if self.all && !ids.is_empty() && !self.yes && !agrees(&question)? {
            remark("Nothing was cancelled.");
            return Ok(Exit::Refused);
        }
        let mut all = Vec::new();
        for id in ids {
            let answered = client.request::<Answer>(Ask::Cancel { task: id.to_string() })?;
            mail::seen_here(id);
            let report = Report::new(json!({ "task": id }), &answered);
            if !screen.is_json() && report.refused {
                screen.line(format!("{} {}", paint(BAD, id), report.text))?;
            } else if !screen.is_json() {
                screen.line(&report.text)?;
            }
            all.push(report);
        }
        if screen.is_json() {
            screen.value(&all)?;
        }
        Ok(if all.iter().any(|report| report.refused) { Exit::Refused } else { Exit::Done })
    }
}
