//! One helper's session with its agent, as long as something goes on in it: turns one after the
//! other, in one process. An agent that can resume a conversation is ended after each turn. One
//! that can only load it waits a minute for the next, because loading is slow and some do it badly.
//! One that can do neither waits as long as it may, because with its process it forgets everything.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use legwork_engine::{Hint, HostError};
use legwork_protocol::api::Reply;
use legwork_protocol::{Cost, MessageId, QuestionId, SessionId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::agent::connection::AgentConnection;
use crate::agent::failure::{Failure, What};
use crate::limits::{LOADED_MAX, SAVE_AGAIN, START_AGAIN, START_AGAIN_MAX};
use crate::local_host::Inner;
use crate::session::session_log::{End, Line, bound, session_cost};
use crate::turn::Turn;
use crate::turn::active_turn::now;

#[derive(Debug)]
pub enum Command {
    Prompt {
        message: MessageId,
        text: String,
    },
    /// Load the conversation, so that a prompt can follow.
    Load(oneshot::Sender<Result<(), Failure>>),
    Cancel,
    Answer {
        question: QuestionId,
        reply: Reply,
        done: oneshot::Sender<Result<(), HostError>>,
    },
    End,
}

#[derive(Debug)]
pub struct Commands {
    incoming: mpsc::UnboundedReceiver<Command>,
    /// Those that came during a turn and wait for its end.
    later: VecDeque<Command>,
}

/// What does not change about a session.
#[derive(Debug, Clone)]
pub struct Facts {
    pub session: SessionId,
    pub parent: SessionId,
    pub agent: String,
    pub directory: PathBuf,
    pub hints: mpsc::UnboundedSender<Hint>,
}

pub struct Conversation {
    commands: Commands,
    agent: AgentSession,
    /// What its turns have cost, as the agent counts them.
    session_cost: Option<Cost>,
}

/// All but the commands, which can come while it starts.
struct AgentSession {
    host: Arc<Inner>,
    facts: Facts,
    /// The agent's id for the session, once it has one.
    theirs: Option<String>,
    talk: Option<AgentConnection>,
}

impl Commands {
    pub fn new(incoming: mpsc::UnboundedReceiver<Command>) -> Self {
        Self { incoming, later: VecDeque::new() }
    }

    /// The next one that concerns a turn under way. Can be dropped and called again.
    pub async fn next_in_turn(&mut self) -> Option<Command> {
        loop {
            match self.incoming.recv().await? {
                later @ (Command::Prompt { .. } | Command::End) => self.later.push_back(later),
                command => return Some(command),
            }
        }
    }

    async fn next(&mut self) -> Option<Command> {
        match self.later.pop_front() {
            Some(command) => Some(command),
            None => self.incoming.recv().await,
        }
    }

    /// The next one, if it is there already.
    pub fn try_next(&mut self) -> Option<Command> {
        self.later.pop_front().or_else(|| self.incoming.try_recv().ok())
    }

    async fn cancelled(&mut self) {
        while let Some(command) = self.next_in_turn().await {
            match command {
                Command::Cancel => return,
                Command::Answer { done, .. } => {
                    let _ = done.send(Err(HostError::Gone));
                }
                Command::Load(_) | Command::Prompt { .. } | Command::End => {}
            }
        }
        // Without its host nobody is left to call it off.
        std::future::pending().await
    }
}

impl Facts {
    pub fn hint(&self, hint: Hint) {
        // Without the loop nobody is left to hear it.
        let _ = self.hints.send(hint);
    }
}

impl Conversation {
    pub fn new(host: Arc<Inner>, facts: Facts, commands: Commands, lines: &[Line]) -> Self {
        let theirs = bound(lines).map(|(session, _)| session.to_owned());
        let session_cost = session_cost(lines);
        Self { commands, session_cost, agent: AgentSession { host, facts, theirs, talk: None } }
    }

    pub async fn run(mut self) {
        while let Some(command) = self.next().await {
            match command {
                Command::Prompt { message, text } => self.turn(message, text).await,
                Command::Load(done) => {
                    let loaded = self.agent.start().await;
                    if loaded.is_err() {
                        self.agent.end().await;
                    }
                    // The one who asked may be gone.
                    let _ = done.send(loaded);
                }
                Command::Answer { done, .. } => {
                    let _ = done.send(Err(HostError::Gone));
                }
                Command::Cancel => {}
                Command::End => self.agent.end().await,
            }
        }
    }

    async fn next(&mut self) -> Option<Command> {
        let Self { commands, agent, .. } = self;
        loop {
            let Some(talk) = &mut agent.talk else {
                return agent.host.retire(&agent.facts.session, commands);
            };
            let loads = talk.introduction.loads;
            let waits = async {
                if loads { sleep(LOADED_MAX).await } else { std::future::pending().await }
            };
            tokio::select! {
                command = commands.next() => return command,
                // Whatever it says now is not wanted; that it ended is.
                said = talk.process.next("while it had nothing to do") => if said.is_err() {
                    agent.end().await;
                },
                () = waits => agent.end().await,
            }
        }
    }

    async fn turn(&mut self, message: MessageId, text: String) {
        let (host, session) = (self.agent.host.clone(), self.agent.facts.session.clone());
        host.turns.begin(&session, message.clone());
        host.said.begin(&session, &message);
        let end = self.work(message.clone(), &text).await;
        let going = host.turns.of(&session).map(|going| (going.tool_calls, going.used));
        let (tool_calls, used) = going.unwrap_or_default();
        self.session_cost = used.session_cost.or(self.session_cost);
        let is_over = !matches!(end, End::Answered { .. });
        host.turns.ended(&session, end.clone());
        for entry in host.said.end(&session, end.text()) {
            // For people to read; the end itself is tried until it is written.
            let _ = host.kept.append(&session, &Line::Said { entry });
        }
        let at = Some(now());
        let end = Line::End { message: message.clone(), end, tool_calls, used, at };
        self.agent.save(&end).await;
        host.turns.forget(&session, &message);
        host.said.forget(&session, &message);
        self.agent.facts.hint(Hint::Changed { session: session.clone() });
        let resumes = self.agent.talk.as_ref().is_none_or(|talk| talk.introduction.resumes);
        if is_over || resumes {
            self.agent.end().await;
        } else {
            host.is_idle(&session);
        }
    }

    async fn work(&mut self, message: MessageId, text: &str) -> End {
        let started = tokio::select! {
            started = self.agent.start_in_time() => started,
            () = self.commands.cancelled() => {
                return End::Aborted { text: String::new() };
            }
        };
        if let Err(failure) = started {
            return End::Failed { reason: failure.to_string() };
        }
        let AgentSession { host, facts, theirs: Some(theirs), talk: Some(talk) } = &mut self.agent
        else {
            return End::Failed { reason: "The agent has no session.".to_owned() };
        };
        let prompt = (message, self.session_cost);
        let shared = (&host.turns, (&host.said, &host.kept));
        Turn::new(facts, shared, talk, theirs, prompt).run(text, &mut self.commands).await
    }
}

impl AgentSession {
    /// Starts it, and waits while the system has no file or process left for it: others will end.
    async fn start_in_time(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + START_AGAIN_MAX;
        let mut is_said = false;
        loop {
            match self.start().await {
                Err(failure) if failure.is_shortage() && Instant::now() < deadline => {
                    if !std::mem::replace(&mut is_said, true) {
                        let session = &self.facts.session;
                        self.host.trouble(&format!("{session} has to wait. {failure}"));
                    }
                    sleep(START_AGAIN).await;
                }
                started => return started,
            }
        }
    }

    /// Sees to it that the agent is there and has the session open.
    async fn start(&mut self) -> Result<(), Failure> {
        if self.talk.is_some() {
            return Ok(());
        }
        let Self { host, facts, .. } = self;
        let environment = host.environments.of([&facts.session, &facts.parent]);
        let environment = environment.as_deref();
        let path = environment.and_then(|environment| environment.get("PATH"));
        let agent = host.agent(&facts.agent, path).ok_or_else(|| not_there(&facts.agent))?;
        let family = &host.setup.family;
        let mut new = AgentConnection::begin(&agent, &facts.directory, environment, family).await?;
        let model = host.kept.chosen_model(&facts.parent);
        if let Some(session) = &self.theirs {
            new.take_up(session, &facts.directory, model.as_deref()).await?;
        } else {
            let session = new.open(&facts.directory, model.as_deref()).await?;
            let loads = new.introduction.loads;
            let bound = Line::Bound { session: session.clone(), loads };
            // Without this line the conversation cannot be taken up later, which is then said.
            if let Err(error) = host.kept.append(&facts.session, &bound) {
                let session = &facts.session;
                host.trouble(&format!("the agent's id of {session} cannot be kept: {error}"));
            }
            self.theirs = Some(session);
        }
        self.talk = Some(new);
        Ok(())
    }

    /// Writes a line down, however long that takes: an end must not be lost because a disk is full.
    async fn save(&self, line: &Line) {
        let session = &self.facts.session;
        while let Err(error) = self.host.kept.append(session, line) {
            self.host.trouble(&format!("the end of a turn in {session} cannot be kept: {error}"));
            sleep(SAVE_AGAIN).await;
        }
        // Written it is, and a kill of the daemon does not lose it.
        if let Err(error) = self.host.sync(session).await {
            self.host.trouble(&format!("{session} cannot be synced to the disk: {error}"));
        }
    }

    async fn end(&mut self) {
        if let Some(talk) = self.talk.take() {
            talk.process.end().await;
        }
    }
}

/// It was there when the task was launched.
fn not_there(name: &str) -> Failure {
    Failure::new(name, What::Stopped("is not known any more.".to_owned()), "")
}
