//! How a prompt gets into a session: the 204 first, everything else afterwards. What is then done
//! about it is a turn's business.

use std::sync::Arc;

use legwork_protocol::{MessageId, PartId, SessionId, Time};

use super::OpenCode;
use super::api::ApiError;
use super::events::{Kind, ProcessNo};
use super::script::{self, Step};
use super::storage::{Body, Message, Part, Session, Tally, User};
use super::turn::{Phase, Turn};
use super::world::What;

/// The body of `prompt_async`.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub message: MessageId,
    /// What it says. The first part may be a script. Without parts, the message of this id is
    /// answered as it is (seen in 1.18.33).
    pub parts: Vec<Part>,
    /// Who is to answer; the host's default when it is not said.
    pub agent: Option<Arc<str>>,
    /// Store it without starting a turn.
    pub no_reply: bool,
    /// Whether it bears our mark; without it the host takes it for a person's.
    pub ours: bool,
}

impl OpenCode {
    /// `POST /session/:id/prompt_async`. Success is the 204, which proves nothing: the agent, the
    /// model and the rest are looked at later.
    pub fn prompt_async(
        &mut self,
        process: ProcessNo,
        session: &SessionId,
        prompt: Prompt,
    ) -> Result<(), ApiError> {
        self.up(process)?;
        let number = self.known(session)?;
        if !prompt.message.as_str().starts_with("msg") {
            return Err(ApiError::BadRequest("Expected a string starting with \"msg\"".into()));
        }
        if !prompt.parts.iter().all(|part| part.id.as_str().starts_with("prt")) {
            return Err(ApiError::BadRequest("Expected a string starting with \"prt\"".into()));
        }
        // Into a busy session it is stored at once (seen in 1.18.33).
        let busy = self.turn(process, number).is_some();
        let ms = if busy { 0 } else { self.world.within(self.world.nasty.store_ms) };
        if ms == 0 {
            self.accept(process, number, prompt);
        } else {
            self.world.plan(ms, process, number, What::Accept(Box::new(prompt)));
        }
        Ok(())
    }

    /// Puts a message into a session for good, at once and without a turn, unless it is there.
    pub fn put(&mut self, session: &SessionId, prompt: Prompt) -> Result<(), ApiError> {
        let number = self.known(session)?;
        let agent = self.default_agent.clone();
        let session = &mut self.storage.sessions[number];
        if !session.messages.iter().any(|message| message.id == prompt.message) {
            session.store(prompt, agent, self.world.now, false).stored += 1;
        }
        Ok(())
    }

    /// A person writes into a session, in this process's window.
    pub fn used(
        &mut self,
        process: ProcessNo,
        session: &SessionId,
        agent: &Arc<str>,
        text: &str,
    ) -> Result<MessageId, ApiError> {
        self.up(process)?;
        let number = self.known(session)?;
        let message: MessageId = self.world.fresh(b"msg_");
        let id: PartId = self.world.fresh(b"prt_");
        let prompt = Prompt {
            message: message.clone(),
            parts: vec![Part { id, text: text.into(), synthetic: false }],
            agent: Some(agent.clone()),
            no_reply: false,
            ours: false,
        };
        self.accept(process, number, prompt);
        Ok(message)
    }

    pub(super) fn accept(&mut self, process: ProcessNo, number: usize, prompt: Prompt) {
        if self.storage.sessions[number].deleted {
            let why = "UnknownError: Session not found".into();
            return self.reject(process, number, why);
        }
        self.settle_undo(process, number, prompt.ours);
        let agent = prompt.agent.clone().unwrap_or_else(|| self.default_agent.clone());
        if !self.agents.iter().any(|known| known.name == agent) {
            return self.reject(process, number, self.no_agent(process, &agent));
        }
        let owner = *self.storage.owner.entry(prompt.message.clone()).or_insert(number);
        if owner != number {
            // The same id in another session: the message is not created (seen in 1.18.33).
            let why = "UnknownError: UNIQUE constraint failed: message.id".into();
            return self.reject(process, number, why);
        }
        let running = self.turn(process, number).is_some();
        let reorders = self.world.nasty.resend_reorders;
        let session = &mut self.storage.sessions[number];
        let (ours, no_reply) = (prompt.ours, prompt.no_reply);
        let tally = session.store(prompt, agent, self.world.now, reorders);
        tally.stored += 1;
        tally.joined += u32::from(running);
        tally.started += u32::from(!running && !no_reply);
        if !ours {
            self.world.emit(process, &session.id, Kind::Used);
        }
        if running {
            self.join(process, number);
        } else if !no_reply {
            self.start(process, number);
        }
    }

