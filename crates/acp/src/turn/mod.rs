//! One turn of an agent, from the prompt to its end. The agent sends updates, people answer its
//! questions or cancel it; whatever comes first is handled first.

pub mod active_turn;
mod answer;
pub mod conversation;
mod failed;
mod permission;
pub mod record;
mod update;
pub mod used;

use legwork_engine::{Hint, HostError, PromptUsage};
use legwork_protocol::api::Reply;
use legwork_protocol::json_rpc::ID_MAX_BYTES;
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::refusal::plain;
use legwork_protocol::{Cost, MessageId, QuestionId, SessionId};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use self::active_turn::now;
use self::conversation::{Command, Commands, SessionProperties};
use self::failed::{Failed, failed};
use self::permission::Options;
use self::record::{Progress, Taken, TurnRecord};
use self::used::Used;
use crate::agent::connection::{AgentConnection, refuse_unknown};
use crate::agent::failure::{Failure, What};
use crate::agents::Permissions;
use crate::limits::{CANCEL_MAX, PROGRESS_EVERY, QUESTIONS_MAX, TEXT_MAX_BYTES, TOOLS_SHOWN_MAX};
use crate::local_host::Inner;
use crate::session::session_log::{End, Line};
use crate::wire::{self, MESSAGE, Message};

const PROMPT: &str = "session/prompt";

pub struct Turn<'a> {
    host: &'a Inner,
    properties: &'a SessionProperties,
    connection: &'a mut AgentConnection,
    /// The agent's id for the session.
    agent_session: &'a str,
    /// The prompt of the turn.
    message: MessageId,
    used: Used,
    /// What the session had cost before, as the agent counts it.
    cost_before: Option<Cost>,
    /// Requests for a permission without an answer.
    open: Vec<OpenQuestion>,
    asked: u32,
    /// When a cancelled turn must be over.
    called_off: Option<Instant>,
    next_progress: Instant,
    /// Tool calls that were passed on since the last progress hint.
    tools_shown: u32,
    /// True if the turn has cost more than was passed on.
    owes_cost: bool,
}

struct OpenQuestion {
    question: QuestionId,
    subject: String,
    request: Value,
    /// The agent's id of the tool call that it is about.
    call: String,
    options: Options,
}

