//! What a person and their OpenCode are asked to do in a history.

use std::time::Duration;

use serde_json::{Value, json};

use super::diary::Diary;
use crate::fault::{Done, Fault};
use crate::stage::Stage;

/// One request of ours to OpenCode.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A new conversation.
///
/// # Errors
/// When OpenCode makes none.
pub async fn session(stage: &Stage, title: &str) -> Done<String> {
    let session = post(stage, "/session", json!({ "title": title })).await?;
    let id = session["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| Fault::trying("making a session", &session))
}

/// Begins a turn.
///
/// # Errors
/// When OpenCode does not take it.
pub async fn prompt(stage: &Stage, session: &str, text: &str) -> Done<()> {
    let body = json!({ "parts": [{ "type": "text", "text": text }] });
    post(stage, &format!("/session/{session}/prompt_async"), body).await.map(drop)
}

async fn post(stage: &Stage, path: &str, body: Value) -> Done<Value> {
    match stage.client.try_call("POST", path, Some(body), PATIENCE).await {
        Ok(answer) if answer.status < 300 => Ok(answer.body),
        Ok(answer) => Err(Fault::trying(format!("POST {path}"), format!("{answer:?}"))),
        Err(why) => Err(Fault::trying(format!("POST {path}"), why)),
    }
}

/// The tasks as a person sees them. This starts a daemon if there is none.
///
/// # Errors
/// When the command does not end.
pub fn tasks(stage: &Stage) -> Done<Vec<Value>> {
    Ok(list(&stage.legwork_json(&["list"])?["tasks"]).to_vec())
}

/// A person allows what these helpers ask.
///
/// # Errors
/// When a command does not end.
pub fn answer(stage: &Stage, diary: &mut Diary, wanted: impl Fn(&str) -> bool) -> Done<()> {
    for task in tasks(stage)? {
        let wanted = wanted(word(&task["description"]));
        for question in list(&task["questions"]).iter().filter(|_| wanted) {
            let (id, question) = (word(&task["id"]), word(&question["id"]));
            diary.tell(format!("a person answers {question} of {id}"));
            stage.legwork(&["answer", id, "once", "--question", question])?;
        }
    }
    Ok(())
}

/// Whether no session is at work.
pub async fn quiet(stage: &Stage) -> bool {
    let status = stage.client.try_call("GET", "/session/status", None, PATIENCE).await;
    status.is_ok_and(|answer| answer.body.as_object().is_some_and(serde_json::Map::is_empty))
}

/// A list, or nothing.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text, or none.
pub fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
