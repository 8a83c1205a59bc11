//! A session's messages, read from the newest backwards and no further than needed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legwork_engine::HostError;
use legwork_host::Request;
use legwork_protocol::SessionId;
use serde_json::{Value, json};

use crate::limits::{FIRST_PAGE, PAGE, PAGES_MAX};
use crate::wire::choice::Choice;
use crate::wire::message::Message;
use crate::wire::transport::{Transport, ask_list, session_path};

/// The newest messages, oldest first: all, or so many that it is `enough`.
pub async fn read<T: Transport>(
    host: &T,
    session: &SessionId,
    enough: impl Fn(&[Value]) -> bool + Send,
) -> Result<Vec<Value>, HostError> {
    let path = session_path(session, "/message")?;
    let mut messages: Vec<Value> = Vec::new();
    let mut limit = FIRST_PAGE;
    for _ in 0..PAGES_MAX {
        let mut request = Request::get(&path).with("limit", limit);
        if let Some(oldest) = messages.first() {
            let Some(cursor) = cursor(oldest) else { return whole(host, &path).await };
            request = request.with("before", cursor);
        }
        let mut page = match ask_list(host, request).await {
            // A cursor is OpenCode's own affair, and ours is only seen to be right.
            Err(HostError::Rejected { .. }) if !messages.is_empty() => {
                return whole(host, &path).await;
            }
            page => page?,
        };
        let begins = page.len() < limit;
        page.append(&mut messages);
        messages = page;
        if begins || enough(&messages) {
            break;
        }
        limit = PAGE;
    }
    Ok(messages)
}

async fn whole<T: Transport>(host: &T, path: &str) -> Result<Vec<Value>, HostError> {
    ask_list(host, Request::get(path)).await
}

/// The place before a message. OpenCode tells it in a header, which the plugin does not see; it is
/// made of nothing else than this (1.18.33).
fn cursor(message: &Value) -> Option<String> {
    let id = message["info"]["id"].as_str()?;
    let time = message["info"]["time"]["created"].as_u64()?;
    Some(URL_SAFE_NO_PAD.encode(json!({ "id": id, "time": time }).to_string()))
}

/// The agent and model that a person last chose there, if a person ever wrote there.
pub async fn last_choice<T: Transport>(
    host: &T,
    session: &SessionId,
) -> Result<Option<Choice>, HostError> {
    let by_person = |told: &&Value| Message::read(told).is_a_persons();
    let messages = read(host, session, |seen| seen.iter().any(|told| by_person(&told))).await?;
    Ok(messages.iter().rev().find(by_person).map(|told| Message::read(told).choice()))
}
