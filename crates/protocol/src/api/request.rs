//! What can be asked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::board::Glance;
use super::refusal::Refusal;
use super::tool::bad;
use super::transcript::Reading;
use crate::ids::{CallKey, MessageId, QuestionId, SessionId, Time, text_form};
use crate::limits::{
    AGENT_MAX_BYTES, BLOCK_MAX_TASKS, DIRECTORY_MAX_BYTES, PROMPT_MAX_BYTES, QUESTIONS_MAX_OPEN,
    SEARCH_MAX_BYTES,
};
use crate::status::Status;

/// What a front asks. [`super::Answer`] says what comes of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Request {
    /// One task. → `Task`
    Show { task: String },
    /// The runs of a task with what each was asked to do. → `Runs`
    Runs { task: String },
    /// Every decision about a task, in words. → `Log`
    Log { task: String },
    /// What was said and done in a task's conversation, a page of it. → `Transcript`
    Transcript {
        task: String,
        #[serde(flatten)]
        reading: Reading,
    },
    /// The unfinished tasks and the newest others, or what changed of them. → `Board`
    Board(Glance),
    /// What all kept runs cost. → `Costs`
    Cost {
        by: CostBy,
        /// Only runs that began at this moment or later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Time>,
    },
    /// What happens from now on. → `news` lines until it is cancelled
    Follow,
    /// The end of a run as a model reads it, headline and result. → `Ended`
    Ended { task: String, run: u32 },
    /// The agents that a session of a client can ask. → `Agents`
    Agents,
    /// The daemon itself. → `Status`
    Status,
    /// What sessions without a host of their own were told and nobody has seen. → `Mail`
    Mail,
    /// What this session of a client was told and its model has not been shown. → `Mail`
    Unread { session: SessionId },
    /// The daemon is to end. What runs goes on and is found again by the next one. → `Done`
    Shutdown,
    /// What the engine decides.
    #[serde(untagged)]
    Ask(Ask),
}

/// What costs are summed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostBy {
    /// The day on which a run began, where the daemon is.
    Day,
    /// The directory.
    Project,
    /// The agent.
    Agent,
}

/// A request that the engine decides: what the six tools do, and what only a person may. Tasks are
/// named as the caller wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Ask {
    /// Hands a piece of work to a new helper. → `Launched`
    Launch {
        prompt: String,
        description: String,
        agent: String,
        /// Whether it begins with a copy of the asker's conversation so far.
        #[serde(default)]
        fork: bool,
        /// Whether the asker fetches the end of the run itself, by `Collect`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        collects: bool,
    },
    /// Goes on with a completed task. → `Resumed`
    Resume {
        task: String,
        prompt: String,
        /// See `Launch`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        collects: bool,
    },
    /// Goes on with any task that is not at work, as long as its session exists; for people. The
    /// session that launched it is told of the end. → `Resumed`
    ResumeAny {
        task: String,
        prompt: String,
        /// The call, for good: one that is sent again is the same.
        key: CallKey,
    },
    /// How a task is doing, or what came of it. → `Output`
    Output {
        task: String,
        /// Characters of the result to skip.
        #[serde(default)]
        offset: u64,
    },
    /// Waits until the tasks are finished or the time is up. Notices of what a session waits for
    /// are held meanwhile. → `Waited`
    Wait {
        tasks: Vec<String>,
        /// Whether the first that is finished is enough; else it waits for all.
        #[serde(default)]
        any: bool,
        /// How long; at most [`crate::limits::BLOCK_MAX_MS`].
        timeout_ms: u64,
    },
    /// Waits until one run is finished, its helper's questions change or the time is up, for a
    /// front whose client is told by its own polling. While somebody collects a run, and a while
    /// after, its notices are held. → `Collected`
    Collect {
        task: String,
        run: u32,
        /// The open questions that the client knows.
        #[serde(default)]
        questions: Vec<QuestionId>,
        /// How long; at most [`crate::limits::COLLECT_WAIT_MAX_MS`].
        wait_ms: u64,
    },
    /// The client of whoever collects this run has been handed its end, so that its notices are not
    /// needed any more. → `Done`
    HandedOver { task: String, run: u32 },
    /// These messages have been shown to whom they are for. → `Done`
    MailShown { messages: Vec<MessageId> },
    /// Some of the tasks that the caller may see. → `Listed`
    List(List),
    /// Calls a task off. → `Cancelled`
    Cancel { task: String },
    /// Calls off and forgets all tasks of the session that asks. → `Cleared`
    Clear,
    /// Calls off and forgets these tasks; for people. → `Cleared`
    Forget { tasks: Vec<String> },
    /// Forgets all tasks that ended before this moment, by the daemon's clock; for people. What
    /// ended later, nobody has seen yet. → `Cleared`
    ForgetFinished { by: Time },
    /// Answers a helper's permission or question; for people. → `Replied`
    Reply { question: QuestionId, reply: Reply },
}

