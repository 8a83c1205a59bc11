//! JSON-RPC 2.0 with one message a line: what agents over ACP, clients over MCP and the server of
//! Codex speak.
//!
//! Knows the envelope, not what is in it. Written by hand and not with the libraries of these
//! protocols: we use few of their messages, have to bound what the other side may send, and must
//! live through what is no message at all; the libraries are what the tests hold this against.

use crate::line::{check_size, repair_surrogates};
use serde_json::{Value, json};

/// A request's id of the other side; longer is a mistake or an attack.
pub const ID_MAX_BYTES: usize = 1 << 10;
/// The line is no message.
pub const NOT_READ: i64 = -32700;
/// The message is no request that can be answered.
pub const BAD_REQUEST: i64 = -32600;
/// The method is not known.
pub const NO_SUCH_METHOD: i64 = -32601;
/// The arguments do not fit.
pub const BAD_PARAMS: i64 = -32602;
/// Something went wrong inside.
pub const INTERNAL: i64 = -32603;

/// A message of the other side.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields have the names of the standard")]
pub enum Message {
    /// Wants an answer under its id.
    Request { id: Value, method: String, params: Value },
    /// Wants none.
    Notification { method: String, params: Value },
    /// Answers a request of ours.
    Response { id: u64, outcome: Result<Value, RpcError> },
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// One of the standard's, or the protocol's own.
    pub code: i64,
    /// For people.
    pub message: String,
    /// More of it; some put the cause here.
    pub data: Value,
}

/// Why a line is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The line may have been a message: something of the other side's is lost.
    Message,
    /// The line is something else, like a line of a log.
    Other,
}

/// Reads a line. What is wrong with its characters is repaired: an agent that cuts an emoji in two
/// has still said the rest.
pub fn read(line: &[u8]) -> Result<Message, Unread> {
    let text = String::from_utf8_lossy(line);
    let value: Option<Value> = match check_size(text.as_bytes()) {
        Ok(()) => serde_json::from_slice(&repair_surrogates(text.as_bytes())).ok(),
        Err(_) => None,
    };
    match value {
        None if text.trim_start().starts_with('{') => Err(Unread::Message),
        None => Err(Unread::Other),
        Some(value) => {
            let is_said_to_be_one = value["jsonrpc"].is_string();
            let unread = if is_said_to_be_one { Unread::Message } else { Unread::Other };
            message(value).ok_or(unread)
        }
    }
}

/// Reads leniently: an answer that is not understood is one that never comes.
fn message(mut value: Value) -> Option<Message> {
    let id = value.get("id").filter(|id| !id.is_null()).cloned();
    let mut take = |name: &str| value.get_mut(name).map(Value::take);
    match (take("method"), id) {
        (Some(Value::String(method)), id) => {
            let params = take("params").unwrap_or_default();
            Some(match id {
                Some(id) => Message::Request { id: fit(id)?, method, params },
                None => Message::Notification { method, params },
            })
        }
        (None | Some(Value::Null), Some(id)) => {
            let id = own_id(&id)?;
            let error = take("error").filter(|error| !error.is_null());
            let result = take("result").unwrap_or_default();
            let outcome = error.map_or(Ok(result), |error| Err(rpc_error(error)));
            Some(Message::Response { id, outcome })
        }
        _ => None,
    }
}

/// A request's id as it is kept until the request is answered.
fn fit(id: Value) -> Option<Value> {
    let fits = match &id {
        Value::String(text) => text.len() <= ID_MAX_BYTES,
        other => other.is_number(),
    };
    fits.then_some(id)
}

