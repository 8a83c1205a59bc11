//! What comes of a request.

use serde::{Deserialize, Serialize};

use super::board::BoardPage;
use super::transcript::Transcript;
use super::view::{
    CostsView, DaemonView, EndView, Mail, News, ResultView, RunView, TaskView, TasksView,
};
use crate::ids::TaskId;
use crate::tools::OfferedAgent;

/// How the end of a run reaches whoever asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// In its conversation, by itself.
    Here,
    /// In the history of its conversation, which ends before that if nobody waits.
    InHistory,
    /// Only if it waits: its conversation ends, and its helpers end with it.
    BeforeEnd,
    /// Not by itself: with the answer to its next tool call.
    NextCall,
}

/// What came of a request that was not refused. Values only: each front has its own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", content = "of", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Answer {
    /// A helper was launched.
    Launched { task: Box<TaskView>, told: Told },
    /// A task goes on.
    Resumed { task: Box<TaskView>, told: Told },
    /// How a task is doing, or what came of it.
    Output(Box<ResultView>),
    /// The waiting is over.
    Waited {
        /// What was waited for, in the order in which it was named.
        tasks: Vec<Awaited>,
        /// Whether one of them was enough.
        any: bool,
        /// Whether more time was asked for than is allowed.
        cut: bool,
    },
    /// How a run that is being collected is doing.
    Collected {
        task: Box<TaskView>,
        run: u32,
        /// Whether the run has ended; the view may be of a later one.
        ended: bool,
    },
    /// The end of a run.
    Ended(Box<EndView>),
    /// The agents that can be asked.
    Agents(Vec<OfferedAgent>),
    /// Some tasks.
    Listed(TasksView),
    /// A task was called off.
    Cancelled {
        task: Box<TaskView>,
        /// Whether its session may still be at work, and is being stopped.
        stopping: bool,
        /// Whether the session that asked for the run is told; not if it called it off itself.
        told: bool,
        /// Whether the client that collects the run notes its end itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noted: bool,
    },
    /// Tasks were forgotten.
    Cleared {
        tasks: usize,
        /// How many of them were unfinished, and were called off.
        unfinished: usize,
    },
    /// The helper has the person's answer.
    Replied,
    /// One task.
    Task(Box<TaskView>),
    /// The runs of a task, the first one first.
    Runs(Vec<RunView>),
    /// Every decision about a task.
    Log(Vec<News>),
    /// A page of a conversation.
    Transcript(Box<Transcript>),
    /// The board, or what changed of it.
    Board(Box<BoardPage>),
    /// What runs cost.
    Costs(Box<CostsView>),
    /// The daemon.
    Status(Box<DaemonView>),
    /// What nobody has seen.
    Mail(Vec<Mail>),
    /// It was done, and there is nothing to say about it.
    Done,
}

impl Answer {
    /// The one task that a model's call launched, resumed or looked at.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Launched { task, .. } | Self::Resumed { task, .. } => Some(task.id),
            Self::Output(output) => Some(output.task.id),
            _ => None,
        }
    }
}

/// A task that was waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// As the caller wrote it.
    pub name: String,
    /// The task; nothing if there is none of this name.
    pub task: Option<TaskView>,
}

/// The daemon answered something else than was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the daemon answered something else than was asked")]
pub struct Other;

/// What a front that asked for one kind of answer takes out of it.
macro_rules! taken {
    ($($answer:pat => $type:ty = $taken:expr;)*) => {$(
        impl TryFrom<Answer> for $type {
            type Error = Other;
            fn try_from(answer: Answer) -> Result<Self, Other> {
                if let $answer = answer { Ok($taken) } else { Err(Other) }
            }
        }
    )*};
}

taken! {
    Answer::Launched { task, .. }
    | Answer::Resumed { task, .. }
    | Answer::Cancelled { task, .. }
    | Answer::Task(task) => TaskView = *task;
    Answer::Output(result) => ResultView = *result;
    Answer::Waited { tasks, .. } => Vec<Awaited> = tasks;
    Answer::Listed(tasks) => TasksView = tasks;
    Answer::Ended(end) => EndView = *end;
    Answer::Agents(agents) => Vec<OfferedAgent> = agents;
    Answer::Runs(runs) => Vec<RunView> = runs;
    Answer::Log(news) => Vec<News> = news;
    Answer::Transcript(page) => Transcript = *page;
    Answer::Board(page) => BoardPage = *page;
    Answer::Costs(costs) => CostsView = *costs;
    Answer::Status(daemon) => DaemonView = *daemon;
    Answer::Mail(mail) => Vec<Mail> = mail;
}
