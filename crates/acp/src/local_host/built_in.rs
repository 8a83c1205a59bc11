//! The host as a part of the daemon: how it is opened, and what the daemon needs of it beside
//! actions. It also keeps the sessions of terminals, which have no host of their own.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use legwork_engine::{Action, Finding, HostError, Serves};
use legwork_host::{BuiltIn, Host, HostFuture, Opening, Reader};
use legwork_machine::Folders;
use legwork_protocol::api::transcript::Entry;
use legwork_protocol::line::{Context, Environment};
use legwork_protocol::tools::OfferedAgent;
use legwork_protocol::{HostId, Place, SessionId, TaskId};

use tokio::sync::watch;

use super::{LocalHost, Setup, marked};
use crate::KIND;
use crate::agents::{Agent, REHEARSAL, Source, known};
use crate::limits::TERMINALS_KEPT;
use crate::orphans::{ProcessTree, own_mark};
use crate::session::session_log::{Line, bound};

/// The sessions of terminals are told from those of hosts by how they begin.
const TERMINAL: &str = "term_";

#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// The agents in the order of the file.
    pub agents: Vec<Agent>,
    /// Programs that do not end with the agent that started them, by their names.
    pub keep: Vec<String>,
}

/// Opens the host of these folders. The settings are read whenever they are needed, so that an
/// agent that was just added can be used at once.
pub fn opening(
    folders: &Folders,
    settings: impl Fn() -> AgentSettings + Send + Sync + 'static,
) -> Opening {
    let folders = folders.clone();
    let settings = Arc::new(settings);
    Box::new(move |outside| {
        let keep_settings = settings.clone();
        let keep = Box::new(move || keep_settings().keep);
        let processes = ProcessTree::new(&folders.store, keep, outside.detached.clone());
        let ended = processes.end_all_left();
        if ended > 0 {
            (outside.warn)(&format!("ended {ended} processes that an earlier daemon had left"));
        }
        processes.become_subreaper();
        tokio::spawn(processes.clone().tend());
        let sessions = folders.sessions.clone();
        let agents = Box::new(move |path: Option<&str>| {
            let path = path.map(OsString::from).or_else(|| env::var_os("PATH"));
            known(settings().agents, &folders, path.as_deref())
        });
        let host = LocalHost::open(&sessions, Setup { agents, processes, outside })?;
        if let Err(error) = host.0.log.remove_old_terminals(TERMINALS_KEPT) {
            host.0.trouble(&format!("old sessions cannot be removed: {error}"));
        }
        Ok(Arc::new(host))
    })
}

impl LocalHost {
    /// Keeps the session of a terminal in this directory, whose helpers have this model.
    pub fn keep_terminal(
        &self,
        session: &SessionId,
        directory: &str,
        model: Option<&str>,
    ) -> std::io::Result<()> {
        if self.0.log.has(session)? {
            return Ok(());
        }
        let line = Line::Terminal { directory: directory.into(), model: model.map(str::to_owned) };
        self.0.log.append(session, &line)
    }

    /// Removes the sessions of these tasks. The session of one that is still at work
    /// stays until it is stopped. Returns the tasks of which nothing is left.
    fn remove_kept(&self, tasks: &[TaskId]) -> std::io::Result<Vec<TaskId>> {
        let mut gone = Vec::new();
        for task in tasks {
            let Ok(session) = marked(*task) else { continue };
            if self.0.turns.of(&session).is_none() {
                // First, because the session names it.
                self.remove_memory(&session)?;
                self.0.log.remove(&session)?;
                gone.push(*task);
            }
        }
        Ok(gone)
    }
}

impl LocalHost {
    /// Removes what the built-in agent remembers of a session. Other agents keep their own.
    fn remove_memory(&self, session: &SessionId) -> std::io::Result<()> {
        let lines = self.0.log.read(session)?.unwrap_or_default();
        let is_built_in =
            |line: &Line| matches!(line, Line::Helper { agent, .. } if agent == REHEARSAL);
        match bound(&lines).filter(|_| lines.iter().any(is_built_in)) {
            Some((name, _)) => self.0.log.remove_in(REHEARSAL, name),
            None => Ok(()),
        }
    }
}

