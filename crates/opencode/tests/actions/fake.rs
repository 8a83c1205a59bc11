//! A transport that plays what was recorded from the real OpenCode 1.18.33 (`../fixtures`).

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legwork_engine::{Action, Finding, HostError};
use legwork_host::{Request, Unreachable};
use legwork_opencode::{EventCache, LinkCache, Transport, perform};
use legwork_protocol::line::{HostReply, Method};
use serde_json::{Value, json};

/// What is known, and what was asked.
#[derive(Default)]
pub struct Fake {
    routes: Vec<(String, u16, Value)>,
    histories: Vec<(String, Vec<Value>)>,
    /// A call, and the message that comes into a session with it.
    later: Option<(String, String, Value)>,
    cache: Option<LinkCache>,
    no_cursors: bool,
    silent: bool,
    asked: Mutex<Vec<Request>>,
}

/// A recorded answer.
pub fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A recorded history.
pub fn messages(name: &str) -> Vec<Value> {
    fixture(name).as_array().unwrap().clone()
}

impl Fake {
    /// A parent in which a person spoke to `plan`, its helper at work, and nobody busy.
    pub fn recorded() -> Self {
        Self::default()
            .on("GET /agent", 200, fixture("agents"))
            .on("GET /session/status", 200, json!({}))
            .on("GET /permission", 200, json!([]))
            .on("GET /question", 200, json!([]))
            .on("GET /session/ses_parent", 200, fixture("parent"))
            .on("GET /session/ses_parent/children", 200, json!([]))
            .on("GET /session/ses_helper", 200, fixture("children")[0].clone())
            .history("ses_parent", messages("parents_messages"))
            .history("ses_helper", messages("answered"))
            .on("POST /session/ses_parent/prompt_async", 204, Value::Null)
            .on("POST /session/ses_helper/prompt_async", 204, Value::Null)
            .on("POST /session/ses_helper/abort", 200, json!(true))
    }

    /// Answers a call, `GET /path`; the last one that was given counts.
    pub fn on(mut self, call: &str, status: u16, body: Value) -> Self {
        self.routes.push((call.to_owned(), status, body));
        self
    }

    pub fn history(mut self, session: &str, messages: Vec<Value>) -> Self {
        self.histories.push((session.to_owned(), messages));
        self
    }

    /// Once this was called, the session has one message more.
    pub fn then_on(mut self, call: &str, session: &str, message: Value) -> Self {
        self.later = Some((call.to_owned(), session.to_owned(), message));
        self
    }

    /// Over a link that keeps in mind what it may.
    pub fn remembering(mut self) -> Self {
        self.cache = Some(LinkCache::default());
        self
    }

    /// Over a link whose events were heard.
    pub fn hearing(mut self, event_cache: Arc<EventCache>) -> Self {
        self.cache = Some(LinkCache::with(event_cache));
        self
    }

    pub fn without_cursors(mut self) -> Self {
        self.no_cursors = true;
        self
    }

    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    pub fn perform(&self, action: &Action) -> Result<Finding, HostError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(must_be_send(perform(self, action)))
    }

    /// The reads, as `GET /path?query`.
    pub fn reads(&self) -> Vec<String> {
        self.asked(|request| request.method == Method::Get).iter().map(line).collect()
    }

    /// The one write.
    pub fn write(&self) -> (String, Value) {
        let mut writes = self.writes();
        assert_eq!(writes.len(), 1, "{writes:?}");
        writes.remove(0)
    }

    pub fn writes(&self) -> Vec<(String, Value)> {
        let writes = self.asked(|request| request.method != Method::Get);
        writes.iter().map(|request| (line(request), request.body.clone())).collect()
    }

    pub fn wrote_nothing(&self) -> bool {
        self.asked(|request| request.method != Method::Get).is_empty()
    }

    fn asked(&self, wanted: impl Fn(&Request) -> bool) -> Vec<Request> {
        self.asked.lock().unwrap().iter().filter(|request| wanted(request)).cloned().collect()
    }

    fn answer(&self, request: &Request) -> HostReply {
        let call = format!("{} {}", method(request.method), request.path);
        let known = self.routes.iter().rev().find(|(known, ..)| *known == call);
        if let Some((_, status, body)) = known {
            return HostReply { status: *status, body: body.clone() };
        }
        let history = |(session, _): &&(String, Vec<Value>)| {
            request.path.starts_with(&format!("/session/{session}/message"))
        };
        match self.histories.iter().rev().find(history) {
            Some((session, messages)) if request.method == Method::Get => {
                self.page(request, &self.with_later(session, messages))
            }
            _ => not_found(&call),
        }
    }

    fn with_later(&self, session: &str, messages: &[Value]) -> Vec<Value> {
        let came = self.later.iter().filter(|(call, at, _)| {
            at == session && !self.asked(|request| line(request) == *call).is_empty()
        });
        messages.iter().chain(came.map(|(_, _, message)| message)).cloned().collect()
    }

    fn page(&self, request: &Request, messages: &[Value]) -> HostReply {
        let tail = request.path.rsplit('/').next().unwrap();
        if tail != "message" {
            let found = messages.iter().find(|message| message["info"]["id"] == tail);
            return found.map_or_else(|| not_found(tail), |message| good(message.clone()));
        }
        let mut end = messages.len();
        if let Some(cursor) = request.query.get("before") {
            if self.no_cursors {
                return HostReply { status: 400, body: json!({ "_tag": "BadRequest" }) };
            }
            let cursor = URL_SAFE_NO_PAD.decode(cursor).unwrap();
            let cursor: Value = serde_json::from_slice(&cursor).unwrap();
            let same = |message: &Value| message["info"]["id"] == cursor["id"];
            end = messages.iter().position(same).unwrap();
            assert_eq!(messages[end]["info"]["time"]["created"], cursor["time"]);
        }
        let limit = request.query.get("limit").map_or(end, |limit| limit.parse().unwrap());
        good(messages[end.saturating_sub(limit)..end].into())
    }
}

impl Transport for Fake {
    async fn send(&self, request: Request) -> Result<HostReply, Unreachable> {
        self.asked.lock().unwrap().push(request.clone());
        if self.silent {
            return Err(Unreachable { why: "it is silent".to_owned() });
        }
        Ok(self.answer(&request))
    }

    fn cache(&self) -> Option<&LinkCache> {
        self.cache.as_ref()
    }
}

fn must_be_send<F: Future + Send>(future: F) -> F {
    future
}

fn good(body: Value) -> HostReply {
    HostReply { status: 200, body }
}

fn not_found(what: &str) -> HostReply {
    let message = format!("not found: {what}");
    HostReply {
        status: 404,
        body: json!({ "name": "NotFoundError", "data": { "message": message } }),
    }
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Patch => "PATCH",
        Method::Delete => "DELETE",
    }
}

fn line(request: &Request) -> String {
    let query: Vec<String> =
        request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{} {}{mark}{}", method(request.method), request.path, query.join("&"))
}
