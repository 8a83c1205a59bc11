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
use crate::wire::usage::Spending;

pub async fn observe<T: Transport>(
    host: &T,
    session: &SessionId,
    prompt: &MessageId,
) -> Result<Finding, HostError> {
    if let Some(seen) = host.cache().and_then(|cache| cache.event_cache.answer(session, prompt)) {
        return Ok(Finding::Observed(seen));
    }
    let seen = observation_of(host, session, prompt).await?;
    if matches!(seen.state, RunState::Answered { .. } | RunState::Failed { .. }) {
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
    prompt: &MessageId,
) -> Result<Observation, HostError> {
    let id = prompt.as_str();
    let heard = |seen: &[Value]| {
        let cache = host.cache()?;
        cache.event_cache.usage_with(session, prompt, of_run(seen, id).map(|told| &told["info"]))
    };
    let enough =
        |seen: &[Value]| reaches(seen, id) && (is_whole(seen, id) || heard(seen).is_some());
    let messages = history::read(host, session, enough).await?;
    let seen = observation(&messages, id);
    let usage = heard(&messages).filter(|_| !is_whole(&messages, id));
    if let (RunState::Still { .. }, None, Some(cache)) = (&seen.state, &usage, host.cache()) {
        let run = Spending::of(of_run(&messages, id).map(|told| &told["info"]));
        cache.event_cache.count(session, prompt, run);
    }
    Ok(match usage {
        Some(usage) => Observation { usage, ..seen },
        None => seen,
    })
}

/// Whether these messages go back to the beginning of the run, so that all it used up is in them.
fn is_whole(messages: &[Value], prompt: &str) -> bool {
    let is_prompt = |told: &Value| Message::read(told).id() == Some(prompt);
    let begins_before = |first: &Value| !Message::read(first).answers(prompt);
    messages.first().is_some_and(begins_before) && messages.iter().any(is_prompt)
}

/// The messages from the first of the run on.
fn of_run<'a>(messages: &'a [Value], prompt: &str) -> impl Iterator<Item = &'a Value> {
    let of_run = move |told: &&Value| {
        let message = Message::read(told);
        message.id() != Some(prompt) && !message.answers(prompt)
    };
    messages.iter().skip_while(of_run)
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
/// overtook it, that is complete and no mere tool call. A reply that does not say how it ended is
/// an end only if nothing follows. Without one it is still, as far as messages tell.
pub fn observation(messages: &[Value], prompt: &str) -> Observation {
    let messages: Vec<Message> = of_run(messages, prompt).map(Message::read).collect();
    let replies = || messages.iter().filter(|message| message.is_reply());
    let newest = messages.last().and_then(Message::id);
    let end = replies().find_map(|reply| match reply.end()? {
        End::Unsaid if reply.id() != newest => None,
        end => Some((reply, end)),
    });
    let state = match end {
        Some((reply, End::Answer)) => RunState::Answered { text: reply.text() },
        Some((reply, End::Aborted | End::Unsaid)) => {
            let before = replies().take_while(|other| other.id() != reply.id());
            RunState::Aborted { text: last_text(before, reply.text()) }
        }
        Some((_, End::Error(error))) => RunState::Failed { reason: error::reason(error) },
        None => {
            let last = replies().next_back().map(Message::last_words).unwrap_or_default();
            RunState::Still { text: last_text(replies(), last) }
        }
    };
    let tool_calls = replies().map(Message::tool_calls).sum::<usize>();
    let tool_calls = u32::try_from(tool_calls).unwrap_or(u32::MAX);
    // What comes behind the end is paid for by somebody else.
    let last = end.and_then(|(reply, _)| reply.id());
    let behind = messages.iter().position(|message| last.is_some() && message.id() == last);
    let own = &messages[..behind.map_or(messages.len(), |at| at + 1)];
    let usage = Spending::of(own.iter().map(Message::info)).usage();
    let moved = replies().filter_map(Message::moved).max();
    Observation { state, tool_calls, usage, moved }
}

/// What was said last: a reply that only calls tools says nothing.
fn last_text<'a>(before: impl Iterator<Item = &'a Message<'a>>, last: String) -> String {
    let said = before.map(Message::text).filter(|text| !text.trim().is_empty());
    if last.trim().is_empty() { said.last().unwrap_or_default() } else { last }
}
