//! One turn of a thread, from the prompt to its end.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::asks::{Ask, Told};
use super::items;
use super::server::{Said, Server};
use crate::native::{Call, Shown, Spent, Window, answered, failed, interrupted, moment, uuid};
use crate::serve::{End, Prompt};

/// How long an interrupted turn may take to end. The client ends us after five seconds.
const INTERRUPT_MAX: Duration = Duration::from_secs(3);
/// How long what is at work in the background may take to end.
const CLEAN_MAX: Duration = Duration::from_secs(1);
/// From here on a window of a limit counts as used up.
const USED_UP_PERCENT: f64 = 99.5;

pub struct Turn {
    server: Arc<Server>,
    thread: String,
    window: Window,
    /// The server's id of the turn, once it is known.
    id: Option<String>,
    /// The calls that were shown and are not over.
    calls: BTreeMap<String, Call>,
    /// The item of the answer that is being written, and whether pieces of it came.
    text: Option<(String, bool)>,
    spent: Spent,
    /// What the thread had taken before this turn.
    tokens_before: Option<u64>,
    asks: JoinSet<(Value, Told)>,
    /// The error that the turn has met last.
    error: Value,
}

impl Turn {
    pub fn new(server: Arc<Server>, prompt: &Prompt, model: Option<String>) -> Self {
        Self {
            server,
            thread: prompt.session.clone(),
            window: Window::new(prompt.client.clone()),
            id: None,
            calls: BTreeMap::new(),
            text: None,
            spent: Spent { model, ..Spent::default() },
            tokens_before: None,
            asks: JoinSet::new(),
            error: Value::Null,
        }
    }

    /// Runs the turn. `model` is the one that was chosen for it, if any was.
    pub async fn run(mut self, prompt: &Prompt, model: Option<&str>) -> End {
        let mut said = self.server.listen(&self.thread);
        let mut params = json!({
            "threadId": self.thread,
            "input": [{ "type": "text", "text": prompt.text }],
        });
        if let Some(message) = &prompt.message {
            params["clientUserMessageId"] = uuid(message).into();
        }
        if let Some(model) = model {
            params["model"] = model.into();
        }
        // Even a turn that is called off by now has begun, and is to be interrupted.
        match self.server.call("turn/start", params).await {
            Ok(begun) => self.id = begun["turn"]["id"].as_str().map(str::to_owned),
            Err(why) => return failed(&why.message, &self.spent),
        }
        tokio::select! {
            end = self.until_over(&mut said) => return end,
            () = prompt.cancelled() => {}
        }
        self.asks.abort_all();
        let interrupt = json!({ "threadId": self.thread, "turnId": self.id });
        let server = self.server.clone();
        let end = async {
            let _ = server.call("turn/interrupt", interrupt).await;
            self.until_over(&mut said).await
        };
        let end = timeout(INTERRUPT_MAX, end).await;
        // A command that was interrupted goes on in the background.
        let clean = json!({ "threadId": self.thread });
        let clean = self.server.call("thread/backgroundTerminals/clean", clean);
        let _ = timeout(CLEAN_MAX, clean).await;
        end.unwrap_or_else(|_| interrupted(&self.spent))
    }

    async fn until_over(&mut self, said: &mut mpsc::UnboundedReceiver<Said>) -> End {
        loop {
            let asks = &mut self.asks;
            let replied = async {
                match asks.join_next().await {
                    Some(Ok(replied)) => replied,
                    Some(Err(_)) | None => pending().await,
                }
            };
            tokio::select! {
                said = said.recv() => match said {
                    Some(Said::Told { method, params }) => {
                        if let Some(end) = self.on_told(&method, &params).await {
                            return end;
                        }
                    }
                    Some(Said::Asked { id, method, params }) => self.on_asked(id, &method, &params),
                    Some(Said::Ended(how)) => return failed(&how, &self.spent),
                    None => return failed("codex ended", &self.spent),
                },
                (id, told) = replied => self.on_replied(&id, told),
            }
        }
    }

    fn on_asked(&mut self, id: Value, method: &str, params: &Value) {
        let known = params["itemId"].as_str().and_then(|item| self.calls.get(item));
        let ask = match Ask::read(method, params, known) {
            Ok(ask) => ask,
            Err(why) => return self.server.answer(&id, Err(&why)),
        };
        let replies: Vec<_> =
            ask.asked.iter().map(|asked| self.window.ask(asked.clone())).collect();
        self.asks.spawn(async move {
            let mut all = Vec::new();
            for reply in replies {
                all.push(reply.await);
            }
            (id, ask.told(&all))
        });
    }

    fn on_replied(&self, id: &Value, told: Told) {
        let Told { result, words } = told;
        self.server.answer(id, Ok(result));
        let (Some(words), Some(turn)) = (words, &self.id) else { return };
        // A no takes no words, so that they are said to the model as well.
        let steer = json!({
            "threadId": self.thread,
            "expectedTurnId": turn,
            "input": [{ "type": "text", "text": words }],
        });
        let server = self.server.clone();
        tokio::spawn(async move {
            let _ = server.call("turn/steer", steer).await;
        });
    }

