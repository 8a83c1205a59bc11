//! What the agents share that drive a program of the person: its process, which is spoken to in
//! lines of JSON, and values for what it tells, which are sent over ACP.
//!
//! A dialect (`codex`, `claude`) implements [`crate::serve::Agent`] with these. It knows its
//! program's messages and nothing of ACP; this module knows ACP's and nothing of any program. It is
//! made by `new(program: PathBuf)`, and starts nothing before the first request.
//!
//! Rules for every dialect:
//! - Login, settings, hooks and MCP servers are the person's. No file with a login is ever opened.
//! - Unknown messages are passed over; unknown requests are refused with an error.
//! - A permission that cannot be shown whole is refused in words, never given.
//! - One writer for each session of the program, and nothing at work after a turn is over.

pub mod child;
pub mod claude;
pub mod codex;

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use legwork_acp::wire::{INTERNAL, RpcError, SPENT, WORDS};
use legwork_machine::since_epoch;
use serde_json::{Value, json};

use crate::serve::{Answered, Client, End, Object, chunk, error};

/// What a turn shows while it works.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// A piece of the answer. What stands after the last tool call is the result of the turn.
    Text(String),
    Thought(String),
    /// A tool call as it is now, from its beginning to its end.
    Call(Call),
    /// The whole plan as it is now.
    Plan(Vec<Step>),
    /// The provider refused, and the program waits and tries again: why, for people, like `429,
    /// attempt 2 of 10 in 20 s`.
    Retry(String),
    /// Nothing that anybody reads; the program is alive.
    Life,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// The program's own id.
    pub id: String,
    /// What is done, for people: `git status`, `Read src/main.rs`.
    pub title: String,
    /// One of ACP's kinds: `execute`, `edit`, `read`, `search`, `fetch`, `think`, `other`.
    pub kind: &'static str,
    pub state: State,
    /// What it was given; null if nothing is to be shown.
    pub input: Value,
    /// What it gave back, or why it failed; empty if nothing is known.
    pub output: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    Pending,
    #[default]
    Running,
    Done,
    Failed,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub text: String,
    pub state: State,
}

/// What a turn took. Unknown is none, never zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    /// All tokens of the turn's requests, cached ones too.
    pub tokens: Option<u64>,
    /// In US dollars, of this turn alone.
    pub dollars: Option<f64>,
    /// The model that answered.
    pub model: Option<String>,
}

/// A request for a permission, or a question.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The call that it is about. Its title is the whole subject, its input is shown too.
    pub call: Call,
    /// What can be answered. An answer of each kind is offered once: the first of the list.
    pub choices: Vec<Choice>,
    /// Whether it is a question of the model, for words or one of the choices, and no permission.
    pub is_question: bool,
    /// Whether words may go with a no, or answer the question.
    pub takes_words: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Comes back in [`Reply::Chosen`].
    pub id: String,
    /// What it means. One that grants more than once says how far: `Yes, and do not ask again for
    /// "git status" in this session`.
    pub label: String,
    pub grants: Grants,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grants {
    Once,
    /// For the rest of the session.
    Session,
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Chosen {
        id: String,
        /// Words that go with it.
        words: Option<String>,
    },
    /// The answer to a question.
    Words(String),
    /// The turn was called off, or nobody can be asked: to be taken as a no.
    Nobody,
}

/// A turn's window to the person: shows what it does, and asks.
#[derive(Debug)]
pub struct Window {
    client: Client,
    /// Whether something was said since the last tool call, so that what follows is a paragraph of
    /// its own.
    is_open: bool,
    /// The ids of the tool calls that were shown.
    calls: BTreeSet<String>,
}

impl Window {
    pub fn new(client: Client) -> Self {
        Self { client, is_open: false, calls: BTreeSet::new() }
    }

    pub async fn show(&mut self, shown: Shown) {
        let update = match shown {
            Shown::Text(text) => {
                self.is_open = true;
                chunk("agent_message_chunk", &text)
            }
            Shown::Thought(text) => chunk("agent_thought_chunk", &text),
            Shown::Retry(why) => chunk("agent_thought_chunk", &format!("Waiting: {why}\n")),
            Shown::Call(call) => {
                self.is_open = false;
                let mut update = call.update();
                let is_new = self.calls.insert(call.id);
                let kind = if is_new { "tool_call" } else { "tool_call_update" };
                update["sessionUpdate"] = kind.into();
                update
            }
            Shown::Plan(steps) => plan(&steps),
            Shown::Life => json!({ "sessionUpdate": "session_info_update" }),
        };
        self.client.update(update).await;
    }

    /// Begins another text of the answer, apart from what was said before.
    pub async fn paragraph(&mut self) {
        if self.is_open {
            self.show(Shown::Text("\n\n".to_owned())).await;
        }
    }

