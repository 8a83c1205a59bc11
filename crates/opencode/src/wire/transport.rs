//! How a request reaches OpenCode, and what its answer means.

use legwork_engine::HostError;
use legwork_host::{Request, Unreachable};
use legwork_protocol::SessionId;
use legwork_protocol::line::HostReply;
use serde_json::Value;

use crate::cache::link_cache::LinkCache;
use crate::wire::error;

/// Carries calls to one OpenCode, each within bounded time.
pub trait Transport: Send + Sync {
    /// Makes the call. An answer of any status is an answer.
    fn send(&self, request: Request)
    -> impl Future<Output = Result<HostReply, Unreachable>> + Send;

    /// What need not be asked again over this link, if anybody keeps it in mind.
    fn cache(&self) -> Option<&LinkCache> {
        None
    }
}

/// Makes the call and gives the body of a good answer.
pub(crate) async fn ask<T: Transport>(host: &T, request: Request) -> Result<Value, HostError> {
    let reply = host.send(request).await.map_err(|_| HostError::Unreachable)?;
    match error::of(&reply) {
        None => Ok(reply.body),
        Some(error) => Err(error),
    }
}

/// The same for an answer that is a list.
pub(crate) async fn ask_list<T: Transport>(
    host: &T,
    request: Request,
) -> Result<Vec<Value>, HostError> {
    match ask(host, request).await? {
        Value::Array(list) => Ok(list),
        _ => Err(error::NONSENSE),
    }
}

/// `/session/{id}{rest}`. An id that is no word cannot be a session's, and in a path it could mean
/// something else.
pub(crate) fn session_path(session: &SessionId, rest: &str) -> Result<String, HostError> {
    Ok(format!("/session/{}{rest}", word(session.as_str())?))
}

/// An id that can stand in a path.
pub(crate) fn word(id: &str) -> Result<&str, HostError> {
    let fits = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if fits { Ok(id) } else { Err(HostError::Gone) }
}
