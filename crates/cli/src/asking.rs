//! Asking the daemon on behalf of a person, who may write a task's id in short.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use legwork_client::{Client, Follower, Start};
use legwork_machine::Folders;
use legwork_protocol::api::board::{BoardPage, Glance};
use legwork_protocol::api::{Answer, Ask, List, Request};
use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::line::{Context, Role};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{ResultView, TaskView, TasksView};
use legwork_protocol::{Status, TaskId};

use crate::fault::Fault;
use crate::screen::remark;

/// Candidates that are named when a short id fits several tasks.
const NAMED: usize = 5;
const HINT_MAX_CHARS: usize = 600;

/// How long a daemon that died and does not come back is tried: a machine may be busy.
pub const PERSIST: Duration = Duration::from_secs(30);
/// How long one question about the board waits for something new.
pub const BOARD_WAIT_MS: u64 = 10_000;

/// The daemon, started if it is not there.
pub fn connect() -> Result<Client, Fault> {
    Ok(reach(&Folders::from_env()?, Start::IfNeeded)?)
}

/// The daemon of these folders. One that works is waited for, which is said; one that does nothing
/// is given up soon.
pub fn reach(folders: &Folders, start: Start) -> Result<Client, legwork_client::Fault> {
    let tell = &mut |fault: &legwork_client::Fault| {
        remark(format_args!("{fault} Still waiting."));
        ControlFlow::Continue(())
    };
    Client::connect_telling(folders, Role::Client, start, tell)
}

/// The daemon, or at once the reason if it takes long to answer: for whoever deals with that.
pub fn connect_soon(folders: &Folders, start: Start) -> Result<Client, legwork_client::Fault> {
    Client::connect_soon(folders, start)
}

/// The daemon for something that takes long: one that dies meanwhile is not noticed.
pub fn connect_for_long() -> Result<Client, Fault> {
    Ok(connect()?.persist(PERSIST))
}

/// The board as it changes, page by page. After a fault it is tried again.
pub fn board(
    glance: Glance,
) -> Result<impl Iterator<Item = Result<BoardPage, Fault>> + Send, Fault> {
    let pages = Follower::new(Folders::from_env()?, Start::IfNeeded, glance);
    Ok(pages.map(|page| page?.map_err(Fault::Denied)))
}

/// What comes of a request; a refusal is a fault.
pub fn get<T: TryFrom<Answer>>(
    client: &mut Client,
    request: impl Into<Request>,
) -> Result<T, Fault> {
    client.request(request)?.map_err(Fault::Denied)
}

pub fn task(client: &mut Client, id: TaskId) -> Result<TaskView, Fault> {
    get(client, Request::Show { task: id.to_string() })
}

/// The whole result or reason of a task's last run, read by a person or for this session.
pub fn result(
    client: &mut Client,
    session: Option<&Context>,
    id: TaskId,
) -> Result<ResultView, Fault> {
    let mut page = |offset| -> Result<ResultView, Fault> {
        let ask = Ask::Output { task: id.to_string(), offset };
        client.request_for(session, ask)?.map_err(Fault::Denied)
    };
    let mut whole = page(0)?;
    while let Some(next) = whole.next {
        let more = page(next)?;
        if more.task.resumes != whole.task.resumes {
            // It was resumed meanwhile, so this is another result.
            whole = page(0)?;
            continue;
        }
        let text = [whole.text, more.text].into_iter().flatten().collect();
        whole = ResultView { text: Some(text), offset: 0, ..more };
    }
    Ok(whole)
}

/// The tasks of a listing, at most so many, page by page.
pub fn list(client: &mut Client, mut list: List, most: usize) -> Result<TasksView, Fault> {
    let mut listed: TasksView = page(client, &list, most)?;
    let mut known: BTreeSet<TaskId> = listed.tasks.iter().map(|task| task.id).collect();
    while listed.tasks.len() < most
        && let Some(next) = listed.next
    {
        list.after = Some(next);
        let more = page(client, &list, most - listed.tasks.len())?;
        let TasksView { tasks, .. } = more;
        // One that ended between two pages is on both.
        listed.tasks.extend(tasks.into_iter().filter(|task| known.insert(task.id)));
        listed = TasksView { tasks: listed.tasks, ..more };
    }
    Ok(listed)
}

