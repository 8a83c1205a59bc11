//! The host itself: performs an action and says what it found. Most of it reads and writes the
//! session log; agents work in the background, in one conversation per session.

mod built_in;
mod looking;
mod reading;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use legwork_engine::record::Target;
use legwork_engine::work::{Observation, RunState};
use legwork_engine::{Action, Finding, HostError, Usage};
use legwork_host::Outside;
use legwork_machine::{lock, process};
use legwork_protocol::api::Reply;
use legwork_protocol::{HostId, MessageId, Place, QuestionId, SessionId, TaskId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::KIND;
use crate::agent::environment::Environments;
use crate::agent::failure::What;
use crate::agents::{Agent, REHEARSAL};
use crate::limits::{IDLE_MAX, PROBE_MAX};
use crate::orphans::{ProcessTree, own_mark};
use crate::session::session_log::{End, Line, SessionLog, bound};
use crate::turn::active_turn::{Turns, now};
use crate::turn::conversation::{Command, Commands, Conversation, SessionProperties};
use crate::turn::record::Records;

pub use built_in::{AgentSettings, opening};

type Found = Result<Finding, HostError>;

/// All that is kept here is one place: one folder, one user.
const PLACE: &str = "acp/home";

pub type Agents = Box<dyn Fn(Option<&str>) -> Vec<Agent> + Send + Sync>;

pub struct Setup {
    /// Reads which agents there are, at this moment, for somebody with this PATH.
    pub agents: Agents,
    pub processes: Arc<ProcessTree>,
    pub outside: Outside,
}

/// The host. When the last clone is dropped, its agents are ended.
#[derive(Debug, Clone)]
pub struct LocalHost(Arc<Inner>);

pub struct Inner {
    pub log: SessionLog,
    pub turns: Turns,
    pub records: Records,
    live: Mutex<BTreeMap<SessionId, mpsc::UnboundedSender<Command>>>,
    /// Those whose process only waits; the one that waits longest first.
    idle: Mutex<VecDeque<SessionId>>,
    pub environments: Environments,
    /// The prompts whose agents were asked what became of them.
    looked: Mutex<BTreeSet<MessageId>>,
    pub setup: Setup,
    id: HostId,
    place: Place,
}

impl fmt::Debug for Inner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Inner").field("turns", &self.turns).finish_non_exhaustive()
    }
}

/// A helper's session as it is in the log.
struct KeptSession {
    properties: SessionProperties,
    lines: Vec<Line>,
}

impl LocalHost {
    pub fn open(folder: &Path, setup: Setup) -> std::io::Result<Self> {
        let id = process::host_name(KIND, &own_mark(), "home").parse();
        let (Ok(id), Ok(place)) = (id, PLACE.parse()) else {
            return Err(std::io::Error::other("this process has no usable name"));
        };
        Ok(Self(Arc::new(Inner {
            log: SessionLog::open(folder)?,
            turns: Turns::default(),
            records: Records::default(),
            live: Mutex::default(),
            idle: Mutex::default(),
            environments: Environments::default(),
            looked: Mutex::default(),
            setup,
            id,
            place,
        })))
    }

    pub async fn perform(&self, action: &Action) -> Found {
        match action {
            Action::CheckAgent { agent } => Ok(self.check_agent(agent)),
            Action::Probe { session } => self.probe(session).await,
            // A terminal is never deleted.
            Action::FindMissing { .. } => Ok(Finding::Missing { sessions: Vec::new() }),
            Action::Open { task, parent, directory, title, agent, .. } => {
                self.open_session(*task, parent, directory, agent, title)
            }
            Action::Prompt { session, message, text, .. } => {
                self.prompt(session, message, text).await
            }
            Action::Observe { session, message } => self.look(session, message).await,
            Action::Poll { .. } => Ok(self.poll()),
            Action::Deliver { session, .. } => self.tell(session),
            Action::Stop { task, target } => self.stop(*task, target),
            Action::Answer { session, question, reply, .. } => {
                self.answer(session, question, reply).await
            }
        }
    }

