//! Gives a person's answer to a helper that asked.

use legwork_engine::{Finding, HostError};
use legwork_host::Request;
use legwork_protocol::QuestionId;
use legwork_protocol::api::Reply;
use legwork_protocol::view::QuestionKind;
use serde_json::json;

use crate::wire::question;
use crate::wire::transport::{Transport, ask, ask_list, word};

pub async fn answer<T: Transport>(
    host: &T,
    id: &QuestionId,
    kind: QuestionKind,
    reply: &Reply,
) -> Result<Finding, HostError> {
    let id = word(id.as_str())?;
    let request = match kind {
        QuestionKind::Question => to_question(host, id, reply).await?,
        QuestionKind::Permission => to_permission(id, reply)?,
    };
    ask(host, request).await?;
    Ok(Finding::Done)
}

fn to_permission(id: &str, reply: &Reply) -> Result<Request, HostError> {
    let body = match reply {
        Reply::Once => json!({ "reply": "once" }),
        Reply::Always => json!({ "reply": "always" }),
        Reply::Reject(None) => json!({ "reply": "reject" }),
        Reply::Reject(Some(words)) => json!({ "reply": "reject", "message": words }),
        Reply::Words(_) => {
            return Err(rejected(
                "This asks for a permission, not for words: answer with once, always or reject.",
            ));
        }
    };
    Ok(Request::post(format!("/permission/{id}/reply"), body))
}

async fn to_question<T: Transport>(
    host: &T,
    id: &str,
    reply: &Reply,
) -> Result<Request, HostError> {
    let words = match reply {
        Reply::Words(words) => words,
        // OpenCode has no place for words with it.
        Reply::Reject(_) => return Ok(Request::post(format!("/question/{id}/reject"), json!({}))),
        Reply::Once | Reply::Always => {
            return Err(rejected("This is a question: answer it with words, or reject it."));
        }
    };
    let open = ask_list(host, Request::get("/question")).await?;
    let asked = open.iter().find(|told| told["id"].as_str() == Some(id));
    let answers = question::answers(asked.ok_or(HostError::Gone)?, words).map_err(|lines| {
        rejected(&format!("These are {lines} questions: give {lines} lines, one answer each."))
    })?;
    Ok(Request::post(format!("/question/{id}/reply"), json!({ "answers": answers })))
}

fn rejected(why: &str) -> HostError {
    HostError::Rejected { why: why.to_owned() }
}
