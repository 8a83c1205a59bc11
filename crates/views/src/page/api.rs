//! What the page may ask for beside the streams, and what it may have done. Each is one request to
//! the daemon, or a few; the daemon decides.

use crate::model::ask::answered;
use crate::model::{Item, markdown, sentences, why};
use hyper::StatusCode;
use legwork_client::{Daemon, Fault, Trouble, new_key};
use legwork_protocol::api::transcript::{Reading, Transcript};
use legwork_protocol::api::view::{News, ResultView, RunView, TaskView, TasksView};
use legwork_protocol::api::{Answer, Ask, Cursor, List, Other, Refusal, Reply, Request};
use legwork_protocol::{QuestionId, Status, TaskId, Time};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
            Trouble::Away(_) | Trouble::Refused(Refusal::CannotSave) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Trouble::Refused(Refusal::NotFound(_) | Refusal::NoSuchQuestion(_)) => {
                StatusCode::NOT_FOUND
            }
            Trouble::Refused(Refusal::NotAPerson(_)) => StatusCode::FORBIDDEN,
            Trouble::Refused(Refusal::BadRequest(_)) => StatusCode::NOT_IMPLEMENTED,
            Trouble::Refused(_) => StatusCode::CONFLICT,
        };
        Self::new(status, words(&trouble))
    }
}

/// Why nothing came of a request.
pub fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Away(fault) => fault.to_string(),
        // The only thing that we ask and that could not be understood is something new.
        Trouble::Refused(Refusal::BadRequest(_)) => "The legwork daemon is of an older version \
             than this page. `legwork daemon stop` ends it, and the next one is as new as the page; \
             tasks are kept."
            .to_owned(),
        Trouble::Refused(refusal) => sentences::refusal(refusal),
    }
}

pub type Done = Result<Value, Failure>;

/// Some tasks, page by page.
pub async fn tasks(daemon: &Daemon, query: &Query) -> Done {
    let status = query.get("status").filter(|status| !status.is_empty());
    let after = query.get("after").filter(|after| !after.is_empty());
    let list = List {
        status: status.map(|status| read_as::<Status>(json!(status), "status")).transpose()?,
        search: query.get("search").filter(|text| !text.is_empty()).map(str::to_owned),
        after: after.map(|after| read_as::<Cursor>(json!(after), "after")).transpose()?,
        limit: query.get("limit").and_then(|limit| limit.parse().ok()),
        ..List::default()
    };
    let TasksView { tasks, total, next, .. } = daemon.request(Ask::List(list)).await?;
    let rows: Vec<Item> = tasks.into_iter().map(Item::from).collect();
    Ok(json!({ "rows": rows, "total": total, "next": next }))
}

/// One task with what each of its runs was asked to do.
pub async fn task(daemon: &Daemon, task: TaskId) -> Done {
    let view: TaskView = daemon.request(Request::Show { task: task.to_string() }).await?;
    let runs: Vec<RunView> = daemon.request(Request::Runs { task: task.to_string() }).await?;
    let why = why(&view);
    let why = json!({ "text": why.text, "since": why.since });
    Ok(json!({ "item": Item::from(view), "runs": runs, "why": why }))
}

/// What came of its last run, or a part of that.
pub async fn result(daemon: &Daemon, task: TaskId, query: &Query) -> Done {
    let offset = query.get("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
    let result = daemon.request(Ask::Output { task: task.to_string(), offset }).await?;
    let ResultView { text, next, .. } = result;
    let blocks = markdown::blocks(text.as_deref().unwrap_or_default());
    Ok(json!({ "text": text, "next": next, "blocks": blocks }))
}

/// Every decision about it.
pub async fn log(daemon: &Daemon, task: TaskId) -> Done {
    let news: Vec<News> = daemon.request(Request::Log { task: task.to_string() }).await?;
    let line = |news: &News| json!({ "at": news.at, "run": news.run, "line": news.line });
    Ok(json!({ "lines": news.iter().map(line).collect::<Vec<Value>>() }))
}

/// One entry of its conversation, with all that a tool was given and gave back.
pub async fn entry(daemon: &Daemon, task: TaskId, query: &Query) -> Done {
    let entry = query.get("key").map(str::to_owned);
    let reading = Reading { entry, whole: true, ..Reading::default() };
    let request = Request::Transcript { task: task.to_string(), reading };
    let page: Transcript = daemon.request(request).await?;
    let missing = "This part of the conversation is not there any more. Reload the page.";
    let entry = page.entries.into_iter().next();
    let entry = entry.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, missing))?;
    Ok(json!({ "entry": entry }))
}

pub async fn cancel(daemon: &Daemon, task: TaskId) -> Done {
    item(daemon.request(Ask::Cancel { task: task.to_string() }).await?)
}

#[derive(Deserialize)]
struct GoOn {
    prompt: String,
}

pub async fn resume(daemon: &Daemon, task: TaskId, body: Value) -> Done {
    let GoOn { prompt } = read_as(body, "what it is to do now")?;
    let resume = Ask::ResumeAny { task: task.to_string(), prompt, key: new_key() };
    item(daemon.request(resume).await?)
}

pub fn item(task: TaskView) -> Done {
    Ok(json!({ "item": Item::from(task) }))
}

#[derive(Deserialize)]
struct Answered {
    question: QuestionId,
    reply: Reply,
}

pub async fn answer(daemon: &Daemon, task: TaskId, body: Value) -> Done {
    let Answered { question, reply } = read_as(body, "the answer")?;
    let view: TaskView = daemon.request(Request::Show { task: task.to_string() }).await?;
    let open = view.questions.iter().find(|open| open.id == question);
    let gone = || Trouble::Refused(Refusal::NoSuchQuestion(question.to_string()));
    let said = answered(open.ok_or_else(gone)?, &reply);
    let _: Answer = daemon.request(Ask::Reply { question, reply }).await?;
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

pub async fn clear(daemon: &Daemon, body: Value) -> Done {
    let forget = match read_as(body, "which tasks")? {
        Chosen::Tasks { tasks } => {
            Ask::Forget { tasks: tasks.iter().map(TaskId::to_string).collect() }
        }
        Chosen::Finished { finished_by } => Ask::ForgetFinished { by: finished_by },
    };
    match daemon.request(forget).await? {
        Answer::Cleared { tasks, unfinished } => {
            Ok(json!({ "tasks": tasks, "unfinished": unfinished }))
        }
        _ => Err(Trouble::from(Fault::Unfitting(Other)).into()),
    }
}

/// A value as it has to be.
pub fn read_as<T: DeserializeOwned>(value: Value, what: &str) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| {
        let error = format!("This cannot be read as {what}: {error}. Reload the page.");
        Failure::new(StatusCode::BAD_REQUEST, error)
    })
}