    /// Takes in what was told, and returns the end of the turn if this is it.
    async fn on_told(&mut self, method: &str, params: &Value) -> Option<End> {
        let about = params["turnId"].as_str().or_else(|| params["turn"]["id"].as_str());
        if about.is_some() && self.id.is_some() && about != self.id.as_deref() {
            return None;
        }
        match method {
            "turn/completed" => return Some(self.end(&params["turn"])),
            "item/started" | "item/completed" => self.item(method, &params["item"]).await,
            "item/agentMessage/delta" | "item/plan/delta" => {
                let id = params["itemId"].as_str().unwrap_or_default();
                self.begin_text(id).await;
                self.text = Some((id.to_owned(), true));
                self.show(Shown::Text(text(&params["delta"]))).await;
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.show(Shown::Thought(text(&params["delta"]))).await;
            }
            "item/reasoning/summaryPartAdded" => {
                if params["summaryIndex"].as_u64() > Some(0) {
                    self.show(Shown::Thought("\n\n".to_owned())).await;
                }
            }
            "turn/plan/updated" => self.show(Shown::Plan(items::plan(params))).await,
            "thread/tokenUsage/updated" => {
                self.used(&params["tokenUsage"]);
                self.show(Shown::Life).await;
            }
            "model/rerouted" => {
                self.spent.model = params["toModel"].as_str().map(str::to_owned);
            }
            "error" => {
                self.error = params["error"].clone();
                if params["willRetry"] == true {
                    self.show(Shown::Retry(self.why(&self.error))).await;
                }
            }
            _ => self.show(Shown::Life).await,
        }
        None
    }

    async fn show(&mut self, shown: Shown) {
        self.window.show(shown).await;
    }

    async fn item(&mut self, method: &str, item: &Value) {
        let is_over = method == "item/completed";
        if let Some(call) = items::call(item) {
            if is_over {
                self.calls.remove(&call.id);
            } else {
                self.calls.insert(call.id.clone(), call.clone());
            }
            self.show(Shown::Call(call)).await;
            return;
        }
        let (Some("agentMessage" | "plan"), Some(id)) =
            (item["type"].as_str(), item["id"].as_str())
        else {
            return self.show(Shown::Life).await;
        };
        self.begin_text(id).await;
        let was_written = self.text.as_ref().is_some_and(|(_, was_written)| *was_written);
        if is_over && !was_written {
            self.show(Shown::Text(text(&item["text"]))).await;
        }
    }

    async fn begin_text(&mut self, id: &str) {
        if self.text.as_ref().is_none_or(|(of, _)| of != id) {
            self.window.paragraph().await;
            self.text = Some((id.to_owned(), false));
        }
    }

    /// `{total: {totalTokens}, last: {totalTokens}}`
    fn used(&mut self, told: &Value) {
        let Some(total) = told["total"]["totalTokens"].as_u64() else { return };
        let last = told["last"]["totalTokens"].as_u64().unwrap_or_default();
        let before = *self.tokens_before.get_or_insert(total.saturating_sub(last));
        self.spent.tokens = Some(total.saturating_sub(before));
    }

    fn end(&self, turn: &Value) -> End {
        match turn["status"].as_str() {
            Some("completed") => answered(&self.spent),
            Some("interrupted") => interrupted(&self.spent),
            _ => {
                let error = if turn["error"].is_null() { &self.error } else { &turn["error"] };
                failed(&self.why(error), &self.spent)
            }
        }
    }

    fn why(&self, error: &Value) -> String {
        why(error, &self.server.limits())
    }
}

/// Why a turn failed (`{message, additionalDetails, codexErrorInfo}`), with the moment at which the
/// limit ends that is used up.
pub fn why(error: &Value, limits: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("failed and did not say why").trim();
    let details = error["additionalDetails"].as_str().map(str::trim);
    let details = details.filter(|details| !details.is_empty() && !message.contains(details));
    let mut why = match details {
        Some(details) => format!("{message}: {details}"),
        None => message.to_owned(),
    };
    if error["codexErrorInfo"] == "usageLimitExceeded" {
        let windows = [&limits["primary"], &limits["secondary"]].into_iter();
        let is_used_up = |window: &&Value| window["usedPercent"].as_f64() >= Some(USED_UP_PERCENT);
        let resets = windows.filter(is_used_up).filter_map(|window| window["resetsAt"].as_i64());
        if let Some(at) = resets.max().and_then(moment) {
            why = format!("{why} (the limit resets at {at})");
        }
    }
    why
}

fn text(told: &Value) -> String {
    told.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h5_a_limit_that_is_used_up_is_told_with_its_end() {
        let limits = json!({
            "primary": { "usedPercent": 100, "windowDurationMins": 300, "resetsAt": 1_795_000_000 },
            "secondary": { "usedPercent": 40, "windowDurationMins": 10_080, "resetsAt": 1_799_000_000 },
        });
        let error = |info: &str| json!({ "message": "You’ve hit it.", "codexErrorInfo": info });
        let said = why(&error("usageLimitExceeded"), &limits);
        assert_eq!(said, "You’ve hit it. (the limit resets at 2026-11-18 11:06 UTC)");
        assert_eq!(why(&error("other"), &limits), "You’ve hit it.");
        let more = json!({ "message": "no", "additionalDetails": "429" });
        assert_eq!(why(&more, &Value::Null), "no: 429");
        assert_eq!(why(&Value::Null, &Value::Null), "failed and did not say why");
    }
}
