//! Asking the daemon on behalf of a person, who may write a task's id in short.

use std::time::Duration;

use legwork_client::{Client, Start};
use legwork_machine::Folders;
use legwork_protocol::TaskId;
use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::line::{Query, Role};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{ResultView, TaskView, TasksView};
use serde::de::DeserializeOwned;

use crate::fault::Fault;

/// Candidates that are named when a short id fits several tasks.
const NAMED: usize = 5;

/// How long a daemon that died and does not come back is tried: a machine may be busy.
const PERSIST: Duration = Duration::from_secs(30);

/// The daemon, started if it is not there.
pub fn connect() -> Result<Client, Fault> {
    Ok(Client::connect(&Folders::from_env()?, Role::Client, Start::IfNeeded)?)
}

/// The same for something that takes long: a daemon that dies meanwhile is not noticed.
pub fn connect_for_long() -> Result<Client, Fault> {
    Ok(connect()?.persist(PERSIST))
}

/// What a query finds; a refusal is a fault.
pub fn get<T: DeserializeOwned>(client: &mut Client, query: Query) -> Result<T, Fault> {
    client.query(query)?.map_err(Fault::Refused)
}

/// One task.
pub fn task(client: &mut Client, id: TaskId) -> Result<TaskView, Fault> {
    get(client, Query::Task { task: id.to_string() })
}

/// The whole result or reason of a task's last run.
pub fn result(client: &mut Client, id: TaskId) -> Result<ResultView, Fault> {
    let page = |client: &mut Client, from| -> Result<ResultView, Fault> {
        get(client, Query::Result { task: id.to_string(), from })
    };
    let mut whole = page(client, 0)?;
    while let Some(next) = whole.next {
        let more = page(client, next)?;
        if more.task.resumes != whole.task.resumes {
            // It was resumed meanwhile, so this is another result.
            whole = page(client, 0)?;
            continue;
        }
        let mut text = whole.text.unwrap_or_default();
        text.push_str(more.text.as_deref().unwrap_or_default());
        whole = ResultView { text: Some(text), ..more };
    }
    Ok(whole)
}

/// The task that a person means by an id or the beginning of one, with or without `bg_`.
pub fn find(client: &mut Client, typed: &str) -> Result<TaskId, Fault> {
    let lower = typed.trim().to_ascii_lowercase();
    let digits = lower.strip_prefix("bg_").unwrap_or(&lower);
    if let Ok(id) = format!("bg_{digits}").parse() {
        return Ok(id);
    }
    let shown = plain(typed, ECHO_MAX_CHARS);
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(Fault::Refused(format!(
            "{shown:?} is no task id. `legwork list` shows the tasks with their ids."
        )));
    }
    let all: TasksView = get(client, Query::Tasks { status: None })?;
    let prefix = format!("bg_{digits}");
    let ids = all.tasks.iter().map(|task| task.id);
    let fitting: Vec<TaskId> = ids.filter(|id| id.to_string().starts_with(&prefix)).collect();
    match fitting.as_slice() {
        [only] => Ok(*only),
        [] if all.total > all.tasks.len() => Err(Fault::Refused(format!(
            "None of the {} newest tasks begins with {shown}. Write the whole id of an older one.",
            all.tasks.len()
        ))),
        [] => Err(Fault::Refused(format!(
            "No task begins with {shown}. `legwork list` shows the tasks with their ids."
        ))),
        several => {
            let names: Vec<String> = several.iter().take(NAMED).map(TaskId::to_string).collect();
            let more = if several.len() > NAMED { ", …" } else { "" };
            Err(Fault::Refused(format!(
                "{shown} is the beginning of {} tasks: {}{more}. Write more of the id.",
                several.len(),
                names.join(", ")
            )))
        }
    }
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
