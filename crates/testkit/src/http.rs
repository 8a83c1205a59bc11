//! One HTTP call over a connection of its own: enough for loopback, and a call that hangs hurts no
//! other one. No pool, no redirects, no TLS: an OpenCode in a test is on this machine, and what it
//! answers is to be seen as it is.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::kit;

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body; a text when it is not JSON, null when it is empty.
    pub body: Value,
}

impl Answer {
    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.status < 300, "status {}: {}", self.status, self.body);
        self.body
    }
}

/// What goes with every call to one server.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Host and port.
    pub authority: String,
    pub headers: Vec<(String, String)>,
}

impl Line {
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, String> {
        let stream = TcpStream::connect(&self.authority).await.map_err(|why| why.to_string())?;
        let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = made.map_err(|why| why.to_string())?;
        kit::spawn(connection);
        let method: Method = method.parse().expect("a method");
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("host", &self.authority);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).expect("a request");
        sender.send_request(request).await.map_err(|why| why.to_string())
    }

    pub async fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        within: Duration,
    ) -> Result<Answer, String> {
        let (line, method, path) = (self.clone(), method.to_owned(), path.to_owned());
        let call = async move {
            let response = line.open(&method, &path, body.as_ref()).await?;
            let status = response.status().as_u16();
            let bytes = response.into_body().collect().await.map_err(|why| why.to_string())?;
            let bytes = bytes.to_bytes();
            let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
            let body = match serde_json::from_slice(&bytes) {
                Ok(body) => body,
                Err(_) if bytes.is_empty() => Value::Null,
                Err(_) => text(),
            };
            Ok(Answer { status, body })
        };
        let timed = async move {
            let late = |_| Err(format!("no answer within {within:?}"));
            tokio::time::timeout(within, call).await.unwrap_or_else(late)
        };
        kit::on_kit(timed).await
    }
}

/// The word that HTTP Basic wants.
pub(crate) fn basic(user: &str, password: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = format!("{user}:{password}");
    let mut out = String::from("Basic ");
    for chunk in text.as_bytes().chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::basic;

    #[test]
    fn basic_is_base64() {
        assert_eq!(basic("opencode", "secret"), "Basic b3BlbmNvZGU6c2VjcmV0");
        assert_eq!(basic("a", ""), "Basic YTo=");
        assert_eq!(basic("a", "b2"), "Basic YTpiMg==");
    }
}
