//! One turn of an agent, from the prompt to its end. The agent sends updates, people answer its
//! questions or cancel it; whatever comes first is handled first.

pub mod active_turn;
pub mod conversation;
mod failed;
mod permission;
mod plan;
pub mod said;
mod transcript;
pub mod used;

use legwork_engine::{Hint, HostError, PromptUsage};
use legwork_protocol::api::Reply;
use legwork_protocol::api::transcript::Entry;
use legwork_protocol::{Cost, MessageId, QuestionId, SessionId};
use legwork_rpc::ID_MAX_BYTES;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use self::active_turn::{Turns, now};
use self::conversation::{Command, Commands, Facts};
use self::failed::{Failed, failed};
use self::permission::Options;
use self::said::Said;
use self::transcript::{Transcript, Update};
use self::used::Used;
use crate::agent::connection::{AgentConnection, refuse_unknown};
use crate::agent::failure::{Failure, What};
use crate::limits::{CANCEL_MAX, PROGRESS_EVERY, QUESTIONS_MAX, TEXT_MAX_BYTES, TOOLS_SHOWN_MAX};
use crate::session::session_log::{End, Line, SessionLog};
use crate::wire::{self, Message};

const PROMPT: &str = "session/prompt";

pub struct Turn<'a> {
    facts: &'a Facts,
    turns: &'a Turns,
    said: (&'a Said, &'a SessionLog),
    talk: &'a mut AgentConnection,
    /// The agent's id for the session.
    theirs: &'a str,
    transcript: Transcript,
    /// The prompt that it answers.
    message: MessageId,
    used: Used,
    /// What the session had cost before, as the agent counts it.
    cost_before: Option<Cost>,
    /// Requests for a permission without an answer.
    open: Vec<Asked>,
    asked: u32,
    /// Set when it was called off: how long it may still take.
    called_off: Option<Instant>,
    next_progress: Instant,
    /// Tool calls that were passed on since the last progress.
    tools_shown: u32,
    /// It has cost more than was passed on.
    owes_cost: bool,
}

struct Asked {
    question: QuestionId,
    request: Value,
    /// The agent's id of the tool call that it is about.
    call: String,
    options: Options,
}

