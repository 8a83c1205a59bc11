//! The host that is built in: agents over ACP, and the sessions of programs that have no host of
//! their own, like a terminal. Always there, so it has no connection.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use legwork_acp::KIND;
use legwork_acp::orphans::{Family, own_mark};
use legwork_client::{Folders, process};
use legwork_engine::text::toast::Toast;
use legwork_engine::{Action, Finding, Hint, HostError};
use legwork_protocol::line::{Context, Environment, HostLifetime};
use legwork_protocol::view::Mail;
use legwork_protocol::{HostId, MessageId, Place, SessionId, TaskId};
use tokio::sync::mpsc;

use crate::Fault;
use crate::agents::agents;
use crate::config::read_config;
use crate::driver::{Driver, Findings, HostWorker};
use crate::log::Log;
use crate::world::Host;

/// The sessions of terminals are told from those of hosts by how they begin.
const TERMINAL: &str = "term_";
/// All that is kept here is one place: one folder, one user.
const PLACE: &str = "acp/home";

/// The host that is built in.
#[derive(Debug)]
pub struct LocalHost {
    acp: legwork_acp::Host,
    family: Arc<Family>,
    id: HostId,
    place: Place,
    log: Log,
}

impl LocalHost {
    /// Opens what is kept, and ends what a daemon that was killed has left.
    pub fn open(
        folders: &Folders,
        hints: mpsc::UnboundedSender<Hint>,
        log: &Log,
    ) -> Result<Self, Fault> {
        // What is wrong with the settings is said where they are read for the first time.
        let settings = |path: &Path| read_config(path).unwrap_or_else(|fault| *fault.config);
        let config = folders.config.clone();
        let family = Family::new(&folders.store, Box::new(move || settings(&config).keep));
        let ended = family.end_all_left();
        if ended > 0 {
            log.warn(format_args!("ended {ended} processes that an earlier daemon had left"));
        }
        family.adopt();
        tokio::spawn(family.clone().tend());
        let (places, trouble) = (folders.clone(), log.clone());
        let outside = legwork_acp::Outside {
            agents: Box::new(move |path| {
                let path = path.map(OsString::from).or_else(|| env::var_os("PATH"));
                agents(settings(&places.config).agents, &places, path.as_deref())
            }),
            family: family.clone(),
            trouble: Box::new(move |what| trouble.warn(what)),
            hints,
        };
        let acp = legwork_acp::Host::open(&folders.sessions, outside);
        let acp = acp.map_err(Fault::system("open the folder of its sessions"))?;
        let id = process::host_name(KIND, &own_mark(), "home").parse();
        let place = PLACE.parse();
        let (Ok(id), Ok(place)) = (id, place) else { unreachable!("both are short and plain") };
        Ok(Self { acp, family, id, place, log: log.clone() })
    }

    /// What it is called.
    pub fn id(&self) -> &HostId {
        &self.id
    }

    /// Where its sessions are.
    pub fn place(&self) -> Place {
        self.place.clone()
    }

    /// The host, ready to work.
    pub fn host(&self, findings: Findings) -> Host {
        let worker = HostWorker::new(self.acp.clone(), findings);
        let (kind, place, lifetime) = (KIND.to_owned(), self.place(), HostLifetime::Interactive);
        Host { peer: None, kind, place, lifetime, worker, requests: Arc::default() }
    }

    /// A terminal calls: remembers where it is. Gives back the host that its session is in.
    pub fn terminal(&self, context: &Context) -> Result<HostId, String> {
        if !context.session.as_str().starts_with(TERMINAL) {
            return Err(format!("The session of a program is called {TERMINAL}…"));
        }
        if !PathBuf::from(&context.directory).is_absolute() {
            return Err("A terminal's directory must be an absolute path.".to_owned());
        }
        let kept = self.acp.terminal(&context.session, &context.directory);
        kept.map_err(|error| format!("legwork cannot keep the terminal's session: {error}"))?;
        Ok(self.id.clone())
    }

    /// What this terminal launches from now on is to have this environment.
    pub fn launches_with(&self, terminal: &SessionId, environment: Environment) {
        self.acp.launches_with(terminal, environment);
    }

    /// What goes on with this task is to have this environment.
    pub fn resumes_with(&self, task: TaskId, environment: Environment) {
        self.acp.resumes_with(task, environment);
    }

    /// Whether this is the mark of an agent of ours.
    pub fn is_mark(&self, mark: &str) -> bool {
        self.family.is_mark(mark)
    }

    /// Whether this host is one of an earlier daemon. It has ended: the store's lock is ours, and
    /// whoever had it before ended with it, in whichever container that was.
    pub fn was_before(host: &HostId) -> bool {
        host.as_str().starts_with(&format!("{KIND}-")) && !host.as_str().contains(&own_mark())
    }

    /// Removes terminals that were of no use for long.
    pub fn remove_old_terminals(&self) {
        if let Err(error) = self.acp.remove_old_terminals() {
            self.log.warn(format_args!("old sessions cannot be removed: {error}"));
        }
    }

    /// Removes what is kept of these tasks, which are forgotten. Gives back those of which nothing
    /// is left.
    pub fn forget(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        self.acp.forget(tasks).unwrap_or_else(|error| {
            self.log.warn(format_args!("sessions of forgotten tasks cannot be removed: {error}"));
            Vec::new()
        })
    }

    /// What terminals were told and nobody has seen.
    pub fn mail(&self) -> Vec<Mail> {
        self.acp.mail()
    }

    /// This was seen.
    pub fn mail_shown(&self, messages: &[MessageId]) -> Result<(), String> {
        let shown = self.acp.mail_shown(messages);
        shown.map_err(|error| format!("That they were seen cannot be kept: {error}"))
    }

    /// How many helpers are at work in it.
    pub fn at_work(&self) -> usize {
        self.acp.at_work()
    }
}

impl Driver for legwork_acp::Host {
    async fn perform(&self, action: &Action) -> Result<Finding, HostError> {
        Self::perform(self, action).await
    }

    /// Nobody looks at it.
    async fn toast(&self, _: &Toast) {}
}
