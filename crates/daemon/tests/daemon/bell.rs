//! A third kind of host, as somebody who adds one would write it: its sessions are only notified.

use std::sync::Arc;

use legwork_engine::{Action, Finding, Hint, HostError};
use legwork_host::{Host, HostFuture, Kind, Link, Request, unsupported};
use legwork_protocol::HostId;
use legwork_protocol::line::Wanted;
use serde_json::{Value, json};

use crate::local_host::LocalHost;

const KIND: &str = "bell";

#[derive(Debug)]
pub struct Bell;

#[derive(Debug)]
struct Rung {
    id: HostId,
    link: Link,
}

impl Kind for Bell {
    fn name(&self) -> &'static str {
        KIND
    }

    fn connect(&self, id: HostId, link: Link) -> Arc<dyn Host> {
        Arc::new(Rung { id, link })
    }
}

impl Host for Rung {
    fn perform<'a>(&'a self, action: &'a Action) -> HostFuture<'a, Result<Finding, HostError>> {
        Box::pin(async move {
            match action {
                Action::Deliver { message, .. } => {
                    let ring = Request::post("/ring", json!({ "id": message }));
                    self.link.send(ring).await.map_err(|_| HostError::Unreachable)?;
                    Ok(Finding::Delivered)
                }
                Action::Probe { .. } => Ok(Finding::Done),
                Action::FindMissing { .. } => Ok(Finding::Missing { sessions: Vec::new() }),
                Action::Poll { .. } => Ok(Finding::Polled { busy: vec![], questions: vec![] }),
                _ => Err(unsupported(KIND)),
            }
        })
    }

    fn wanted_events(&self) -> Vec<Wanted> {
        vec![Wanted {
            name: "typed".to_owned(),
            keep: vec!["session".to_owned()],
            every_ms: 0,
            closely: None,
        }]
    }

    fn hints(&self, name: &str, properties: &Value) -> Vec<Hint> {
        let session = properties["session"].as_str().and_then(|id| id.parse().ok());
        let used = |session| Hint::Used { host: self.id.clone(), session };
        session.filter(|_| name == "typed").map(used).into_iter().collect()
    }
}

#[test]
fn a_third_kind_of_host_needs_nothing_but_the_trait() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut peer = daemon.peer();
    let role = json!({ "is": "host", "host": "bell-1", "place": "tower", "kind": KIND });
    assert_eq!(peer.hello(role, "0.0.1")["type"], "hello");
    let want = peer.next();
    assert_eq!((&want["type"], &want["events"][0]["name"]), (&json!("want"), &json!("typed")));
    assert_eq!(peer.next()["type"], "tools", "it offers no agents of its own");
    let view = daemon.client().view();
    assert_eq!(view["hosts"][0]["kind"], KIND);
    // A session of its own may ask, but nobody can work in it.
    peer.send(json!({ "type": "event", "name": "typed", "properties": { "session": "ses_p" } }));
    peer.send(json!({
        "type": "call", "id": 1, "key": "call-1", "tool": "background_task",
        "arguments": { "prompt": "p", "description": "d", "agent": "general" },
        "context": { "session": "ses_p", "message": "msg_1", "agent": "a", "directory": "/p" },
    }));
    let answer = peer.next();
    let text = answer["text"].as_str().unwrap();
    assert_eq!(answer["type"], "refused", "{answer}");
    assert!(text.contains("a host of the kind bell does not do that"), "{text}");
}
