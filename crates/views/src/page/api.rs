//! What the page may ask for beside the streams, and what it may have done. Each is one request to
//! the daemon, or a few; the daemon decides.

use crate::model::ask::answered;
use crate::model::{Item, markdown, why};
use hyper::StatusCode;
use legwork_client::new_key;
use legwork_machine::Folders;
use legwork_protocol::api::transcript::{Reading, Transcript};
use legwork_protocol::api::view::{News, ResultView, RunView, TaskView, TasksView};
use legwork_protocol::api::{Answer, Ask, Cursor, List, Other, Refusal, Reply, Request};
use legwork_protocol::{QuestionId, Status, TaskId, Time};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::page::link::{Link, Trouble, ask};
use crate::page::query::Query;

/// Why nothing was done, for the person who sees the page.
#[derive(Debug)]
pub struct Failure {
    pub status: StatusCode,
    pub error: String,
}

impl Failure {
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into() }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        let status = match &trouble {
            Trouble::Daemon(_) | Trouble::Refused(Refusal::CannotSave) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Trouble::Refused(Refusal::NotFound(_) | Refusal::NoSuchQuestion(_)) => {
                StatusCode::NOT_FOUND
            }
            Trouble::Refused(Refusal::NotAPerson(_)) => StatusCode::FORBIDDEN,
            Trouble::Refused(Refusal::BadRequest(_)) => StatusCode::NOT_IMPLEMENTED,
            Trouble::Refused(_) => StatusCode::CONFLICT,
        };
        Self::new(status, trouble.to_string())
    }
}

impl From<legwork_client::Fault> for Failure {
    fn from(fault: legwork_client::Fault) -> Self {
        Trouble::from(fault).into()
    }
}

pub type Done = Result<Value, Failure>;

/// Some tasks, page by page.
pub async fn tasks(folders: &Folders, query: &Query) -> Done {
    let status = query.get("status").filter(|status| !status.is_empty());
    let after = query.get("after").filter(|after| !after.is_empty());
    let list = List {
        status: status.map(|status| read_as::<Status>(json!(status), "status")).transpose()?,
        search: query.get("search").filter(|text| !text.is_empty()).map(str::to_owned),
        after: after.map(|after| read_as::<Cursor>(json!(after), "after")).transpose()?,
        limit: query.get("limit").and_then(|limit| limit.parse().ok()),
        ..List::default()
    };
    let TasksView { tasks, total, next, .. } = ask(folders, Ask::List(list)).await?;
    let rows: Vec<Item> = tasks.into_iter().map(Item::from).collect();
    Ok(json!({ "rows": rows, "total": total, "next": next }))
}

/// One task with what each of its runs was asked to do.
pub async fn task(folders: &Folders, task: TaskId) -> Done {
    let mut link = Link::open(folders).await?;
    let view: TaskView = link.ask(Request::Show { task: task.to_string() }).await?;
    let runs: Vec<RunView> = link.ask(Request::Runs { task: task.to_string() }).await?;
    let why = why(&view);
    let why = json!({ "text": why.text, "since": why.since });
    Ok(json!({ "item": Item::from(view), "runs": runs, "why": why }))
}

/// What came of its last run, or a part of that.
pub async fn result(folders: &Folders, task: TaskId, query: &Query) -> Done {
    let offset = query.get("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
    let result = ask(folders, Ask::Output { task: task.to_string(), offset }).await?;
    let ResultView { text, next, .. } = result;
    let blocks = markdown::blocks(text.as_deref().unwrap_or_default());
    Ok(json!({ "text": text, "next": next, "blocks": blocks }))
}

/// Every decision about it.
pub async fn log(folders: &Folders, task: TaskId) -> Done {
    let news: Vec<News> = ask(folders, Request::Log { task: task.to_string() }).await?;
    let line = |news: &News| json!({ "at": news.at, "run": news.run, "line": news.line });
    Ok(json!({ "lines": news.iter().map(line).collect::<Vec<Value>>() }))
}

/// One entry of its conversation, with all that a tool was given and gave back.
pub async fn entry(folders: &Folders, task: TaskId, query: &Query) -> Done {
    let entry = query.get("key").map(str::to_owned);
    let reading = Reading { entry, whole: true, ..Reading::default() };
    let request = Request::Transcript { task: task.to_string(), reading };
    let page: Transcript = ask(folders, request).await?;
    let missing = "This part of the conversation is not there any more. Reload the page.";
    let entry = page.entries.into_iter().next();
    let entry = entry.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, missing))?;
    Ok(json!({ "entry": entry }))
}

pub async fn cancel(folders: &Folders, task: TaskId) -> Done {
    item(ask(folders, Ask::Cancel { task: task.to_string() }).await?)
}

#[derive(Deserialize)]
struct GoOn {
    prompt: String,
}

pub async fn resume(folders: &Folders, task: TaskId, body: Value) -> Done {
    let GoOn { prompt } = read_as(body, "what it is to do now")?;
    let resume = Ask::ResumeAny { task: task.to_string(), prompt, key: new_key() };
    item(ask(folders, resume).await?)
}

pub fn item(task: TaskView) -> Done {
    Ok(json!({ "item": Item::from(task) }))
}

#[derive(Deserialize)]
struct Answered {
    question: QuestionId,
    reply: Reply,
}

pub async fn answer(folders: &Folders, task: TaskId, body: Value) -> Done {
    let Answered { question, reply } = read_as(body, "the answer")?;
    let mut link = Link::open(folders).await?;
    let view: TaskView = link.ask(Request::Show { task: task.to_string() }).await?;
    let open = view.questions.iter().find(|open| open.id == question);
    let gone = || Trouble::Refused(Refusal::NoSuchQuestion(question.to_string()));
    let said = answered(open.ok_or_else(gone)?, &reply);
    let _: Answer = link.ask(Ask::Reply { question, reply }).await?;
    Ok(json!({ "said": said }))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Chosen {
    Tasks {
        tasks: Vec<TaskId>,
    },
    /// All that the person saw as finished, on the board of this moment.
    Finished {
        finished_by: Time,
    },
}

pub async fn clear(folders: &Folders, body: Value) -> Done {
    let forget = match read_as(body, "which tasks")? {
        Chosen::Tasks { tasks } => {
            Ask::Forget { tasks: tasks.iter().map(TaskId::to_string).collect() }
        }
        Chosen::Finished { finished_by } => Ask::ForgetFinished { by: finished_by },
    };
    match ask(folders, forget).await? {
        Answer::Cleared { tasks, unfinished } => {
            Ok(json!({ "tasks": tasks, "unfinished": unfinished }))
        }
        _ => Err(legwork_client::Fault::Unfitting(Other).into()),
    }
}

/// A value as it has to be.
pub fn read_as<T: DeserializeOwned>(value: Value, what: &str) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| {
        let error = format!("This cannot be read as {what}: {error}. Reload the page.");
        Failure::new(StatusCode::BAD_REQUEST, error)
    })
}
