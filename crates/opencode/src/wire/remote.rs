//! An OpenCode server that is reached over HTTP, without a plugin. Speaks no TLS: servers are on
//! this machine or behind a tunnel.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Response, Uri};
use hyper_util::rt::TokioIo;
use legwork_host::{Request, Unreachable};
use legwork_protocol::limits::LINE_MAX_BYTES;
use legwork_protocol::line::{HostReply, Method, repair_surrogates};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::limits::REQUEST;
use crate::wire::error::Fault;
use crate::wire::transport::Transport;

/// The user that OpenCode expects unless `OPENCODE_SERVER_USERNAME` says otherwise.
pub const DEFAULT_USER: &str = "opencode";

const HTTP_PORT: u16 = 80;

/// All but the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[derive(Debug, Clone)]
pub struct Remote {
    host: String,
    port: u16,
    /// What stands before every path, without a slash at the end.
    base: String,
    /// Never shown by `Debug`.
    authorization: Option<HeaderValue>,
    directory: Option<String>,
    deadline: Duration,
}

impl Remote {
    /// The server at an address like `http://127.0.0.1:4096`.
    pub fn at(url: &str) -> Result<Self, Fault> {
        let bad = |source| Fault::BadUrl { url: url.to_owned(), source };
        let uri: Uri = url.trim().parse().map_err(bad)?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return Err(Fault::NotHttp { url: url.to_owned() });
        };
        Ok(Self {
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(HTTP_PORT),
            base: uri.path().trim_end_matches('/').to_owned(),
            authorization: None,
            directory: None,
            deadline: REQUEST,
        })
    }

    pub fn signed_in(mut self, user: &str, password: &str) -> Self {
        let secret = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        self.authorization = HeaderValue::from_str(&secret).ok().map(|mut value| {
            value.set_sensitive(true);
            value
        });
        self
    }

    /// For the project in this directory instead of the one that the server was started in.
    pub fn in_directory(self, directory: &str) -> Self {
        Self { directory: Some(directory.to_owned()), ..self }
    }

    pub fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The beginning of the answer, within the deadline.
    pub(crate) async fn begin(&self, request: &Request) -> Result<Response<Incoming>, Unreachable> {
        match tokio::time::timeout(self.deadline, self.call(request)).await {
            Ok(response) => response,
            Err(_) => Err(self.silent()),
        }
    }

    async fn call(&self, request: &Request) -> Result<Response<Incoming>, Unreachable> {
        let socket = TcpStream::connect((self.host.trim_matches(['[', ']']), self.port)).await;
        let socket = socket.map_err(|error| self.failed(&error))?;
        let handshake = http1::handshake(TokioIo::new(socket)).await;
        let (mut sender, connection) = handshake.map_err(|error| self.failed(&error))?;
        // Ends with the answer. What goes wrong on it, the answer's reader is told as well.
        tokio::spawn(connection);
        let request = self.request(request).map_err(|error| self.failed(&error))?;
        sender.send_request(request).await.map_err(|error| self.failed(&error))
    }

    fn request(
        &self,
        request: &Request,
    ) -> Result<hyper::Request<Full<Bytes>>, hyper::http::Error> {
        let method = match request.method {
            Method::Get => hyper::Method::GET,
            Method::Post => hyper::Method::POST,
            Method::Patch => hyper::Method::PATCH,
            Method::Delete => hyper::Method::DELETE,
        };
        let directory = self.directory.as_ref().map(|directory| ("directory", directory.as_str()));
        let query = request.query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let query: Vec<String> = query
            .chain(directory)
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let mut built = hyper::Request::builder()
            .method(method)
            .uri(format!("{}{}{mark}{}", self.base, request.path, query.join("&")))
            .header(HOST, format!("{}:{}", self.host, self.port));
        if let Some(authorization) = &self.authorization {
            built = built.header(AUTHORIZATION, authorization);
        }
        if request.body.is_null() {
            return built.body(Full::default());
        }
        built.header(CONTENT_TYPE, "application/json").body(Full::from(request.body.to_string()))
    }

    fn silent(&self) -> Unreachable {
        self.failed(&format_args!("no answer within {} ms", self.deadline.as_millis()))
    }

    fn failed(&self, why: &dyn std::fmt::Display) -> Unreachable {
        Unreachable { why: format!("http://{}:{}: {why}", self.host, self.port) }
    }
}

impl Transport for Remote {
    async fn send(&self, request: Request) -> Result<HostReply, Unreachable> {
        let whole = async {
            let response = self.call(&request).await?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), LINE_MAX_BYTES).collect().await;
            let body = body.map_err(|error| self.failed(&error))?.to_bytes();
            Ok(HostReply { status, body: read(&body) })
        };
        tokio::time::timeout(self.deadline, whole).await.unwrap_or_else(|_| Err(self.silent()))
    }
}

/// What is no JSON is passed on as text, for whoever can make sense of it.
fn read(body: &[u8]) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    let text = || Value::String(String::from_utf8_lossy(body).into_owned());
    serde_json::from_slice(&repair_surrogates(body)).unwrap_or_else(|_| text())
}

fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ESCAPED)
}
