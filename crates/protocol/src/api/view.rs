//! What a front sees of tasks and of the daemon, and what the commands print with `--json`: fields
//! are added, never renamed.

use serde::{Deserialize, Serialize};

use super::request::{CostBy, Cursor};
use crate::ids::{HostId, MessageId, Place, QuestionId, SessionId, TaskId, Time};
use crate::line::HostLifetime;
use crate::money::{Cost, Currency};
use crate::status::{Outcome, Stage, Status};
use crate::usage::Usage;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct TaskView {
    pub id: TaskId,
    /// Its number in the order of launches.
    #[serde(default)]
    pub seq: u64,
    pub status: Status,
    /// How far its run is.
    pub stage: Stage,
    pub description: String,
    /// Who does the work.
    pub agent: String,
    /// The folder in which it was launched.
    #[serde(default)]
    pub directory: String,
    /// The session that launched it.
    pub parent: SessionId,
    /// Its own session, once that is open.
    pub session: Option<SessionId>,
    /// Where its session is kept.
    pub place: Place,
    /// The host that does, or did, the run.
    pub host: HostId,
    pub resumes: u32,
    pub created: Time,
    pub started: Time,
    pub ended: Option<Time>,
    /// How long the run took, or takes so far.
    pub elapsed_ms: u64,
    /// Why the run failed or was cancelled, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub tool_calls: u32,
    /// The last tools, oldest first; of an unfinished run.
    pub last_tools: Vec<String>,
    /// Its last tool call in words, on one line: the tool and what it is about; of an unfinished
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// The same, taken apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// How long ago it last did something; of an unfinished run.
    pub quiet_ms: Option<u64>,
    /// What its last run used up.
    #[serde(flatten)]
    pub usage: Usage,
    /// The budget that its runs spend from, if that is nearly used up, or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetView>,
    /// Every run of it, the launch first; only where one task is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunView>,
    /// What it waits for, besides a person.
    pub waiting: Vec<Waiting>,
    /// What it waits for a person to answer.
    pub questions: Vec<QuestionView>,
    /// When its last result was first read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<Time>,
    /// Whether its parent has not been told of the end of its last run yet.
    pub notice_pending: bool,
}

/// A tool call, on one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The tool, as the host names it.
    pub tool: String,
    /// What it is about: a command, a file.
    pub subject: String,
}

impl std::fmt::Display for Activity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.tool, self.subject)
    }
}

/// One run of a task, and what it used up as far as its host tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct RunView {
    /// 0 for the launch; each resume adds one.
    pub run: u32,
    /// What it was asked to do, if that was asked for; the beginning of it if all prompts are too
    /// long for a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    pub started: Time,
    pub ended: Option<Time>,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    #[serde(flatten)]
    pub usage: Usage,
}

/// What a budget is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetOf {
    /// All runs of one root session (`limits.max_cost`).
    #[default]
    Session,
    /// All runs that terminals ask for in a day (`limits.max_cost_per_day`).
    Day,
}

impl BudgetOf {
    /// Whether it is what it is taken for if nothing is said.
    pub fn is_session(&self) -> bool {
        *self == Self::Session
    }

    /// The setting that limits it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Session => "limits.max_cost",
            Self::Day => "limits.max_cost_per_day",
        }
    }
}

/// How much of a budget is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct BudgetView {
    /// The session at the top.
    pub root: SessionId,
    pub spent_micros: u64,
    pub currency: Currency,
    pub limit_micros: u64,
    #[serde(default, skip_serializing_if = "BudgetOf::is_session")]
    pub of: BudgetOf,
}

/// What runs cost, by something and altogether.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct CostsView {
    pub by: CostBy,
    /// Each with at least one run; days newest first, the others by name.
    pub groups: Vec<CostGroup>,
    /// All of them together.
    pub total: CostSum,
}

/// The runs of one day, project or agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostGroup {
    /// The day (`2026-11-16`), the directory or the agent.
    pub name: String,
    /// What its runs used up.
    #[serde(flatten)]
    pub sum: CostSum,
}

/// What some runs used up, as far as their hosts tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct CostSum {
    pub runs: u64,
    pub tool_calls: u64,
    pub tokens: u64,
    /// Runs whose host does not tell their tokens.
    pub tokens_unknown: u64,
    /// One amount for each currency.
    pub costs: Vec<Cost>,
    /// Runs whose host does not tell their cost.
    pub cost_unknown: u64,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Waiting {
    /// A free slot of its host.
    Slot {
        /// Tasks that wait before it.
        ahead: usize,
    },
    /// Another host, because its own has ended.
    AnotherHost,
    /// Its host, which cannot be reached at the moment.
    Host,
    /// Its provider, which is tried again.
    Provider {
        /// Which attempt comes next.
        attempt: u32,
        why: String,
        in_ms: u64,
    },
}