impl<'a> Turn<'a> {
    pub fn new(
        host: &'a Inner,
        properties: &'a SessionProperties,
        connection: &'a mut AgentConnection,
        agent_session: &'a str,
        message: MessageId,
        cost_before: Option<Cost>,
    ) -> Self {
        let used = Used { model: connection.model.clone(), ..Used::default() };
        Self {
            host,
            properties,
            connection,
            agent_session,
            message,
            used,
            cost_before,
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
        let mut params = json!({ "sessionId": self.agent_session, "prompt": prompt });
        if self.connection.introduction.looks {
            params["_meta"] = json!({ MESSAGE: self.message });
        }
        let id = self.connection.ask(PROMPT, &params);
        // What an earlier turn said is not this one's.
        self.connection.process.take_unread();
        let end = self.until_answered(id, commands).await;
        let unread = self.connection.process.take_unread();
        let answer =
            self.host.records.read(&self.properties.session, |record| record.answer.clone());
        let answer = answer.unwrap_or_default();
        let said = with_notes(answer.text(), unread, answer.refused.as_deref());
        let result = match end {
            Ok(Some(result)) => result,
            Err(failure) if self.called_off.is_none() => {
                return End::Failed { reason: with_text(&failure, &said) };
            }
            Ok(None) | Err(_) => return End::Aborted { text: said },
        };
        match result["stopReason"].as_str().unwrap_or_default() {
            "end_turn" => match failed(&answer, &result, text) {
                None => End::Answered { text: said },
                Some(_) if self.called_off.is_some() => End::Aborted { text: said },
                Some(Failed { why, said }) => {
                    let failure = Failure::new(&self.connection.agent.name, What::Stopped(why), "");
                    End::Failed { reason: with_text(&failure, &with_notes(&said, unread, None)) }
                }
            },
            _ if self.called_off.is_some() => End::Aborted { text: said },
            "cancelled" => End::Aborted { text: said },
            reason => {
                let failure = self.connection.process.failure(What::Stopped(stopped(reason)));
                End::Failed { reason: with_text(&failure, &said) }
            }
        }
    }

    /// The result of the prompt. None if a cancelled turn did not stop in time.
    async fn until_answered(
        &mut self,
        prompt: u64,
        commands: &mut Commands,
    ) -> Result<Option<Value>, Failure> {
        loop {
            let overdue = self.called_off.unwrap_or_else(Instant::now);
            tokio::select! {
                message = self.connection.process.next("in the middle of a turn") => match message? {
                    Message::Response { id, outcome } if id == prompt => {
                        let told = outcome.as_ref().unwrap_or_else(|error| &error.data);
                        self.used.answered(told);
                        self.host.turns.used(&self.properties.session, self.used.clone());
                        let answer = outcome.map_err(|error| self.connection.refused(PROMPT, &error));
                        return answer.map(Some);
                    }
                    message => self.on_message(message)?,
                },
                Some(command) = commands.next_in_turn() => self.on_command(command),
                () = sleep_until(overdue), if self.called_off.is_some() => return Ok(None),
                () = sleep_until(self.next_progress), if self.owes_cost => {
                    self.progress(Progress::Life);
                }
            }
        }
    }

    fn on_message(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Notification { method, params } if method == "session/update" => {
                if params["sessionId"] == self.agent_session {
                    self.take(|record| record.take(&params["update"]));
                }
                let records = &self.host.records;
                let is_flood =
                    records.read(&self.properties.session, |record| record.answer.is_flood());
                if is_flood.unwrap_or_default() {
                    let flood = What::Flood { what: "an answer", max_bytes: TEXT_MAX_BYTES };
                    return Err(self.connection.process.failure(flood));
                }
            }
            Message::Request { id, method, params } if method == "session/request_permission" => {
                self.permission(id, &params);
            }
            Message::Request { id, method, .. } => {
                self.connection.process.send(refuse_unknown(&id, &method));
            }
            Message::Notification { .. } | Message::Response { .. } => {}
        }
        Ok(())
    }

    /// Changes the record, logs the entries that are complete, and passes the progress on.
    fn take(&mut self, change: impl FnOnce(&mut TurnRecord) -> Taken) {
        let session = &self.properties.session;
        let changed =
            self.host.records.change(session, |record| (change(record), record.tool_calls));
        let Some((Taken { complete, progress }, tool_calls)) = changed else { return };
        for entry in complete {
            // A full disk is reported when the turn ends.
            let _ = self.host.log.append(session, &Line::Said { entry });
        }
        self.host.turns.moved(session, tool_calls);
        self.progress(progress);
    }

    fn progress(&mut self, progress: Progress) {
        let session = self.properties.session.clone();
        let mut tool = None;
        match progress {
            Progress::Tool(title) => tool = Some(title),
            Progress::Cost(cost) => {
                if self.used.session_cost != Some(cost) {
                    let line = Line::Cost { session_cost: cost };
                    // A full disk is reported when the turn ends.
                    let _ = self.host.log.append(&session, &line);
                }
                self.used.session_costs(cost, self.cost_before);
                self.owes_cost = true;
                self.host.turns.used(&session, self.used.clone());
            }
            Progress::Life => {}
        }
        let is_due = Instant::now() >= self.next_progress;
        if is_due {
            self.tools_shown = 0;
        }
        if is_due || tool.is_some() && self.tools_shown < TOOLS_SHOWN_MAX {
            self.tools_shown += 1;
            if is_due || self.tools_shown == 1 {
                self.next_progress = Instant::now() + PROGRESS_EVERY;
            }
            let used = (!self.used.is_unknown())
                .then(|| PromptUsage { prompt: self.message.clone(), usage: self.used.usage() });
            self.owes_cost = false;
            self.properties.hint(Hint::Progress { session, tool, used });
        }
    }

