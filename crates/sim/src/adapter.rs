//! Performs the engine's actions on the virtual OpenCode, as the real adapter does on the real one:
//! some reads, then at most one write. Reads and write are separate so that the world can change,
//! or end, between them.

use std::sync::Arc;

use legwork_engine::Usage;
use legwork_engine::record::Target;
use legwork_engine::work::{
    Action, Finding, HostError, Observation, Part, Question, Retry, RunState, Scope, Shown, Tried,
    Wake,
};
use legwork_protocol::api::Reply as Said;
use legwork_protocol::{Cost, Currency, MessageId, QuestionId, SessionId, TaskId};

use crate::host::{
    self, ApiError, Assistant, Body, NewSession, OpenCode, ProcessNo, Prompt, Reply, Session,
    Spent, Status,
};

/// What the host calls the error of a turn that was aborted.
const ABORTED: &str = "MessageAbortedError";

type Found = Result<Finding, HostError>;

/// What is left to do after reading.
#[derive(Debug, Clone)]
pub enum Plan {
    /// Nothing: this is the outcome.
    Over(Found),
    Write(Write),
}

/// The one write of a unit of work.
#[derive(Debug, Clone)]
pub enum Write {
    Create(NewSession),
    /// Send a message to a session.
    Send(SessionId, Prompt),
    /// Stop what runs in a session.
    Abort(SessionId),
    Delete(SessionId),
    Reply(QuestionId, Reply),
}

/// Reads what the action needs to know.
pub fn read(host: &OpenCode, process: ProcessNo, action: &Action) -> Plan {
    if let Some(found) = not_there(host, process, action) {
        return Plan::Over(found);
    }
    let here = |session: &&Session| session.database == host.database(process);
    let marked = |task: TaskId| host.sessions_marked(task).find(here);
    match action {
        Action::CheckAgent { agent } => Plan::Over(Ok(check_agent(host, process, agent))),
        Action::Probe { session } => {
            Plan::Over(host.get(session).map(|_| Finding::Done).map_err(error))
        }
        Action::FindMissing { sessions } => {
            let has =
                |session: &SessionId| host.shares(process, session) && host.get(session).is_ok();
            let sessions = sessions.iter().filter(|session| !has(session)).cloned().collect();
            Plan::Over(Ok(Finding::Missing { sessions }))
        }
        Action::Open { tried, task, parent, title, nested, fork_before, .. } => {
            match marked(*task).filter(|_| *tried == Tried::Perhaps) {
                Some(known) => Plan::Over(Ok(Finding::Opened { session: known.id.clone() })),
                None => Plan::Write(Write::Create(NewSession {
                    // A copy is nobody's child (seen in 1.18.33).
                    parent: fork_before.is_none().then(|| parent.clone()),
                    title: title.as_str().into(),
                    mark: Some(*task),
                    may_nest: *nested,
                    database: host.database(process),
                })),
            }
        }
        Action::Prompt { tried, session, message, part, agent, text } => {
            let part =
                host::Part { id: part.clone(), text: text.as_str().into(), synthetic: false };
            let prompt = send(message, vec![part], Some(agent.as_str().into()), false);
            hand_over((host, process), *tried, session, prompt)
        }
        Action::Observe { session, message } => Plan::Over(look(host, process, session, message)),
        Action::Poll { scope } => Plan::Over(Ok(poll(host, process, *scope))),
        Action::Deliver { tried, session, message, parts, wake, .. } => {
            tell((host, process), *tried, (session, message), parts, *wake)
        }
        Action::Stop { task, target: Target::Marked } => match marked(*task) {
            Some(left) if left.messages.is_empty() => Plan::Write(Write::Delete(left.id.clone())),
            Some(left) => Plan::Write(Write::Abort(left.id.clone())),
            None => Plan::Over(Ok(Finding::Quiet)),
        },
        Action::Stop { target: Target::Opened(session), .. } if is_empty(host, session) => {
            Plan::Write(Write::Delete(session.clone()))
        }
        // Also in a session that was deleted: what ran in it goes on (seen in 1.18.33).
        Action::Stop { target: Target::Session(session) | Target::Opened(session), .. } => {
            Plan::Write(Write::Abort(session.clone()))
        }
        Action::Answer { question, reply, .. } => {
            let reply = match reply {
                Said::Once | Said::Always | Said::Words(_) => Reply::Yes,
                Said::Reject(None) => Reply::No,
                Said::Reject(Some(words)) => Reply::NoBut(words.as_str().into()),
            };
            Plan::Write(Write::Reply(question.clone(), reply))
        }
    }
}

