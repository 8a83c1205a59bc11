//! `legwork wait`.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use legwork_client::Client;
use legwork_protocol::TaskId;
use legwork_protocol::api::{Ask, Awaited, Refusal};
use legwork_protocol::limits::BLOCK_MAX_MS;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::TaskView;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find_all, get, task};
use crate::progress::{LOOK, Live, REDRAW, elapsed, is_live};
use crate::table::fit;
use crate::views::activity;
use crate::words::{counted, parse_duration};
use crate::{listing, mail};

/// Wait until tasks are finished
///
/// Waits until all of the tasks (with --any: the first of them) are finished, or the time is up. On
/// a terminal it shows how they are doing. The exit code tells of what is finished: it is 0 if all
/// completed, 3 if one ended with an error, 4 if one was cancelled, 5 if the time was up. The
/// waiting changes nothing: Ctrl-C ends it and nothing else.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork wait 4k2
  legwork wait 4k2 7ab --timeout 10m || echo 'not all is well'")]
pub struct Wait {
    /// The tasks' ids, or the beginnings of them
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<String>,
    /// Wait only until one of them is finished
    #[arg(long)]
    any: bool,
    /// The longest time to wait, like 90s or 10m; without it there is no limit
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
}

impl super::Command for Wait {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let ids = find_all(&mut client, &self.tasks)?;
        // Unknown ones are refused before anything is waited for.
        look(&mut client, &ids)?;
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let ended = wait_aside(ids.clone(), self.any, deadline);
        let tasks = if is_live() {
            show_progress(&mut client, &ids, &ended)?
        } else {
            ended.recv().map_err(|_| worker_gone())??
        };
        tasks.iter().for_each(|task| mail::seen_here(task.id));
        screen.report(|| &tasks, || listing::list(&tasks, screen))?;
        let finished: Vec<&TaskView> = finished(&tasks).collect();
        let enough = self.any && !finished.is_empty();
        Ok(if enough { Exit::of_tasks(finished) } else { Exit::of_tasks(&tasks) })
    }
}

fn finished(tasks: &[TaskView]) -> impl Iterator<Item = &TaskView> {
    tasks.iter().filter(|task| !task.status.is_unfinished())
}

fn look(client: &mut Client, ids: &[TaskId]) -> Result<Vec<TaskView>, Fault> {
    ids.iter().map(|id| task(client, *id)).collect()
}

/// What came of waiting: the tasks as they are then.
type Ended = Result<Vec<TaskView>, Fault>;

/// Waits on a thread and a link of its own, so that the screen can move meanwhile.
fn wait_aside(ids: Vec<TaskId>, any: bool, deadline: Option<Instant>) -> Receiver<Ended> {
    let (tell, ended) = mpsc::channel();
    thread::spawn(move || {
        // The program may have ended meanwhile.
        let _ = tell.send(wait(&ids, any, deadline));
    });
    ended
}

/// One request after the other, because each has a longest time.
fn wait(ids: &[TaskId], any: bool, deadline: Option<Instant>) -> Ended {
    let mut client = connect()?;
    let names: Vec<String> = ids.iter().map(TaskId::to_string).collect();
    loop {
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()).as_millis());
        let timeout_ms = left.map_or(BLOCK_MAX_MS, |left| left.min(BLOCK_MAX_MS.into()) as u64);
        let ask = Ask::Wait { tasks: names.clone(), any, timeout_ms };
        let awaited: Vec<Awaited> = get(&mut client, ask)?;
        let found =
            |Awaited { name, task }: Awaited| task.ok_or(Fault::Denied(Refusal::NotFound(name)));
        let tasks: Vec<TaskView> = awaited.into_iter().map(found).collect::<Result<_, _>>()?;
        let is_over = deadline.is_some_and(|end| Instant::now() >= end);
        let finished = finished(&tasks).count();
        if is_over || finished == tasks.len() || any && finished > 0 {
            return Ok(tasks);
        }
    }
}

/// Redraws one line on the terminal until the waiting has ended.
fn show_progress(client: &mut Client, ids: &[TaskId], ended: &Receiver<Ended>) -> Ended {
    let started = Instant::now();
    let (mut looked, mut board) = (started, Live::default());
    let mut tasks = look(client, ids)?;
    loop {
        if looked.elapsed() > LOOK {
            tasks = look(client, ids)?;
            looked = Instant::now();
        }
        let line = format!("{} {}", board.turn(), progress(&tasks, started.elapsed()));
        board.draw(&[fit(&plain(&line, 500), Live::room().0)]);
        match ended.recv_timeout(REDRAW) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(worker_gone()),
            Ok(result) => return result,
        }
    }
}

fn progress(tasks: &[TaskView], waited: Duration) -> String {
    let waited = elapsed(waited);
    let open: Vec<&TaskView> = tasks.iter().filter(|task| task.status.is_unfinished()).collect();
    match open.as_slice() {
        [] => format!("{waited}  almost done"),
        [only] => format!("{waited}  {}  {}  {}", only.id, activity(only), only.description),
        [first, ..] => {
            let all = counted(open.len(), "task");
            format!("{waited}  {all} at work, {}: {}", first.id, activity(first))
        }
    }
}

fn worker_gone() -> Fault {
    Fault::Refused("The waiting ended without an answer. Try again.".to_owned())
}
