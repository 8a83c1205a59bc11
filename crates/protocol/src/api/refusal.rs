//! The answers to requests that cannot be done. A model reads them and acts on them: each says what
//! is so and what to do now, and holds no path, port or trace.

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;
use crate::limits::{ECHO_MAX_CHARS, REFUSAL_MAX_CHARS};
use crate::money::{Currency, amount, setting};
use crate::status::Status;
use crate::view::BudgetOf;

/// Why a request is not done: a code and its values. `Display` is what a model reads; where
/// `spec.md` fixes a text it is fixed here, character for character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", content = "of", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Refusal {
    #[error(
        "Launching a background task needs {}. Missing: {}. Call background_task again with \
         description, prompt and agent.",
        "description, prompt and agent",
        .0.join(", ")
    )]
    Missing(Vec<String>),
    /// R1.
    #[error("Prompt is required when resuming a task")]
    PromptRequired,
    /// R2 and its likes.
    #[error("Task not found: {}. Use background_list to see available tasks.", echo(.0))]
    NotFound(String),
    /// R3.
    #[error("Task is currently being resumed. Wait for completion.")]
    BeingResumed,
    /// R4.
    #[error("Only completed tasks can be resumed. Current status: {0}")]
    NotCompleted(Status),
    /// What a person asked for too early.
    #[error("What the task did last is still being stopped. Try again in a moment.")]
    BeingStopped,
    /// R5.
    #[error("Session expired or was deleted. Start a new background_task to continue.")]
    SessionExpired,
    /// L4.
    #[error("There is no agent named {}{}", echo(.agent), others(.known))]
    UnknownAgent { agent: String, known: Vec<String> },
    /// L9.
    #[error(
        "{} cannot start with a copy of this conversation: only an agent of the program that the \
         conversation is in can. Call again without fork and say in the prompt what it needs.",
        echo(.agent)
    )]
    CannotFork { agent: String },
    /// L5.
    #[error(
        "Helpers may launch helpers only {limit} level(s) deep (limits.max_depth = {limit}), and \
         this session is at the limit. Do the work here, or ask the person to raise \
         limits.max_depth in legwork's config.toml."
    )]
    TooDeep { limit: u32 },
    /// L7.
    #[error(
        "This session and its helpers have {held} of {limit} tasks (limits.max_tasks_per_root): \
         {}. Free some with background_clear (forgets your tasks) or wait for running ones \
         and clear then.",
        holders(*.held, *.finished, *.unfinished)
    )]
    TooManyTasks {
        limit: u32,
        held: usize,
        /// Finished ones of the root itself.
        finished: usize,
        /// Unfinished ones of the root itself; the others are its helpers'.
        unfinished: usize,
    },
    /// The budget.
    #[error(
        "{} {} of {} {currency} ({} = {}), so none can be launched or resumed. Go on without \
         them, or ask the person to raise {} in legwork's config.toml and to run `legwork daemon \
         stop`.",
        spenders(*.of), amount(*.spent_micros), amount(*.limit_micros), of.setting(),
        setting(*.limit_micros), of.setting()
    )]
    OverBudget {
        spent_micros: u64,
        limit_micros: u64,
        currency: Currency,
        #[serde(default, skip_serializing_if = "BudgetOf::is_session")]
        of: BudgetOf,
    },
    /// X2.
    #[error("Cannot cancel task: status is '{0}'. Only running or resumed tasks can be cancelled.")]
    CannotCancel(Status),
    /// S3.
    #[error(
        "There is no status {}. Use one of running, completed, error, cancelled, resumed, or leave \
         status out.",
        echo(.0)
    )]
    NoSuchStatus(String),
    #[error("{tool}: {}", echo_long(.why))]
    BadArguments {
        tool: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    #[error("There is no tool {}. The tools are background_task, background_output, \
        background_block, background_list, background_cancel and background_clear.", echo(.0))]
    NoSuchTool(String),
    #[error("The host could not be reached, so nothing was done. Try again in a moment.")]
    HostUnreachable,
    #[error("The helper could not be started and nothing is left behind: {}", echo_long(.0))]
    NotStarted(String),
    #[error("The host would not do it: {}", echo_long(.0))]
    NotDone(String),
    /// Two calls with one key that ask for different things.
    #[error(
        "This call bears the id of an earlier, different one, so nothing was done. Make the call \
         again. If this goes on, ask the person to run `legwork install opencode` and to restart \
         OpenCode."
    )]
    CallRepeated,
    #[error(
        "legwork cannot save its records (the disk may be full) and takes on nothing new. Tasks \
         that are there stay as they are. Make room, then try again; background_list shows what \
         there is."
    )]
    CannotSave,
    #[error("The result cannot be read from legwork's records at the moment. Try again later.")]
    CannotRead,
    #[error("No helper waits for an answer to {}. It may have been answered already.", echo(.0))]
    NoSuchQuestion(String),
    #[error(
        "{task} ({}) was forgotten because the session that launched it was deleted. What it found \
         is kept for another {days_left} day(s):\n\n{found}",
        echo(.description)
    )]
    Forgotten {
        task: TaskId,
        description: String,
        /// For how long this can still be read.
        days_left: u64,
        /// Its last result, or why there was none.
        found: String,
    },
    #[error("Only a session can launch, resume or clear background tasks.")]
    NotASession,
    /// What is for the person to decide was asked by something that a helper may have started.
    #[error("{0}")]
    NotAPerson(Inside),
    #[error(
        "{path} was deleted or replaced while the legwork daemon had it open, so nothing more can \
         be kept and this daemon ends. Try again: the next one goes on with what is there now."
    )]
    RecordsReplaced { path: String },
    /// The front asks in a way that cannot be answered.
    #[error("{0}")]
    BadRequest(String),
}

