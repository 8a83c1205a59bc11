//! What a person's program sees of tasks and of the daemon. These are answers to
//! [`crate::line::Query`], and what the commands print with `--json`: fields are added, never
//! renamed.

use serde::{Deserialize, Serialize};

use crate::ids::{HostId, MessageId, Place, QuestionId, SessionId, TaskId, Time};
use crate::line::HostLifetime;
use crate::status::Status;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// Its status.
    pub status: Status,
    /// How far its run is: queued, opening, prompting, working, completed, failed, cancelled.
    pub stage: String,
    /// Its name for people.
    pub description: String,
    /// Who does the work.
    pub agent: String,
    /// The session that launched it.
    pub parent: SessionId,
    /// Its own session, once that is open.
    pub session: Option<SessionId>,
    /// Where its session is kept.
    pub place: Place,
    /// The host that does, or did, the run.
    pub host: HostId,
    /// How often it was resumed.
    pub resumes: u32,
    /// When it was launched.
    pub created: Time,
    /// When its run began.
    pub started: Time,
    /// When its run was finished.
    pub ended: Option<Time>,
    /// How long the run took, or takes so far.
    pub elapsed_ms: u64,
    /// Tool calls of the run.
    pub tool_calls: u32,
    /// The last tools, oldest first; of an unfinished run.
    pub last_tools: Vec<String>,
    /// How long ago it last did something; of an unfinished run.
    pub quiet_ms: Option<u64>,
    /// Tokens of its session, where the host tells.
    pub tokens: Option<u64>,
    /// Cost of its session in millionths, where the host tells.
    pub cost_micros: Option<u64>,
    /// What it waits for, in words.
    pub waiting: Vec<String>,
    /// What it waits for a person to answer.
    pub questions: Vec<QuestionView>,
    /// Whether its parent has not been told of the end of its last run yet.
    pub notice_pending: bool,
}

/// A helper's question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionView {
    /// Which.
    pub id: QuestionId,
    /// What.
    pub text: String,
}

/// Tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksView {
    /// As many as a listing holds.
    pub tasks: Vec<TaskView>,
    /// How many there are altogether.
    pub total: usize,
    /// Files with earlier records that could not be read: what is in them is not among these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
}

/// The result or reason of a task's last run, as much of it as fits on a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultView {
    /// The task.
    pub task: TaskView,
    /// The text; nothing while the run is unfinished.
    pub text: Option<String>,
    /// The byte from which on the rest is to be asked for, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Something that was decided about a task, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// When.
    pub at: Time,
    /// Which task.
    pub task: TaskId,
    /// Which of its runs.
    pub run: u32,
    /// What.
    pub line: String,
}

/// A message to a session that the daemon keeps, like that of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// Its id.
    pub message: MessageId,
    /// The session that it is for.
    pub session: SessionId,
    /// When it came.
    pub at: Time,
    /// What a person is to see of it.
    pub text: String,
}

/// The daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonView {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub build: String,
    /// When it started.
    pub started: Time,
    /// The file that holds its records.
    pub store: String,
    /// Its log.
    pub log: String,
    /// Whether its records can be saved at the moment.
    pub healthy: bool,
    /// Unfinished tasks.
    pub unfinished: usize,
    /// All tasks.
    pub tasks: usize,
    /// Helpers that it runs itself and that would end with it.
    #[serde(default)]
    pub at_work: usize,
    /// Notices that are pending.
    pub pending: usize,
    /// The hosts that are connected.
    pub hosts: Vec<HostView>,
    /// Files with earlier records that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
}

/// A host that is connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostView {
    /// Which.
    pub host: HostId,
    /// What kind.
    pub kind: String,
    /// The sessions that it can reach.
    pub place: Place,
    /// How long it stays.
    pub lifetime: HostLifetime,
    /// Requests made to it so far.
    pub requests: u64,
}
