//! A model that does what the prompt says, on loopback, in the dialects of those who ask it
//! (`dialect.rs`). The language is in `script.rs`. Every request is kept, so that a test can ask
//! what the host has sent, and whether it went away before the answer was over.

mod chat;
mod dialect;
mod play;
mod voice;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::kit::{self, Accepting, DEADLINE, News};

pub use chat::{Offered, Said};

/// One request that the model got.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its place among all requests.
    pub number: usize,
    /// When it came, since the model was started.
    pub at: Duration,
    /// The session that it belongs to, if the host says so in a header.
    pub session: Option<String>,
    /// The name of the model.
    pub model: String,
    /// The conversation.
    pub messages: Vec<Said>,
    /// The tools.
    pub tools: Vec<Offered>,
    /// All of it.
    pub raw: Value,
    /// How and when the answer ended.
    pub end: Option<(End, Duration)>,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was given in full.
    Finished,
    /// The script said so.
    Cut,
    /// The host closed the connection.
    Closed,
}

impl Request {
    /// Whether somebody in this role said something that contains the text.
    pub fn said(&self, role: &str, text: &str) -> bool {
        self.messages.iter().any(|said| said.role == role && said.text.contains(text))
    }

    /// How often the model reads this text in the conversation, its own words aside. Each request
    /// brings the whole conversation, so what was told once is there once in every later one.
    pub fn times(&self, text: &str) -> usize {
        let others = self.messages.iter().filter(|said| said.role != "assistant");
        others.map(|said| said.text.matches(text).count()).sum()
    }

    /// The last user message.
    pub fn prompt(&self) -> &str {
        let last = self.messages.iter().rfind(|said| said.role == "user");
        last.map_or("", |said| &said.text)
    }

    /// The names of the tools.
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| &*tool.name).collect()
    }

    /// Whether the host closed the connection before the end.
    pub fn closed(&self) -> bool {
        matches!(self.end, Some((End::Closed, _)))
    }
}

/// A script at one step in one session.
type Place = (Option<String>, String, usize);

#[derive(Debug, Default)]
struct State {
    requests: Vec<Request>,
    open: BTreeSet<String>,
    /// How often a step was asked for.
    begun: BTreeMap<Place, usize>,
    calls: usize,
    /// Words, and the script that a message means in which they stand.
    learned: Vec<(String, String)>,
    title: Option<String>,
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    state: Mutex<State>,
    news: News,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no part of the model panics")
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let done = change(&mut self.state());
        self.news.tell();
        done
    }

    /// The conversation as the model reads it, and the title that it would give it.
    fn learned(&self, messages: &[Said]) -> (Vec<Said>, String) {
        let state = self.state();
        let title = state.title.clone().unwrap_or_else(|| "A title".to_owned());
        (chat::read(messages, &state.learned), title)
    }
}

/// The scripted model. It ends with its last copy.
#[derive(Debug, Clone)]
pub struct Model {
    shared: Arc<Shared>,
    address: SocketAddr,
    _accepting: Arc<Accepting>,
}

impl Model {
    /// Starts one on a free port.
    pub fn start() -> Self {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        socket.set_nonblocking(true).expect("a socket that does not block");
        let address = socket.local_addr().expect("its own address");
        let shared = Arc::new(Shared {
            started: Instant::now(),
            state: Mutex::default(),
            news: News::default(),
        });
        let task = kit::spawn(accept(socket, shared.clone()));
        Self { shared, address, _accepting: Arc::new(Accepting(task.abort_handle())) }
    }

    /// Where it is, with the version: what a provider calls its base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Where it is, without a path: what Anthropic and Gemini call the base URL.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// When it was started: the moment from which the times of requests count.
    pub fn started(&self) -> Instant {
        self.shared.started
    }

    /// Forgets what was said in the requests that are over, for those who let it answer thousands.
    /// That there were requests, when, and how they ended, is still known.
    pub fn forget(&self) {
        let over = |request: &&mut Request| request.end.is_some();
        for request in self.shared.state().requests.iter_mut().filter(over) {
            request.messages = Vec::new();
            request.tools = Vec::new();
            request.raw = Value::Null;
        }
    }

    /// Opens a gate for good.
    pub fn open(&self, gate: &str) {
        self.shared.change(|state| state.open.insert(gate.to_owned()));
    }

    /// From now on a prompt or notice with these words in it means this script: for those who want
    /// to show a conversation in which nobody types scripts. What was learned first goes first.
    pub fn learn(&self, words: &str, script: String) {
        self.shared.change(|state| state.learned.push((words.to_owned(), script)));
    }

    /// The title that it gives to conversations.
    pub fn entitle(&self, title: &str) {
        self.shared.change(|state| state.title = Some(title.to_owned()));
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// Asks something of all of them, without a copy.
    pub fn look<T>(&self, look: impl FnOnce(&[Request]) -> T) -> T {
        look(&self.shared.state().requests)
    }

    /// Waits for a request of which this holds, be it an old one.
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&Request) -> bool) -> Request {
        self.wait_until(what, |requests| requests.iter().find(|one| wanted(one)).cloned()).await
    }

    /// Waits until the requests give an answer.
    pub async fn wait_until<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&[Request]) -> Option<T>,
    ) -> T {
        let look = || look(&self.shared.state().requests);
        let found = self.shared.news.until(DEADLINE, look).await;
        found.unwrap_or_else(|| panic!("no request: {what}\nseen:\n{}", self.told()))
    }

    /// The requests in short, for people.
    pub fn told(&self) -> String {
        let line = |request: &Request| {
            let prompt: String = request.prompt().chars().take(120).collect();
            let (number, ms) = (request.number, request.at.as_millis());
            let tools = request.tools.len();
            format!("#{number} at {ms} ms, {tools} tools, end {:?}: {prompt:?}\n", request.end)
        };
        self.shared.state().requests.iter().map(line).collect()
    }
}

async fn accept(socket: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(socket).expect("a listening socket");
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = shared.clone();
        let service = service_fn(move |request| play::answer(shared.clone(), request));
        kit::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