/// What a process answers that does not have the session in its database. Stopping what is not
/// there succeeds (seen in 1.18.33).
fn not_there(host: &OpenCode, process: ProcessNo, action: &Action) -> Option<Found> {
    match action {
        Action::Probe { session }
        | Action::Prompt { session, .. }
        | Action::Observe { session, .. }
        | Action::Deliver { session, .. } => {
            (!host.shares(process, session)).then_some(Err(HostError::Gone))
        }
        Action::Stop { target: Target::Session(session) | Target::Opened(session), .. } => {
            (!host.shares(process, session)).then_some(Ok(Finding::Quiet))
        }
        Action::Stop { target: Target::Marked, .. }
        | Action::CheckAgent { .. }
        | Action::FindMissing { .. }
        | Action::Open { .. }
        | Action::Poll { .. }
        | Action::Answer { .. } => None,
    }
}

/// Makes the one write. A stop whose session was quiet afterwards says so.
pub fn write(host: &mut OpenCode, process: ProcessNo, write: Write) -> Found {
    match write {
        Write::Create(new) => Ok(Finding::Opened { session: host.create(new) }),
        Write::Send(session, prompt) => {
            host.prompt_async(process, &session, prompt).map(|()| Finding::Done).map_err(error)
        }
        Write::Abort(session) => {
            host.abort(process, &session).map_err(error)?;
            let busy = host.status(process).any(|(at, _)| *at == session);
            Ok(if busy { Finding::Done } else { Finding::Quiet })
        }
        Write::Delete(session) => {
            host.delete(process, &session).map(|_| Finding::Done).map_err(error)
        }
        Write::Reply(question, reply) => {
            host.reply(process, &question, &reply).map(|_| Finding::Done).map_err(error)
        }
    }
}

fn check_agent(host: &OpenCode, process: ProcessNo, agent: &str) -> Finding {
    let known: Vec<String> = host.agents(process).map(|known| known.name.to_string()).collect();
    if known.iter().any(|known| known == agent) {
        return Finding::AgentKnown;
    }
    Finding::NoSuchAgent { known }
}

fn poll(host: &OpenCode, process: ProcessNo, scope: Scope) -> Finding {
    let busy = host.status(process).map(|(session, status)| {
        let retry = match status {
            Status::Retry { attempt, next } => {
                Some(Retry { attempt, why: "the provider failed".to_owned(), next })
            }
            Status::Busy | Status::Idle => None,
        };
        (session.clone(), retry)
    });
    let questions = match scope {
        Scope::Busy => &[],
        Scope::Questions => host.questions(process),
    };
    let questions = questions.iter().map(|question| {
        let id = question.id.clone();
        (question.session.clone(), Question::permission(id, question.text.to_string()))
    });
    Finding::Polled { busy: busy.collect(), questions: questions.collect() }
}

fn hand_over(
    (host, process): (&OpenCode, ProcessNo),
    tried: Tried,
    session: &SessionId,
    prompt: Prompt,
) -> Plan {
    let message = &prompt.message;
    match host.get(session) {
        Err(why) if tried != Tried::Never => Plan::Over(Err(error(why))),
        Ok(there) if tried != Tried::Never && holds(there, message) => {
            let again =
                tried == Tried::Unanswered && waits_in_vain((host, process), session, message);
            if !again {
                return Plan::Over(Ok(Finding::Done));
            }
            let without_parts = Prompt { parts: Vec::new(), ..prompt };
            Plan::Write(Write::Send(session.clone(), without_parts))
        }
        Ok(_) | Err(_) => Plan::Write(Write::Send(session.clone(), prompt)),
    }
}

