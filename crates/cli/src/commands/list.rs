//! `legwork list`.

use clap::Args;
use legwork_protocol::Status;
use legwork_protocol::api::{self, Cursor, Request};
use legwork_protocol::limits::LIST_MAX_TASKS;
use legwork_protocol::view::DaemonView;

use crate::asking::{connect, get, list};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::{MIND, Screen, paint};
use crate::views;

/// Show all tasks, unfinished ones first
///
/// Shows the tasks of all sessions and projects: the unfinished ones, then the finished ones, each
/// newest first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork list                      everything
  legwork list --status running     what is at work
  legwork list --search flaky       what has this word in its description, agent or id
  legwork list --json | jq '.tasks[].id'
  legwork list --json --limit 50 --after \"$next\"     the next page; .next names it")]
pub struct List {
    /// Only tasks with this status: running, completed, error, cancelled, resumed
    #[arg(long, value_parser = parse_status)]
    status: Option<Status>,
    /// Only tasks with this text in their description, agent or id
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = LIST_MAX_TASKS)]
    limit: usize,
    /// Go on after this place, the `next` of the page before
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
}

fn parse_status(text: &str) -> Result<Status, String> {
    text.parse().map_err(|_| {
        let all: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        format!("use one of {}", all.join(", "))
    })
}

impl List {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let wanted = api::List {
            status: self.status,
            search: self.search,
            after: self.after,
            ..api::List::default()
        };
        let mut client = connect()?;
        let found = list(&mut client, wanted, self.limit)?;
        if screen.is_json() {
            return screen.value(&found).map(|()| Exit::Done);
        }
        if found.tasks.is_empty() {
            screen.line("No background tasks found.")?;
        } else {
            screen.lines(views::list(&found.tasks, screen))?;
        }
        screen.lines(views::budgets(&found.tasks).into_iter().map(|line| paint(MIND, line)))?;
        if found.next.is_some() {
            let (shown, total) = (found.tasks.len(), found.total);
            screen.line(format!("({shown} of {total} are shown; --limit shows more.)"))?;
        }
        if found.incomplete {
            let daemon: DaemonView = get(&mut client, Request::Status)?;
            let last = daemon.set_aside.last().map(String::as_str).unwrap_or_default();
            screen.line("")?;
            screen.line(format!(
                "Earlier records could not be read as a whole and were set aside as {last}. Tasks \
                 of before may be missing here; nothing of them is deleted: `legwork doctor`."
            ))?;
        }
        Ok(Exit::Done)
    }
}
