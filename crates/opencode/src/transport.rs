//! One call of OpenCode's API, the way by which it travels, and what its answer means.

use std::collections::BTreeMap;

use legwork_engine::HostError;
use legwork_protocol::SessionId;
use legwork_protocol::line::{HostReply, Method};
use serde_json::Value;

use crate::error;
use crate::link_cache::LinkCache;

/// A call of OpenCode's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// What.
    pub path: String,
    /// Its parameters, not encoded.
    pub query: BTreeMap<String, String>,
    /// What to send; null for nothing.
    pub body: Value,
}

/// No answer came. What was asked may have been done or not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("OpenCode did not answer: {why}")]
pub struct Unreachable {
    /// Why, for an operator.
    pub why: String,
}

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

impl Request {
    /// Reads.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::Get, path, Value::Null)
    }

    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::Post, path, body)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::Delete, path, Value::Null)
    }

    fn new(method: Method, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), query: BTreeMap::new(), body }
    }

    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.query.insert(name.to_owned(), value.to_string());
        self
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