/// The name of a yes for good whose extent its host does not tell.
pub const ALLOW_ALWAYS: &str = "Allow always";

/// A helper's question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct QuestionView {
    pub id: QuestionId,
    /// Its number among all questions of its task, from 1 on: it never moves and is never given
    /// again. 0 if it has none; then only the id names it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u32,
    pub kind: QuestionKind,
    /// What it is about, whole: what the helper wants to do, or what it wants to know. It may have
    /// several lines.
    pub subject: String,
    pub options: Vec<QuestionOption>,
    /// Whether words may go with a no to a permission.
    #[serde(default)]
    pub takes_words: bool,
    /// Since when it is known to wait.
    pub since: Time,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl QuestionView {
    /// Whether words may go with a no to it.
    pub fn takes_words_with_a_no(&self) -> bool {
        self.kind == QuestionKind::Permission && self.takes_words
    }

    /// What a yes for good allows, in its host's words. It may be far more than what is asked
    /// about: all edits of a session, or every command that begins alike.
    pub fn always_means(&self) -> Option<&str> {
        let always = self.options.iter().find(|option| option.id == "always");
        let label = always.map(|option| option.label.trim());
        let is_general = |label: &str| {
            ["always", "allow always", "always allow"].contains(&label.to_lowercase().as_str())
        };
        label.filter(|label| !label.is_empty() && !is_general(label))
    }

    /// Whether its host offers this answer to a permission. One that names no answers takes any.
    pub fn offers(&self, answer: &str) -> bool {
        self.options.is_empty() || self.options.iter().any(|option| option.id == answer)
    }
}

/// What kind of answer a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// Yes or no to something that the helper wants to do.
    Permission,
    /// Words, or one of the options.
    Question,
}

/// An answer that a host offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// What to answer with: `once`, `always` or `reject` to a permission, a number to a question.
    pub id: String,
    /// What it means, in the host's words.
    pub label: String,
}

/// A page of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct TasksView {
    pub tasks: Vec<TaskView>,
    /// How many there are on all pages.
    pub total: usize,
    /// What to ask for the next page with, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
    /// Whether earlier records could not be read: what is in them is not among these.
    #[serde(default)]
    pub incomplete: bool,
}

/// How a task is doing, or the result or reason of its last run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct ResultView {
    pub task: TaskView,
    /// The characters of the result before the text.
    pub offset: u64,
    /// The text from there on, as much of it as fits; nothing while the run is unfinished.
    pub text: Option<String>,
    /// The offset from which on the rest is to be asked for, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The end of a run, as a model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct EndView {
    pub task: TaskId,
    pub run: u32,
    pub outcome: Outcome,
    pub ended: Time,
    /// The headline, and the result in its fence; or, if the model knows it, only that.
    pub text: String,
}

/// Something that was decided about a task, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct News {
    pub at: Time,
    pub task: TaskId,
    pub run: u32,
    pub line: String,
    /// Whether the line is of use only to find a fault: it says how something was done, and not
    /// what became of the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detail: bool,
}

/// A message to a session that the daemon keeps, like that of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct Mail {
    pub message: MessageId,
    /// The session that it is for.
    pub session: SessionId,
    pub at: Time,
    /// What a person is to see of it.
    pub text: String,
    /// The tasks that it is about; none if that is not known.
    #[serde(default, rename = "about", skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
}

/// The daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct DaemonView {
    pub pid: u32,
    pub build: String,
    pub started: Time,
    /// The file that holds its records.
    pub store: String,
    pub log: String,
    /// Whether its records can be saved at the moment.
    pub healthy: bool,
    pub unfinished: usize,
    pub tasks: usize,
    /// Helpers that it runs itself and that would end with it.
    #[serde(default)]
    pub at_work: usize,
    pub pending: usize,
    pub hosts: Vec<HostView>,
    /// Files with earlier records that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
}

/// A host that is connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct HostView {
    pub host: HostId,
    /// What kind of host: `opencode`.
    pub kind: String,
    pub place: Place,
    pub lifetime: HostLifetime,
    /// Requests made to it so far.
    pub requests: u64,
    /// The version of its bridge; empty if an older daemon tells.
    #[serde(default)]
    pub bridge: String,
    /// The version of the plugin in it, if it has one that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}
