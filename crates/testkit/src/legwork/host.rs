//! A small OpenCode with the plugin's part played too: it speaks through a real bridge.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Home, eventually, program};
use crate::child::ended;
use crate::kit::DEADLINE;

/// An OpenCode with one conversation, and the bridge by which it is connected.
#[derive(Debug)]
pub struct Host {
    /// Stands for OpenCode's: a shell that does what it is told.
    process: Child,
    bridge: Child,
    stdin: Arc<Mutex<ChildStdin>>,
    opencode: Arc<Mutex<OpenCode>>,
    lines: Receiver<Value>,
    calls: u64,
}

impl Host {
    /// Connects, and waits for the daemon's hello.
    pub fn connect(home: &Home) -> Self {
        Self::connect_by(home.command(["bridge", "opencode"]))
    }

    /// The same by another bridge.
    pub fn connect_by(bridge: Command) -> Self {
        let opencode = Arc::new(Mutex::new(OpenCode::new()));
        let (bridge, stdin, lines) = bridged(bridge, &opencode);
        // A process of its own: commands that are run by the host itself may not do everything.
        let process = Command::new("sh").stdin(Stdio::piped()).spawn().unwrap();
        let host = Self { process, bridge, stdin, opencode, lines, calls: 0 };
        host.greet();
        host
    }

    /// Starts its bridge again, as a plugin does when that has ended.
    pub fn connect_again(&mut self, bridge: Command) {
        ended(&mut self.bridge);
        (self.bridge, self.stdin, self.lines) = bridged(bridge, &self.opencode);
        self.greet();
    }

    fn greet(&self) {
        let pid = self.process.id();
        self.send(&json!({
            "type": "init", "pid": pid, "directory": "/d", "project": "p", "version": "0.0.7",
        }));
        assert_eq!(self.next(&["hello"])["tools"].as_array().unwrap().len(), 6);
    }

    /// What the session that launches helpers was told.
    pub fn told(&self) -> Vec<Value> {
        let mut messages = self.opencode.lock().unwrap().sessions["ses_parent"].messages.clone();
        messages.retain(|message| message["info"]["role"] == "user");
        messages
    }

    /// Runs a command as the host would, and gives back what it printed.
    pub fn run(&mut self, home: &Home, arguments: &str) -> String {
        let (out, done) = (home.path("out"), home.path("done"));
        let _ = std::fs::remove_file(&done);
        let command = format!(
            "LEGWORK_HOME={} {} {arguments} >{} 2>&1 </dev/null; touch {}",
            home.path("legwork").display(),
            program().unwrap().display(),
            out.display(),
            done.display()
        );
        writeln!(self.process.stdin.as_mut().unwrap(), "{command}").unwrap();
        eventually("the command has ended", || done.exists().then_some(()));
        std::fs::read_to_string(out).unwrap()
    }

    fn send(&self, line: &Value) {
        writeln!(self.stdin.lock().unwrap(), "{line}").unwrap();
    }

