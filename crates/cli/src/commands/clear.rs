//! `legwork clear`.

use clap::Args;
use legwork_client::Client;
use legwork_protocol::Status;
use legwork_protocol::limits::LIST_MAX_TASKS;
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
    /// Asks, then forgets what was shown, and of more than one listing holds the older ones too.
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let first = self.chosen(&mut client)?;
        if first.tasks.is_empty() {
            if screen.is_json() {
                let text = "No background tasks to clear.".to_owned();
                screen.value(&Shown { forgotten: Vec::new(), refused: false, text })?;
            } else {
                screen.line("No background tasks to clear.")?;
            }
            return Ok(Exit::Done);
        }
        if !self.yes && !agreed(&first, screen)? {
            remark("Nothing was forgotten.");
            return Ok(Exit::Refused);
        }
        let cleared = self.forget(&mut client, first)?;
        let refused = cleared.refusal.is_some();
        let done = format!("Cleared {}.", counted(cleared.forgotten.len(), "task"));
        let text = match (cleared.refusal, cleared.forgotten.len()) {
            (Some(why), 0) => why,
            (Some(why), _) => format!("{done} {why}"),
            (None, _) => cleared.answer.unwrap_or(done),
        };
        if screen.is_json() {
            screen.value(&Shown { forgotten: cleared.forgotten, refused, text })?;
        } else if refused {
            return Err(Fault::Refused(text));
        } else {
            screen.line(text)?;
        }
        Ok(if refused { Exit::Refused } else { Exit::Done })
    }

    /// Forgets these, and as long as there are older ones those, a listing at a time. What was
    /// launched after the person was asked stays.
    fn forget(&self, client: &mut Client, first: Chosen) -> Result<Cleared, Fault> {
        let newest = first.tasks.iter().map(|task| task.created).max();
        let mut cleared = Cleared::default();
        let mut next = first;
        let listings = 1 + next.older.div_ceil(LIST_MAX_TASKS);
        for listing in 0..listings {
            let tasks = next.tasks.iter().filter(|task| Some(task.created) <= newest);
            let ids: Vec<String> = tasks.map(|task| task.id.to_string()).collect();
            if ids.is_empty() {
                break;
            }
            let answered = client.ask(Query::Forget { tasks: ids.clone() })?;
            if answered.refused {
                cleared.refusal = Some(answered.text);
                break;
            }
            cleared.forgotten.extend(ids);
            // The daemon's words are about one step.
            cleared.answer = (listings == 1).then_some(answered.text);
            if listing + 1 < listings {
                next = self.chosen(client)?;
            }
        }
        Ok(cleared)
    }

    fn chosen(&self, client: &mut Client) -> Result<Chosen, Fault> {
        if !self.tasks.is_empty() {
            let ids = find_all(client, &self.tasks)?;
            let tasks: Result<_, Fault> = ids.into_iter().map(|id| task(client, id)).collect();
            return Ok(Chosen { tasks: tasks?, older: 0 });
        }
        let wanted: &[Option<Status>] = if self.finished {
            &[Some(Status::Completed), Some(Status::Error), Some(Status::Cancelled)]
        } else {
            &[None]
        };
        let mut chosen = Chosen { tasks: Vec::new(), older: 0 };
        for status in wanted {
            let found: TasksView = get(client, Query::Tasks { status: *status })?;
            chosen.older += found.total.saturating_sub(found.tasks.len());
            chosen.tasks.extend(found.tasks);
        }
        Ok(chosen)
    }
}

/// Tasks to be forgotten.
struct Chosen {
    tasks: Vec<TaskView>,
    /// How many there are besides.
    older: usize,
}

/// What was forgotten.
#[derive(Default)]
struct Cleared {
    forgotten: Vec<String>,
    /// The daemon's words, if they are about all of it.
    answer: Option<String>,
    /// Why not all of it was.
    refusal: Option<String>,
}

/// Shows the tasks on stderr and asks there.
fn agreed(chosen: &Chosen, screen: &Screen) -> Result<bool, Fault> {
    for line in views::list(&chosen.tasks, screen) {
        remark(line);
    }
    if chosen.older > 0 {
        remark(format!("({} older ones are not shown.)", chosen.older));
    }
    let unfinished = chosen.tasks.iter().filter(|task| task.status.is_unfinished()).count();
    let stopped = match unfinished {
        0 => String::new(),
        some if chosen.older == 0 => format!(" and call off {some} of them"),
        some => format!(" and call off at least {some} of them"),
    };
    let all = counted(chosen.tasks.len() + chosen.older, "task");
    let question = format!("Forget {all}{stopped}?");
    agrees(&question)
}
