//! The calls of OpenCode's API that tests need. Answers stay JSON: a test looks at the two fields
//! that it is about. A call that gets no answer at all panics; one that is refused does not,
//! because how it is refused may be what the test is about.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::events::Events;
use crate::http::{Answer, Line, basic};
use crate::kit::DEADLINE;

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Client {
    line: Line,
}

impl Client {
    /// For the server at this URL, `http://host:port`.
    pub fn new(url: &str) -> Self {
        let authority = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { line: Line { authority, headers: Vec::new() } }
    }

    /// With a password, for OpenCode's default user.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        self.with_header("authorization", &basic("opencode", password))
    }

    /// For another directory than the server's own.
    #[must_use]
    pub fn in_directory(self, directory: &Path) -> Self {
        self.with_header("x-opencode-directory", &directory.to_string_lossy())
    }

    fn with_header(mut self, name: &str, value: &str) -> Self {
        self.line.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Any call.
    pub async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let answer = self.try_call(method, path, body, DEADLINE).await;
        answer.unwrap_or_else(|why| panic!("{method} {path}: {why}"))
    }

    /// Any call; what went wrong when there is no answer.
    pub async fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        within: Duration,
    ) -> Result<Answer, String> {
        self.line.call(method, path, body, within).await
    }

    async fn read(&self, path: &str) -> Answer {
        self.call("GET", path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, Some(body)).await
    }

    /// Makes a session and gives its id. The body may have `parentID`, `title`, `metadata`,
    /// `permission`.
    pub async fn create(&self, body: Value) -> String {
        let session = self.post("/session", body).await.ok();
        session["id"].as_str().expect("the id of a session").to_owned()
    }

    /// A session.
    pub async fn get(&self, session: &str) -> Answer {
        self.read(&format!("/session/{session}")).await
    }

    /// The newest sessions, so many at most.
    pub async fn sessions(&self, limit: usize) -> Vec<Value> {
        list(self.read(&format!("/session?limit={limit}")).await.ok())
    }

    /// The children of a session.
    pub async fn children(&self, session: &str) -> Vec<Value> {
        list(self.read(&format!("/session/{session}/children")).await.ok())
    }

    /// Deletes a session.
    pub async fn delete(&self, session: &str) -> Answer {
        self.call("DELETE", &format!("/session/{session}"), None).await
    }

    /// Aborts what a session does.
    pub async fn abort(&self, session: &str) -> Answer {
        self.post(&format!("/session/{session}/abort"), json!({})).await
    }

    /// `prompt_async`, with any body.
    pub async fn prompt(&self, session: &str, body: Value) -> Answer {
        self.post(&format!("/session/{session}/prompt_async"), body).await
    }

    /// Prompts with a text.
    pub async fn say(&self, session: &str, text: &str) {
        let body = json!({ "parts": [{ "type": "text", "text": text }] });
        self.prompt(session, body).await.ok();
    }

    /// Prompts with a text and waits for the answer's end; gives the last answer's text.
    pub async fn ask(&self, session: &str, text: &str) -> String {
        let body = json!({ "parts": [{ "type": "text", "text": text }] });
        let path = format!("/session/{session}/message");
        text_of(&self.post(&path, body).await.ok())
    }

    /// The messages of a session, oldest first, each with `info` and `parts`.
    pub async fn messages(&self, session: &str) -> Answer {
        self.read(&format!("/session/{session}/message")).await
    }

    /// The texts of a session: who said it, and what.
    pub async fn texts(&self, session: &str) -> Vec<(String, String)> {
        let messages = list(self.messages(session).await.ok());
        let role = |message: &Value| message["info"]["role"].as_str().unwrap_or("").to_owned();
        messages.iter().map(|message| (role(message), text_of(message))).collect()
    }

    /// What every session of the directory does, by its id. A quiet one is absent.
    pub async fn status(&self) -> Value {
        self.read("/session/status").await.ok()
    }

    /// Begins an undo of this message and what follows.
    pub async fn revert(&self, session: &str, message: &str) -> Answer {
        self.post(&format!("/session/{session}/revert"), json!({ "messageID": message })).await
    }

    /// Takes an undo back.
    pub async fn unrevert(&self, session: &str) -> Answer {
        self.post(&format!("/session/{session}/unrevert"), json!({})).await
    }

    /// The permissions that are waited for.
    pub async fn permissions(&self) -> Vec<Value> {
        list(self.read("/permission").await.ok())
    }

    /// Answers a permission: `once`, `always` or `reject`, with words for the model or none.
    pub async fn permit(&self, request: &str, reply: &str, words: Option<&str>) -> Answer {
        let mut body = json!({ "reply": reply });
        if let Some(words) = words {
            body["message"] = json!(words);
        }
        self.post(&format!("/permission/{request}/reply"), body).await
    }

    /// The questions that are waited for.
    pub async fn questions(&self) -> Vec<Value> {
        list(self.read("/question").await.ok())
    }

    /// Answers a question: the labels that were chosen, for each of its questions.
    pub async fn answer(&self, request: &str, answers: &[&[&str]]) -> Answer {
        self.post(&format!("/question/{request}/reply"), json!({ "answers": answers })).await
    }

    /// Dismisses a question.
    pub async fn dismiss(&self, request: &str) -> Answer {
        self.post(&format!("/question/{request}/reject"), json!({})).await
    }

    /// The agents.
    pub async fn agents(&self) -> Vec<Value> {
        list(self.read("/agent").await.ok())
    }

    /// The events of the directory from now on.
    pub async fn events(&self) -> Events {
        Events::open(self.line.clone(), "/event".to_owned()).await
    }

    /// The events of all directories from now on.
    pub async fn global_events(&self) -> Events {
        Events::open(self.line.clone(), "/global/event".to_owned()).await
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        other => panic!("no list: {other}"),
    }
}

fn text_of(message: &Value) -> String {
    let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let texts = parts.filter(|part| part["type"] == "text");
    texts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}