/// One of ours, which are whole numbers. Some write them as texts.
fn own_id(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

fn rpc_error(mut error: Value) -> RpcError {
    if let Value::String(message) = error {
        return RpcError { code: INTERNAL, message, data: Value::Null };
    }
    let code = error["code"].as_i64().unwrap_or(INTERNAL);
    let message = error["message"].as_str().map(str::to_owned);
    let message = message.unwrap_or_else(|| error["message"].to_string());
    RpcError { code, message, data: error.get_mut("data").map(Value::take).unwrap_or_default() }
}

/// A request, as a line with its end.
pub fn request(id: u64, method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// A notification, as a line with its end.
pub fn notification(method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// The answer to a request, as a line with its end.
pub fn answer(id: &Value, result: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// The error of a request, as a line with its end.
pub fn refusal(id: &Value, code: i64, why: &str) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } }))
}

/// An error with its data, as a line with its end.
pub fn refusal_with(id: &Value, error: &RpcError) -> String {
    let RpcError { code, message, data } = error;
    let mut error = json!({ "code": code, "message": message });
    if !data.is_null() {
        error["data"] = data.clone();
    }
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
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
        let (method, id) = ("session/new".to_owned(), json!(7));
        let error = RpcError { code: -32002, message: "gone".into(), data: Value::Null };
        let written = [
            request(7, &method, &params),
            notification(&method, &params),
            answer(&id, &params),
            refusal(&id, -32002, "gone"),
        ];
        let expected = [
            Message::Request { id, method: method.clone(), params: params.clone() },
            Message::Notification { method, params: params.clone() },
            Message::Response { id: 7, outcome: Ok(params) },
            Message::Response { id: 7, outcome: Err(error) },
        ];
        for (line, message) in written.into_iter().zip(expected) {
            assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
            assert_eq!(read(line.trim_end().as_bytes()), Ok(message));
        }
    }

    #[test]
    fn an_answer_of_null_is_an_answer() {
        let read = read(br#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        assert_eq!(read, Ok(Message::Response { id: 1, outcome: Ok(Value::Null) }));
    }

    #[test]
    fn g2_what_is_no_message_is_told_from_one_that_cannot_be_read() {
        for line in ["", "hello", "{}", "[]", "7", r#"{"level":30,"msg":"up"}"#, r#"{"method":7}"#]
        {
            assert_eq!(read(line.as_bytes()), Err(Unread::Other), "{line}");
        }
        let deep = format!("{{\"method\":\"x\",\"params\":{}", "[".repeat(200));
        let many = format!("{{\"method\":\"x\",\"params\":[{}1]}}", "1,".repeat(600_000));
        let long =
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":\"{}\"}}", "i".repeat(2_000));
        let odd = r#"{"jsonrpc":"2.0","method":7}"#;
        for line in [odd, r#"{"method":"x""#, &deep, &many, &long] {
            let shown = &line[..line.len().min(60)];
            assert_eq!(read(line.as_bytes()), Err(Unread::Message), "{shown}");
        }
    }

    #[test]
    fn g2_a_message_with_a_wrong_character_is_read_without_it() {
        let said = |line: &[u8]| match read(line) {
            Ok(Message::Notification { params, .. }) => params["t"].as_str().map(str::to_owned),
            other => panic!("{other:?}"),
        };
        let half = br#"{"method":"x","params":{"t":"a\ud83d b"}}"#;
        assert_eq!(said(half).as_deref(), Some("a\u{fffd} b"));
        assert_eq!(
            said(b"{\"method\":\"x\",\"params\":{\"t\":\"a\xff b\"}}").as_deref(),
            Some("a\u{fffd} b")
        );
    }

    #[test]
    fn g2_an_error_in_any_shape_is_an_error() {
        for (line, words) in [
            (r#"{"id":1,"error":"no tea"}"#, "no tea"),
            (r#"{"id":"1","error":{"code":"x","message":"no tea"}}"#, "no tea"),
            (r#"{"id":1,"error":{"message":{"why":"no tea"}}}"#, "no tea"),
            (r#"{"id":1,"error":7}"#, "null"),
        ] {
            match read(line.as_bytes()) {
                Ok(Message::Response { id: 1, outcome: Err(error) }) => {
                    assert!(error.message.contains(words), "{error}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
