//! The conversation of a task, as a front reads and follows it.
//!
//! It is read in pages. Each names the position from which the next one goes on; with a position
//! and a time to wait, a page comes as soon as there is something new. So a front that follows
//! asks again and again, one page at a time, and whoever stops asking costs nothing.

use serde::{Deserialize, Serialize};

use super::view::TaskView;
use crate::ids::Time;

/// Which part of a conversation is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// The `next` of the page before; nothing for the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Position>,
    /// How long to wait for something new while the task is unfinished; at most
    /// [`crate::limits::TRANSCRIPT_WAIT_MAX_MS`]. The answer may come earlier and have nothing.
    pub wait_ms: u64,
    /// Only this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// Only the entry with this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// What tools were given and gave back, whole; else their beginnings.
    pub whole: bool,
}

/// How far a conversation was read. Nobody but the daemon looks into it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// Up to this entry nothing changes any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    /// What was told of the entries behind it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Told>,
}

/// What was told of an entry that may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The entry.
    pub key: String,
    /// Bytes of its text.
    pub had: u64,
    /// A digest of these bytes.
    pub text: u32,
    /// A digest of the rest.
    pub rest: u32,
}

/// Some entries of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// The task as it was when the page was made.
    pub task: TaskView,
    /// Where the entries come from.
    pub source: Source,
    /// The entries, oldest first. One with a known key is the same entry, changed.
    pub entries: Vec<Entry>,
    /// What to ask for the rest with.
    pub next: Position,
    /// Whether there is more already.
    pub more: bool,
    /// Whether all was told and nothing follows, unless the task is resumed.
    pub over: bool,
    /// Whether the conversation was changed before the position that was asked for: the entries
    /// begin again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarted: bool,
}

/// Where entries of a conversation come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The host that keeps the conversation.
    Host,
    /// The records, which have only what was asked: the conversation has not begun.
    NotBegun,
    /// The records, which have only what was asked and what came of it: no host that keeps the
    /// conversation can be asked at the moment.
    HostAway,
    /// The same: its host does not have the conversation any more.
    Gone,
}

/// One thing that was said or done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Tells it from the other entries of the conversation.
    pub key: String,
    /// The run of the task that it belongs to.
    pub run: u32,
    /// What it is.
    pub kind: EntryKind,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
    /// Whether it may still change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The text, or what of it is new.
    #[serde(flatten)]
    pub text: Cut,
    /// Bytes of the text that were told before: it goes on there. 0 for a text from its beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from: u64,
    /// Whether what was written before somebody followed is missing. It is there when the text is
    /// complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beginning_missing: bool,
    /// What it plans to do, if it tells that. Earlier versions know no plans, so it is a thought
    /// for them: the text says the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanStep>,
    /// The tool call, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolUse>,
}

impl Entry {
    /// Whether it is a plan.
    pub fn is_plan(&self) -> bool {
        !self.plan.is_empty()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Who said something, or what was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// What the helper was asked to do.
    Prompt,
    /// What a person wrote into the helper's conversation.
    Person,
    /// What the helper was told of helpers of its own.
    Notice,
    /// What the helper wrote.
    #[default]
    Text,
    /// What it thought.
    Thought,
    /// A tool that it used.
    Tool,
    /// What went wrong.
    Error,
}

/// A text of which the end may have been cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The beginning, or all of it.
    #[serde(default)]
    pub text: String,
    /// Characters that are missing behind it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

impl From<String> for Cut {
    fn from(text: String) -> Self {
        Self { text, left_out: 0 }
    }
}

impl From<&str> for Cut {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cut {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.left_out == 0
    }

    /// Keeps at most so many bytes.
    pub fn shorten(&mut self, max_bytes: usize) {
        if self.text.len() > max_bytes {
            self.keep(self.text.floor_char_boundary(max_bytes));
        }
    }

    /// Keeps the beginning up to this byte, and counts the rest.
    pub fn keep(&mut self, end: usize) {
        self.left_out += self.text[end..].chars().count() as u64;
        self.text.truncate(end);
        // What was cut off is not to be kept all the same.
        self.text.shrink_to_fit();
    }
}

/// A step of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// What is to be done, on one line.
    pub text: String,
    /// How far it is.
    pub state: ToolState,
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool, as the host calls it.
    pub name: String,
    /// What it is about, on one line: a command, a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// How far it is.
    pub state: ToolState,
    /// What it was given, in the host's form.
    #[serde(default, skip_serializing_if = "Cut::is_empty")]
    pub input: Cut,
    /// What it gave back.
    #[serde(default, skip_serializing_if = "Cut::is_empty")]
    pub output: Cut,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Cut::is_empty")]
    pub error: Cut,
}

/// How far a tool call or a step of a plan is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolState {
    /// Its arguments are being written, or it waits for a permission.
    Pending,
    /// It is at work.
    #[default]
    Running,
    /// It has given back what it found.
    Done,
    /// It failed.
    Failed,
}

impl ToolState {
    /// Whether it has an end.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}