/// The unfinished tasks of a listing, the newest first. Finished ones, of which there may be many,
/// are not asked for.
pub fn unfinished(client: &mut Client, wanted: &List) -> Result<TasksView, Fault> {
    let mut found = TasksView::default();
    for status in [Status::Running, Status::Resumed] {
        let more = list(client, List { status: Some(status), ..wanted.clone() }, usize::MAX)?;
        let tasks = found.tasks.into_iter().chain(more.tasks).collect();
        found = TasksView { tasks, ..more };
    }
    found.tasks.sort_by_key(|task| Reverse(task.seq));
    found.total = found.tasks.len();
    Ok(found)
}

fn page(client: &mut Client, list: &List, limit: usize) -> Result<TasksView, Fault> {
    get(client, Ask::List(List { limit: Some(limit), ..list.clone() }))
}

/// The task that a person means by an id or the beginning of one, with or without `bg_`.
pub fn find(client: &mut Client, typed: &str) -> Result<TaskId, Fault> {
    let lower = typed.trim().to_ascii_lowercase();
    let digits = lower.strip_prefix("bg_").unwrap_or(&lower);
    if let Ok(id) = format!("bg_{digits}").parse() {
        return Ok(id);
    }
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(no_such_task(client, typed)?);
    }
    let prefix = format!("bg_{digits}");
    let search = List { search: Some(prefix.clone()), ..List::default() };
    let ids = list(client, search, usize::MAX)?.tasks.into_iter().map(|task| task.id);
    let fitting: Vec<TaskId> = ids.filter(|id| id.to_string().starts_with(&prefix)).collect();
    match fitting.as_slice() {
        [only] => Ok(*only),
        [] => Err(no_such_task(client, typed)?),
        several => {
            let names: Vec<String> = several.iter().take(NAMED).map(TaskId::to_string).collect();
            let more = if several.len() > NAMED { ", …" } else { "" };
            let shown = plain(typed, ECHO_MAX_CHARS);
            Err(Fault::Refused(format!(
                "{shown} is the beginning of {} tasks: {}{more}. Write more of the id.",
                several.len(),
                names.join(", ")
            )))
        }
    }
}

/// That what was typed is no task's id, and which task may have been meant: people remember what
/// they have asked for.
fn no_such_task(client: &mut Client, typed: &str) -> Result<Fault, Fault> {
    const LOOK: &str = "`legwork list` shows the tasks with their ids.";
    let (typed, shown) = (typed.trim(), plain(typed.trim(), ECHO_MAX_CHARS));
    if list(client, List::default(), 1)?.tasks.is_empty() {
        let none = "There is no task yet. `legwork run \"…\"` launches one.";
        return Ok(Fault::Refused(none.to_owned()));
    }
    let lower = typed.to_ascii_lowercase();
    if "bg_".starts_with(&lower) {
        let more = "Every id begins with bg_. Write the beginning of what comes after it.";
        return Ok(Fault::Refused(format!("{more} {LOOK}")));
    }
    let search = List { search: Some(plain(&lower, ECHO_MAX_CHARS)), ..List::default() };
    let described = list(client, search, NAMED)?.tasks;
    let meant: Vec<String> =
        described.iter().map(|task| format!("{} ({})", task.id, task.description)).collect();
    let hint = match meant.as_slice() {
        [] => LOOK.to_owned(),
        some if described.iter().all(|task| task.description.to_lowercase().contains(&lower)) => {
            format!("By its description, did you mean {}?", some.join(" or "))
        }
        some => format!("Did you mean {}?", some.join(" or ")),
    };
    let begins = lower.strip_prefix("bg_").unwrap_or(&lower);
    let no_id = match begins.chars().all(|c| c.is_ascii_alphanumeric()) {
        true => format!("No id begins with bg_{}.", plain(begins, ECHO_MAX_CHARS)),
        false => format!("{shown:?} is no id of a task."),
    };
    Ok(Fault::Refused(format!("{no_id} {}", plain(&hint, HINT_MAX_CHARS))))
}

pub fn find_task(client: &mut Client, typed: &str) -> Result<TaskView, Fault> {
    let id = find(client, typed)?;
    task(client, id)
}

/// The tasks that a person means, each once.
pub fn find_all(client: &mut Client, typed: &[String]) -> Result<Vec<TaskId>, Fault> {
    let mut ids = Vec::new();
    for name in typed {
        let id = find(client, name)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}
