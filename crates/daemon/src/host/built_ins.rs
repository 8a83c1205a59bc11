//! The built-in hosts, taken together: whoever asks does not care which of them it is. What the
//! methods mean is said at the trait.

use std::collections::BTreeSet;
use std::sync::Arc;

use legwork_engine::Hint;
use legwork_host::{BuiltIn, Opening, Outside, Reader};
use legwork_machine::process::Detached;
use legwork_protocol::line::{Context, Environment};
use legwork_protocol::{HostId, SessionId, TaskId};
use tokio::sync::mpsc;

use crate::Fault;
use crate::log::Log;

/// All built-in hosts. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct BuiltIns(Arc<[Arc<dyn BuiltIn>]>);

impl BuiltIns {
    /// Opens them. Called once the store's lock is ours.
    pub fn open(
        openings: Vec<Opening>,
        hints: &mpsc::UnboundedSender<Hint>,
        log: &Log,
        detached: &Arc<Detached>,
    ) -> Result<Self, Fault> {
        let opened = openings.into_iter().map(|open| {
            let log = log.clone();
            open(Outside {
                hints: hints.clone(),
                warn: Arc::new(move |what| log.warn(what)),
                detached: detached.clone(),
            })
        });
        let opened = opened.collect::<std::io::Result<_>>();
        Ok(Self(opened.map_err(Fault::system("open the folder of its sessions"))?))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn BuiltIn>> {
        self.0.iter()
    }

    pub fn contains(&self, host: &HostId) -> bool {
        self.iter().any(|one| one.id() == host)
    }

    pub fn was_before(&self, host: &HostId) -> bool {
        self.iter().any(|one| one.was_before(host))
    }

    /// The host that keeps the session of a program without a host of its own.
    pub fn keeper(&self, context: &Context) -> Result<HostId, String> {
        for one in self.iter() {
            if one.keeps(context)? {
                return Ok(one.id().clone());
            }
        }
        Err("No host keeps sessions of this name. That of a terminal begins with term_.".to_owned())
    }

    pub fn takes_over(&self, session: &SessionId, task: TaskId) -> Result<(), String> {
        self.iter().try_for_each(|one| one.takes_over(session, task))
    }

    pub fn taken_over(&self, session: &SessionId) -> Vec<TaskId> {
        self.iter().flat_map(|one| one.taken_over(session)).collect()
    }

    pub fn launches_with(&self, session: &SessionId, environment: Environment) {
        let environment = Arc::new(environment);
        self.iter().for_each(|one| one.launches_with(session, environment.clone()));
    }

    pub fn resumes_with(&self, task: TaskId, environment: Environment) {
        let environment = Arc::new(environment);
        self.iter().for_each(|one| one.resumes_with(task, environment.clone()));
    }

    /// Removes what is kept of these tasks. Returns those of which no host has anything left.
    pub fn forget(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        self.iter().fold(tasks.to_vec(), |gone, one| {
            let forgotten: BTreeSet<TaskId> = one.forget(tasks).into_iter().collect();
            gone.into_iter().filter(|task| forgotten.contains(task)).collect()
        })
    }

    pub fn reader(&self, session: &SessionId) -> Option<Reader> {
        self.iter().find_map(|one| one.reader(session))
    }

    pub fn is_mark(&self, mark: &str) -> bool {
        self.iter().any(|one| one.is_mark(mark))
    }

    pub fn at_work(&self) -> usize {
        self.iter().map(|one| one.at_work()).sum()
    }
}
