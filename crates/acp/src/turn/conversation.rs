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

use crate::agent::connection::{AgentConnection, Introduction};
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
    /// Commands that came during a turn and wait for its end.
    later: VecDeque<Command>,
}

/// The fixed properties of a session.
#[derive(Debug, Clone)]
pub struct SessionProperties {
    pub session: SessionId,
    pub parent: SessionId,
    pub agent: String,
    pub directory: PathBuf,
    pub hints: mpsc::UnboundedSender<Hint>,
}

pub struct Conversation {
    commands: Commands,
    agent: AgentSession,
    /// The cost of all its turns, as the agent counts them.
    session_cost: Option<Cost>,
}

/// All but the commands, which can come while it starts.
struct AgentSession {
    host: Arc<Inner>,
    properties: SessionProperties,
    /// The agent's id for the session; none before the first turn.
    agent_session: Option<String>,
    /// Whether a turn of it has ended: then the agent has it for certain.
    has_ended: bool,
    connection: Option<AgentConnection>,
}

impl Commands {
    pub fn new(incoming: mpsc::UnboundedReceiver<Command>) -> Self {
        Self { incoming, later: VecDeque::new() }
    }

    /// The next command for a turn under way. The future can be dropped and made again.
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

    /// The next command, if it is there already.
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

impl SessionProperties {
    pub fn hint(&self, hint: Hint) {
        // Nobody receives hints while the daemon stops.
        let _ = self.hints.send(hint);
    }
}

impl Conversation {
    pub fn new(
        host: Arc<Inner>,
        properties: SessionProperties,
        commands: Commands,
        lines: &[Line],
    ) -> Self {
        let agent_session = bound(lines).map(|(session, _)| session.to_owned());
        let session_cost = session_cost(lines);
        let has_ended = lines.iter().any(|line| matches!(line, Line::End { .. }));
        Self {
            commands,
            session_cost,
            agent: AgentSession { host, properties, agent_session, has_ended, connection: None },
        }
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
            let Some(connection) = &mut agent.connection else {
                return agent.host.retire(&agent.properties.session, commands);
            };
            let loads = connection.introduction.loads;
            let waits = async {
                if loads { sleep(LOADED_MAX).await } else { std::future::pending().await }
            };
            tokio::select! {
                command = commands.next() => return command,
                // Its messages are dropped. Its end is not.
                said = connection.process.next("while it had nothing to do") => if said.is_err() {
                    agent.end().await;
                },
                () = waits => agent.end().await,
            }
        }
    }

    async fn turn(&mut self, message: MessageId, text: String) {
        let host = self.agent.host.clone();
        let session = self.agent.properties.session.clone();
        host.turns.begin(&session, message.clone());
        host.records.begin(&session, &message);
        let end = self.work(message.clone(), &text).await;
        let used = host.turns.of(&session).map(|turn| turn.used).unwrap_or_default();
        self.session_cost = used.session_cost.or(self.session_cost);
        self.agent.has_ended = true;
        let is_over = !matches!(end, End::Answered { .. });
        host.turns.ended(&session, end.clone());
        let ended =
            host.records.change(&session, |record| (record.end(end.text()), record.tool_calls));
        let (entries, tool_calls) = ended.unwrap_or_default();
        for entry in entries {
            // An entry is only for people to read; writing the end itself is tried until it is
            // done.
            let _ = host.log.append(&session, &Line::Said { entry });
        }
        let message_ended = message.clone();
        let at = Some(now());
        self.agent.save(&Line::End { message: message_ended, end, tool_calls, used, at }).await;
        host.turns.forget(&session, &message);
        host.records.forget(&session, &message);
        self.agent.properties.hint(Hint::Changed { session: session.clone() });
        let resumes =
            self.agent.connection.as_ref().is_none_or(|connection| connection.introduction.resumes);
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
        let AgentSession {
            host,
            properties,
            agent_session: Some(agent_session),
            connection: Some(connection),
            ..
        } = &mut self.agent
        else {
            return End::Failed { reason: "The agent has no session.".to_owned() };
        };
        Turn::new(host, properties, connection, agent_session, message, self.session_cost)
            .run(text, &mut self.commands)
            .await
    }
}

impl AgentSession {
    /// Starts the agent, and waits while the system has no file or process left for it, because
    /// others will end.
    async fn start_in_time(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + START_AGAIN_MAX;
        let mut is_said = false;
        loop {
            match self.start().await {
                Err(failure) if failure.is_shortage() && Instant::now() < deadline => {
                    if !std::mem::replace(&mut is_said, true) {
                        let session = &self.properties.session;
                        self.host.trouble(&format!("{session} has to wait. {failure}"));
                    }
                    sleep(START_AGAIN).await;
                }
                started => return started,
            }
        }
    }

    /// Starts the agent and opens the session in it, if that is not done yet.
    async fn start(&mut self) -> Result<(), Failure> {
        if self.connection.is_some() {
            return Ok(());
        }
        let Self { host, properties, .. } = self;
        let environment = host.environments.of([&properties.session, &properties.parent]);
        let environment = environment.as_deref();
        let path = environment.and_then(|environment| environment.get("PATH"));
        let agent =
            host.agent(&properties.agent, path).ok_or_else(|| not_there(&properties.agent))?;
        let processes = &host.setup.processes;
        let mut new =
            AgentConnection::begin(&agent, &properties.directory, environment, processes).await?;
        let model = host.log.chosen_model(&properties.parent);
        if let Some(session) = &self.agent_session {
            match new.take_up(session, &properties.directory, model.as_deref()).await {
                // It was opened and had not begun to work. Such an agent keeps what has.
                Err(failure)
                    if new.introduction.looks && !self.has_ended && failure.is_no_session() =>
                {
                    self.agent_session = None;
                }
                taken_up => taken_up?,
            }
        }
        if self.agent_session.is_none() {
            let session = new.open(&properties.directory, model.as_deref()).await?;
            let Introduction { loads, looks, .. } = new.introduction;
            let bound = Line::Bound { session: session.clone(), loads, looks };
            // Without this line the conversation cannot be taken up later, which is then said.
            if let Err(error) = host.log.append(&properties.session, &bound) {
                let session = &properties.session;
                host.trouble(&format!("the agent's id of {session} cannot be kept: {error}"));
            }
            self.agent_session = Some(session);
        }
        self.connection = Some(new);
        Ok(())
    }

    /// Writes a line, however long that takes: an end must not be lost because a disk is full.
    async fn save(&self, line: &Line) {
        let session = &self.properties.session;
        while let Err(error) = self.host.log.append(session, line) {
            self.host.trouble(&format!("the end of a turn in {session} cannot be kept: {error}"));
            sleep(SAVE_AGAIN).await;
        }
        // The line is written; only a power cut could lose it now.
        if let Err(error) = self.host.sync(session).await {
            self.host.trouble(&format!("{session} cannot be synced to the disk: {error}"));
        }
    }

    async fn end(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.process.end().await;
        }
    }
}

/// The failure of an agent that was known when the task was launched.
fn not_there(name: &str) -> Failure {
    Failure::new(name, What::Stopped("is not known any more.".to_owned()), "")
}
