//! Messages of ours: prompts to helpers and deliveries to their parents. Each goes out under ids of
//! its own and only where it is not already there.

use legwork_engine::work::{Part, Shown, Tried, Wake};
use legwork_engine::{Finding, HostError};
use legwork_host::Request;
use legwork_protocol::{MessageId, PartId, SessionId};
use serde_json::{Value, json};

use crate::cache::conversation::Conversation;
use crate::operations::observe::is_busy;
use crate::wire::choice::{Choice, Model};
use crate::wire::history;
use crate::wire::mark;
use crate::wire::message::Message;
use crate::wire::transport::{Transport, ask, session_path, word};

/// Hands over a prompt for an agent, with the model that was chosen when the session was opened.
pub async fn prompt<T: Transport>(
    host: &T,
    tried: Tried,
    (session, message, part): (&SessionId, &MessageId, &PartId),
    agent: &str,
    text: &str,
) -> Result<Finding, HostError> {
    let (model, is_in) =
        tokio::join!(model_of(host, session), is_there(host, tried, session, message));
    let model = model?;
    let choice = Choice { agent: Some(agent.to_owned()), model };
    if is_in? {
        let again = tried == Tried::Unanswered && waits_in_vain(host, session, message).await?;
        return if again { run(host, session, message, choice).await } else { Ok(Finding::Done) };
    }
    if let Some(cache) = host.cache() {
        cache.event_cache.listen(session, message);
    }
    let parts = vec![text_part(part, text.to_owned(), Shown::ToAll)];
    send(host, session, message, choice, parts, Wake::StartTurn).await
}

/// Delivers a message to a session, for the agent that the person last chose there.
pub async fn tell<T: Transport>(
    host: &T,
    tried: Tried,
    (session, message): (&SessionId, &MessageId),
    parts: &[Part],
    wake: Wake,
) -> Result<Finding, HostError> {
    // Alone, because a delivery that was sent is there nearly always, and answered.
    if is_told(host, tried, session, message, wake).await? {
        return Ok(Finding::Delivered);
    }
    if wake == Wake::StartTurn && is_there(host, tried, session, message).await? {
        return unanswered(host, tried, session, message).await;
    }
    let there = Conversation::of(host, session).await?;
    if there.has_undo_pending() {
        return Ok(Finding::UndoPending);
    }
    if wake == Wake::WhenIdle && is_busy(host, session).await? {
        return Ok(Finding::AtWork);
    }
    let parts = parts.iter().map(|part| text_part(&part.id, part.text.clone(), part.shown));
    send(host, session, message, there.choice, parts.collect(), wake).await
}

/// Whether the delivery is there and has what it is to have: for one that is to start a turn, the
/// newest messages tell both in one request.
async fn is_told<T: Transport>(
    host: &T,
    tried: Tried,
    session: &SessionId,
    message: &MessageId,
    wake: Wake,
) -> Result<bool, HostError> {
    if tried == Tried::Never || wake != Wake::StartTurn {
        return is_there(host, tried, session, message).await;
    }
    let newest = history::read(host, session, |_| true).await?;
    let is_it = |told: &Value| Message::read(told).id() == Some(message.as_str());
    Ok(newest.iter().any(is_it) && !is_last(&newest, message))
}

/// What becomes of a delivery that is there, and that nothing was seen to follow.
async fn unanswered<T: Transport>(
    host: &T,
    tried: Tried,
    session: &SessionId,
    message: &MessageId,
) -> Result<Finding, HostError> {
    if !waits_in_vain(host, session, message).await? {
        return Ok(Finding::Delivered);
    }
    let there = Conversation::of(host, session).await?;
    match tried {
        // A turn would make the undo permanent.
        _ if there.has_undo_pending() => Ok(Finding::Delivered),
        Tried::Unanswered => run(host, session, message, there.choice).await,
        Tried::Never | Tried::Perhaps => Ok(Finding::Unanswered),
    }
}

/// Whether nobody is at work in the session, and nothing follows the message there: a prompt that
/// comes while a turn is failing is stored, and starts none (1.18.33). The messages are read last,
/// so that a turn that begins meanwhile is seen in them.
async fn waits_in_vain<T: Transport>(
    host: &T,
    session: &SessionId,
    message: &MessageId,
) -> Result<bool, HostError> {
    if is_busy(host, session).await? {
        return Ok(false);
    }
    Ok(is_last(&history::read(host, session, |_| true).await?, message))
}

/// Whether nothing follows the message. One that was sent twice may stand behind its own answer.
fn is_last(newest: &[Value], message: &MessageId) -> bool {
    let (id, mut newest) = (message.as_str(), newest.iter().map(Message::read).rev());
    let is_last = newest.next().is_some_and(|last| last.id() == Some(id));
    is_last && !newest.any(|other| other.answers(id))
}

/// Starts the turn of a message that is there. Its parts stay as they are (1.18.33).
async fn run<T: Transport>(
    host: &T,
    session: &SessionId,
    message: &MessageId,
    choice: Choice,
) -> Result<Finding, HostError> {
    send(host, session, message, choice, Vec::new(), Wake::StartTurn).await
}

/// The model that the session was opened for.
async fn model_of<T: Transport>(host: &T, session: &SessionId) -> Result<Option<Model>, HostError> {
    if let Some(model) = host.cache().and_then(|cache| cache.model_of(session)) {
        return Ok(model);
    }
    let there = ask(host, Request::get(session_path(session, "")?)).await?;
    Ok(Model::read(&there["metadata"][mark::KEY]["model"]))
}

/// Whether the message is in the session. One that was never sent is not; an unknown session's
/// messages are as unknown as an unknown message (1.18.33), so no is no proof of the session.
async fn is_there<T: Transport>(
    host: &T,
    tried: Tried,
    session: &SessionId,
    message: &MessageId,
) -> Result<bool, HostError> {
    let path = session_path(session, "/message/")? + word(message.as_str())?;
    if tried == Tried::Never {
        return Ok(false);
    }
    match ask(host, Request::get(path)).await {
        Ok(_) => Ok(true),
        Err(HostError::Gone) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn send<T: Transport>(
    host: &T,
    session: &SessionId,
    message: &MessageId,
    choice: Choice,
    parts: Vec<Value>,
    wake: Wake,
) -> Result<Finding, HostError> {
    let mut body = json!({ "messageID": message, "parts": parts });
    if wake != Wake::StartTurn {
        body["noReply"] = json!(true);
    }
    choice.put_into(&mut body);
    ask(host, Request::post(session_path(session, "/prompt_async")?, body)).await?;
    Ok(Finding::Done)
}

fn text_part(id: &PartId, text: String, shown: Shown) -> Value {
    let mut part = json!({ "id": id, "type": "text", "text": text, "metadata": mark::part() });
    if shown == Shown::ToModel {
        part["synthetic"] = json!(true);
    }
    part
}
