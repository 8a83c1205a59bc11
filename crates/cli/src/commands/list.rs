//! `legwork list`.

use clap::Args;
use legwork_protocol::Status;
use legwork_protocol::line::Query;
use legwork_protocol::view::TasksView;

use crate::asking::{connect, get};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;
use crate::views;

/// Show all tasks, newest first
///
/// Shows the tasks of all sessions and projects, newest first: the 200 newest.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork list                      everything
  legwork list --status running     what is at work
  legwork list --json | jq '.tasks[].id'")]
pub struct List {
    /// Only tasks with this status: running, completed, error, cancelled, resumed
    #[arg(long, value_parser = parse_status)]
    status: Option<Status>,
}

/// A status as a person types it.
fn parse_status(text: &str) -> Result<Status, String> {
    text.parse().map_err(|_| {
        let all: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        format!("use one of {}", all.join(", "))
    })
}

impl List {
    /// Shows them.
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let found: TasksView = get(&mut connect()?, Query::Tasks { status: self.status })?;
        if screen.is_json() {
            screen.value(&found)?;
            return Ok(Exit::Done);
        }
        if found.tasks.is_empty() {
            screen.line("No background tasks found.")?;
        }
        let rows =
            if found.tasks.is_empty() { Vec::new() } else { views::list(&found.tasks, screen) };
        for line in rows {
            screen.line(line)?;
        }
        let older = found.total.saturating_sub(found.tasks.len());
        if older > 0 {
            screen.line(format!("({older} older ones are not shown.)"))?;
        }
        if let Some(last) = found.set_aside.last() {
            screen.line("")?;
            screen.line(format!(
                "Earlier records could not be read as a whole and were set aside as {last}. Tasks \
                 of before may be missing here; nothing of them is deleted: `legwork doctor`."
            ))?;
        }
        Ok(Exit::Done)
    }
}
