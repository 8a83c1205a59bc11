//! One turn: a script is followed, step by step, until it ends or is cancelled.
//!
//! At its end a turn gives itself back to the agent, which keeps what was said.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::PathBuf;
use std::process::id;

use legwork_acp::wire::{BAD_PARAMS, INTERNAL, RpcError};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::Extra;
use super::memory::Past;
use super::script::{self, Step};
use crate::serve::{Client, End, Object, Prompt, chunk};

const CHUNKS_OF_A_TEXT: usize = 3;
/// More of an answer is not kept.
const ANSWER_KEPT_MAX_BYTES: usize = 256 << 10;
/// How much of a text is quoted back.
const QUOTE_MAX_CHARS: usize = 500;

/// What was allowed or rejected for always.
pub type Settled = BTreeMap<String, bool>;

#[derive(Debug)]
pub struct Turn {
    pub cwd: PathBuf,
    pub past: Past,
    pub settled: Settled,
    pub model: Option<String>,
    pub client: Client,
    pub extra: Option<&'static dyn Extra>,
    pub answer: String,
    pub calls: usize,
    /// What the result says besides the stop reason.
    pub result: Object,
}

enum Next {
    On,
    Hang,
    End(End),
}

impl Turn {
    pub async fn run(mut self, prompt: &Prompt) -> (Self, End) {
        let next = tokio::select! {
            biased;
            () = prompt.cancelled() => Next::End(End::cancelled()),
            next = self.play(&prompt.text) => next,
        };
        let end = match next {
            Next::On => End::stopped("end_turn", Object::new()),
            Next::End(end) => end,
            Next::Hang => pending().await,
        };
        (self, end)
    }

    async fn play(&mut self, prompt: &str) -> Next {
        let steps = match script::read(prompt, self.extra) {
            Ok(Some(steps)) => steps,
            Ok(None) => {
                self.say(&introduction(prompt)).await;
                return Next::On;
            }
            Err(wrong) => return failed(BAD_PARAMS, wrong),
        };
        // The next step is the last one, so that a repeat can put its own before what follows it.
        let mut to_do: Vec<Step> = steps.into_iter().rev().collect();
        while let Some(step) = to_do.pop() {
            if let Step::Repeat { from, to, rest } = step {
                match script::read_turn(&rest, from, self.extra) {
                    Ok(steps) => {
                        if from < to {
                            to_do.push(Step::Repeat { from: from + 1, to, rest });
                        }
                        to_do.extend(steps.into_iter().rev());
                    }
                    Err(wrong) => return failed(BAD_PARAMS, wrong),
                }
            } else {
                match self.step(step).await {
                    Next::On => {}
                    end => return end,
                }
            }
        }
        Next::On
    }

