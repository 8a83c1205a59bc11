//! One helper's session with its agent, as long as something goes on in it: turns one after the
//! other, in one process. An agent that can resume a conversation is ended after each turn. One
//! that can only load it waits a minute for the next, because loading is slow and some do it badly.
//! One that can do neither waits as long as it may, because with its process it forgets everything.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use legwork_engine::{Hint, HostError};
use legwork_protocol::api::Reply;
use legwork_protocol::{MessageId, QuestionId, SessionId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::agent::connection::AgentConnection;
use crate::agent::failure::{Failure, What};
use crate::agents::Permissions;
use crate::limits::{LOADED_MAX, SAVE_AGAIN, START_AGAIN, START_AGAIN_MAX};
use crate::local_host::Inner;
use crate::session::session_log::{End, Line, bound};
use crate::turn::Turn;

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
    host: Arc<Inner>,
    facts: Facts,
    commands: Commands,
    /// The agent's id for the session, once it has one.
    theirs: Option<String>,
    talk: Option<(AgentConnection, Permissions)>,
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
        Self { host, facts, commands, theirs, talk: None }
    }

    /// Does what it is told until nothing is left to do.
    pub async fn run(mut self) {
        while let Some(command) = self.next().await {
            match command {
                Command::Prompt { message, text } => self.turn(message, text).await,
                Command::Load(done) => {
                    let loaded = self.take_up().await;
                    if loaded.is_err() {
                        self.end().await;
                    }
                    // The one who asked may be gone.
                    let _ = done.send(loaded);
                }
                Command::Answer { done, .. } => {
                    let _ = done.send(Err(HostError::Gone));
                }
                Command::Cancel => {}
                Command::End => self.end().await,
            }
        }
    }

    async fn next(&mut self) -> Option<Command> {
        loop {
            let Some((talk, _)) = &mut self.talk else {
                return self.host.retire(&self.facts.session, &mut self.commands);
            };
            let loads = talk.introduction.loads;
            let waits = async {
                if loads { sleep(LOADED_MAX).await } else { std::future::pending().await }
            };
            tokio::select! {
                command = self.commands.next() => return command,
                // Whatever it says now is not wanted; that it ended is.
                said = talk.process.next("while it had nothing to do") => if said.is_err() {
                    self.end().await;
                },
                () = waits => self.end().await,
            }
        }
    }

    async fn turn(&mut self, message: MessageId, text: String) {
        let session = self.facts.session.clone();
        self.host.turns.begin(&session, message.clone());
        let end = self.work(&text).await;
        let tool_calls = self.host.turns.of(&session).map_or(0, |going| going.tool_calls);
        let is_over = !matches!(end, End::Answered { .. });
        self.host.turns.ended(&session, end.clone());
        self.save(&Line::End { message: message.clone(), end, tool_calls }).await;
        self.host.turns.forget(&session, &message);
        self.facts.hint(Hint::Changed { session: session.clone() });
        let resumes = self.talk.as_ref().is_none_or(|(talk, _)| talk.introduction.resumes);
        if is_over || resumes {
            self.end().await;
        } else {
            self.host.is_idle(&session);
        }
    }

    async fn work(&mut self, text: &str) -> End {
        let started = tokio::select! {
            started = start_in_time(
                &self.host, &self.facts, &mut self.talk, &mut self.theirs
            ) => started,
            () = self.commands.cancelled() => {
                return End::Aborted { text: String::new() };
            }
        };
        if let Err(failure) = started {
            return End::Failed { reason: failure.to_string() };
        }
        let (Some((talk, permissions)), Some(theirs)) = (&mut self.talk, &self.theirs) else {
            return End::Failed { reason: "The agent has no session.".to_owned() };
        };
        let turn = Turn::new(&self.facts, &self.host.turns, talk, theirs, *permissions);
        turn.run(text, &mut self.commands).await
    }

    async fn take_up(&mut self) -> Result<(), Failure> {
        start(&self.host, &self.facts, &mut self.talk, &mut self.theirs).await
    }

    /// Writes a line down, however long that takes: an end must not be lost because a disk is full.
    async fn save(&self, line: &Line) {
        while let Err(error) = self.host.kept.append(&self.facts.session, line) {
            let session = &self.facts.session;
            self.host.trouble(&format!("the end of a turn in {session} cannot be kept: {error}"));
            sleep(SAVE_AGAIN).await;
        }
        // Written it is, and a kill of the daemon does not lose it.
        if let Err(error) = self.host.sync(&self.facts.session).await {
            let session = &self.facts.session;
            self.host.trouble(&format!("{session} cannot be synced to the disk: {error}"));
        }
    }

    async fn end(&mut self) {
        if let Some((talk, _)) = self.talk.take() {
            talk.process.end().await;
        }
    }
}

/// The same, and waits while the system has no file or process left for it: others will end.
async fn start_in_time(
    host: &Inner,
    facts: &Facts,
    talk: &mut Option<(AgentConnection, Permissions)>,
    theirs: &mut Option<String>,
) -> Result<(), Failure> {
    let deadline = Instant::now() + START_AGAIN_MAX;
    let mut is_said = false;
    loop {
        match start(host, facts, talk, theirs).await {
            Err(failure) if failure.is_shortage() && Instant::now() < deadline => {
                if !std::mem::replace(&mut is_said, true) {
                    let session = &facts.session;
                    host.trouble(&format!("{session} has to wait. {failure}"));
                }
                sleep(START_AGAIN).await;
            }
            started => return started,
        }
    }
}

/// Sees to it that the agent is there and has the session open.
async fn start(
    host: &Inner,
    facts: &Facts,
    talk: &mut Option<(AgentConnection, Permissions)>,
    theirs: &mut Option<String>,
) -> Result<(), Failure> {
    if talk.is_some() {
        return Ok(());
    }
    let environment = host.environments.of([&facts.session, &facts.parent]);
    let environment = environment.as_deref();
    let path = environment.and_then(|environment| environment.get("PATH"));
    let agent = host.agent(&facts.agent, path).ok_or_else(|| not_there(&facts.agent))?;
    let mut new =
        AgentConnection::begin(&agent, &facts.directory, environment, &host.setup.family).await?;
    if let Some(session) = theirs {
        new.take_up(session, &facts.directory).await?;
    } else {
        let session = new.open(&facts.directory).await?;
        let loads = new.introduction.loads;
        let bound = Line::Bound { session: session.clone(), loads };
        // Without this line the conversation cannot be taken up later, which is then said.
        if let Err(error) = host.kept.append(&facts.session, &bound) {
            host.trouble(&format!("the agent's id of {} cannot be kept: {error}", facts.session));
        }
        *theirs = Some(session);
    }
    *talk = Some((new, agent.permissions));
    Ok(())
}

/// It was there when the task was launched.
fn not_there(name: &str) -> Failure {
    Failure::new(name, What::Stopped("is not known any more.".to_owned()), "")
}
