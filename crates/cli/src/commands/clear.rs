//! `legwork clear`.

use clap::Args;
use legwork_client::Client;
use legwork_protocol::Status;
use legwork_protocol::line::Query;
use legwork_protocol::view::{TaskView, TasksView};
use serde::Serialize;

use crate::asking::{connect, find_all, get, task};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::{Screen, agrees, remark};
use crate::views;
use crate::words::counted;

/// Forget tasks and their results
///
/// Forgets tasks with their results and notices; unfinished ones are called off first. Without
/// TASK and --finished: all tasks of all projects. Shows what would be forgotten, and asks.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork clear --finished          everything that is done
  legwork clear 4k2 7ab             these two
  legwork clear --yes               everything, without asking")]
pub struct Clear {
    /// The tasks' ids, or the beginnings of them
    #[arg(value_name = "TASK")]
    tasks: Vec<String>,
    /// Only tasks that are finished
    #[arg(long, conflicts_with = "tasks")]
    finished: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct Shown {
    forgotten: Vec<String>,
    refused: bool,
    text: String,
}

impl Clear {
    /// Asks, then forgets exactly what was shown.
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let (tasks, older) = self.chosen(&mut client)?;
        if tasks.is_empty() {
            if screen.is_json() {
                let text = "No background tasks to clear.".to_owned();
                screen.value(&Shown { forgotten: Vec::new(), refused: false, text })?;
            } else {
                screen.line("No background tasks to clear.")?;
            }
            return Ok(Exit::Done);
        }
        if !self.yes && !agreed(&tasks, screen)? {
            remark("Nothing was forgotten.");
            return Ok(Exit::Refused);
        }
        let forgotten: Vec<String> = tasks.iter().map(|task| task.id.to_string()).collect();
        let answered = client.ask(Query::Forget { tasks: forgotten.clone() })?;
        if screen.is_json() {
            let forgotten = if answered.refused { Vec::new() } else { forgotten };
            screen.value(&Shown { forgotten, refused: answered.refused, text: answered.text })?;
        } else if answered.refused {
            return Err(Fault::Refused(answered.text));
        } else {
            screen.line(&answered.text)?;
            if older > 0 {
                screen.line(format!("{} are left; run it again for them.", older_tasks(older)))?;
            }
        }
        Ok(if answered.refused { Exit::Refused } else { Exit::Done })
    }

    /// The tasks, and how many fit besides.
    fn chosen(&self, client: &mut Client) -> Result<(Vec<TaskView>, usize), Fault> {
        if !self.tasks.is_empty() {
            let ids = find_all(client, &self.tasks)?;
            let tasks: Result<_, Fault> = ids.into_iter().map(|id| task(client, id)).collect();
            return Ok((tasks?, 0));
        }
        let wanted: &[Option<Status>] = if self.finished {
            &[Some(Status::Completed), Some(Status::Error), Some(Status::Cancelled)]
        } else {
            &[None]
        };
        let (mut tasks, mut older) = (Vec::new(), 0);
        for status in wanted {
            let found: TasksView = get(client, Query::Tasks { status: *status })?;
            older += found.total.saturating_sub(found.tasks.len());
            tasks.extend(found.tasks);
        }
        Ok((tasks, older))
    }
}

fn older_tasks(count: usize) -> String {
    counted(count, "older task")
}

/// Shows the tasks on stderr and asks there.
fn agreed(tasks: &[TaskView], screen: &Screen) -> Result<bool, Fault> {
    for line in views::list(tasks, screen) {
        remark(line);
    }
    let unfinished = tasks.iter().filter(|task| task.status.is_unfinished()).count();
    let stopped = match unfinished {
        0 => String::new(),
        some => format!(" and call off {some} of them"),
    };
    let question = format!("Forget {}{stopped}?", counted(tasks.len(), "task"));
    agrees(&question)
}
