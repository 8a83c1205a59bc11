//! The event stream of a server, gathered in the background, and ways to wait for something in it.
//! A stream does not come back by itself when it ends: a test that restarts a server opens a new
//! one and knows what it may have missed.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use http_body_util::BodyExt;
use serde_json::Value;

use crate::http::Line;
use crate::kit::{self, DEADLINE, News};

/// Something that the server announced.
#[derive(Debug, Clone)]
pub struct Event {
    /// When it came.
    pub at: Instant,
    /// Its type, e.g. `session.idle`.
    pub kind: String,
    /// What it says.
    pub properties: Value,
}

impl Event {
    /// The session that it is about, wherever it is said.
    pub fn session(&self) -> Option<&str> {
        let p = &self.properties;
        let places = [&p["sessionID"], &p["info"]["sessionID"], &p["part"]["sessionID"]];
        let created = self.kind.starts_with("session.").then(|| &p["info"]["id"]);
        places.into_iter().chain(created).find_map(Value::as_str)
    }

    /// Whether it has this type and is about this session.
    pub fn is(&self, kind: &str, session: &str) -> bool {
        self.kind == kind && self.session() == Some(session)
    }
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Vec<Event>>,
    ended: Mutex<Option<String>>,
    news: News,
}

/// The events since it was asked for. Gathering ends with it.
#[derive(Debug)]
pub struct Events {
    shared: Arc<Shared>,
    task: tokio::task::AbortHandle,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Events {
    /// Opens a stream and waits for its first event; from there on nothing is missed.
    pub(crate) async fn open(line: Line, path: String) -> Self {
        let shared = Arc::new(Shared::default());
        let into = shared.clone();
        let gathering = async move {
            let why = gather(&line, &path, &into).await.err().unwrap_or("it ended".to_owned());
            *into.ended.lock().expect("not poisoned") = Some(why);
            into.news.tell();
        };
        let task = kit::spawn(gathering).abort_handle();
        let events = Self { shared, task };
        events.until("server.connected", |event| event.kind == "server.connected").await;
        events
    }

    /// All of them.
    pub fn all(&self) -> Vec<Event> {
        self.shared.seen.lock().expect("not poisoned").clone()
    }

    /// How many there are: a mark for what comes later.
    pub fn len(&self) -> usize {
        self.shared.seen.lock().expect("not poisoned").len()
    }

    /// Whether none has come.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those from a mark on.
    pub fn since(&self, mark: usize) -> Vec<Event> {
        self.look(|events| events[mark..].to_vec())
    }

    /// Asks something of all of them, without a copy.
    pub fn look<T>(&self, look: impl FnOnce(&[Event]) -> T) -> T {
        look(&self.shared.seen.lock().expect("not poisoned"))
    }

    /// Why the stream ended, if it did.
    pub fn ended(&self) -> Option<String> {
        self.shared.ended.lock().expect("not poisoned").clone()
    }

    /// Waits for an event of which this holds, be it an old one.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Event) -> bool) -> Event {
        self.until_all(what, |events| events.iter().find(|event| wanted(event)).cloned()).await
    }

    /// Waits for the first event of this type about this session from a mark on.
    pub async fn until_event(&self, mark: usize, kind: &str, session: &str) -> Event {
        let look =
            |all: &[Event]| all.iter().skip(mark).find(|event| event.is(kind, session)).cloned();
        self.until_all(&format!("{kind} of {session}"), look).await
    }

    /// Waits until the events give an answer.
    pub async fn until_all<T>(&self, what: &str, mut look: impl FnMut(&[Event]) -> Option<T>) -> T {
        let look = || look(&self.shared.seen.lock().expect("not poisoned"));
        let found = self.shared.news.until(DEADLINE, look).await;
        found.unwrap_or_else(|| panic!("no event: {what}\n{}", self.told()))
    }

    /// The events in short, for people.
    pub fn told(&self) -> String {
        let line = |event: &Event| {
            let text: String = event.properties.to_string().chars().take(160).collect();
            format!("{} {text}\n", event.kind)
        };
        let seen: String = self.all().iter().map(line).collect();
        format!("stream ended: {:?}, seen:\n{seen}", self.ended())
    }
}

async fn gather(line: &Line, path: &str, into: &Shared) -> Result<(), String> {
    let mut response = line.open("GET", path, None).await?;
    let mut rest: Vec<u8> = Vec::new();
    while let Some(frame) = response.frame().await {
        let Ok(data) = frame.map_err(|why| why.to_string())?.into_data() else { continue };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
            let block: Vec<u8> = rest.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&block);
            let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let data: Vec<&str> = data.map(str::trim).collect();
            let Ok(mut event) = serde_json::from_str::<Value>(&data.join("\n")) else { continue };
            // The global stream wraps each in an envelope.
            if event.get("payload").is_some() {
                event = event["payload"].take();
            }
            let kind = event["type"].as_str().unwrap_or_default().to_owned();
            let properties = event["properties"].take();
            let event = Event { at: Instant::now(), kind, properties };
            into.seen.lock().expect("not poisoned").push(event);
            into.news.tell();
        }
    }
    Ok(())
}