    async fn step(&mut self, step: Step) -> Next {
        match step {
            Step::Say(text) => self.say(&text).await,
            Step::Wait(time) => sleep(time).await,
            Step::Tool { name, time, fails } => {
                let call = self.begin_call(&name).await;
                sleep(time).await;
                self.end_call(&call, if fails { "failed" } else { "completed" }).await;
            }
            Step::Think(text) => self.update(chunk("agent_thought_chunk", &text)).await,
            Step::Plan(entries) => self.plan(&entries).await,
            Step::Ask(texts) => return self.ask(texts).await,
            Step::Recall => self.say(&recalled(&self.past)).await,
            Step::Count => self.say(&(self.past.asked + 1).to_string()).await,
            Step::Fail(text) => return failed(INTERNAL, text),
            Step::Stop(reason) => return Next::End(End::stopped(&reason, Object::new())),
            Step::Cost { amount, currency } => {
                let amount: f64 = amount.parse().unwrap_or_default();
                let cost = json!({ "amount": amount, "currency": currency });
                let usage =
                    json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost });
                self.update(usage).await;
            }
            Step::Tokens(count) => {
                self.result.insert("usage".to_owned(), json!({ "totalTokens": count }));
            }
            Step::Hang => return Next::Hang,
            Step::Crash(code) => {
                self.client.err.line("rehearsal: crashing as told\n".to_owned()).await;
                return Next::End(End::Crash(code));
            }
            Step::Repeat { .. } => {}
            Step::Pid => self.say(&id().to_string()).await,
            Step::Model => {
                let model = self.model.clone().unwrap_or_else(|| "I have no model".to_owned());
                self.say(&model).await;
            }
            Step::Cwd => self.say(&self.cwd.display().to_string()).await,
            Step::Env(name) => match std::env::var(&name) {
                Ok(value) => self.say(&value).await,
                Err(_) => self.say(&format!("{name} is not set")).await,
            },
            Step::Extra { word, rest } => {
                let Some(extra) = self.extra else { return Next::On };
                if let Err(why) = extra.perform(&word, &rest, self).await {
                    return failed(INTERNAL, why);
                }
            }
        }
        Next::On
    }

    /// Says a text as a paragraph of its own.
    pub async fn say(&mut self, text: &str) {
        if !self.answer.is_empty() {
            self.say_chunk("\n\n").await;
        }
        let chars: Vec<char> = text.chars().collect();
        for part in chars.chunks(chars.len().div_ceil(CHUNKS_OF_A_TEXT).max(1)) {
            self.say_chunk(&part.iter().collect::<String>()).await;
        }
    }

    pub async fn say_chunk(&mut self, text: &str) {
        if self.answer.len() + text.len() <= ANSWER_KEPT_MAX_BYTES {
            self.answer.push_str(text);
        }
        self.update(chunk("agent_message_chunk", text)).await;
    }

    async fn plan(&self, entries: &[String]) {
        let entries: Vec<Value> = entries
            .iter()
            .map(|entry| json!({ "content": entry, "priority": "medium", "status": "pending" }))
            .collect();
        self.update(json!({ "sessionUpdate": "plan", "entries": entries })).await;
    }

    async fn begin_call(&mut self, name: &str) -> String {
        let call = self.new_call();
        self.update(json!({
            "sessionUpdate": "tool_call",
            "toolCallId": call,
            "title": name,
            "kind": "other",
            "status": "in_progress",
        }))
        .await;
        call
    }

    async fn end_call(&self, call: &str, status: &str) {
        self.update(json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "status": status,
        }))
        .await;
    }

    /// A name that no earlier turn of the session has used, in this process or another.
    fn new_call(&mut self) -> String {
        self.calls += 1;
        format!("call-{}-{}", self.past.asked + 1, self.calls)
    }

    /// Asks all that is not settled before it waits for the first answer.
    async fn ask(&mut self, texts: Vec<String>) -> Next {
        let asked: Vec<(String, Option<Replied>)> = texts
            .into_iter()
            .map(|text| {
                let settled = self.settled.contains_key(&text);
                let replied = (!settled).then(|| self.request_permission(&text));
                (text, replied)
            })
            .collect();
        for (text, replied) in asked {
            let allowed = match replied {
                None => self.settled.get(&text).copied().unwrap_or_default(),
                Some(replied) => match permission(replied).await {
                    Ok(Some((allowed, always))) => {
                        if always {
                            self.settled.insert(text.clone(), allowed);
                        }
                        allowed
                    }
                    Ok(None) => return Next::End(End::cancelled()),
                    Err(why) => return failed(INTERNAL, why),
                },
            };
            self.say(&format!("{}: {text}", if allowed { "Allowed" } else { "Not allowed" })).await;
        }
        Next::On
    }

    fn request_permission(&mut self, text: &str) -> Replied {
        let call = self.new_call();
        let option = |id: &str, name: &str| json!({ "optionId": id, "name": name, "kind": id });
        self.client.request_permission(json!({
            "toolCall": { "toolCallId": call, "title": text, "kind": "other", "status": "pending" },
            "options": [
                option("allow_once", "Allow"),
                option("allow_always", "Always allow"),
                option("reject_once", "Reject"),
                option("reject_always", "Always reject"),
            ],
        }))
    }

    pub async fn update(&self, update: Value) {
        self.client.update(update).await;
    }
}

/// Hears the client's answer.
type Replied = oneshot::Receiver<Result<Value, RpcError>>;

/// Whether it is allowed, and whether for always; nothing if the turn is to end.
async fn permission(replied: Replied) -> Result<Option<(bool, bool)>, String> {
    let answer = match replied.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(format!("The client would not be asked: {error}")),
        Err(_) => return Err("The client cannot be asked any more".to_owned()),
    };
    let outcome = &answer["outcome"];
    match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
        (Some("cancelled"), _) => Ok(None),
        (Some("selected"), Some("allow_once")) => Ok(Some((true, false))),
        (Some("selected"), Some("allow_always")) => Ok(Some((true, true))),
        (Some("selected"), Some("reject_once")) => Ok(Some((false, false))),
        (Some("selected"), Some("reject_always")) => Ok(Some((false, true))),
        _ => Err(format!("The client chose what was not offered: {outcome}")),
    }
}

fn failed(code: i64, why: impl ToString) -> Next {
    Next::End(End::failed(code, why.to_string()))
}

fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTE_MAX_CHARS) {
        Some((end, _)) => format!("\"{}...\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

fn recalled(past: &Past) -> String {
    let Some(first) = &past.first else { return "I was not asked before.".to_owned() };
    let times = if past.asked == 1 { "time" } else { "times" };
    let answer = past.last_answer.as_ref().map_or_else(
        || "I have not answered yet.".to_owned(),
        |answer| format!("My last answer was: {}", quote(answer)),
    );
    format!("I was asked {} {times} before. First: {}. {answer}", past.asked, quote(first))
}

fn introduction(prompt: &str) -> String {
    format!(
        "I am rehearsal, an agent without a model. You wrote: {}\n\n\
         I only follow scripts. Try this one: say Good morning; wait 2s; say That was all\n\n\
         The commands, one a line or with ; between them:\n\n{}",
        quote(prompt.trim()),
        script::explained()
    )
}
