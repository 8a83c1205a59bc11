//! A Claude Code that has a session open.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::permission;
use super::wire::{self, Message};
use crate::native::child::{Child, Sender};
use crate::native::refused;
use crate::serve::Answered;

/// How long it may take to end its tools and then itself: 1.5 s were seen.
const TERMINATE_MAX: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub struct Process {
    sender: Sender,
    child: Child,
    requests: u64,
    /// What the turns of the session have cost, as it counts them.
    pub cost: f64,
    /// Whether a turn is under way.
    pub is_busy: bool,
}

impl Process {
    /// Starts it in this session (`--session-id ID`, or `--resume ID`).
    pub fn start(program: &Path, session: [&str; 2], cwd: &Path) -> Answered<Self> {
        let arguments = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            // Its help does not name this one: whoever reads the output is asked.
            "--permission-prompt-tool",
            "stdio",
        ];
        let started = Child::start(program, arguments.into_iter().chain(session), &[], Some(cwd));
        match started {
            Ok((sender, child)) => {
                Ok(Self { sender, child, requests: 0, cost: 0.0, is_busy: false })
            }
            Err(why) => refused(format!("{} does not start: {why}", program.display())),
        }
    }

    /// Introduces us; the answer has the models (id and name) that can be chosen.
    pub async fn initialize(&mut self) -> Answered<Vec<(String, String)>> {
        let told = self.ask(&json!({ "subtype": "initialize" })).await?;
        let models = told["models"].as_array().into_iter().flatten();
        let model = |model: &Value| {
            let id = model["value"].as_str()?;
            Some((id.to_owned(), model["displayName"].as_str().unwrap_or(id).to_owned()))
        };
        Ok(models.filter_map(model).collect())
    }

    /// Makes a request between turns, and waits for the answer.
    pub async fn ask(&mut self, request: &Value) -> Answered<Value> {
        let asked = self.request(request);
        while let Some(message) = self.next().await {
            match message {
                Message::Answer { request, outcome } if request == asked => {
                    return outcome.or_else(|why| refused(format!("Claude Code says: {why}")));
                }
                Message::Ask { request, call } => {
                    self.answer(&request, &permission::refused(&call));
                }
                Message::Request { request, subtype } => self.refuse(&request, &subtype),
                _ => {}
            }
        }
        self.ended().await
    }

    /// Begins a turn.
    pub fn prompt(&mut self, session: &str, uuid: &str, text: &str) {
        self.is_busy = true;
        self.sender.send(&wire::prompt(session, uuid, text));
    }

    /// Its next message; nothing if it has ended. The future can be dropped and made again.
    pub async fn next(&mut self) -> Option<Message> {
        self.child.next().await.map(|line| Message::read(&line))
    }

    pub fn answer(&self, request: &str, answer: &Value) {
        self.sender.send(&wire::answer(request, answer));
    }

    /// Refuses a request that is not known here.
    pub fn refuse(&self, request: &str, subtype: &str) {
        self.sender.send(&wire::refusal(request, &format!("{subtype} is not offered here")));
    }

    pub fn interrupt(&mut self) {
        self.request(&json!({ "subtype": "interrupt" }));
    }

    pub async fn kill(&mut self) {
        self.child.kill().await;
    }

    /// The failure of one that has ended by itself.
    pub async fn ended<T>(&mut self) -> Answered<T> {
        refused(format!("Claude Code {}", self.child.ended().await))
    }

    /// Ends it. In a turn it is terminated: then it ends its tools too, and does not tell its model
    /// that its user has interrupted it, as it does when it is interrupted.
    pub async fn end(mut self) {
        if self.is_busy {
            self.child.terminate();
            let ended = async { while self.next().await.is_some() {} };
            if timeout(TERMINATE_MAX, ended).await.is_err() {
                self.kill().await;
            }
        }
        drop(self.sender);
        self.child.end().await;
    }

    fn request(&mut self, request: &Value) -> String {
        self.requests += 1;
        let id = format!("legwork-{}", self.requests);
        self.sender.send(&wire::request(&id, request));
        id
    }
}
