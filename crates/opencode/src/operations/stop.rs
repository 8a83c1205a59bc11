//! Stops what must not go on, and removes a session that never got its prompt.

use legwork_engine::record::Target;
use legwork_engine::{Finding, HostError};
use legwork_host::Request;
use legwork_protocol::{SessionId, TaskId};
use serde_json::{Value, json};

use crate::limits::{ALL_SESSIONS, RECENT_SESSIONS};
use crate::operations::observe::is_busy;
use crate::operations::open;
use crate::wire::mark;
use crate::wire::transport::{Transport, ask, ask_list, session_path};

pub async fn stop<T: Transport>(
    host: &T,
    task: TaskId,
    target: &Target,
) -> Result<Finding, HostError> {
    match target {
        Target::Session(session) => abort(host, session).await,
        Target::Opened(session) => abort_or_delete(host, session).await,
        Target::Marked => match marked(host, task).await? {
            Some(session) => abort_or_delete(host, &session).await,
            None => Ok(Finding::Quiet),
        },
    }
}

/// OpenCode aborts any session, also one that was deleted: what ran in it goes on otherwise.
async fn abort<T: Transport>(host: &T, session: &SessionId) -> Result<Finding, HostError> {
    ask(host, Request::post(session_path(session, "/abort")?, json!({}))).await?;
    Ok(if is_busy(host, session).await? { Finding::Done } else { Finding::Quiet })
}

/// A deleted session is not aborted along: that is another write, and the next stop makes it.
async fn abort_or_delete<T: Transport>(
    host: &T,
    session: &SessionId,
) -> Result<Finding, HostError> {
    let request = Request::get(session_path(session, "/message")?).with("limit", 1);
    match ask_list(host, request).await {
        Ok(messages) if messages.is_empty() => {
            ask(host, Request::delete(session_path(session, "")?)).await?;
            Ok(Finding::Done)
        }
        Ok(_) | Err(HostError::Gone) => abort(host, session).await,
        Err(error) => Err(error),
    }
}

/// The session that was opened for the task. Its parent is not known here, and OpenCode cannot look
/// for metadata, so all are read, those first that changed last.
pub async fn marked<T: Transport>(host: &T, task: TaskId) -> Result<Option<SessionId>, HostError> {
    for limit in [RECENT_SESSIONS, ALL_SESSIONS] {
        let request = Request::get("/session").with("limit", limit).with("scope", "project");
        let sessions: Vec<Value> = ask_list(host, request).await?;
        if let Some(session) = mark::find(task, &sessions) {
            return open::id(session).map(Some);
        }
        if sessions.len() < limit {
            break;
        }
    }
    Ok(None)
}