impl<'a> Turn<'a> {
    pub fn new(
        facts: &'a Facts,
        (turns, said): (&'a Turns, (&'a Said, &'a SessionLog)),
        talk: &'a mut AgentConnection,
        theirs: &'a str,
        (message, cost_before): (MessageId, Option<Cost>),
    ) -> Self {
        let used = Used { model: talk.model.clone(), ..Used::default() };
        Self {
            message,
            used,
            cost_before,
            facts,
            turns,
            said,
            talk,
            theirs,
            transcript: Transcript::default(),
            open: Vec::new(),
            asked: 0,
            called_off: None,
            next_progress: Instant::now(),
            tools_shown: 0,
            owes_cost: false,
        }
    }

    pub async fn run(mut self, text: &str, commands: &mut Commands) -> End {
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": self.theirs, "prompt": prompt });
        let id = self.talk.ask(PROMPT, &params);
        // What an earlier turn said is not this one's.
        self.talk.process.take_unread();
        let end = self.until_answered(id, commands).await;
        let unread = self.talk.process.take_unread();
        let said = with_note(self.transcript.answer(), unread);
        let stop = |answer: &Value| answer["stopReason"].as_str().unwrap_or("").to_owned();
        let end = end.map(|answer| answer.map(|answer| (stop(&answer), answer)));
        match end {
            Ok(Some((stop, answer))) if stop == "end_turn" => {
                match failed(&self.transcript, &answer, text) {
                    None => End::Answered { text: said },
                    Some(_) if self.called_off.is_some() => End::Aborted { text: said },
                    Some(Failed { why, said }) => {
                        let failure = Failure::new(&self.talk.agent.name, What::Stopped(why), "");
                        End::Failed { reason: with_text(&failure, &with_note(&said, unread)) }
                    }
                }
            }
            _ if self.called_off.is_some() => End::Aborted { text: said },
            Ok(None) => End::Aborted { text: said },
            Ok(Some((stop, _))) if stop == "cancelled" => End::Aborted { text: said },
            Ok(Some((stop, _))) => {
                let failure = self.talk.process.failure(What::Stopped(stopped(&stop)));
                End::Failed { reason: with_text(&failure, &said) }
            }
            Err(failure) => End::Failed { reason: with_text(&failure, &said) },
        }
    }

    /// The answer to the prompt; nothing if the turn did not stop in time when it was called off.
    async fn until_answered(
        &mut self,
        prompt: u64,
        commands: &mut Commands,
    ) -> Result<Option<Value>, Failure> {
        loop {
            let overdue = self.called_off.unwrap_or_else(Instant::now);
            tokio::select! {
                message = self.talk.process.next("in the middle of a turn") => match message? {
                    Message::Response { id, outcome } if id == prompt => {
                        let answer = outcome.map_err(|error| self.talk.refused(PROMPT, &error))?;
                        self.used.answered(&answer);
                        self.turns.used(&self.facts.session, self.used.clone());
                        return Ok(Some(answer));
                    }
                    message => self.heard(message)?,
                },
                Some(command) = commands.next_in_turn() => self.told(command),
                () = sleep_until(overdue), if self.called_off.is_some() => return Ok(None),
                () = sleep_until(self.next_progress), if self.owes_cost => {
                    self.progress(Update::Life);
                }
            }
        }
    }

    fn heard(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Notification { method, params } if method == "session/update" => {
                if params["sessionId"] == self.theirs {
                    self.keep(self.said.0.hear(&self.facts.session, &params["update"]));
                    let update = self.transcript.take(&params["update"]);
                    self.progress(update);
                }
                if self.transcript.is_flood() {
                    let flood = What::Flood { what: "an answer", max_bytes: TEXT_MAX_BYTES };
                    return Err(self.talk.process.failure(flood));
                }
            }
            Message::Request { id, method, params } if method == "session/request_permission" => {
                self.permission(id, &params);
            }
            Message::Request { id, method, .. } => {
                self.talk.process.send(refuse_unknown(&id, &method));
            }
            Message::Notification { .. } | Message::Response { .. } => {}
        }
        Ok(())
    }

    /// Writes down what is complete, for people. That a disk is full is said when the turn ends.
    fn keep(&self, complete: Vec<Entry>) {
        for entry in complete {
            let _ = self.said.1.append(&self.facts.session, &Line::Said { entry });
        }
    }

    fn progress(&mut self, update: Update) {
        let session = self.facts.session.clone();
        let mut tool = None;
        match update {
            Update::Tool(title) => tool = Some(title),
            Update::Cost(cost) => {
                if self.used.session_cost != Some(cost) {
                    let line = Line::Cost { session_cost: cost };
                    // A full disk is said when the turn ends.
                    let _ = self.said.1.append(&session, &line);
                }
                self.used.session_costs(cost, self.cost_before);
                self.owes_cost = true;
                self.turns.used(&session, self.used.clone());
            }
            Update::Life => {}
        }
        self.turns.moved(&session, self.transcript.tool_calls);
        let is_due = Instant::now() >= self.next_progress;
        if is_due {
            self.tools_shown = 0;
        }
        if is_due || tool.is_some() && self.tools_shown < TOOLS_SHOWN_MAX {
            self.tools_shown += 1;
            if is_due || self.tools_shown == 1 {
                self.next_progress = Instant::now() + PROGRESS_EVERY;
            }
            let (prompt, usage) = (self.message.clone(), self.used.usage());
            let used = Some(PromptUsage { prompt, usage }).filter(|_| !self.used.is_unknown());
            self.owes_cost = false;
            self.facts.hint(Hint::Progress { session, tool, used });
        }
    }

