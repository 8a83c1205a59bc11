//! How far the answer to a prompt is.

use legwork_engine::work::{Observation, RunState};
use legwork_engine::{Finding, HostError};
use legwork_host::Request;
use legwork_protocol::{MessageId, SessionId};
use serde_json::Value;

use crate::wire::error;
use crate::wire::history;
use crate::wire::message::{End, Message};
use crate::wire::transport::{Transport, ask};

pub async fn observe<T: Transport>(
    host: &T,
    session: &SessionId,
    prompt: &MessageId,
) -> Result<Finding, HostError> {
    if let Some(seen) = host.cache().and_then(|cache| cache.event_cache.answer(session, prompt)) {
        return Ok(Finding::Observed(seen));
    }
    let prompt = prompt.as_str();
    let seen = observation_of(host, session, prompt).await?;
    if !matches!(seen.state, RunState::Still { .. }) {
        if let Some(cache) = host.cache() {
            cache.event_cache.listen_no_more(session);
        }
        return Ok(Finding::Observed(seen));
    }
    if is_busy(host, session).await? {
        return Ok(Finding::Observed(Observation { state: RunState::Busy, ..seen }));
    }
    // It may have ended between the two readings.
    observation_of(host, session, prompt).await.map(Finding::Observed)
}

pub async fn is_busy<T: Transport>(host: &T, session: &SessionId) -> Result<bool, HostError> {
    let status = ask(host, Request::get("/session/status")).await?;
    Ok(status.as_object().ok_or(error::NONSENSE)?.contains_key(session.as_str()))
}

async fn observation_of<T: Transport>(
    host: &T,
    session: &SessionId,
    prompt: &str,
) -> Result<Observation, HostError> {
    let messages = history::read(host, session, |seen| reaches(seen, prompt)).await?;
    Ok(observation(&messages, prompt))
}

/// Whether these messages tell all about the prompt: there is a reply to it, or the prompt with
/// something before it. A prompt that was sent twice is written down again behind its own answer
/// (1.18.33), so its place alone does not tell.
fn reaches(messages: &[Value], prompt: &str) -> bool {
    let first = messages.iter().position(|told| Message::read(told).id() == Some(prompt));
    first.is_some_and(|place| place > 0)
        || messages.iter().any(|told| Message::read(told).answers(prompt))
}

/// The completion rule: an answer to this prompt, or to a later one of the same conversation that
/// overtook it, that is complete and no mere tool call. Without one it is still, as far as messages
/// tell.
pub fn observation(messages: &[Value], prompt: &str) -> Observation {
    let messages = messages.iter().map(Message::read);
    let of_run = |message: &Message| message.id() == Some(prompt) || message.answers(prompt);
    let replies: Vec<Message> =
        messages.skip_while(|message| !of_run(message)).filter(Message::is_reply).collect();
    let end = replies.iter().find_map(|reply| Some((reply, reply.end()?)));
    let state = match end {
        Some((reply, End::Answer)) => RunState::Answered { text: reply.text() },
        Some((reply, End::Aborted)) => RunState::Aborted { text: reply.text() },
        Some((_, End::Error(error))) => RunState::Failed { reason: error::reason(error) },
        None => {
            RunState::Still { text: replies.last().map(Message::last_words).unwrap_or_default() }
        }
    };
    let tool_calls = replies.iter().map(Message::tool_calls).sum::<usize>();
    let tool_calls = u32::try_from(tool_calls).unwrap_or(u32::MAX);
    Observation { state, tool_calls, moved: replies.iter().filter_map(Message::moved).max() }
}
