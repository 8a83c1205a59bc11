//! Requests as bytes, so that each says exactly what it is to say: a browser lets nobody choose all
//! of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use legwork_testkit::DEADLINE;
use serde_json::Value;

use crate::stage::Front;

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// The status line and the headers, in small letters.
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    pub fn with_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

pub fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// Sends these bytes and reads the answer; of one that has no length, a stream, only the head.
pub fn exchange(port: u16, bytes: &[u8]) -> Reply {
    let mut stream = connect(port);
    // It may be turned away before all of it was read.
    let _ = stream.write_all(bytes);
    let (mut reader, mut head) = (BufReader::new(stream), String::new());
    while reader.read_line(&mut head).is_ok_and(|count| count > 2) {}
    let head = head.trim_end().to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let length = head.split("\r\ncontent-length: ").nth(1).and_then(|rest| rest.lines().next());
    let length: u64 = length.map_or(0, |length| length.parse().unwrap());
    let mut body = String::new();
    let _ = reader.take(length).read_to_string(&mut body);
    Reply { status, head: format!("{head}\r\n"), body }
}

/// A request of the page, in which headers can be left out or said otherwise.
#[derive(Debug, Clone)]
pub struct Asked {
    port: u16,
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Asked {
    pub fn get(front: &Front, path: &str) -> Self {
        Self::new(front.port, format!("GET {path} HTTP/1.1"))
    }

    pub fn post(front: &Front, path: &str, body: &str) -> Self {
        let asked = Self::new(front.port, format!("POST {path} HTTP/1.1"));
        let asked = asked.with("origin", &format!("http://127.0.0.1:{}", front.port));
        let asked = asked.with("content-length", &body.len().to_string());
        Self { body: body.to_owned(), ..asked }
    }

    fn new(port: u16, line: String) -> Self {
        let asked = Self { port, line, headers: Vec::new(), body: String::new() };
        asked.with("host", &format!("127.0.0.1:{port}")).with("connection", "close")
    }

    /// With this header in place of the one that it has.
    pub fn with(self, name: &str, value: &str) -> Self {
        let mut asked = self.without(name);
        asked.headers.push((name.to_owned(), value.to_owned()));
        asked
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub fn bearing(self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    pub fn bytes(&self) -> Vec<u8> {
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        format!("{}\r\n{}\r\n{}", self.line, headers.collect::<String>(), self.body).into_bytes()
    }

    pub fn send(&self) -> Reply {
        exchange(self.port, &self.bytes())
    }

    /// A stream that is read as it comes.
    pub fn stream(&self) -> Events {
        let mut stream = connect(self.port);
        stream.write_all(&self.bytes()).unwrap();
        Events { stream, read: String::new() }
    }
}

pub struct Events {
    pub stream: TcpStream,
    pub read: String,
}

impl Events {
    /// Reads until this has come; forgets what was before it.
    pub fn until(&mut self, wanted: &str) {
        let (mut piece, deadline) = (vec![0; 64 << 10], Instant::now() + DEADLINE);
        loop {
            if let Some(at) = self.read.find(wanted) {
                self.read.drain(..at + wanted.len());
                return;
            }
            // Signs of life come for ever.
            assert!(
                Instant::now() < deadline,
                "not within {DEADLINE:?}: {wanted} in {}",
                self.read
            );
            let count = self.stream.read(&mut piece).unwrap_or(0);
            assert!(count > 0, "it ended before {wanted}: {}", self.read);
            self.read.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    }
}

/// Trades the code of an address for the token.
pub fn enter(front: &Front, address: &str) -> Reply {
    let code = address.split("#code=").nth(1).unwrap();
    let body = serde_json::json!({ "code": code }).to_string();
    Asked::post(front, "/api/enter", &body).send()
}

pub fn token(front: &Front) -> String {
    let told = enter(front, &front.address).with_status(200).json();
    told["token"].as_str().unwrap().to_owned()
}