    /// A prompt makes an undo permanent, whatever else becomes of it (seen in 1.18.33).
    fn settle_undo(&mut self, process: ProcessNo, number: usize, ours: bool) {
        let session = &mut self.storage.sessions[number];
        if session.revert_pending {
            session.revert_pending = false;
            session.facts.undos_destroyed += u32::from(ours);
            self.world.emit(process, &session.id, Kind::Updated);
        }
    }

    /// An error and nothing else: no message, no status, no idle (seen in 1.18.33).
    fn reject(&mut self, process: ProcessNo, number: usize, why: Arc<str>) {
        let session = &self.storage.sessions[number].id;
        self.world.emit(process, session, Kind::Error { why });
        if self.world.nasty.errors_twice {
            let again = What::Error(self.world.words.twice.clone());
            let ms = self.world.within((0, 50));
            self.world.plan(ms, process, number, again);
        }
    }

    fn no_agent(&self, process: ProcessNo, agent: &str) -> Arc<str> {
        let known: Vec<&str> = self.agents(process).map(|known| &*known.name).collect();
        let known = known.join(", ");
        format!("UnknownError: Agent not found: \"{agent}\". Available agents: {known}").into()
    }

    fn join(&mut self, process: ProcessNo, number: usize) {
        let swallows = self.world.nasty.error_swallows;
        if let Some(turn) = self.processes[process.0 as usize].turn_mut(number) {
            turn.again = !swallows && matches!(turn.phase, Phase::Failing(_));
        }
    }

    fn start(&mut self, process: ProcessNo, number: usize) {
        let mut turn = Turn::new(process, number);
        let ms = self.world.within(self.world.nasty.busy_ms);
        if ms > 0 {
            turn.timer = Some(self.world.plan(ms, process, number, What::Step));
        }
        self.processes[process.0 as usize].turns.push(turn);
        if ms == 0 {
            self.drive(process, number, Turn::begin);
        }
    }
}

impl Session {
    /// Writes a message, or writes it again.
    fn store(&mut self, prompt: Prompt, agent: Arc<str>, now: Time, reorders: bool) -> &mut Tally {
        let script = prompt.parts.first().and_then(|part| script::parse(&part.text));
        let known = self.messages.iter().rposition(|message| message.id == prompt.message);
        let Some(place) = known else {
            return self.append(prompt, agent, script, now);
        };
        let place = if reorders {
            self.messages[place..].rotate_left(1);
            self.messages.len() - 1
        } else {
            place
        };
        let message = &mut self.messages[place];
        message.created = now;
        let Body::User(user) = &mut message.body else {
            unreachable!("an assistant's message has an id that no client has made")
        };
        user.agent = agent;
        user.no_reply = prompt.no_reply;
        user.script = script.or_else(|| user.script.take());
        // A part that is there already is replaced, any other is added (seen in 1.18.33).
        for part in prompt.parts {
            match user.parts.iter_mut().find(|known| known.id == part.id) {
                Some(known) => *known = part,
                None => user.parts.push(part),
            }
        }
        &mut user.tally
    }

    fn append(
        &mut self,
        prompt: Prompt,
        agent: Arc<str>,
        script: Option<Arc<[Step]>>,
        now: Time,
    ) -> &mut Tally {
        let Prompt { message: id, parts, ours, no_reply, .. } = prompt;
        let user = User { agent, parts, ours, no_reply, tally: Tally::default(), script };
        self.messages.push(Message { id, created: now, body: Body::User(user) });
        match self.messages.last_mut().map(|message| &mut message.body) {
            Some(Body::User(user)) => &mut user.tally,
            _ => unreachable!("it was pushed just now"),
        }
    }
}
