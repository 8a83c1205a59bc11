//! The wire of ACP: JSON-RPC 2.0, one message a line. Both sides of it are here, because legwork
//! speaks to agents and is one.
//!
//! Knows the envelope, not what is in it. Written by hand and not with the protocol's own library:
//! we use eight of its messages, have to bound what an agent may send, and must live through what
//! is no message at all; the library is what the tests hold this against.

use serde::Deserialize;
use serde_json::{Value, json};

/// The version of ACP that this is.
pub const ACP_VERSION: u64 = 1;
/// JSON-RPC: the method is not known.
pub const NO_SUCH_METHOD: i64 = -32601;
/// JSON-RPC: the arguments do not fit.
pub const BAD_PARAMS: i64 = -32602;
/// JSON-RPC: something went wrong inside.
pub const INTERNAL: i64 = -32603;
/// ACP: somebody has to log in first.
pub const LOGIN_NEEDED: i64 = -32000;
/// ACP: there is no such session or file.
pub const NOT_FOUND: i64 = -32002;

/// What comes in on one line.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Wants an answer under its id.
    Request {
        /// Theirs; a number or a text.
        id: Value,
        /// What is wanted.
        method: String,
        /// The arguments.
        params: Value,
    },
    /// Wants none.
    Notification {
        /// What it is about.
        method: String,
        /// The facts.
        params: Value,
    },
    /// Answers a request of ours.
    Response {
        /// Ours.
        id: u64,
        /// What came of it.
        outcome: Result<Value, RpcError>,
    },
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// What kind of reason.
    #[serde(default)]
    pub code: i64,
    /// The reason in words.
    #[serde(default)]
    pub message: String,
    /// More of it; agents put the cause here.
    #[serde(default)]
    pub data: Value,
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<RpcError>,
}

/// Reads a line; nothing if it is no message.
pub fn read(line: &[u8]) -> Option<Message> {
    let Envelope { id, method, params, result, error } = serde_json::from_slice(line).ok()?;
    match (method, id) {
        (Some(method), Some(id)) => Some(Message::Request { id, method, params }),
        (Some(method), None) => Some(Message::Notification { method, params }),
        (None, Some(id)) => {
            let id = id.as_u64()?;
            let outcome = error.map_or_else(|| Ok(result.unwrap_or(Value::Null)), Err);
            Some(Message::Response { id, outcome })
        }
        (None, None) => None,
    }
}

/// A request, as a line with its end.
pub fn request(id: u64, method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// A notification.
pub fn notification(method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// The answer to a request.
pub fn answer(id: &Value, result: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// A request that is not done.
pub fn refusal(id: &Value, code: i64, why: &str) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } }))
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let params = json!({ "text": "two\nlines" });
        let read_line = |line: String| {
            assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
            read(line.trim_end().as_bytes())
        };
        let (method, id) = ("session/new".to_owned(), json!(7));
        assert_eq!(
            read_line(request(7, &method, &params)),
            Some(Message::Request {
                id: id.clone(),
                method: method.clone(),
                params: params.clone()
            })
        );
        assert_eq!(
            read_line(notification(&method, &params)),
            Some(Message::Notification { method, params: params.clone() })
        );
        assert_eq!(
            read_line(answer(&id, &params)),
            Some(Message::Response { id: 7, outcome: Ok(params) })
        );
        let error = RpcError { code: NOT_FOUND, message: "gone".into(), data: Value::Null };
        assert_eq!(
            read_line(refusal(&id, NOT_FOUND, "gone")),
            Some(Message::Response { id: 7, outcome: Err(error) })
        );
    }

    #[test]
    fn an_answer_of_null_is_an_answer() {
        let read = read(br#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        assert_eq!(read, Some(Message::Response { id: 1, outcome: Ok(Value::Null) }));
    }

    #[test]
    fn what_is_no_message_is_nothing() {
        for line in ["", "hello", "{}", "[]", "7", r#"{"id":"x","result":1}"#, r#"{"method":7}"#] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }
}