    /// The next line of one of these types, however many others come before.
    fn next(&self, wanted: &[&str]) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|why| panic!("{wanted:?} did not come: {why}"));
            if wanted.iter().any(|wanted| line["type"] == *wanted) {
                return line;
            }
        }
    }

    /// A session launches a helper; gives back the task's id and the helper's session.
    pub fn launch(&mut self, description: &str) -> (String, String) {
        let text = self.try_launch(description);
        let line = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap_or_else(|| panic!("{text}")).to_owned()
        };
        let task = line("Task ID: ");
        let session = eventually("the helper has its prompt", || {
            let opencode = self.opencode.lock().unwrap();
            let mut all = opencode.sessions.iter();
            let (id, _) = all.find(|(_, session)| {
                session.kept["metadata"]["legwork"]["task"] == *task && !session.messages.is_empty()
            })?;
            Some(id.clone())
        });
        (task, session)
    }

    /// A session tries to launch a helper; gives back what it hears.
    pub fn try_launch(&mut self, description: &str) -> String {
        self.calls += 1;
        self.send(&json!({
            "type": "call", "id": self.calls, "key": format!("call-{}", self.calls),
            "tool": "background_task",
            "arguments": { "prompt": "work", "description": description, "agent": "general" },
            "context": {
                "session": "ses_parent", "message": "msg_1", "agent": "build", "directory": "/d",
            },
        }));
        let line = self.next(&["answer", "refused"]);
        line["text"].as_str().unwrap_or_else(|| panic!("{line}")).to_owned()
    }

    /// The helper in this session answers.
    pub fn finish(&self, session: &str, text: &str) {
        let part = json!([{ "type": "text", "text": text }]);
        self.end(session, json!({ "finish": "stop" }), part);
    }

    /// The helper in this session answers, and the host tells what that took.
    pub fn finish_for(&self, session: &str, text: &str, tokens: u64, dollars: f64) {
        let part = json!([{ "type": "text", "text": text }]);
        let info = json!({
            "finish": "stop", "cost": dollars, "providerID": "acme", "modelID": "large",
            "tokens": { "input": tokens, "output": 0, "reasoning": 0 },
        });
        self.end(session, info, part);
    }

    /// The helper in this session fails.
    pub fn fail(&self, session: &str, why: &str) {
        let error = json!({ "name": "APIError", "data": { "message": why, "statusCode": 500 } });
        self.end(session, json!({ "error": error }), json!([]));
    }

    fn end(&self, id: &str, mut info: Value, parts: Value) {
        let mut opencode = self.opencode.lock().unwrap();
        let session = opencode.sessions.get_mut(id).unwrap();
        info["id"] = json!(format!("msg_zzz{}", session.messages.len()));
        info["role"] = json!("assistant");
        info["parentID"] = session.messages.last().unwrap()["info"]["id"].clone();
        info["time"] = json!({ "created": 1, "completed": 2 });
        session.messages.push(json!({ "info": info, "parts": parts }));
        session.busy = false;
        drop(opencode);
        self.event("session.idle", &json!({ "sessionID": id }));
    }

    /// The helper in this session asks for a permission.
    pub fn ask(&self, session: &str, permission: &str) {
        self.ask_to_run(session, permission, "ls");
    }

    pub fn ask_to_run(&self, session: &str, permission: &str, command: &str) {
        let asked = json!({
            "id": permission, "sessionID": session, "permission": "bash", "patterns": [command],
            "metadata": { "command": command }, "always": ["ls *"],
        });
        self.put("permission", &asked);
    }

    /// The helper asks for a `permission`, or puts a `question`, as OpenCode tells it.
    pub fn put(&self, kind: &'static str, asked: &Value) {
        self.opencode.lock().unwrap().asked.push((kind, asked.clone()));
        self.event(&format!("{kind}.asked"), asked);
    }

    /// Somebody answers it in OpenCode's own dialog.
    pub fn settle(&self, session: &str, permission: &str) {
        self.opencode.lock().unwrap().asked.retain(|(_, asked)| asked["id"] != *permission);
        let reply = json!({ "sessionID": session, "requestID": permission, "reply": "once" });
        self.event("permission.replied", &reply);
    }

    /// What was answered, each with the id of what it answers.
    pub fn replies(&self) -> Vec<Value> {
        self.opencode.lock().unwrap().replies.clone()
    }

    fn event(&self, name: &str, properties: &Value) {
        self.send(&json!({ "type": "event", "name": name, "properties": properties }));
    }
}

