//! Tasks of the protocol. Each run of a task of ours is one, known for ever to every front: a
//! client that was killed asks again after its restart, and is given the whole result as often as
//! it asks.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use legwork_client::{Fault, Trouble};
use legwork_protocol::amounts::{counted, duration};
use legwork_protocol::api::{self, Ask, Refusal, Request};
use legwork_protocol::ids::run_name;
use legwork_protocol::json_rpc::{self, RpcError};
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::line::Context;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{EndView, TaskView};
use legwork_protocol::{Outcome, QuestionId, TaskId, Time};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::calls::Done;
use crate::era::{Client, bad};
use crate::forms;
use crate::limits::{AFTER_FORM_EVERY, AFTER_FORM_LEASES, AWAY_MAX, POLL_EVERY_MS, POLL_HOLD_MS};
use crate::server::{After, Answer, Server};

/// A run, as a client names it: the task's id, and the run's number unless it is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run(TaskId, u32);

impl FromStr for Run {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (task, run) =
            text.split_once('.').map_or((text, None), |(task, run)| (task, Some(run)));
        let run = run.map_or(Ok(0), |run| run.parse().map_err(drop))?;
        Ok(Self(task.parse().map_err(drop)?, run))
    }
}

/// How a run is doing, for the client.
pub enum State {
    Working,
    Asks,
    Completed,
    Cancelled,
}

