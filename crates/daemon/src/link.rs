//! A host's API through the front inside of it: a request becomes a `host-call`, its answer is the
//! `result` with the same number. A request that nobody waits for any more is dropped, and the
//! front is told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legwork_opencode::{LinkCache, Request, Transport, Unreachable};
use legwork_protocol::line::{FromDaemon, HostReply, HostResult};
use serde_json::json;
use tokio::sync::oneshot;

use crate::send_queue::SendQueue;

/// The HTTP status for what is too long to be sent.
const TOO_LONG: u16 = 413;

type Answer = Result<HostReply, String>;

/// The requests that wait for their result. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Unanswered(Arc<Mutex<BTreeMap<u64, oneshot::Sender<Answer>>>>);

impl Unanswered {
    /// A result has come. One that nobody waits for is passed over.
    pub fn settle(&self, result: HostResult) {
        if let Some(waiting) = self.all().remove(&result.id) {
            // Whoever waited may have given up in this very moment.
            let _ = waiting.send(result.reply);
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<Answer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way to one host.
#[derive(Debug)]
pub struct Link {
    send_queue: SendQueue,
    unanswered: Unanswered,
    /// Requests made so far, which is also the number of the next one.
    requests: Arc<AtomicU64>,
    cache: LinkCache,
}

impl Link {
    pub fn new(send_queue: SendQueue, unanswered: Unanswered, cache: LinkCache) -> Self {
        Self { send_queue, unanswered, requests: Arc::default(), cache }
    }

    /// Counts the requests, for people.
    pub fn requests(&self) -> Arc<AtomicU64> {
        self.requests.clone()
    }
}

impl Transport for Link {
    /// Waits for as long as it takes: whoever asks sets the limit, and knows what to do about it.
    async fn send(&self, request: Request) -> Result<HostReply, Unreachable> {
        let id = self.requests.fetch_add(1, Ordering::Relaxed);
        let (settle, settled) = oneshot::channel();
        self.unanswered.all().insert(id, settle);
        let _waiting = Waiting { link: self, id };
        let Request { method, path, query, body } = request;
        if let Err(why) =
            self.send_queue.send(&FromDaemon::HostCall { id, method, path, query, body })
        {
            self.unanswered.all().remove(&id);
            let body = json!({ "data": { "message": why.to_string() } });
            return Ok(HostReply { status: TOO_LONG, body });
        }
        match settled.await {
            Ok(answer) => answer.map_err(|why| Unreachable { why }),
            Err(_) => Err(Unreachable { why: "the link broke".to_owned() }),
        }
    }

    fn cache(&self) -> Option<&LinkCache> {
        Some(&self.cache)
    }
}

/// Somebody waits for a result; dropped, nobody does.
struct Waiting<'a> {
    link: &'a Link,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.link.unanswered.all().remove(&self.id).is_some() {
            // As short as a line gets.
            let _ = self.link.send_queue.send(&FromDaemon::Drop { id: self.id });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use legwork_protocol::line::Method;
    use serde_json::Value;
    use tokio::time::timeout;

    use super::*;

    fn request(body: Value) -> Request {
        Request { method: Method::Post, path: "/session".into(), query: BTreeMap::new(), body }
    }

    #[tokio::test]
    async fn each_request_gets_its_own_answer() {
        let (send_queue, unanswered) = (SendQueue::default(), Unanswered::default());
        let link = Link::new(send_queue.clone(), unanswered.clone(), LinkCache::default());
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
        assert_eq!(send_queue.behind(), 2);
        assert_eq!(link.requests().load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_front_is_told_that_nobody_waits_any_more() {
        let (send_queue, unanswered) = (SendQueue::default(), Unanswered::default());
        let link = Link::new(send_queue.clone(), unanswered.clone(), LinkCache::default());
        let late = timeout(Duration::from_secs(1), link.send(request(Value::Null))).await;
        assert!(late.is_err());
        assert_eq!(send_queue.behind(), 2, "the call and its drop");
        assert!(unanswered.all().is_empty());
    }

    #[tokio::test]
    async fn what_is_too_long_to_send_is_refused_and_not_tried_for_ever() {
        let link = Link::new(SendQueue::default(), Unanswered::default(), LinkCache::default());
        let reply = link.send(request(Value::String("x".repeat(17 << 20)))).await.unwrap();
        assert_eq!(reply.status, TOO_LONG);
        assert_eq!(link.send_queue.behind(), 0);
    }
}