    fn permission(&mut self, request: Value, params: &Value) {
        let options = Options::of(params);
        self.take(|record| record.mentioned(&params["toolCall"]));
        let by_policy = if self.called_off.is_some() || self.open.len() >= QUESTIONS_MAX {
            Some(permission::called_off())
        } else {
            permission::by_policy(self.connection.agent.permissions, &options)
        };
        let Some(id) = question_id(&self.properties.session, self.asked) else { return };
        let question = permission::question(id.clone(), params, &options);
        if let Some(answer) = by_policy {
            self.connection.process.send(wire::answer(&request, &answer));
            if self.connection.agent.permissions == Permissions::Reject {
                self.refused(&question.subject);
            }
            return;
        }
        self.asked += 1;
        let call = params["toolCall"]["toolCallId"]
            .as_str()
            .filter(|call| call.len() <= ID_MAX_BYTES)
            .unwrap_or_default()
            .to_owned();
        let subject = question.subject.clone();
        self.open.push(OpenQuestion { question: id, subject, request, call, options });
        self.host.turns.asked(&self.properties.session, question.clone());
        self.properties.hint(Hint::Asked { session: self.properties.session.clone(), question });
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Cancel => self.call_off(),
            Command::Answer { question, reply, done } => {
                // The one who asked may be gone.
                let _ = done.send(self.answer(&question, &reply));
            }
            Command::Load(done) => {
                let _ = done.send(Ok(()));
            }
            // `Commands` keeps these until the turn is over.
            Command::Prompt { .. } | Command::End => {}
        }
    }

    fn answer(&mut self, question: &QuestionId, reply: &Reply) -> Result<(), HostError> {
        let at = self.open.iter().position(|asked| asked.question == *question);
        let at = at.ok_or(HostError::Gone)?;
        let asked = &self.open[at];
        let answer = permission::by_person(reply, &asked.options)
            .map_err(|why| HostError::Rejected { why })?;
        self.connection.process.send(wire::answer(&asked.request, &answer));
        let is_allowed = matches!(reply, Reply::Once | Reply::Always);
        self.host.records.change(&self.properties.session, |record| {
            record.answered(&asked.call, is_allowed);
        });
        let asked = self.open.remove(at);
        if !is_allowed {
            self.refused(&asked.subject);
        }
        let session = self.properties.session.clone();
        self.host.turns.answered(&session, question);
        self.properties.hint(Hint::Answered {
            session,
            question: question.clone(),
            reply: Some(reply.clone()),
        });
        Ok(())
    }

    fn refused(&self, subject: &str) {
        let subject = plain(subject, HOST_TEXT_MAX_CHARS);
        let session = &self.properties.session;
        self.host.records.change(session, |record| record.answer.refused = Some(subject));
    }

    fn call_off(&mut self) {
        if self.called_off.is_some() {
            return;
        }
        self.called_off = Some(Instant::now() + CANCEL_MAX);
        let params = json!({ "sessionId": self.agent_session });
        self.connection.process.send(wire::notification("session/cancel", &params));
        for asked in self.open.drain(..) {
            let answer = wire::answer(&asked.request, &permission::called_off());
            self.connection.process.send(answer);
            self.host.turns.answered(&self.properties.session, &asked.question);
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

/// Adds notes about lines that could not be read, because a reader takes an answer for the whole,
/// and about a refusal after which the agent said nothing.
fn with_notes(text: &str, unread: u32, refused: Option<&str>) -> String {
    let unread = match unread {
        0 => None,
        1 => Some("1 line".to_owned()),
        many => Some(format!("{many} lines")),
    };
    let unread = unread.map(|lines| {
        format!(
            "Note by legwork: {lines} of the agent's output could not be read, so something of \
             what it said or did may be missing here."
        )
    });
    let refused = refused.map(|subject| {
        format!("Note by legwork: the agent said nothing more after this was refused: {subject}")
    });
    let text = Some(text.to_owned()).filter(|text| !text.is_empty());
    text.into_iter().chain(unread).chain(refused).collect::<Vec<_>>().join("\n\n")
}
