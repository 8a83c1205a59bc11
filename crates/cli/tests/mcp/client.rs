//! A client over MCP, line by line.

use std::io::Write;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use legwork_testkit::legwork::{Home, script_agent};
use legwork_testkit::{Lines, ended};
use serde_json::{Value, json};

pub const TASKS: &str = "io.modelcontextprotocol/tasks";

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    /// What nobody has waited for yet.
    heard: Vec<Value>,
    last: u64,
    /// What goes into every request.
    pub meta: Value,
}

impl Client {
    /// Starts a front that was not told anything yet.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self {
            child,
            stdin,
            lines: Lines::of(stdout),
            heard: Vec::new(),
            last: 0,
            meta: Value::Null,
        }
    }

    /// One of the new era, with tasks.
    pub fn modern(home: &Home) -> Self {
        Self::modern_as(home.command(["mcp"]), "claude-code")
    }

    pub fn modern_as(command: Command, name: &str) -> Self {
        let mut client = Self::start(command);
        client.meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": name, "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "extensions": { TASKS: {} } },
        });
        client
    }

    /// One of the old era under this name.
    pub fn old(home: &Home, name: &str) -> Self {
        Self::old_as(home.command(["mcp"]), name, json!({}))
    }

    pub fn old_as(command: Command, name: &str, capabilities: Value) -> Self {
        let mut client = Self::start(command);
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": { "name": name, "version": "1" } });
        client.ask("initialize", hello);
        client.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub fn line(&mut self, line: &Value) {
        self.raw(&format!("{line}\n"));
    }

    pub fn raw(&mut self, bytes: &str) {
        self.stdin.as_mut().unwrap().write_all(bytes.as_bytes()).unwrap();
    }

    /// Sends a request, and gives its number.
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.last += 1;
        if !self.meta.is_null() {
            params["_meta"] = self.meta.clone();
        }
        let id = self.last;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        self.until("the answer", |line| line["id"] == id && line["method"].is_null())
    }

    /// The answer that comes first of those to these requests.
    pub fn first_answer(&mut self, ids: &[u64]) -> Value {
        let is_one = |line: &Value| line["id"].as_u64().is_some_and(|id| ids.contains(&id));
        self.until("an answer", |line| is_one(line) && line["method"].is_null())
    }

    /// The next request or notification of the server's.
    pub fn asked(&mut self, method: &str) -> Value {
        self.until(method, |line| line["method"] == method)
    }

    /// The first line that is it. Others are kept for who waits for them: answers come in any
    /// order.
    fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return self.heard.remove(at);
        }
        loop {
            let line = self.lines.next().unwrap_or_else(|| panic!("it ended before: {what}"));
            let line: Value = serde_json::from_str(&line).unwrap();
            if is_it(&line) {
                return line;
            }
            self.heard.push(line);
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer(id);
        assert!(answer["result"].is_null(), "{method}: {answer}");
        answer["error"].clone()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// What a tool says.
    pub fn says(&mut self, tool: &str, arguments: Value) -> String {
        text(&self.call(tool, arguments))
    }

    /// Launches a helper that follows this script, without a task, and gives its id.
    pub fn launch(&mut self, script: &str) -> String {
        self.launch_as("rehearsal", script)
    }

    /// The same of another agent.
    pub fn launch_as(&mut self, agent: &str, prompt: &str) -> String {
        let mut arguments = launch(prompt);
        arguments["agent"] = json!(agent);
        let said = self.says("background_task", arguments);
        let id = said.lines().find_map(|line| line.strip_prefix("Task ID: "));
        id.unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// The same with a task.
    pub fn launch_task(&mut self, script: &str) -> String {
        let task = self.call("background_task", launch(script));
        assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
        task["taskId"].as_str().unwrap().to_owned()
    }

    pub fn get(&mut self, task: &str) -> Value {
        self.ask("tasks/get", json!({ "taskId": task }))
    }

    /// Launches a helper of the agent of [`gated`], with a task.
    pub fn launch_gated(&mut self) -> String {
        let mut arguments = launch("go");
        arguments["agent"] = json!("gated");
        let task = self.call("background_task", arguments);
        task["taskId"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned()
    }

    /// Polls until the task is in this state.
    pub fn poll(&mut self, task: &str, status: &str) -> Value {
        loop {
            let view = self.get(task);
            if view["status"] == status {
                return view;
            }
            let is_open = ["working", "input_required"].map(Value::from).contains(&view["status"]);
            assert!(is_open, "{view}");
        }
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes its stdin: it ends by itself.
    pub fn leave(mut self) {
        drop(self.stdin.take());
        assert!(ended(&mut self.child).success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A home with an agent whose helpers say this when [`open`] lets them.
pub fn gated(words: &str) -> Home {
    let home = Home::new();
    let gate = home.path("open");
    let work = format!("until [ -e '{}' ]; do sleep 0.05; done\nsay '{words}'", gate.display());
    home.configure(&script_agent("gated", &work));
    home
}

pub fn open(home: &Home) {
    std::fs::write(home.path("open"), "").unwrap();
}

pub fn launch(script: &str) -> Value {
    json!({ "prompt": script, "description": "look around", "agent": "rehearsal" })
}

pub fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}