/// Where a program runs that may look, but not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum Inside {
    #[error(
        "This is a helper's own shell. A helper may look, but not answer, launch, resume, cancel, \
         clear or stop: that is for the person, in a terminal of their own."
    )]
    Agent,
    #[error(
        "This was started by a host in which helpers work, so it may be a helper's doing. It may \
         look and launch, but not answer, resume, cancel, clear or stop: use another terminal for \
         that."
    )]
    Host,
    #[error(
        "It cannot be told which program asks this: it may be a helper's. It may look, but not \
         answer, launch, resume, cancel, clear or stop: use another terminal for that."
    )]
    Unknown,
}

impl Refusal {
    /// What the caller reads, whatever was in the parts: at most [`REFUSAL_MAX_CHARS`].
    pub fn text(&self) -> String {
        match self {
            // A person reads this one, and wants all of it.
            Self::Forgotten { .. } => self.to_string(),
            _ => cut(&self.to_string(), REFUSAL_MAX_CHARS),
        }
    }
}

/// What an agent is refused with that is not there: those that are, or how its person gets one.
fn others(known: &[String]) -> String {
    if known.is_empty() {
        return ", and no other one here yet. Ask the person to run `legwork agents`, which says \
                how to get one; do the work yourself meanwhile."
            .to_owned();
    }
    format!(". Agents here: {}. Call again with one of them.", cut(&known.join(", "), 300))
}

/// Who spends from a budget, and that they did.
pub fn spenders(of: BudgetOf) -> &'static str {
    match of {
        BudgetOf::Session => "The helpers of this conversation have cost",
        BudgetOf::Day => "The helpers that terminals launched have cost, today,",
    }
}

fn holders(held: usize, finished: usize, unfinished: usize) -> String {
    let own = format!("{finished} finished and {unfinished} unfinished of its own");
    match held.saturating_sub(finished + unfinished) {
        0 => own,
        nested => format!("{own}, {nested} of its helpers"),
    }
}

fn echo(text: &str) -> String {
    plain(text, ECHO_MAX_CHARS)
}

fn echo_long(text: &str) -> String {
    plain(text, REFUSAL_MAX_CHARS - 100)
}

/// A text of unknown origin on one line: what would break the line or turn it around becomes a
/// space, the rest is cut.
pub fn plain(text: &str, max_chars: usize) -> String {
    let line: String = text
        .chars()
        .take(max_chars.saturating_add(1))
        .map(|c| if steers(c) { ' ' } else { c })
        .collect();
    cut(&line, max_chars)
}

/// Whether a character is no text but an order to whoever shows it: to a terminal (C0 and C1), to
/// break the line, or to write in another direction, so that a text reads as what it is not.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{61c}')
}

/// At most so many characters, the last of them `…` where something was cut.
pub fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p13_a_refusal_of_an_earlier_version_is_read() {
        let now = r#"{"code":"unknown-agent","of":{"agent":"x","known":[]}}"#;
        let adapter = r#"{"agent":"claude","package":"p","has_npm":true}"#;
        let old = now.replace("[]", &format!("[],\"installable\":[{adapter}]"));
        let read: Refusal = serde_json::from_str(&old).unwrap();
        assert_eq!(read, Refusal::UnknownAgent { agent: "x".to_owned(), known: Vec::new() });
        assert_eq!(serde_json::to_string(&read).unwrap(), now);
    }

    #[test]
    fn no_input_makes_a_refusal_long_or_many_lined() {
        let huge = "x\n\u{0}".repeat(5_000_000);
        for refusal in [
            Refusal::NotFound(huge.clone()),
            Refusal::NoSuchStatus(huge.clone()),
            Refusal::NotStarted(huge.clone()),
            Refusal::UnknownAgent { agent: huge.clone(), known: vec!["a".into(); 10_000] },
            Refusal::UnknownAgent { agent: huge.clone(), known: Vec::new() },
            Refusal::BadArguments { tool: "background_task".into(), why: huge },
        ] {
            let text = refusal.text();
            assert!(text.chars().count() <= REFUSAL_MAX_CHARS);
            assert!(!text.chars().any(char::is_control), "{text}");
        }
    }
}
