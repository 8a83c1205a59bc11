//! A host played by the test: a small OpenCode behind a front that does as it is told.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::local_host::Daemon;

/// What OpenCode keeps, whatever becomes of the links to it.
#[derive(Default)]
pub struct OpenCode {
    sessions: BTreeMap<String, Session>,
    /// Requests with this in them get no answer.
    pub deaf_to: Option<&'static str>,
    pub toasts: Vec<Value>,
}

#[derive(Default)]
struct Session {
    kept: Value,
    messages: Vec<Value>,
    busy: bool,
}

impl OpenCode {
    /// With the session `ses_p`, in which somebody sits.
    pub fn new() -> Self {
        let mut host = Self::default();
        host.open("ses_p", json!({}));
        host
    }

    fn open(&mut self, id: &str, mut kept: Value) -> Value {
        kept["id"] = json!(id);
        self.sessions.insert(id.into(), Session { kept: kept.clone(), ..Session::default() });
        kept
    }

    /// The sessions of helpers.
    pub fn helpers(&self) -> Vec<String> {
        self.sessions.keys().filter(|id| *id != "ses_p").cloned().collect()
    }

    /// What was said in a session, and by whom.
    pub fn said(&self, session: &str) -> Vec<String> {
        let messages = self.sessions[session].messages.iter();
        messages.map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The helper in this session answers.
    pub fn finish(&mut self, session: &str, text: &str) {
        let session = self.sessions.get_mut(session).unwrap();
        let prompt = session.messages.last().unwrap()["info"]["id"].clone();
        session.busy = false;
        session.messages.push(json!({
            "info": {
                "id": "msg_answer", "role": "assistant", "parentID": prompt, "finish": "stop",
                "time": { "created": 1, "completed": 2 },
            },
            "parts": [{ "type": "text", "text": text }],
        }));
    }

    /// Status and body; nothing if it does not answer.
    fn answer(&mut self, call: &Value) -> Option<(u16, Value)> {
        let (method, path) = (call["method"].as_str()?, call["path"].as_str()?);
        let asked = format!("{method} {path}");
        if self.deaf_to.is_some_and(|part| asked.contains(part)) {
            return None;
        }
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        Some(match (method, parts.as_slice()) {
            ("get", ["agent"]) => (200, json!([{ "name": "general", "mode": "subagent" }])),
            ("get", ["permission" | "question"]) => (200, json!([])),
            ("get", ["session", "status"]) => {
                let busy = self.sessions.iter().filter(|(_, session)| session.busy);
                (200, busy.map(|(id, _)| (id.clone(), json!({ "type": "busy" }))).collect())
            }
            ("post", ["session"]) => {
                let id = format!("ses_{}", self.sessions.len());
                (200, self.open(&id, call["body"].clone()))
            }
            ("post", ["tui", "show-toast"]) => {
                self.toasts.push(call["body"].clone());
                (200, json!(true))
            }
            (method, ["session", id, rest @ ..]) => {
                self.in_session(method, id, rest, &call["body"])
            }
            _ => (404, Value::Null),
        })
    }

    fn in_session(&mut self, method: &str, id: &str, rest: &[&str], body: &Value) -> (u16, Value) {
        if rest == ["children"] {
            let children = self.sessions.values().filter(|child| child.kept["parentID"] == id);
            return (200, children.map(|child| child.kept.clone()).collect());
        }
        let Some(session) = self.sessions.get_mut(id) else { return (404, Value::Null) };
        match (method, rest) {
            ("get", []) => (200, session.kept.clone()),
            ("get", ["message"]) => (200, json!(session.messages)),
            ("get", ["message", message]) => {
                let mut found = session.messages.iter();
                match found.find(|known| known["info"]["id"] == *message) {
                    Some(found) => (200, found.clone()),
                    None => (404, Value::Null),
                }
            }
            ("post", ["prompt_async"]) => {
                session.busy = body["noReply"] != true;
                session.messages.push(json!({
                    "info": { "id": body["messageID"], "role": "user" }, "parts": body["parts"],
                }));
                (204, Value::Null)
            }
            ("post", ["abort"]) => {
                session.busy = false;
                (200, json!(true))
            }
            _ => (404, Value::Null),
        }
    }
}

/// A front in a host, connected.
pub struct Host<'a> {
    pub peer: Connection,
    pub opencode: &'a mut OpenCode,
}

