//! `legwork clear`.

use clap::Args;
use legwork_client::Client;
use legwork_protocol::api::{Answer, Ask, List};
use legwork_protocol::view::TaskView;
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find_all, list, task};
use crate::screen::{Report, agrees, remark};
use crate::words::{age, counted, since};
use crate::{listing, sentences};

/// Tasks that are forgotten with one request, where others stay. Each takes the daemon a tenth of a
/// second or two, in which it does nothing else; many small ones would write the same pages of the
/// records again and again.
const AT_ONCE: usize = 2_000;
/// The same where hardly any stay: the records are emptied as a whole, which takes little more for
/// many. The line holds their names.
const ALL_AT_ONCE: usize = 200_000;
/// Tasks that are shown one by one before the person is asked.
const SHOWN_MAX: usize = 5;

/// Forget tasks and their results
///
/// Forgets tasks with their results and notices; unfinished ones are cancelled first. Without
/// TASK and --finished: all tasks of all projects. Says what would be forgotten, and asks.
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

impl super::Command for Clear {
    const ACTS: bool = true;
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let tasks = self.chosen(&mut client)?;
        if !tasks.is_empty() && !self.yes && !agreed(&tasks, screen)? {
            remark("Nothing was forgotten.");
            return Ok(Exit::Refused);
        }
        // In the order of the records, most of which are kept by these ids.
        let mut ids: Vec<String> = tasks.iter().map(|task| task.id.to_string()).collect();
        ids.sort_unstable();
        let (mut forgotten, mut called_off, mut refusal) = (0, 0, None);
        let at_once = if self.tasks.is_empty() { ALL_AT_ONCE } else { AT_ONCE };
        for some in ids.chunks(at_once) {
            match client.request::<Answer>(Ask::Forget { tasks: some.to_vec() })? {
                Ok(Answer::Cleared { unfinished, .. }) => called_off += unfinished,
                Ok(_) => {}
                Err(why) => {
                    refusal = Some(why);
                    break;
                }
            }
            forgotten += some.len();
        }
        let done = Answer::Cleared { tasks: forgotten, unfinished: called_off };
        if screen.is_json() {
            let answered = refusal.clone().map_or_else(|| Ok(done.clone()), Err);
            screen.value(&Report::new(json!({ "forgotten": ids[..forgotten] }), &answered))?;
        } else if forgotten > 0 || refusal.is_none() {
            screen.line(sentences::done(&done))?;
        }
        match refusal {
            Some(why) if !screen.is_json() => Err(Fault::Denied(why)),
            Some(_) => Ok(Exit::Refused),
            None => Ok(Exit::Done),
        }
    }
}

impl Clear {
    fn chosen(&self, client: &mut Client) -> Result<Vec<TaskView>, Fault> {
        if !self.tasks.is_empty() {
            let ids = find_all(client, &self.tasks)?;
            return ids.into_iter().map(|id| task(client, id)).collect();
        }
        let mut tasks = list(client, List::default(), usize::MAX)?.tasks;
        tasks.retain(|task| !self.finished || !task.status.is_unfinished());
        Ok(tasks)
    }
}

/// Says on stderr what would go, and asks there. A few are shown as they are; many are counted.
fn agreed(tasks: &[TaskView], screen: &Screen) -> Result<bool, Fault> {
    if tasks.len() <= SHOWN_MAX {
        listing::list(tasks, screen).into_iter().for_each(remark);
    }
    let (unfinished, finished): (Vec<_>, Vec<_>) =
        tasks.iter().partition(|task| task.status.is_unfinished());
    for (some, kind) in [(&unfinished, "unfinished task"), (&finished, "finished task")] {
        if !some.is_empty() {
            remark(format!("{} of {} ago", counted(some.len(), kind), ages(some)));
        }
    }
    let stopped = match unfinished.len() {
        0 => String::new(),
        some => format!(" and cancel {some} of them"),
    };
    agrees(&format!("Forget {}{stopped}?", counted(tasks.len(), "task")))
}

fn ages(tasks: &[&TaskView]) -> String {
    let ages = || tasks.iter().map(|task| since(task.created));
    let (new, old) = (age(ages().min().unwrap_or(0)), age(ages().max().unwrap_or(0)));
    if new == old { old } else { format!("{new} to {old}") }
}
