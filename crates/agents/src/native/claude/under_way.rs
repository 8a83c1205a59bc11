//! A turn that is under way: what Claude Code tells goes to the client, and what it asks to a
//! person. Ends with the turn, or when it was called off.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::installed::too_old;
use super::permission::{self, Way};
use super::process::Process;
use super::turn::Turn;
use super::wire::{self, Message};
use crate::native::{Window, answered, failed, interrupted};
use crate::serve::{Answered, Client, End, Prompt};

/// An interrupted turn is over within 10 ms (2.1.327). Later than this the process is killed.
const INTERRUPT_MAX: Duration = Duration::from_secs(3);

pub struct UnderWay<'a> {
    process: &'a mut Process,
    prompt: &'a Prompt,
    window: Window,
    turn: Turn,
    /// What people are asked; each ends with what Claude Code is to be told.
    asking: JoinSet<(String, Value)>,
    asked: BTreeMap<String, AbortHandle>,
    /// When a turn that was called off has to be over.
    deadline: Option<Instant>,
}

impl<'a> UnderWay<'a> {
    pub fn new(process: &'a mut Process, prompt: &'a Prompt) -> Self {
        Self {
            process,
            prompt,
            window: Window::new(prompt.client.clone()),
            turn: Turn::default(),
            asking: JoinSet::new(),
            asked: BTreeMap::new(),
            deadline: None,
        }
    }

    pub async fn run(mut self) -> Answered<End> {
        loop {
            let deadline = self.deadline.unwrap_or_else(Instant::now);
            tokio::select! {
                // What was called off is not answered any more.
                biased;
                () = self.prompt.cancelled(), if self.deadline.is_none() => {
                    self.deadline = Some(Instant::now() + INTERRUPT_MAX);
                    self.asking.abort_all();
                    self.process.interrupt();
                }
                () = sleep_until(deadline), if self.deadline.is_some() => {
                    self.process.kill().await;
                    return Ok(interrupted(&self.turn.spent));
                }
                Some(answer) = self.asking.join_next() => {
                    // One that was withdrawn has none.
                    if let Ok((request, answer)) = answer {
                        self.asked.remove(&request);
                        self.process.answer(&request, &answer);
                    }
                }
                message = self.process.next() => match message {
                    Some(message) => if let Some(end) = self.on(message).await {
                        return Ok(end);
                    },
                    None if self.deadline.is_some() => return Ok(interrupted(&self.turn.spent)),
                    None => return self.process.ended().await,
                },
            }
        }
    }

    async fn on(&mut self, message: Message) -> Option<End> {
        for shown in self.turn.on(&message) {
            self.window.show(shown).await;
        }
        match message {
            Message::Began { version, .. } => {
                let why = too_old(&version)?;
                self.process.kill().await;
                return Some(failed(&why, &self.turn.spent));
            }
            Message::Ask { request, call } if self.deadline.is_some() => {
                self.process.answer(&request, &permission::refused(&call));
            }
            Message::Ask { request, call } => {
                let (client, name) = (self.prompt.client.clone(), request.clone());
                let asking = async move { (request, consent(client, &call).await) };
                self.asked.insert(name, self.asking.spawn(asking));
            }
            Message::Withdrawn { request } => {
                self.asked.remove(&request)?.abort();
            }
            Message::Request { request, subtype } => self.process.refuse(&request, &subtype),
            Message::Over(over) => return Some(self.over(&over)),
            _ => {}
        }
        None
    }

    fn over(&mut self, over: &wire::Over) -> End {
        self.process.is_busy = false;
        let spent = &mut self.turn.spent;
        spent.tokens = over.tokens;
        // It tells what all turns of the session have cost, or of its process.
        spent.dollars = over.total_cost.map(|total| {
            let before = std::mem::replace(&mut self.process.cost, total);
            if total < before { total } else { total - before }
        });
        match self.turn.failure(over) {
            _ if self.deadline.is_some() => interrupted(&self.turn.spent),
            None => answered(&self.turn.spent),
            Some(failure) => failure.end(&self.turn.spent),
        }
    }
}

/// Asks a person, and says what Claude Code is to be told.
async fn consent(client: Client, call: &wire::Asked) -> Value {
    let window = Window::new(client);
    match Way::of(call) {
        Way::Refused => permission::refused(call),
        Way::Permission => {
            permission::settled(call, window.ask(permission::permission(call)).await)
        }
        Way::Plan => permission::settled(call, window.ask(permission::plan(call)).await),
        Way::Questions(questions) => {
            let mut answers = Vec::new();
            for question in questions {
                let reply = window.ask(permission::question(call, &question)).await;
                match permission::answer(&question, reply) {
                    Some(answer) => answers.push((question, answer)),
                    None => return permission::chosen(call, None),
                }
            }
            permission::chosen(call, Some(permission::answers(answers)))
        }
    }
}