pub fn role(host: &str) -> Value {
    json!({ "is": "host", "host": host, "place": "project", "kind": "opencode" })
}

impl<'a> Host<'a> {
    pub fn connect(daemon: &Daemon<'_>, id: &str, opencode: &'a mut OpenCode) -> Self {
        let mut peer = daemon.peer();
        let hello = peer.hello(role(id), "0.0.1");
        assert_eq!(hello["type"], "hello", "{hello}");
        Self { peer, opencode }
    }

    /// The next line that is nothing for the host to do; what is, is done.
    pub fn next(&mut self) -> Value {
        loop {
            let line = self.peer.next();
            if !self.do_it(&line) {
                return line;
            }
        }
    }

    /// Answers a line that is for the host to answer. Whether it is one.
    pub fn do_it(&mut self, line: &Value) -> bool {
        match line["type"].as_str() {
            Some("host-call") => {
                if let Some((status, body)) = self.opencode.answer(line) {
                    self.peer.send(json!({
                        "type": "result", "id": line["id"], "status": status, "body": body,
                    }));
                }
                true
            }
            Some("drop" | "want" | "tools" | "progress") => true,
            _ => false,
        }
    }

    /// Plays the host until something is so.
    pub fn until(&mut self, is_so: impl Fn(&OpenCode) -> bool) {
        while !is_so(self.opencode) {
            let line = self.peer.next();
            assert!(self.do_it(&line), "{line}");
        }
    }

    /// Plays the host until it is asked something that it does not hear.
    pub fn until_deaf_to(&mut self, part: &'static str) {
        self.opencode.deaf_to = Some(part);
        loop {
            let line = self.peer.next();
            let asked = format!("{} {}", line["method"], line["path"]).replace('"', "");
            self.do_it(&line);
            if line["type"] == "host-call" && asked.contains(part) {
                self.opencode.deaf_to = None;
                return;
            }
        }
    }

    pub fn call(&mut self, id: u64, key: &str, tool: &str, arguments: Value) {
        self.peer.send(json!({
            "type": "call", "id": id, "key": key, "tool": tool, "arguments": arguments,
            "context": {
                "session": "ses_p", "message": "msg_1", "agent": "build", "directory": "/d",
            },
        }));
    }

    pub fn launch(&mut self, id: u64, key: &str) {
        let arguments =
            json!({ "prompt": "count the files", "description": "count", "agent": "general" });
        self.call(id, key, "background_task", arguments);
    }

    /// The text of the answer to a call.
    pub fn answer(&mut self, id: u64) -> String {
        let line = self.next();
        assert!(line["type"] == "answer" || line["type"] == "refused", "{line}");
        assert_eq!(line["id"], id, "{line}");
        line["text"].as_str().unwrap().to_owned()
    }

    /// Launches a helper, has its session opened and gives back the id of its task.
    pub fn launched(&mut self, id: u64, key: &str) -> String {
        let before = self.opencode.helpers().len();
        self.launch(id, key);
        let task = task_id(&self.answer(id));
        self.until(|opencode| opencode.helpers().len() > before);
        task
    }

    pub fn event(&mut self, name: &str, session: &str) {
        let properties = json!({ "sessionID": session });
        self.peer.send(json!({ "type": "event", "name": name, "properties": properties }));
    }
}

pub fn task_id(answer: &str) -> String {
    let id = answer.lines().find_map(|line| line.strip_prefix("Task ID: "));
    id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}