    fn permission(&mut self, request: Value, params: &Value) {
        let options = Options::of(params);
        self.keep(self.said.0.mentioned(&self.facts.session, &params["toolCall"]));
        let update = self.transcript.mentioned(&params["toolCall"]);
        self.progress(update);
        let by_policy = if self.called_off.is_some() || self.open.len() >= QUESTIONS_MAX {
            Some(permission::called_off())
        } else {
            permission::by_policy(self.talk.agent.permissions, &options)
        };
        if let Some(answer) = by_policy {
            self.talk.process.send(wire::answer(&request, &answer));
            return;
        }
        let Some(id) = question_id(&self.facts.session, self.asked) else { return };
        self.asked += 1;
        let question = permission::question(id.clone(), params, &options);
        let call = params["toolCall"]["toolCallId"].as_str().unwrap_or_default();
        let call = if call.len() <= ID_MAX_BYTES { call.to_owned() } else { String::new() };
        self.open.push(Asked { question: id, request, call, options });
        self.turns.asked(&self.facts.session, question.clone());
        self.facts.hint(Hint::Asked { session: self.facts.session.clone(), question });
    }

    fn told(&mut self, command: Command) {
        match command {
            Command::Cancel => self.call_off(),
            Command::Answer { question, reply, done } => {
                // The one who asked may be gone.
                let _ = done.send(self.answer(&question, &reply));
            }
            Command::Load(done) => {
                let _ = done.send(Ok(()));
            }
            // Those wait for the end of the turn.
            Command::Prompt { .. } | Command::End => {}
        }
    }

    fn answer(&mut self, question: &QuestionId, reply: &Reply) -> Result<(), HostError> {
        let at = self.open.iter().position(|asked| asked.question == *question);
        let asked = &self.open[at.ok_or(HostError::Gone)?];
        let answer = permission::by_person(reply, &asked.options)
            .map_err(|why| HostError::Rejected { why })?;
        self.talk.process.send(wire::answer(&asked.request, &answer));
        let is_allowed = matches!(reply, Reply::Once | Reply::Always);
        self.said.0.answered(&self.facts.session, &asked.call, is_allowed);
        self.open.retain(|asked| asked.question != *question);
        let session = self.facts.session.clone();
        self.turns.answered(&session, question);
        let (question, reply) = (question.clone(), Some(reply.clone()));
        self.facts.hint(Hint::Answered { session, question, reply });
        Ok(())
    }

    fn call_off(&mut self) {
        if self.called_off.is_some() {
            return;
        }
        self.called_off = Some(Instant::now() + CANCEL_MAX);
        let params = json!({ "sessionId": self.theirs });
        self.talk.process.send(wire::notification("session/cancel", &params));
        for asked in self.open.drain(..) {
            let answer = wire::answer(&asked.request, &permission::called_off());
            self.talk.process.send(answer);
            self.turns.answered(&self.facts.session, &asked.question);
        }
    }
}

/// A question's id is made of the moment, so that it is another one after a restart.
fn question_id(session: &SessionId, number: u32) -> Option<QuestionId> {
    format!("ask-{session}-{:x}-{number}", now().0).parse().ok()
}

fn stopped(reason: &str) -> String {
    match reason {
        "max_tokens" => "stopped at its limit of tokens.".to_owned(),
        "max_turn_requests" => "stopped at its limit of requests in one turn.".to_owned(),
        "refusal" => "refused to go on.".to_owned(),
        "" => "ended its turn without saying why.".to_owned(),
        other => format!("stopped for the reason {other:?}."),
    }
}

fn with_text(failure: &Failure, text: &str) -> String {
    if text.is_empty() { failure.to_string() } else { format!("{failure}\n\n{text}") }
}

/// What is missing of an answer is said with it: whoever reads it takes it for the whole.
fn with_note(text: &str, unread: u32) -> String {
    let lines = match unread {
        0 => return text.to_owned(),
        1 => "1 line".to_owned(),
        many => format!("{many} lines"),
    };
    let note = format!(
        "Note by legwork: {lines} of the agent's output could not be read, so something of what it \
         said or did may be missing here."
    );
    if text.is_empty() { note } else { format!("{text}\n\n{note}") }
}