fn tell(
    (host, process): (&OpenCode, ProcessNo),
    tried: Tried,
    (session, message): (&SessionId, &MessageId),
    parts: &[Part],
    wake: Wake,
) -> Plan {
    let there = match host.get(session) {
        Err(why) => return Plan::Over(Err(error(why))),
        Ok(there) => there,
    };
    // Who the person last spoke to, not who we last spoke for.
    let mut prompts = there.prompts().rev();
    let agent = prompts.find(|(_, user)| !user.ours).map(|(_, user)| user.agent.clone());
    if tried != Tried::Never && holds(there, message) {
        let again = wake == Wake::StartTurn
            && !there.revert_pending
            && waits_in_vain((host, process), session, message);
        return match tried {
            _ if !again => Plan::Over(Ok(Finding::Delivered)),
            Tried::Unanswered => {
                let prompt = send(message, Vec::new(), agent, false);
                Plan::Write(Write::Send(session.clone(), prompt))
            }
            Tried::Never | Tried::Perhaps => Plan::Over(Ok(Finding::Unanswered)),
        };
    }
    if there.revert_pending {
        return Plan::Over(Ok(Finding::UndoPending));
    }
    if wake == Wake::WhenIdle && host.status(process).any(|(at, _)| at == session) {
        return Plan::Over(Ok(Finding::AtWork));
    }
    let parts = parts.iter().map(|part| host::Part {
        id: part.id.clone(),
        text: part.text.as_str().into(),
        synthetic: part.shown == Shown::ToModel,
    });
    let prompt = send(message, parts.collect(), agent, wake != Wake::StartTurn);
    Plan::Write(Write::Send(session.clone(), prompt))
}

fn send(
    message: &MessageId,
    parts: Vec<host::Part>,
    agent: Option<Arc<str>>,
    no_reply: bool,
) -> Prompt {
    Prompt { message: message.clone(), parts, agent, no_reply, ours: true }
}

fn is_empty(host: &OpenCode, session: &SessionId) -> bool {
    host.messages(session).is_ok_and(<[_]>::is_empty)
}

/// Whether nobody is at work in the session, and nothing follows the message there.
fn waits_in_vain(
    (host, process): (&OpenCode, ProcessNo),
    session: &SessionId,
    message: &MessageId,
) -> bool {
    let busy = host.status(process).any(|(at, _)| at == session);
    let mut newest = host.messages(session).unwrap_or_default().iter().rev();
    let is_last = newest.next().is_some_and(|last| last.id == *message);
    // One that was sent twice may stand behind its own answer.
    let answers = |other: &host::Message| matches!(&other.body, Body::Assistant(reply) if reply.answers == *message);
    let starts_turns = host.database(process) != host::CLIENTS;
    starts_turns && !busy && is_last && !newest.any(answers)
}

fn holds(session: &Session, message: &MessageId) -> bool {
    session.messages.iter().rev().any(|known| known.id == *message)
}

/// The completion rule: an answer to this prompt, or to a later one of the same conversation that
/// overtook it, that is complete and no mere tool call. A prompt that was sent twice is written
/// down again, and may stand behind its own answer then, so its place alone does not tell.
fn look(host: &OpenCode, process: ProcessNo, session: &SessionId, prompt: &MessageId) -> Found {
    let there = host.get(session).map_err(error)?;
    let mut later = false;
    let mut replies: Vec<&Assistant> = Vec::new();
    let mut moved = None;
    for message in &there.messages {
        later |= message.id == *prompt;
        if let Body::Assistant(reply) = &message.body
            && (later || reply.answers == *prompt)
        {
            replies.push(reply);
            moved = moved.max(Some(message.created)).max(reply.completed);
        }
    }
    let busy = host.status(process).any(|(at, _)| at == session);
    let tool_calls = replies.iter().map(|reply| reply.tool_calls).sum();
    let usage = there.spent(prompt).map(usage).unwrap_or_default();
    let end = replies.iter().position(|reply| reply.is_end());
    let state = match end.map(|end| (replies[end], &replies[..=end])) {
        Some((reply, own)) => match &reply.error {
            Some(why) if why.starts_with(ABORTED) => RunState::Aborted { text: last_text(own) },
            Some(why) => RunState::Failed { reason: why.to_string() },
            None => RunState::Answered { text: reply.text.to_string() },
        },
        None if busy => RunState::Busy,
        None => RunState::Still { text: last_text(&replies) },
    };
    Ok(Finding::Observed(Observation { state, tool_calls, usage, moved }))
}

/// What was said last. A reply that only calls tools says nothing.
fn last_text(replies: &[&Assistant]) -> String {
    let said = replies.iter().rev().find(|reply| !reply.text.is_empty());
    said.map(|reply| reply.text.to_string()).unwrap_or_default()
}

/// As the host tells it: in dollars, and with the model.
pub fn usage(spent: Spent) -> Usage {
    let cost = Some(Cost { micros: spent.micros, currency: Currency::USD });
    Usage { tokens: Some(spent.tokens), cost, model: Some("virtual/model".into()) }
}

fn error(error: ApiError) -> HostError {
    match error {
        ApiError::NotFound => HostError::Gone,
        ApiError::BadRequest(why) => HostError::Rejected { why },
        ApiError::ServerError => HostError::Unreachable,
    }
}
