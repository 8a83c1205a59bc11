//! Messages of ours: prompts to helpers and letters to their parents. Each goes out under ids of
//! its own and only where it is not already there.

use std::convert::Infallible;

use legwork_engine::work::{Part, Shown, Wake};
use legwork_engine::{Finding, HostError};
use legwork_protocol::{MessageId, PartId, SessionId};
use serde_json::{Value, json};

use crate::choice::{Choice, Model};
use crate::history;
use crate::mark;
use crate::transport::{Request, Transport, ask, session_path, word};

/// Hands over a prompt for an agent, with the model that was chosen when the session was opened.
pub async fn prompt<T: Transport>(
    host: &T,
    (session, message, part): (&SessionId, &MessageId, &PartId),
    agent: &str,
    text: &str,
) -> Result<Finding, HostError> {
    let (there, is_in) = before(host, session, message).await?;
    if is_in {
        return Ok(Finding::Done);
    }
    let model = there.pointer(&format!("/metadata/{}/model", mark::KEY)).and_then(Model::read);
    let choice = Choice { agent: Some(agent.to_owned()), model };
    let parts = vec![text_part(part, text.to_owned(), Shown::ToAll)];
    send(host, session, message, choice, parts, Wake::StartTurn).await
}

/// Puts a letter into a session. It speaks to whom the person last spoke; in a session where no
/// person ever wrote, to whom it belongs.
pub async fn tell<T: Transport>(
    host: &T,
    (session, message): (&SessionId, &MessageId),
    parts: &[Part],
    wake: Wake,
) -> Result<Finding, HostError> {
    let (there, is_in) = before(host, session, message).await?;
    if is_in {
        return Ok(Finding::Told);
    }
    if there.get("revert").is_some_and(|revert| !revert.is_null()) {
        return Ok(Finding::UndoPending);
    }
    let choice = history::last_choice(host, session).await?;
    let choice = choice.unwrap_or_else(|| Choice::read(&there));
    let parts = parts.iter().map(|part| {
        // Texts that reach a host have no holes any more.
        let Ok(text) = part.text.fill(|_, _| Ok::<_, Infallible>(None));
        text_part(&part.id, text, part.shown)
    });
    send(host, session, message, choice, parts.collect(), wake).await
}

/// The session, and whether the message is in it. An unknown session's messages are as unknown as
/// an unknown message (1.18.33), so both are asked for.
async fn before<T: Transport>(
    host: &T,
    session: &SessionId,
    message: &MessageId,
) -> Result<(Value, bool), HostError> {
    let path = session_path(session, "/message/")? + word(message.as_str())?;
    let (there, found) = tokio::join!(
        ask(host, Request::get(session_path(session, "")?)),
        ask(host, Request::get(path)),
    );
    let is_in = match found {
        Ok(_) => true,
        Err(HostError::Gone) => false,
        Err(error) => return Err(error),
    };
    Ok((there?, is_in))
}

async fn send<T: Transport>(
    host: &T,
    session: &SessionId,
    message: &MessageId,
    choice: Choice,
    parts: Vec<Value>,
    wake: Wake,
) -> Result<Finding, HostError> {
    let mut body = serde_json::Map::new();
    body.insert("messageID".to_owned(), json!(message));
    body.insert("parts".to_owned(), json!(parts));
    if wake == Wake::StayIdle {
        body.insert("noReply".to_owned(), json!(true));
    }
    choice.put_into(&mut body);
    ask(host, Request::post(session_path(session, "/prompt_async")?, body.into())).await?;
    Ok(Finding::Done)
}

fn text_part(id: &PartId, text: String, shown: Shown) -> Value {
    let mut part = json!({ "id": id, "type": "text", "text": text, "metadata": mark::part() });
    if shown == Shown::ToModel {
        part["synthetic"] = json!(true);
    }
    part
}