    /// Asks the person. The answer may take days; the future does not hold the window.
    pub fn ask(&self, asked: Asked) -> impl Future<Output = Reply> + Send + use<> {
        let Asked { call, choices, is_question, takes_words } = asked;
        let kind = if is_question { "question" } else { "permission" };
        let option = |choice: &Choice| {
            let kind = match choice.grants {
                Grants::Once => "allow_once",
                Grants::Session => "allow_always",
                Grants::Nothing => "reject_once",
            };
            json!({ "optionId": choice.id, "name": choice.label, "kind": kind })
        };
        let options: Vec<Value> = choices.iter().map(option).collect();
        let params = json!({
            "toolCall": call.update(),
            "options": options,
            "_meta": { WORDS: { "kind": kind, "words": takes_words } },
        });
        let replied = self.client.request_permission(params);
        async move {
            let Ok(Ok(answer)) = replied.await else { return Reply::Nobody };
            let words = answer["_meta"][WORDS].as_str().map(str::to_owned);
            let outcome = &answer["outcome"];
            let chosen = outcome["optionId"].as_str().filter(|_| outcome["outcome"] == "selected");
            match (chosen.filter(|id| choices.iter().any(|choice| choice.id == **id)), words) {
                (Some(id), words) => Reply::Chosen { id: id.to_owned(), words },
                (None, Some(words)) if is_question => Reply::Words(words),
                (None, _) => Reply::Nobody,
            }
        }
    }
}

impl Call {
    fn update(&self) -> Value {
        let status = match self.state {
            State::Pending => "pending",
            State::Running => "in_progress",
            State::Done => "completed",
            State::Failed => "failed",
        };
        let mut update = json!({
            "toolCallId": self.id, "title": self.title, "kind": self.kind, "status": status,
        });
        if !self.input.is_null() {
            update["rawInput"] = self.input.clone();
        }
        if !self.output.is_empty() {
            let text = json!({ "type": "text", "text": self.output });
            update["content"] = json!([{ "type": "content", "content": text }]);
        }
        update
    }
}

impl Spent {
    /// As a result says it, or the data of an error, or the end that a look found.
    pub fn result(&self) -> Object {
        let mut result = Object::new();
        if let Some(tokens) = self.tokens {
            result.insert("usage".to_owned(), json!({ "totalTokens": tokens }));
        }
        let mut spent = Object::new();
        if let Some(dollars) = self.dollars {
            let cost = json!({ "amount": dollars, "currency": "USD" });
            spent.insert("cost".to_owned(), cost);
        }
        if let Some(model) = &self.model {
            spent.insert("model".to_owned(), model.as_str().into());
        }
        if !spent.is_empty() {
            result.insert("_meta".to_owned(), json!({ SPENT: spent }));
        }
        result
    }
}

/// The end of a turn that was answered.
pub fn answered(spent: &Spent) -> End {
    End::stopped("end_turn", spent.result())
}

/// The end of a turn that was called off.
pub fn interrupted(spent: &Spent) -> End {
    End::stopped("cancelled", spent.result())
}

/// The end of a turn that failed, in the program's words, with the moment at which a limit ends if
/// that is why.
pub fn failed(why: &str, spent: &Spent) -> End {
    End::Failed(RpcError { data: spent.result().into(), ..error(INTERNAL, why) })
}

/// A refusal in words of ours.
pub fn refused<T>(why: impl fmt::Display) -> Answered<T> {
    Err(error(INTERNAL, why.to_string()))
}

/// A UUID that stands for a message of legwork's: always the same one for the same message.
pub fn uuid(message: &str) -> String {
    // FNV-1a in 128 bits. The message's own id is random, so that nothing more is needed.
    let hash =
        message.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        });
    // Version 8 (of one's own), variant 1.
    let hash = hash & !(0xf << 76) & !(0x3 << 62) | (8 << 76) | (2 << 62);
    let text = format!("{hash:032x}");
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// A UUID that nothing else has.
pub fn new_uuid() -> String {
    let now = since_epoch().as_nanos();
    let random = RandomState::new().hash_one(now);
    uuid(&format!("{now:x}-{random:x}-{}", std::process::id()))
}

/// A moment for people, as `2026-11-19 19:52 UTC`; seconds since the epoch.
pub fn moment(seconds: i64) -> Option<String> {
    let at = jiff::Timestamp::from_second(seconds).ok()?;
    Some(at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

fn plan(steps: &[Step]) -> Value {
    let entry = |step: &Step| {
        let status = match step.state {
            State::Pending => "pending",
            State::Running => "in_progress",
            State::Done | State::Failed => "completed",
        };
        json!({ "content": step.text, "priority": "medium", "status": status })
    };
    let entries: Vec<Value> = steps.iter().map(entry).collect();
    json!({ "sessionUpdate": "plan", "entries": entries })
}
