//! The link to a host that connected: requests and their results over the connection's lines. A
//! request becomes a `host-call`, and the `result` with the same number is its answer. If nobody
//! waits for the answer any more, the front is told to drop the call.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use legwork_machine::lock;
use legwork_protocol::line::{BadLine, FromDaemon, HostReply, HostResult, Method, Wanted};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// The HTTP status for what is too long to be sent.
const TOO_LONG: u16 = 413;

type Answer = Result<HostReply, String>;

/// A request to a host, in the words of HTTP: that is what hosts offer so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    pub path: String,
    /// The parameters, not encoded.
    pub query: BTreeMap<String, String>,
    /// Null for none.
    pub body: Value,
}

impl Request {
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::Get, path, Value::Null)
    }

    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::Post, path, body)
    }

    pub fn patch(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::Patch, path, body)
    }

    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::Delete, path, Value::Null)
    }

    fn new(method: Method, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), query: BTreeMap::new(), body }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.query.insert(name.to_owned(), value.to_string());
        self
    }
}

/// No answer came. The request may have had its effect or not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The host did not answer: {why}")]
pub struct Unreachable {
    pub why: String,
}

/// Sends lines to a connection, without waiting.
pub trait Outgoing: Debug + Send + Sync {
    /// Queues the line, unless it is too long for the other side to read.
    fn send(&self, line: &FromDaemon) -> Result<(), BadLine>;
}

/// The requests that wait for their result. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Unanswered(Arc<Mutex<BTreeMap<u64, oneshot::Sender<Answer>>>>);

impl Unanswered {
    /// A result has come. One that nobody waits for is passed over.
    pub fn settle(&self, result: HostResult) {
        if let Some(waiting) = lock(&self.0).remove(&result.id) {
            // Whoever waited may have given up in this very moment.
            let _ = waiting.send(result.reply);
        }
    }
}

#[derive(Debug)]
pub struct Link {
    outgoing: Arc<dyn Outgoing>,
    unanswered: Unanswered,
    /// Requests made so far, which is also the number of the next one.
    requests: Arc<AtomicU64>,
}

impl Link {
    /// Over the connection that these lines go to; its results arrive at `unanswered`.
    pub fn new(outgoing: Arc<dyn Outgoing>, unanswered: Unanswered) -> Self {
        Self { outgoing, unanswered, requests: Arc::default() }
    }

    /// Counts the requests, for people.
    pub fn requests(&self) -> Arc<AtomicU64> {
        self.requests.clone()
    }

    /// Asks the front for these events from now on, and no others.
    pub fn want(&self, events: Vec<Wanted>) {
        // Far shorter than a line may be.
        let _ = self.outgoing.send(&FromDaemon::Want { events });
    }

    /// Makes a request. An answer of any status is an answer. Waits for as long as it takes: the
    /// caller sets the limit, and knows what to do about it.
    pub async fn send(&self, request: Request) -> Result<HostReply, Unreachable> {
        let id = self.requests.fetch_add(1, Ordering::Relaxed);
        let (settle, settled) = oneshot::channel();
        lock(&self.unanswered.0).insert(id, settle);
        let _waiting = Waiting { link: self, id };
        let Request { method, path, query, body } = request;
        if let Err(why) =
            self.outgoing.send(&FromDaemon::HostCall { id, method, path, query, body })
        {
            lock(&self.unanswered.0).remove(&id);
            let body = json!({ "data": { "message": why.to_string() } });
            return Ok(HostReply { status: TOO_LONG, body });
        }
        match settled.await {
            Ok(answer) => answer.map_err(|why| Unreachable { why }),
            Err(_) => Err(Unreachable { why: "the link broke".to_owned() }),
        }
    }
}

/// Somebody waits for a result; dropped, nobody does.
struct Waiting<'a> {
    link: &'a Link,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if lock(&self.link.unanswered.0).remove(&self.id).is_some() {
            // As short as a line gets.
            let _ = self.link.outgoing.send(&FromDaemon::Drop { id: self.id });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use legwork_protocol::line::{check_size, encode};
    use tokio::time::timeout;

    use super::*;

    #[derive(Debug, Default)]
    struct Sent(Mutex<Vec<FromDaemon>>);

    impl Sent {
        fn count(&self) -> usize {
            self.0.lock().unwrap().len()
        }
    }

    impl Outgoing for Sent {
        fn send(&self, line: &FromDaemon) -> Result<(), BadLine> {
            check_size(&encode(line))?;
            self.0.lock().unwrap().push(line.clone());
            Ok(())
        }
    }

    fn link() -> (Arc<Sent>, Unanswered, Link) {
        let (sent, unanswered) = (Arc::new(Sent::default()), Unanswered::default());
        let link = Link::new(sent.clone(), unanswered.clone());
        (sent, unanswered, link)
    }

    fn request(body: Value) -> Request {
        Request::post("/session", body)
    }

    #[tokio::test]
    async fn each_request_gets_its_own_answer() {
        let (sent, unanswered, link) = link();
        let reply = |status| HostReply { status, body: Value::Null };
        let host = async {
            unanswered.settle(HostResult { id: 7, reply: Ok(reply(500)) });
            unanswered.settle(HostResult { id: 1, reply: Ok(reply(204)) });
            unanswered.settle(HostResult { id: 0, reply: Err("fetch failed".into()) });
        };
        let (first, second, ()) =
            tokio::join!(link.send(request(Value::Null)), link.send(request(Value::Null)), host);
        assert_eq!(first, Err(Unreachable { why: "fetch failed".into() }));
        assert_eq!(second, Ok(reply(204)));
        assert_eq!(sent.count(), 2);
        assert_eq!(link.requests().load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_front_is_told_that_nobody_waits_any_more() {
        let (sent, unanswered, link) = link();
        let late = timeout(Duration::from_secs(1), link.send(request(Value::Null))).await;
        assert!(late.is_err());
        assert_eq!(sent.count(), 2, "the call and its drop");
        assert!(lock(&unanswered.0).is_empty());
    }

    #[tokio::test]
    async fn what_is_too_long_to_send_is_refused_and_not_tried_for_ever() {
        let (sent, _, link) = link();
        let reply = link.send(request(Value::String("x".repeat(17 << 20)))).await.unwrap();
        assert_eq!(reply.status, TOO_LONG);
        assert_eq!(sent.count(), 0);
    }
}
