//! The event stream of an OpenCode server. A stream that ends, fails or falls silent is opened
//! again; the listener looks up what it missed.

use std::collections::BTreeMap;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use legwork_host::{Request, Unreachable};
use legwork_machine::LineReader;
use legwork_protocol::limits::LINE_MAX_BYTES;
use legwork_protocol::line::{HostReply, Wanted, repair_surrogates};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use crate::cache::link_cache::keep;
use crate::limits::{SIEVE_SESSIONS, STREAM_PAUSE_FIRST, STREAM_PAUSE_MAX, STREAM_SILENCE};
use crate::wire::error;
use crate::wire::events::project;
use crate::wire::remote::Remote;

#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// The stream is open: nothing is missed from now on.
    Opened,
    /// A wanted event, cut down to what is wanted of it.
    Event { name: String, properties: Value },
    /// It is closed, or could not be opened. It is tried again after a pause.
    Closed { why: String },
}

#[derive(Debug)]
pub struct Events {
    remote: Remote,
    sieve: Sieve,
    stream: Option<Stream>,
    pause: Duration,
    open_at: Instant,
}

#[derive(Debug)]
struct Stream {
    body: Incoming,
    lines: LineReader,
}

impl Events {
    pub fn new(remote: Remote, wanted: Vec<Wanted>) -> Self {
        Self {
            remote,
            sieve: Sieve { wanted, passed: BTreeMap::new() },
            stream: None,
            pause: STREAM_PAUSE_FIRST,
            open_at: Instant::now(),
        }
    }

    /// From now on these are wanted. The stream stays open, so nothing is missed.
    pub fn want(&mut self, wanted: Vec<Wanted>) {
        self.sieve.wanted = wanted;
    }

    /// The next thing that is heard. May be given up and called again: nothing is lost.
    pub async fn next(&mut self) -> Heard {
        loop {
            let Some(stream) = &mut self.stream else {
                sleep_until(self.open_at).await;
                return match open(&self.remote).await {
                    Ok(stream) => {
                        self.stream = Some(stream);
                        Heard::Opened
                    }
                    Err(why) => self.close(why.to_string()),
                };
            };
            match stream.next_line().await {
                Err(why) => return self.close(why),
                Ok(line) => {
                    self.pause = STREAM_PAUSE_FIRST;
                    if let Some((name, properties)) = self.sieve.pass(&line, Instant::now()) {
                        return Heard::Event { name, properties };
                    }
                }
            }
        }
    }

    fn close(&mut self, why: String) -> Heard {
        self.stream = None;
        self.open_at = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(STREAM_PAUSE_MAX);
        Heard::Closed { why }
    }
}

async fn open(remote: &Remote) -> Result<Stream, Unreachable> {
    let response = remote.begin(&Request::get("/event")).await?;
    let reply = HostReply { status: response.status().as_u16(), body: Value::Null };
    match error::of(&reply) {
        Some(error) => Err(Unreachable { why: error.to_string() }),
        None => Ok(Stream { body: response.into_body(), lines: LineReader::new(LINE_MAX_BYTES) }),
    }
}

impl Stream {
    async fn next_line(&mut self) -> Result<Vec<u8>, String> {
        loop {
            while let Some(line) = self.lines.pop() {
                // A line that is too long to be read is an event that was missed.
                if let Ok(line) = line {
                    return Ok(line);
                }
            }
            let frame = match timeout(STREAM_SILENCE, self.body.frame()).await {
                Err(_) => return Err("the event stream fell silent".to_owned()),
                Ok(None) => return Err("the event stream ended".to_owned()),
                Ok(Some(Err(error))) => return Err(format!("the event stream broke: {error}")),
                Ok(Some(Ok(frame))) => frame,
            };
            if let Ok(bytes) = frame.into_data() {
                self.lines.push(&bytes);
            }
        }
    }
}

/// Lets through what is wanted, as often as it is wanted.
#[derive(Debug)]
struct Sieve {
    wanted: Vec<Wanted>,
    /// When the last event of a name passed for a session.
    passed: BTreeMap<(String, String), Instant>,
}

impl Sieve {
    /// A line of the stream: `data: {type, properties}`, one for each event (1.18.33).
    fn pass(&mut self, line: &[u8], now: Instant) -> Option<(String, Value)> {
        let data = repair_surrogates(line.strip_prefix(b"data:")?);
        let event: Value = serde_json::from_slice(&data).ok()?;
        let name = event["type"].as_str()?;
        let properties = &event["properties"];
        let kept = project(&self.wanted, name, properties)?;
        let session = properties["sessionID"].as_str().unwrap_or_default();
        self.is_due(name, session, now).then(|| (name.to_owned(), kept))
    }

    fn is_due(&mut self, name: &str, session: &str, now: Instant) -> bool {
        let wanted = self.wanted.iter().find(|wanted| wanted.name == name);
        let every = wanted.map_or(0, |wanted| wanted.of(Some(session)).1);
        let every = Duration::from_millis(every);
        if every.is_zero() {
            return true;
        }
        let key = (name.to_owned(), session.to_owned());
        if self.passed.get(&key).is_some_and(|passed| now.duration_since(*passed) < every) {
            return false;
        }
        keep(&mut self.passed, SIEVE_SESSIONS, key, now);
        true
    }
}