    fn check_agent(&self, name: &str) -> Finding {
        let known: Vec<String> = self.agents().into_iter().map(|agent| agent.name).collect();
        if name == REHEARSAL || known.iter().any(|agent| agent == name) {
            return Finding::AgentKnown;
        }
        Finding::NoSuchAgent { known }
    }

    /// All that somebody can use who launches here. A scripted agent helps nobody who does not know
    /// it by name.
    pub fn agents(&self) -> Vec<Agent> {
        let paths = self.0.environments.paths();
        let paths = paths.iter().map(|path| Some(path.as_str())).chain([None]);
        let mut known: Vec<Agent> = Vec::new();
        for agent in paths.flat_map(|path| (self.0.setup.agents)(path)) {
            if agent.name != REHEARSAL && !known.iter().any(|other| other.name == agent.name) {
                known.push(agent);
            }
        }
        known
    }

    /// Whether the conversation can be gone on with. The agent alone knows, so it is asked to take
    /// it up; it then waits a while for the prompt. One that is slow gets the benefit of the doubt.
    async fn probe(&self, session: &SessionId) -> Found {
        let helper = self.helper(session)?;
        let is_live = lock(&self.0.live).contains_key(session);
        if bound(&helper.lines).is_some_and(|(_, loads)| !loads) && !is_live {
            return Err(HostError::Gone);
        }
        let (done, loaded) = oneshot::channel();
        self.send(helper, Command::Load(done));
        match timeout(PROBE_MAX, loaded).await {
            Err(_) | Ok(Ok(Ok(()))) => Ok(Finding::Done),
            Ok(Ok(Err(failure))) => match failure.what {
                What::Refused { .. } | What::CannotLoad => Err(HostError::Gone),
                _ if failure.is_shortage() => Err(HostError::Busy),
                _ => Err(HostError::Rejected { why: failure.to_string() }),
            },
            Ok(Err(_)) => Err(HostError::Unreachable),
        }
    }

    /// The parent may be a session of another host, of which nothing is kept here.
    fn open_session(
        &self,
        task: TaskId,
        parent: &SessionId,
        directory: &str,
        agent: &str,
        title: &str,
    ) -> Found {
        let session = marked(task)?;
        if self.read(&session)?.is_some() {
            return Ok(Finding::Opened { session });
        }
        if !Path::new(directory).is_absolute() {
            let why = format!("an agent cannot work in {directory:?}, which is no absolute path");
            return Err(HostError::Rejected { why });
        }
        let line = Line::Helper {
            task,
            parent: parent.clone(),
            agent: agent.to_owned(),
            title: title.to_owned(),
            directory: directory.into(),
        };
        self.append(&session, &line)?;
        Ok(Finding::Opened { session })
    }

    /// Writes the prompt down first: one that is there is not handed over again, even if a crash
    /// came in between, because the agent may have begun.
    async fn prompt(&self, session: &SessionId, message: &MessageId, text: &str) -> Found {
        let KeptSession { properties, mut lines } = self.helper(session)?;
        let is_it = |line: &Line| matches!(line, Line::Prompt { message: id, .. } if id == message);
        if lines.iter().any(is_it) {
            return Ok(Finding::Done);
        }
        let line =
            Line::Prompt { message: message.clone(), text: text.to_owned(), at: Some(now()) };
        self.append(session, &line)?;
        if lines.iter().any(|line| matches!(line, Line::Prompt { .. })) {
            self.sync(session).await;
        } else {
            // All that is new, at once: a disk does it in the time of one.
            let log = self.0.log.clone();
            let names = blocking(move || log.sync_names());
            let (_, _, names) =
                tokio::join!(self.sync(session), self.sync(&properties.parent), names);
            self.synced(session, names);
        }
        lines.push(line);
        // At once, so that no observation finds the session idle.
        self.0.turns.begin(session, message.clone());
        let command = Command::Prompt { message: message.clone(), text: text.to_owned() };
        self.send(KeptSession { properties, lines }, command);
        Ok(Finding::Done)
    }