/// Starts a bridge that this OpenCode answers.
fn bridged(
    mut command: Command,
    opencode: &Arc<Mutex<OpenCode>>,
) -> (Child, Arc<Mutex<ChildStdin>>, Receiver<Value>) {
    let mut bridge = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = Arc::new(Mutex::new(bridge.stdin.take().unwrap()));
    let (tell, lines) = mpsc::channel();
    let out = BufReader::new(bridge.stdout.take().unwrap());
    let (answer_to, knows) = (stdin.clone(), opencode.clone());
    thread::spawn(move || {
        for line in out.lines() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if line["type"] == "host-call" {
                let (status, body) = knows.lock().unwrap().answer(&line);
                let id = line["id"].clone();
                let result = json!({ "type": "result", "id": id, "status": status, "body": body });
                // The bridge may have ended meanwhile.
                let _ = writeln!(answer_to.lock().unwrap(), "{result}");
            } else if tell.send(line).is_err() {
                return;
            }
        }
    });
    (bridge, stdin, lines)
}

impl Drop for Host {
    fn drop(&mut self) {
        // Gone already if the test ended it.
        let _ = self.bridge.kill();
        let _ = self.bridge.wait();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Debug, Default)]
struct OpenCode {
    sessions: BTreeMap<String, Session>,
    /// What waits for an answer: permissions and questions.
    asked: Vec<(&'static str, Value)>,
    replies: Vec<Value>,
}

#[derive(Debug, Default)]
struct Session {
    kept: Value,
    messages: Vec<Value>,
    busy: bool,
}

impl OpenCode {
    fn new() -> Self {
        let mut opencode = Self::default();
        opencode.open("ses_parent", json!({}));
        opencode
    }

    fn open(&mut self, id: &str, mut kept: Value) -> Value {
        kept["id"] = json!(id);
        let session = Session { kept: kept.clone(), ..Session::default() };
        self.sessions.insert(id.to_owned(), session);
        kept
    }

    fn answer(&mut self, call: &Value) -> (u16, Value) {
        let (method, path) = (call["method"].as_str().unwrap(), call["path"].as_str().unwrap());
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (method, parts.as_slice()) {
            ("get", ["agent"]) => (200, json!([{ "name": "general", "mode": "subagent" }])),
            ("get", [wanted @ ("permission" | "question")]) => {
                let open = self.asked.iter().filter(|(kind, _)| kind == wanted);
                (200, open.map(|(_, asked)| asked.clone()).collect())
            }
            ("post", ["permission" | "question", id, "reply" | "reject"]) => {
                self.asked.retain(|(_, asked)| asked["id"] != *id);
                let mut reply = call["body"].clone();
                reply["to"] = json!(id);
                self.replies.push(reply);
                (200, json!(true))
            }
            ("get", ["session", "status"]) => {
                let busy = self.sessions.iter().filter(|(_, session)| session.busy);
                (200, busy.map(|(id, _)| (id.clone(), json!({ "type": "busy" }))).collect())
            }
            ("post", ["session"]) => {
                let id = format!("ses_{}", self.sessions.len());
                (200, self.open(&id, call["body"].clone()))
            }
            ("get", ["session", _, "children"]) => (200, json!([])),
            (_, ["session", id, rest @ ..]) => self.in_session(method, id, rest, &call["body"]),
            _ => (404, Value::Null),
        }
    }

    fn in_session(&mut self, method: &str, id: &str, rest: &[&str], body: &Value) -> (u16, Value) {
        let Some(session) = self.sessions.get_mut(id) else { return (404, Value::Null) };
        match (method, rest) {
            ("get", []) => (200, session.kept.clone()),
            ("get", ["message"]) => (200, json!(session.messages)),
            ("get", ["message", message]) => {
                let found = session.messages.iter().find(|known| known["info"]["id"] == *message);
                found.map_or((404, Value::Null), |found| (200, found.clone()))
            }
            ("post", ["prompt_async"]) => {
                session.busy = id != "ses_parent";
                let info = json!({ "id": body["messageID"], "role": "user" });
                session.messages.push(json!({ "info": info, "parts": body["parts"] }));
                if !session.busy {
                    let id = format!("msg_answer_{}", session.messages.len());
                    let info =
                        json!({ "id": id, "role": "assistant", "parentID": body["messageID"] });
                    session.messages.push(json!({ "info": info, "parts": [] }));
                }
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
