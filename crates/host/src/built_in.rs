//! Hosts that are part of the daemon's process. They need no connection, and they end with it.

use std::sync::Arc;

use legwork_engine::Hint;
use legwork_machine::process::Detached;
use legwork_protocol::line::{Context, Environment};
use legwork_protocol::{HostId, Place, SessionId, TaskId};
use tokio::sync::mpsc;

use crate::host::Host;

/// Opens a built-in host. The daemon calls it inside of its runtime, once the store's lock is its
/// own: no other daemon of this store is alive then.
pub type Opening = Box<dyn FnOnce(Outside) -> std::io::Result<Arc<dyn BuiltIn>> + Send>;

/// What a built-in host is given of the daemon.
pub struct Outside {
    pub hints: mpsc::UnboundedSender<Hint>,
    pub warn: Arc<dyn Fn(&str) + Send + Sync>,
    /// Children of the daemon that are none of a built-in host's.
    pub detached: Arc<Detached>,
}

/// Whoever reads what a session that is not a host's own is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A person, at the next command.
    Person,
    /// The model of a client, with the answer to its next call.
    Model,
}

/// A host inside of the daemon.
///
/// Beside its actions it may keep the sessions of programs that have no host of their own, such as
/// a terminal, and own processes and files. A host that does not leaves the defaults.
pub trait BuiltIn: Host {
    /// The host's id. It names the daemon's process if its work ends with the daemon.
    fn id(&self) -> &HostId;

    /// Where its sessions live.
    fn place(&self) -> &Place;

    /// The kind of host, for people.
    fn kind(&self) -> &'static str;

    /// Whether this id is that of the same host in an earlier daemon. That daemon has ended, in
    /// whichever container it ran, because the store's lock is ours.
    fn was_before(&self, host: &HostId) -> bool {
        let _ = host;
        false
    }

    /// A program without a host of its own calls on behalf of this session. Keeps the session and
    /// says so if it is one of this host's; the error is for the caller to read.
    fn keeps(&self, context: &Context) -> Result<bool, String> {
        let _ = context;
        Ok(false)
    }

    /// The client of this session polls for a task of another session: it has gone on with the
    /// task in this one, as Claude Code does after `/clear`. The error is for the caller to read.
    fn takes_over(&self, session: &SessionId, task: TaskId) -> Result<(), String> {
        let _ = (session, task);
        Ok(())
    }

    /// The tasks that this session has taken over.
    fn taken_over(&self, session: &SessionId) -> Vec<TaskId> {
        let _ = session;
        Vec::new()
    }

    /// What this session launches from now on gets this environment.
    fn launches_with(&self, session: &SessionId, environment: Arc<Environment>) {
        let _ = (session, environment);
    }

    /// What this task runs from now on gets this environment.
    fn resumes_with(&self, task: TaskId, environment: Arc<Environment>) {
        let _ = (task, environment);
    }

    /// Removes what is kept of these tasks, which were forgotten. Returns those of which nothing is
    /// left; the others are asked for again.
    fn forget(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        tasks.to_vec()
    }

    /// Who asks for what waits for this session, if it is one that this host keeps for a program.
    fn reader(&self, session: &SessionId) -> Option<Reader> {
        let _ = session;
        None
    }

    /// Whether a process that bears this mark was started by an agent of this host.
    fn is_mark(&self, mark: &str) -> bool {
        let _ = mark;
        false
    }

    /// How many runs would end with the daemon.
    fn at_work(&self) -> usize {
        0
    }
}