impl From<Ask> for Request {
    fn from(ask: Ask) -> Self {
        Self::Ask(ask)
    }
}

impl Ask {
    /// A launch by somebody who is told of its end.
    pub fn launch(prompt: String, description: String, agent: String) -> Self {
        Self::Launch { prompt, description, agent, fork: false, collects: false }
    }

    /// Whether the values fit, whichever front they come from.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Self::Launch { prompt, description, agent, .. } => {
                check_prompt(prompt)?;
                let given = [("description", description), ("prompt", prompt), ("agent", agent)];
                let missing = given.iter().filter(|(_, text)| text.trim().is_empty());
                let missing: Vec<String> = missing.map(|(name, _)| (*name).to_owned()).collect();
                if !missing.is_empty() {
                    return Err(Refusal::Missing(missing));
                }
                if agent.len() > AGENT_MAX_BYTES || agent.chars().any(char::is_control) {
                    return Err(bad("background_task", "agent: expected the name of an agent"));
                }
                Ok(())
            }
            Self::Resume { prompt, .. } | Self::ResumeAny { prompt, .. } => {
                if prompt.trim().is_empty() {
                    return Err(Refusal::PromptRequired);
                }
                check_prompt(prompt)
            }
            Self::Wait { tasks, .. } => check_tasks(tasks.len()),
            Self::List(List { search: Some(text), .. }) if text.len() > SEARCH_MAX_BYTES => {
                let most = format_args!("search: at most {SEARCH_MAX_BYTES} bytes");
                Err(bad("background_list", most))
            }
            Self::List(List { under: Some(path), .. }) if path.len() > DIRECTORY_MAX_BYTES => {
                let most = format_args!("under: at most {DIRECTORY_MAX_BYTES} bytes");
                Err(bad("background_list", most))
            }
            Self::Collect { questions, .. } if questions.len() > QUESTIONS_MAX_OPEN => {
                let most = format!("At most {QUESTIONS_MAX_OPEN} questions can be known.");
                Err(Refusal::BadRequest(most))
            }
            Self::Output { .. }
            | Self::Collect { .. }
            | Self::HandedOver { .. }
            | Self::MailShown { .. }
            | Self::List(_)
            | Self::Cancel { .. }
            | Self::Clear
            | Self::Forget { .. }
            | Self::ForgetFinished { .. }
            | Self::Reply { .. } => Ok(()),
        }
    }
}

fn check_prompt(prompt: &str) -> Result<(), Refusal> {
    if prompt.len() <= PROMPT_MAX_BYTES {
        return Ok(());
    }
    let why = format_args!(
        "the prompt has {} bytes, {PROMPT_MAX_BYTES} are allowed. Put the long part into a file \
         and name it in the prompt",
        prompt.len()
    );
    Err(bad("background_task", why))
}

fn check_tasks(count: usize) -> Result<(), Refusal> {
    let tool = "background_block";
    if count == 0 {
        return Err(bad(tool, "task_ids: name at least one task. background_list shows them"));
    }
    if count > BLOCK_MAX_TASKS {
        let why = format_args!("task_ids: {count} ids given, at most {BLOCK_MAX_TASKS} allowed");
        return Err(bad(tool, why));
    }
    Ok(())
}

/// Which tasks to list. A session gets the newest first; a person gets the unfinished ones first,
/// so that none of them is ever cut off.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct List {
    /// Only those with this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Only those with this text in their id, description, agent or folder, in letters of any
    /// case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Only those that were launched in this folder or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
    /// A session's: those of other sessions of the project too.
    pub all: bool,
    /// Only what follows this place in the listing: the `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
    /// How many at most; never more than [`crate::limits::LIST_MAX_TASKS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A place in a listing: that of its task when the page was made. Nobody but the engine reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor {
    /// Whether it is among the finished tasks of a listing that shows the others first.
    pub finished: bool,
    /// The task's number in the order of launches.
    pub seq: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", if self.finished { 'f' } else { 'u' }, self.seq)
    }
}

text_form!(Cursor);

impl FromStr for Cursor {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = |finished, digits: &str| Some(Self { finished, seq: digits.parse().ok()? });
        match (text.strip_prefix('u'), text.strip_prefix('f')) {
            (Some(digits), _) => read(false, digits),
            (_, Some(digits)) => read(true, digits),
            (None, None) => None,
        }
        .ok_or("expected the `next` of a listing")
    }
}

/// A person's answer to a helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// Yes, this once.
    Once,
    /// Yes, from now on.
    Always,
    /// No, with words to the helper or without.
    Reject(Option<String>),
    /// An answer to a question.
    Words(String),
}

impl Reply {
    /// The id of the option by which a permission is given; nothing for any other reply.
    pub fn permits(&self) -> Option<&'static str> {
        match self {
            Self::Once => Some("once"),
            Self::Always => Some("always"),
            Self::Reject(_) | Self::Words(_) => None,
        }
    }
}