impl Host for LocalHost {
    fn agents(&self) -> HostFuture<'_, Result<Vec<OfferedAgent>, HostError>> {
        let offered =
            Self::agents(self).into_iter().map(|Agent { name, command, source, .. }| {
                let program = match &source {
                    Source::Native(program) => Some(program.as_path()),
                    _ => command.first().map(Path::new),
                };
                let program =
                    program.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
                let purpose =
                    format!("another program ({program}) with models and tools of its own");
                OfferedAgent { name, purpose }
            });
        Box::pin(std::future::ready(Ok(offered.collect())))
    }

    fn perform<'a>(&'a self, action: &'a Action) -> HostFuture<'a, Result<Finding, HostError>> {
        Box::pin(Self::perform(self, action))
    }

    fn serves(&self) -> Serves {
        Serves::Everyone
    }

    fn conversation<'a>(
        &'a self,
        session: &'a SessionId,
        _from: Option<&'a str>,
    ) -> HostFuture<'a, Result<Vec<Entry>, HostError>> {
        Box::pin(self.read_conversation(session))
    }

    fn follow(&self, session: &SessionId) -> Option<watch::Receiver<u64>> {
        Some(self.0.records.follow(session))
    }
}

impl BuiltIn for LocalHost {
    fn id(&self) -> &HostId {
        &self.0.id
    }

    fn place(&self) -> &Place {
        &self.0.place
    }

    fn kind(&self) -> &'static str {
        KIND
    }

    fn was_before(&self, host: &HostId) -> bool {
        host.as_str().starts_with(&format!("{KIND}-")) && !host.as_str().contains(&own_mark())
    }

    fn keeps(&self, context: &Context) -> Result<bool, String> {
        if !context.session.as_str().starts_with(TERMINAL) {
            return Ok(false);
        }
        if !Path::new(&context.directory).is_absolute() {
            return Err("A terminal's directory must be an absolute path.".to_owned());
        }
        let Context { session, directory, model, .. } = context;
        let kept = self.keep_terminal(session, directory, model.as_deref());
        kept.map_err(|error| format!("legwork cannot keep the terminal's session: {error}"))?;
        Ok(true)
    }

    fn launches_with(&self, terminal: &SessionId, environment: Arc<Environment>) {
        self.0.environments.keep(terminal, environment);
    }

    fn resumes_with(&self, task: TaskId, environment: Arc<Environment>) {
        if let Ok(session) = marked(task) {
            self.0.environments.keep(&session, environment);
        }
    }

    fn forget(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        self.remove_kept(tasks).unwrap_or_else(|error| {
            self.0.trouble(&format!("sessions of forgotten tasks cannot be removed: {error}"));
            Vec::new()
        })
    }

    fn reader(&self, session: &SessionId) -> Option<Reader> {
        session.as_str().starts_with(TERMINAL).then_some(Reader::Person)
    }

    fn is_mark(&self, mark: &str) -> bool {
        self.0.setup.processes.is_mark(mark)
    }

    fn at_work(&self) -> usize {
        self.0.turns.list().len()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn k5_the_host_of_an_earlier_daemon_has_ended_wherever_that_ran() {
        let home = tempfile::tempdir().unwrap();
        let (hints, _) = mpsc::unbounded_channel();
        let setup = Setup {
            agents: Box::new(|_| Vec::new()),
            processes: ProcessTree::new(home.path(), Box::new(Vec::new), Arc::default()),
            outside: legwork_host::Outside {
                hints,
                warn: Arc::new(|what| panic!("{what}")),
                detached: Arc::default(),
            },
        };
        let host = LocalHost::open(home.path(), setup).unwrap();
        let was_before = |id: String| host.was_before(&id.parse().unwrap());
        assert!(was_before("acp-1-1-0.1-home".to_owned()));
        assert!(!was_before(host.id().to_string()));
        assert!(!was_before(format!("opencode-{}-0badcafe", own_mark())));
    }
}