    async fn look(&self, session: &SessionId, message: &MessageId) -> Found {
        if let Some(going) = self.0.turns.of(session).filter(|going| going.message == *message) {
            return Ok(Finding::Observed(Observation {
                state: going.end.map_or(RunState::Busy, run_state),
                tool_calls: going.tool_calls,
                usage: going.used.usage(),
                moved: Some(going.moved),
            }));
        }
        let lines = self.read(session)?.ok_or(HostError::Gone)?;
        let is_it = |line: &Line| matches!(line, Line::End { message: id, .. } if id == message);
        let end = match lines.iter().find(|line| is_it(line)) {
            Some(end) => Some(end.clone()),
            None => self.missed_end(session, message, &lines).await,
        };
        let end = end.and_then(|line| match line {
            Line::End { end, tool_calls, used, .. } => {
                Some((run_state(end), tool_calls, used.usage()))
            }
            _ => None,
        });
        let still = || (RunState::Still { text: String::new() }, 0, Usage::default());
        let (state, tool_calls, usage) = end.unwrap_or_else(still);
        Ok(Finding::Observed(Observation { state, tool_calls, usage, moved: None }))
    }

    fn poll(&self) -> Finding {
        let going = self.0.turns.list();
        let busy = going.iter().map(|(session, _)| (session.clone(), None)).collect();
        let questions = going.into_iter().flat_map(|(session, going)| {
            going.questions.into_iter().map(move |question| (session.clone(), question))
        });
        Finding::Polled { busy, questions: questions.collect() }
    }

    /// A terminal waits for its shell: the next command asks for what there is.
    fn tell(&self, session: &SessionId) -> Found {
        if self.read(session)?.is_none() { Err(HostError::Gone) } else { Ok(Finding::Pulled) }
    }

    fn stop(&self, task: TaskId, target: &Target) -> Found {
        let session = match target {
            Target::Session(session) | Target::Opened(session) => session.clone(),
            Target::Marked => marked(task)?,
        };
        if self.0.turns.of(&session).is_some() {
            if let Some(conversation) = lock(&self.0.live).get(&session) {
                let _ = conversation.send(Command::Cancel);
            }
            return Ok(Finding::Done);
        }
        let lines = self.read(&session)?.unwrap_or_default();
        let is_prompt = |line: &Line| matches!(line, Line::Prompt { .. });
        if *target != Target::Session(session.clone()) && !lines.iter().any(is_prompt) {
            self.0.log.remove(&session).map_err(|_| HostError::Busy)?;
        }
        Ok(Finding::Quiet)
    }

    async fn answer(&self, session: &SessionId, question: &QuestionId, reply: &Reply) -> Found {
        let (done, answered) = oneshot::channel();
        let command = Command::Answer { question: question.clone(), reply: reply.clone(), done };
        let sent = lock(&self.0.live).get(session).map(|live| live.send(command));
        if !matches!(sent, Some(Ok(()))) {
            return Err(HostError::Gone);
        }
        answered.await.unwrap_or(Err(HostError::Gone)).map(|()| Finding::Done)
    }

    /// Passes a command to the session's conversation, or begins one. Under the lock, so that one
    /// that is about to end sees it.
    fn send(&self, helper: KeptSession, command: Command) {
        let KeptSession { properties, lines } = helper;
        let session = &properties.session;
        let mut live = lock(&self.0.live);
        lock(&self.0.idle).retain(|idle| idle != session);
        if let Some(conversation) = live.get(session) {
            // A conversation leaves the list before it ends.
            let _ = conversation.send(command);
            return;
        }
        let (commands, incoming) = mpsc::unbounded_channel();
        let _ = commands.send(command);
        live.insert(session.clone(), commands);
        let commands = Commands::new(incoming);
        tokio::spawn(Conversation::new(self.0.clone(), properties, commands, &lines).run());
    }

