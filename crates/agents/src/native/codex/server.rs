//! A running `codex app-server`: JSON-RPC on its pipes. A task reads what it says, gives answers to
//! who asked, and passes on to a turn what is about the turn's thread.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legwork_acp::wire::{INTERNAL, NO_SUCH_METHOD, RpcError};
use legwork_machine::lock;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::native::child::{Child, Sender};
use crate::serve::{Answered, error};

/// What it answers takes milliseconds, but for what it has to look up at its provider.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// It ends within milliseconds when its input does, whatever it is at.
const END_MAX: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Server {
    /// As it introduces itself: `legwork/0.169.0 (…)`.
    pub user_agent: String,
    inner: Arc<Mutex<Inner>>,
    reading: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Inner {
    /// None once it is to end.
    sender: Option<Sender>,
    last_id: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Answered<Value>>>,
    turns: BTreeMap<String, mpsc::UnboundedSender<Said>>,
    /// How far the limits of the account are used, as it was told last.
    limits: Value,
    ended: Option<String>,
    over: watch::Sender<bool>,
}

/// What the server says about a thread.
#[derive(Debug)]
pub enum Said {
    Told { method: String, params: Value },
    Asked { id: Value, method: String, params: Value },
    Ended(String),
}

impl Server {
    pub async fn start(program: &Path) -> Answered<Self> {
        let arguments = ["app-server"];
        let (sender, child) = Child::start(program, arguments, &[], None)
            .map_err(|cause| error(INTERNAL, format!("{}: {cause}", program.display())))?;
        let inner = Inner { sender: Some(sender), ..Inner::default() };
        let inner = Arc::new(Mutex::new(inner));
        let reading = tokio::spawn(read(child, inner.clone()));
        let mut server = Self { user_agent: String::new(), inner, reading };
        let hello = json!({
            "clientInfo": {
                "name": "legwork", "title": "legwork", "version": env!("CARGO_PKG_VERSION"),
            },
            // For what is at work in the background after an interrupt, and nothing else.
            "capabilities": { "experimentalApi": true },
        });
        let said = server.call("initialize", hello).await?;
        server.user_agent = said["userAgent"].as_str().unwrap_or_default().to_owned();
        server.send(&json!({ "method": "initialized" }));
        Ok(server)
    }

    pub async fn call(&self, method: &str, params: Value) -> Answered<Value> {
        let (answer, answered) = oneshot::channel();
        {
            let mut inner = lock(&self.inner);
            if let Some(ended) = &inner.ended {
                return Err(error(INTERNAL, ended.clone()));
            }
            inner.last_id += 1;
            let id = inner.last_id;
            inner.waiting.insert(id, answer);
            inner.send(&json!({ "id": id, "method": method, "params": params }));
        }
        match timeout(ANSWER_MAX, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(error(INTERNAL, "codex ended")),
            Err(_) => {
                let seconds = ANSWER_MAX.as_secs();
                Err(error(INTERNAL, format!("codex did not answer {method} within {seconds} s")))
            }
        }
    }

    pub fn answer(&self, id: &Value, result: Result<Value, &str>) {
        self.send(&match result {
            Ok(result) => json!({ "id": id, "result": result }),
            Err(why) => refusal(id, why),
        });
    }

    /// What is said about this thread from now on, until the receiver is dropped.
    pub fn listen(&self, thread: &str) -> mpsc::UnboundedReceiver<Said> {
        let (said, heard) = mpsc::unbounded_channel();
        let mut inner = lock(&self.inner);
        if let Some(ended) = &inner.ended {
            let _ = said.send(Said::Ended(ended.clone()));
        }
        inner.turns.insert(thread.to_owned(), said);
        heard
    }

    pub fn limits(&self) -> Value {
        lock(&self.inner).limits.clone()
    }

    /// Ends it and what it has at work. One that does not end in time is killed when it is dropped.
    pub async fn end(&self) {
        let mut over = {
            let mut inner = lock(&self.inner);
            inner.sender = None;
            inner.over.subscribe()
        };
        let _ = timeout(END_MAX, over.wait_for(|over| *over)).await;
    }

    fn send(&self, message: &Value) {
        lock(&self.inner).send(message);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Drops the child, which kills it.
        self.reading.abort();
    }
}

impl Inner {
    fn send(&self, message: &Value) {
        if let Some(sender) = &self.sender {
            sender.send(message);
        }
    }

    fn on_message(&mut self, mut message: Value) {
        let method = message["method"].as_str().map(str::to_owned);
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let params = message["params"].take();
        match (method, id) {
            (None, Some(id)) => {
                let waiting = id.as_u64().and_then(|id| self.waiting.remove(&id));
                if let Some(waiting) = waiting {
                    let _ = waiting.send(outcome(&mut message));
                }
            }
            (Some(method), Some(id)) => {
                let refused = refusal(&id, &format!("legwork does not offer {method}"));
                if !self.pass_on(&params, |params| Said::Asked { id, method, params }) {
                    self.send(&refused);
                }
            }
            (Some(method), None) => {
                if method == "account/rateLimits/updated" {
                    self.limits = params["rateLimits"].clone();
                }
                self.pass_on(&params, |params| Said::Told { method, params });
            }
            (None, None) => {}
        }
    }

    /// Whether there is a turn that listens.
    fn pass_on(&mut self, params: &Value, said: impl FnOnce(Value) -> Said) -> bool {
        // The field is named otherwise in what is about a conversation of the older protocol.
        let thread = params["threadId"].as_str().or_else(|| params["conversationId"].as_str());
        let Some(turn) = thread.and_then(|thread| self.turns.get(thread)) else { return false };
        turn.send(said(params.clone())).is_ok()
    }

    fn on_end(&mut self, how: &str) {
        let how = format!("codex {how}");
        self.ended = Some(how.clone());
        self.over.send_replace(true);
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            let _ = waiting.send(Err(error(INTERNAL, how.clone())));
        }
        for turn in self.turns.values() {
            let _ = turn.send(Said::Ended(how.clone()));
        }
    }
}

async fn read(mut child: Child, inner: Arc<Mutex<Inner>>) {
    while let Some(message) = child.next().await {
        lock(&inner).on_message(message);
    }
    let how = child.ended().await;
    child.kill().await;
    lock(&inner).on_end(&how);
}

fn refusal(id: &Value, why: &str) -> Value {
    json!({ "id": id, "error": { "code": NO_SUCH_METHOD, "message": why } })
}

fn outcome(message: &mut Value) -> Answered<Value> {
    if message.get("error").is_none_or(Value::is_null) {
        return Ok(message["result"].take());
    }
    let refused = &message["error"];
    Err(RpcError {
        code: refused["code"].as_i64().unwrap_or(INTERNAL),
        message: refused["message"].as_str().unwrap_or("no reason given").to_owned(),
        data: Value::Null,
    })
}
