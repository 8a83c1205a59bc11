//! The debugging pipe of a browser: commands in one direction, answers and events in the other,
//! each a JSON object that ends with a NUL. Needs no port and no crate.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::kit::DEADLINE;

/// Events of one page that are kept: a test that causes more looks at something else.
const EVENTS_MAX: usize = 20_000;

#[derive(Debug)]
pub(crate) struct Pipe {
    input: Mutex<ChildStdin>,
    heard: Mutex<Heard>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    last_id: u64,
    answers: BTreeMap<u64, Value>,
    /// Events by the session that they are about.
    events: BTreeMap<String, Vec<Value>>,
    closed: bool,
}

impl Pipe {
    pub fn new(input: ChildStdin, output: ChildStdout) -> Arc<Self> {
        let (input, heard) = (Mutex::new(input), Mutex::default());
        let pipe = Arc::new(Self { input, heard, news: Condvar::new() });
        let hearing = pipe.clone();
        thread::spawn(move || hearing.hear(output));
        pipe
    }

    fn hear(&self, output: ChildStdout) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(0, &mut line).is_ok_and(|count| count > 0) {
            let said: Value = serde_json::from_slice(&line[..line.len() - 1]).unwrap_or_default();
            let mut heard = self.heard.lock().expect("not poisoned");
            if let Some(id) = said["id"].as_u64() {
                heard.answers.insert(id, said);
            } else if let Some(session) = said["sessionId"].as_str() {
                let events = heard.events.entry(session.to_owned()).or_default();
                if events.len() < EVENTS_MAX {
                    events.push(said);
                }
            }
            drop(heard);
            self.news.notify_all();
            line.clear();
        }
        self.heard.lock().expect("not poisoned").closed = true;
        self.news.notify_all();
    }

    /// Says something, and waits for what comes of it.
    #[track_caller]
    pub fn send(&self, session: Option<&str>, method: &str, params: Value) -> Value {
        let answer = self.try_send(session, method, params);
        answer.unwrap_or_else(|why| panic!("{method}: {why}"))
    }

    pub fn try_send(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let id = {
            let mut heard = self.heard.lock().expect("not poisoned");
            heard.last_id += 1;
            heard.last_id
        };
        let mut said = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            said["sessionId"] = json!(session);
        }
        let bytes = format!("{said}\0");
        let sent = self.input.lock().expect("not poisoned").write_all(bytes.as_bytes());
        sent.map_err(|why| format!("the browser is gone: {why}"))?;
        let deadline = Instant::now() + DEADLINE;
        let mut heard = self.heard.lock().expect("not poisoned");
        loop {
            if let Some(mut answer) = heard.answers.remove(&id) {
                let error = answer["error"].take();
                return if error.is_null() {
                    Ok(answer["result"].take())
                } else {
                    Err(error.to_string())
                };
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if heard.closed || left.is_zero() {
                return Err(format!(
                    "no answer, the browser is {}",
                    ["silent", "gone"][usize::from(heard.closed)]
                ));
            }
            heard = self.news.wait_timeout(heard, left).expect("not poisoned").0;
        }
    }

    /// What happened in a session so far: the values of these events.
    pub fn events(&self, session: &str, method: &str) -> Vec<Value> {
        let heard = self.heard.lock().expect("not poisoned");
        let all = heard.events.get(session).map(Vec::as_slice).unwrap_or_default();
        all.iter()
            .filter(|said| said["method"] == method)
            .map(|said| said["params"].clone())
            .collect()
    }
}