    fn helper(&self, session: &SessionId) -> Result<KeptSession, HostError> {
        let lines = self.read(session)?.ok_or(HostError::Gone)?;
        let Some(Line::Helper { parent, agent, directory, .. }) = lines.first().cloned() else {
            return Err(HostError::Gone);
        };
        let hints = self.0.setup.outside.hints.clone();
        let properties =
            SessionProperties { session: session.clone(), parent, agent, directory, hints };
        Ok(KeptSession { properties, lines })
    }

    fn read(&self, session: &SessionId) -> Result<Option<Vec<Line>>, HostError> {
        self.0.log.read(session).map_err(|error| self.cannot("read", session, &error))
    }

    fn append(&self, session: &SessionId, line: &Line) -> Result<(), HostError> {
        let done = self.0.log.append(session, line);
        done.map_err(|error| self.cannot("written", session, &error))
    }

    async fn sync(&self, session: &SessionId) {
        let done = self.0.sync(session).await;
        self.synced(session, done);
    }

    /// What cannot be synced is written all the same, and only a power cut could lose it: to say
    /// that it is not there would be worse, because what is there is not done again.
    fn synced(&self, session: &SessionId, done: std::io::Result<()>) {
        if let Err(error) = done {
            self.cannot("synced to the disk", session, &error);
        }
    }

    /// A disk that is full or broken may be mended: it is tried again.
    fn cannot(&self, what: &str, session: &SessionId, error: &std::io::Error) -> HostError {
        self.0.trouble(&format!("{session} cannot be {what}: {error}"));
        HostError::Busy
    }
}

impl Inner {
    /// The agent with this name, for somebody with this PATH; else the one that we would call.
    pub fn agent(&self, name: &str, path: Option<&str>) -> Option<Agent> {
        let of = |path| (self.setup.agents)(path).into_iter().find(|agent| agent.name == name);
        of(path).or_else(|| of(None))
    }

    pub async fn sync(&self, session: &SessionId) -> std::io::Result<()> {
        let log = self.log.clone();
        let session = session.clone();
        blocking(move || log.sync(&session)).await
    }

    pub fn trouble(&self, what: &str) {
        (self.setup.outside.warn)(what);
    }

    /// The next command of a conversation that would otherwise end; nothing if it now does.
    pub fn retire(&self, session: &SessionId, commands: &mut Commands) -> Option<Command> {
        let mut live = lock(&self.live);
        let command = commands.try_next();
        if command.is_none() {
            live.remove(session);
            lock(&self.idle).retain(|idle| idle != session);
        }
        command
    }

    /// Its process waits for another turn. If too many do, the oldest is ended.
    pub fn is_idle(&self, session: &SessionId) {
        let live = lock(&self.live);
        let mut idle = lock(&self.idle);
        idle.push_back(session.clone());
        if idle.len() > IDLE_MAX
            && let Some(oldest) = idle.pop_front()
            && let Some(conversation) = live.get(&oldest)
        {
            let _ = conversation.send(Command::End);
        }
    }
}

/// Does what waits for the disk, while everybody else goes on.
async fn blocking(
    act: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> std::io::Result<()> {
    spawn_blocking(act).await.unwrap_or_else(|error| Err(std::io::Error::other(error)))
}

/// The session that bears a task's mark: it is named after it.
fn marked(task: TaskId) -> Result<SessionId, HostError> {
    let name = task.to_string().replace("bg_", "acp_");
    name.parse().map_err(|_| HostError::Gone)
}

fn run_state(end: End) -> RunState {
    match end {
        End::Answered { text } => RunState::Answered { text },
        End::Failed { reason } => RunState::Failed { reason },
        End::Aborted { text } => RunState::Aborted { text },
    }
}
