//! `legwork list`.

use std::env;
use std::path::Path;

use clap::Args;
use legwork_client::Client;
use legwork_protocol::Status;
use legwork_protocol::api::{self, Cursor, Request};
use legwork_protocol::view::{DaemonView, TasksView};
use legwork_views::model::State;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, get, list, unfinished};
use crate::screen::{DIM, MIND, paint};
use crate::{listing, project, views};

/// Tasks that are shown on a terminal unless more are asked for: some screens of them.
const ON_A_TERMINAL: usize = 50;

/// Show tasks, unfinished ones first
///
/// Shows the tasks of all sessions and projects: the unfinished ones, then the finished ones, each
/// newest first. AGE is the time since the launch, TIME how long the helper worked. On a terminal
/// the first 50 are shown; a pipe and --json get all of them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork list                      what is at work, then what is done
  legwork list --here               only this project
  legwork list --status asks        what waits for you
  legwork list --status error       what failed, and why
  legwork list --search flaky       what has this word in its description, agent, folder or id
  legwork list --json | jq '.tasks[].id'
  legwork list --json --limit 50 --after \"$next\"     the next page; .next names it")]
pub struct List {
    /// Only these: running, completed, error, cancelled, resumed; or asks, queued, working
    #[arg(long, value_parser = parse_kind)]
    status: Option<Kind>,
    /// Only tasks with this text in their description, agent, folder or id
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only tasks of the project that this folder is in
    #[arg(long)]
    here: bool,
    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<usize>,
    /// All of them
    #[arg(long, short, conflicts_with = "limit")]
    all: bool,
    /// Go on after this place, the `next` of the page before
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
}

/// Which tasks: those of a status, or unfinished ones in the words of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Of(Status),
    Now(State),
}

const NOW: [(&str, State); 3] =
    [("asks", State::Asks), ("queued", State::Queued), ("working", State::Working)];

pub fn parse_kind(text: &str) -> Result<Kind, String> {
    let now = NOW.iter().find(|(name, _)| *name == text).map(|(_, state)| Kind::Now(*state));
    let of = || if text == "failed" { Some(Status::Error) } else { text.parse().ok() };
    now.or_else(|| of().map(Kind::Of))
        .ok_or_else(|| format!("use one of {}", kinds().collect::<Vec<_>>().join(", ")))
}

/// Everything that `--status` takes.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    Status::ALL.into_iter().map(Status::as_str).chain(NOW.map(|(name, _)| name))
}

/// The unfinished tasks that are so now, the newest first.
fn now(
    client: &mut Client,
    wanted: &api::List,
    state: State,
    most: usize,
) -> Result<TasksView, Fault> {
    let mut found = unfinished(client, wanted)?;
    found.tasks.retain(|task| State::of(task) == state);
    found.total = found.tasks.len();
    found.tasks.truncate(most);
    Ok(found)
}

impl super::Command for List {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let most = match self.limit {
            Some(limit) => limit,
            None if self.all || screen.is_json() || screen.columns().is_none() => usize::MAX,
            None => ON_A_TERMINAL,
        };
        let is_narrowed = self.status.is_some() || self.search.is_some() || self.here;
        let wanted = api::List {
            status: match self.status {
                Some(Kind::Of(status)) => Some(status),
                Some(Kind::Now(_)) | None => None,
            },
            search: self.search,
            under: if self.here { Some(here()?) } else { None },
            after: self.after,
            ..api::List::default()
        };
        let mut client = connect()?;
        let found = match self.status {
            Some(Kind::Now(_)) if self.after.is_some() => {
                return Err(Fault::Usage(
                    "--after goes with a status of the records: running, completed, error, \
                     cancelled, resumed."
                        .to_owned(),
                ));
            }
            Some(Kind::Now(state)) => now(&mut client, &wanted, state, most)?,
            Some(Kind::Of(_)) | None => list(&mut client, wanted, most)?,
        };
        if screen.is_json() {
            return screen.value(&found).map(|()| Exit::Done);
        }
        match found.tasks.as_slice() {
            [] if is_narrowed => screen.line("No such tasks. `legwork list` shows all.")?,
            [] => screen.line("No tasks yet. `legwork run \"…\"` launches one.")?,
            tasks => screen.lines(listing::list(tasks, screen))?,
        }
        screen.lines(views::budgets(&found.tasks).into_iter().map(|line| paint(MIND, line)))?;
        let (shown, total) = (found.tasks.len(), found.total);
        if found.next.is_some() || (shown < total && self.after.is_none()) {
            let line = format!("({shown} of {total} are shown; --all shows the rest.)");
            screen.line(paint(DIM, line))?;
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

/// The folder of this project.
fn here() -> Result<String, Fault> {
    let folder = env::current_dir().map_err(Fault::file("find", Path::new("this folder")))?;
    Ok(project::root(&folder).to_string_lossy().into_owned())
}
