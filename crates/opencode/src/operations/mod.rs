//! One action on one OpenCode: some reads, at the same time where they can be, then at most one
//! write.

pub mod agents;
mod answer;
pub mod observe;
mod open;
mod send;
mod stop;
pub mod toast;

use legwork_engine::work::{Retry, Scope};
use legwork_engine::{Action, Finding, HostError};
use legwork_host::Request;
use legwork_protocol::{SessionId, Time};
use serde_json::Value;

use self::open::Wish;
use crate::wire::error;
use crate::wire::question;
use crate::wire::transport::{Transport, ask, ask_list, session_path};

pub async fn perform<T: Transport>(host: &T, action: &Action) -> Result<Finding, HostError> {
    match action {
        Action::CheckAgent { agent } => agents::check_agent(host, agent).await,
        Action::Probe { session } => {
            ask(host, Request::get(session_path(session, "")?)).await.map(|_| Finding::Done)
        }
        Action::FindMissing { sessions } => find_missing(host, sessions).await,
        Action::Open { tried, task, parent, title, agent, nested, fork_before, .. } => {
            let (tried, task, nested) = (*tried, *task, *nested);
            let fork_before = fork_before.as_deref();
            open::open(host, Wish { tried, task, parent, title, agent, nested, fork_before }).await
        }
        Action::Prompt { tried, session, message, part, agent, text } => {
            send::prompt(host, *tried, (session, message, part), agent, text).await
        }
        Action::Observe { session, message } => observe::observe(host, session, message).await,
        Action::Poll { scope } => poll(host, *scope).await,
        Action::Deliver { tried, session, message, parts, wake, .. } => {
            send::tell(host, *tried, (session, message), parts, *wake).await
        }
        Action::Stop { task, target } => stop::stop(host, *task, target).await,
        Action::Answer { question, kind, reply, .. } => {
            answer::answer(host, question, *kind, reply).await
        }
    }
}

/// One after the other: this has time, and the host has better to do.
async fn find_missing<T: Transport>(
    host: &T,
    sessions: &[SessionId],
) -> Result<Finding, HostError> {
    let mut missing = Vec::new();
    for session in sessions {
        let Ok(path) = session_path(session, "") else { continue };
        let reply = host.send(Request::get(path)).await.map_err(|_| HostError::Unreachable)?;
        if error::of(&reply) == Some(HostError::Gone) {
            missing.push(session.clone());
        }
    }
    Ok(Finding::Missing { sessions: missing })
}

async fn poll<T: Transport>(host: &T, scope: Scope) -> Result<Finding, HostError> {
    let asked = async |path: &str| match scope {
        Scope::Busy => Ok(Vec::new()),
        Scope::Questions => ask_list(host, Request::get(path)).await,
    };
    let (status, permissions, questions) = tokio::join!(
        ask(host, Request::get("/session/status")),
        asked("/permission"),
        asked("/question"),
    );
    let (status, permissions, questions) = (status?, permissions?, questions?);
    let busy = status.as_object().ok_or(error::NONSENSE)?.iter();
    let busy = busy.filter_map(|(id, status)| Some((id.parse().ok()?, retry(status))));
    let questions = permissions.iter().chain(&questions).filter_map(question::read);
    Ok(Finding::Polled { busy: busy.collect(), questions: questions.collect() })
}

/// `{type: "retry", attempt, message, next}`
fn retry(status: &Value) -> Option<Retry> {
    if status["type"].as_str()? != "retry" {
        return None;
    }
    let number = |key: &str| status[key].as_u64().unwrap_or_default();
    let why = status["message"].as_str().unwrap_or("the provider failed");
    Some(Retry {
        attempt: u32::try_from(number("attempt")).unwrap_or(u32::MAX),
        why: why.to_owned(),
        next: Time(number("next")),
    })
}