impl State {
    fn word(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Asks => "input_required",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Server {
    pub async fn get_task(&self, client: &Client, params: &Value) -> Result<Answer, RpcError> {
        let Run(id, run) = named(client, params)?;
        // The first answer is immediate, so that the client has something to show.
        let known = self.polls.known((id, run));
        let wait_ms = if known.is_some() { POLL_HOLD_MS } else { 0 };
        let questions = known.unwrap_or_default();
        let poll = poll(Run(id, run), questions, wait_ms);
        let poller = self.poller(client, params);
        let deadline = Instant::now() + AWAY_MAX;
        let (task, ended) = loop {
            match self.daemon.request_for(Some(&poller), None, poll.clone()).await {
                Ok(api::Answer::Collected { task, ended, .. }) => break (task, ended),
                Err(Trouble::Refused(Refusal::NotFound(_))) => return Ok(cleared(id, run)),
                Err(Trouble::Refused(refusal)) => return Err(bad(refusal.text())),
                // An error would make the client give the task up: it is held until there is a
                // daemon again, and then for the next poll.
                Err(Trouble::Away(why)) if Instant::now() >= deadline => {
                    return Ok(bare(id, run, State::Working, &why.to_string()));
                }
                Ok(_) | Err(Trouble::Away(_)) => {}
            }
        };
        if !ended {
            let asked: Vec<QuestionId> = task.questions.iter().map(|q| q.id.clone()).collect();
            self.polls.goes_on((id, run), asked);
            return Ok(working(&task, run).into());
        }
        let end = loop {
            let ended = Request::Ended { task: id.to_string(), run };
            match self.daemon.request::<EndView>(ended).await {
                Ok(end) => break end,
                Err(Trouble::Refused(Refusal::NotFound(_))) => return Ok(cleared(id, run)),
                Err(Trouble::Refused(refusal)) => return Err(bad(refusal.text())),
                Err(Trouble::Away(why)) if Instant::now() >= deadline => {
                    return Ok(bare(id, run, State::Working, &why.to_string()));
                }
                Err(Trouble::Away(_)) => {}
            }
        };
        let after = vec![After::HandedOver { task: id, run }];
        Ok(Answer { result: ended_view(&task, run, &end), after, shows: None })
    }

    /// The session that a request about tasks comes from: it is there, and may be told other
    /// things too. It starts nothing, so it brings no environment along.
    fn poller(&self, client: &Client, params: &Value) -> Context {
        let knows_tasks = true;
        let asker = self.surroundings.asker(client, params, knows_tasks);
        Context { environment: None, ..asker.context }
    }

    /// The person has filled in forms.
    pub async fn update_task(
        self: &Arc<Self>,
        client: &Client,
        params: &Value,
    ) -> Result<Answer, RpcError> {
        let Run(id, run) = named(client, params)?;
        let filled = params["inputResponses"].as_object();
        let filled = filled.ok_or_else(|| bad("inputResponses is missing"))?;
        self.polls_soon(Run(id, run), self.poller(client, params)).await;
        let task: TaskView = match self.daemon.request(show(id)).await {
            Ok(task) => task,
            // Cleared meanwhile: there is nothing to answer.
            Err(Trouble::Refused(_)) => return Ok(json!({}).into()),
            Err(Trouble::Away(why)) => return Err(away(&why)),
        };
        for question in &task.questions {
            let Some(reply) = filled.get(question.id.as_str()) else { continue };
            let Some(reply) = forms::reply(question, reply) else { continue };
            let answer = Ask::Reply { question: question.id.clone(), reply };
            match self.daemon.request::<Done>(answer).await {
                // Somebody else was first.
                Ok(_) | Err(Trouble::Refused(_)) => {}
                Err(Trouble::Away(why)) => return Err(away(&why)),
            }
        }
        Ok(json!({}).into())
    }

    /// A client does not poll while it shows a form (Claude Code 2.1.328), so that its lease may be
    /// over. It polls again some seconds after the form: until then the run is still its to be told
    /// of.
    async fn polls_soon(self: &Arc<Self>, run: Run, poller: Context) {
        let lease = move || poll(run, Vec::new(), 0);
        // If it fails, what follows fails too and says why.
        let _ = self.daemon.request_for::<Done>(Some(&poller), None, lease()).await;
        let server = self.clone();
        tokio::spawn(async move {
            for _ in 0..AFTER_FORM_LEASES {
                sleep(AFTER_FORM_EVERY).await;
                let _ = server.daemon.request_for::<Done>(Some(&poller), None, lease()).await;
            }
        });
    }

    /// Calls a run off. One that has ended, or that nobody knows any more, has been.
    pub async fn cancel_task(&self, client: &Client, params: &Value) -> Result<Answer, RpcError> {
        let Run(id, run) = named(client, params)?;
        let task: TaskView = match self.daemon.request(show(id)).await {
            Ok(task) => task,
            Err(Trouble::Refused(_)) => return Ok(json!({}).into()),
            Err(Trouble::Away(why)) => return Err(away(&why)),
        };
        if task.resumes != run {
            return Ok(json!({}).into());
        }
        let cancel = Ask::Cancel { task: id.to_string() };
        let poller = self.poller(client, params);
        match self.daemon.request_for::<Done>(Some(&poller), None, cancel).await {
            Ok(_) | Err(Trouble::Refused(_)) => {}
            Err(Trouble::Away(why)) => return Err(away(&why)),
        }
        // The model is not told of its own stop, in whichever session it began the task.
        let after = vec![After::HandedOver { task: id, run }];
        Ok(Answer { result: json!({}), after, shows: None })
    }
}

fn poll(Run(task, run): Run, questions: Vec<QuestionId>, wait_ms: u64) -> Ask {
    Ask::Collect { task: task.to_string(), run, questions, wait_ms }
}

fn show(task: TaskId) -> Request {
    Request::Show { task: task.to_string() }
}

fn away(why: &Fault) -> RpcError {
    RpcError { code: json_rpc::INTERNAL, message: why.to_string(), data: Value::Null }
}

/// The run that a request is about.
fn named(client: &Client, params: &Value) -> Result<Run, RpcError> {
    client.check_tasks()?;
    let id = params["taskId"].as_str().ok_or_else(|| bad("taskId is missing"))?;
    id.parse().map_err(|()| bad(format!("there is no task {id}")))
}

/// What every answer about a run has.
pub fn view(task: &TaskView, run: u32, state: State) -> Value {
    json!({
        "taskId": run_name(task.id, run),
        "status": state.word(),
        "statusMessage": status_message(task),
        "createdAt": moment(task.started),
        "lastUpdatedAt": moment(Time(task.started.0.saturating_add(task.elapsed_ms))),
        "ttlMs": null,
        "pollIntervalMs": POLL_EVERY_MS,
    })
}

fn working(task: &TaskView, run: u32) -> Value {
    if task.questions.is_empty() {
        return view(task, run, State::Working);
    }
    let mut asks = view(task, run, State::Asks);
    let form = |question| {
        let params = forms::form(task, question);
        json!({ "method": "elicitation/create", "params": params })
    };
    let requests = task.questions.iter().map(|question| (question.id.to_string(), form(question)));
    asks["inputRequests"] = Value::Object(requests.collect::<Map<_, _>>());
    asks
}

fn ended_view(task: &TaskView, run: u32, end: &EndView) -> Value {
    if end.outcome == Outcome::Cancelled {
        let mut cancelled = view(task, run, State::Cancelled);
        // The model reads no more of it: who cancelled it is behind the headline.
        cancelled["statusMessage"] = {
            let lines: Vec<&str> = end.text.lines().filter(|line| !line.is_empty()).collect();
            json!(plain(&lines.join(" "), HOST_TEXT_MAX_CHARS))
        };
        return cancelled;
    }
    let mut completed = view(task, run, State::Completed);
    completed["lastUpdatedAt"] = json!(moment(end.ended));
    let mut result = json!({ "content": [{ "type": "text", "text": end.text }] });
    // The protocol keeps `failed` for calls that could not be made at all.
    if end.outcome != Outcome::Completed {
        result["isError"] = json!(true);
    }
    completed["result"] = result;
    completed
}

/// A task that was forgotten is never an error: the client would take its end for unknown.
fn cleared(id: TaskId, run: u32) -> Answer {
    let bare = bare(id, run, State::Cancelled, "It was cleared, and nothing is kept of it.");
    Answer { after: vec![After::HandedOver { task: id, run }], ..bare }
}

/// What is said of a run that nothing is known of at the moment.
fn bare(id: TaskId, run: u32, state: State, message: &str) -> Answer {
    let at = moment(Time(0));
    json!({
        "taskId": run_name(id, run),
        "status": state.word(),
        "statusMessage": message,
        "createdAt": at,
        "lastUpdatedAt": at,
        "ttlMs": null,
        "pollIntervalMs": POLL_EVERY_MS,
    })
    .into()
}

/// What a person sees of it in the client's own list.
fn status_message(task: &TaskView) -> String {
    let line = legwork_views::model::row(task).line;
    let (took, calls) = (duration(task.elapsed_ms), task.tool_calls as usize);
    format!("{} · {took} · {} · {line}", task.description, counted(calls, "tool call"))
}

fn moment(time: Time) -> String {
    let ms = i64::try_from(time.0).unwrap_or_default();
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m2_each_run_has_an_id_of_its_own() {
        let task = TaskId::from_number(7);
        for run in [0, 1, 12] {
            let Run(read, number) = run_name(task, run).parse().unwrap();
            assert_eq!((read, number), (task, run));
        }
        for none in ["", "bg_", "bg_1234567", "nonexistent", &format!("{task}.x"), "bg_12345678.-1"]
        {
            assert!(none.parse::<Run>().is_err(), "{none}");
        }
    }

    #[test]
    fn m2_a_failure_is_a_result_and_a_cancelled_run_has_none() {
        let task = legwork_views::model::example::task(1);
        let end = |outcome| EndView {
            task: task.id,
            run: 0,
            outcome,
            ended: Time(1_000),
            text: "[HEADLINE]\n\nall of it".to_owned(),
        };
        let view = |outcome| ended_view(&task, 0, &end(outcome));
        let completed = view(Outcome::Completed);
        assert_eq!(completed["status"], "completed");
        assert_eq!(completed["result"]["content"][0]["text"], "[HEADLINE]\n\nall of it");
        assert!(completed["result"]["isError"].is_null());
        assert_eq!(view(Outcome::Failed)["status"], "completed");
        assert_eq!(view(Outcome::Failed)["result"]["isError"], true);
        let cancelled = view(Outcome::Cancelled);
        assert_eq!(
            (&cancelled["status"], &cancelled["result"]),
            (&json!("cancelled"), &Value::Null)
        );
        assert_eq!(cancelled["statusMessage"], "[HEADLINE] all of it");
    }

    #[test]
    fn m2_a_question_is_a_form_under_its_own_name() {
        let mut task = legwork_views::model::example::task(1);
        task.questions = vec![legwork_views::model::example::permission("bash: cargo test")];
        let asks = working(&task, 2);
        assert_eq!(asks["status"], "input_required");
        assert_eq!(asks["taskId"], format!("{}.2", task.id));
        let form = &asks["inputRequests"][task.questions[0].id.as_str()];
        assert_eq!(form["method"], "elicitation/create");
        task.questions.clear();
        assert_eq!(working(&task, 2)["status"], "working");
    }
}
