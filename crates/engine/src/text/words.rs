//! Small words used in many texts: durations, counts, reasons.

pub use legwork_protocol::amounts::{ago, counted, duration};
use legwork_protocol::limits::{DETAIL_MAX_BYTES, HOST_TEXT_MAX_CHARS, PROVIDER_WAIT_MAX_MS};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::money::{amount, setting};
use legwork_protocol::refusal::{cut, plain, spenders};
use legwork_protocol::view::{BudgetView, QuestionKind, QuestionOption, QuestionView};
use legwork_protocol::{Cost, Outcome};

use crate::work::{HostError, Retry};

pub const CANCELLED_BY_PARENT: &str = "Cancelled by the session that asked for it.";
pub const CANCELLED_BY_SESSION: &str = "Cancelled by another session of this project.";
pub const CANCELLED_BY_PERSON: &str = "Cancelled by a person.";
pub const CANCELLED_WITH_PARENT: &str = "Cancelled because the helper that launched it ended.";
pub const SESSION_DELETED: &str = "Cancelled because its session was deleted.";
pub const SESSION_GONE_BEFORE_PROMPT: &str =
    "The session was deleted before the helper got its prompt.";
pub const INTERRUPTED: &str = "interrupted: the host ended before the helper was done. Nothing of \
     it runs any more; launch the task again if it is still needed.";
pub const INTERRUPTED_WITH_RUN: &str = "interrupted: `opencode run` ended before the helper was \
     done, and took it along. Wait for helpers with background_block before the conversation \
     ends, or use the terminal UI.";
pub const ABORTED: &str = "The run was aborted in its session.";
/// A helper that was called off, failed or was cleared asks for another.
pub const ASKER_ENDED: &str = "the session that asks was itself a helper that has ended.";
pub const SET_ASIDE: &str = "Note: earlier records of legwork could not be read as a whole and \
     were set aside, so tasks from before may be missing here. They are not deleted: `legwork \
     doctor` tells the person where they are.";

/// Why a run was interrupted, and why no headless host could go on with it, if one was tried.
pub fn interrupted(lifetime: HostLifetime, failure: Option<&str>) -> String {
    let why = match lifetime {
        HostLifetime::Interactive | HostLifetime::Headless => INTERRUPTED,
        HostLifetime::OneShot => INTERRUPTED_WITH_RUN,
    };
    match failure {
        None => why.to_owned(),
        Some(failure) => {
            format!("{why} No host could be started to go on with it: {}.", plain_end(failure))
        }
    }
}

pub fn could_not_start(error: &HostError, tries: u32) -> String {
    let what = match error {
        HostError::Unreachable => format!("The host could not be reached in {tries} tries"),
        HostError::Busy => format!("The host was busy in {tries} tries"),
        HostError::Gone => "The session does not exist".to_owned(),
        HostError::Rejected { why } => format!("The host refused ({})", plain_end(why)),
    };
    format!("{what}, so the helper could not be started.")
}

/// A prompt that the host took and nobody answers.
pub fn never_answered(error: Option<&str>, last_text: &str) -> String {
    let why = match error {
        Some(error) => plain(error, HOST_TEXT_MAX_CHARS),
        None => "The helper stopped without an answer.".to_owned(),
    };
    with_last_words(why, last_text)
}

fn with_last_words(mut why: String, last_text: &str) -> String {
    if !last_text.trim().is_empty() {
        why.push_str("\n\nIts last words:\n");
        why.push_str(last_text);
    }
    why
}

/// Its turn has come and the budget is used up.
pub fn over_budget(budget: &BudgetView, began: bool) -> String {
    let BudgetView { spent_micros, limit_micros, currency, of, .. } = budget;
    let what = if began { "Not gone on with" } else { "Not started" };
    let who = spenders(*of).replacen("The", "the", 1);
    format!(
        "{what}: {who} {} of {} {currency} ({} = {}).",
        amount(*spent_micros),
        amount(*limit_micros),
        of.setting(),
        setting(*limit_micros)
    )
}

/// The run itself has cost too much.
pub fn cost_too_much(cost: Cost, limit_micros: u64, last_text: &str) -> String {
    let limit = setting(limit_micros);
    let why = format!(
        "Stopped: it has cost {cost}, and limits.max_cost_per_run = {limit} allows no more."
    );
    with_last_words(why, last_text)
}

pub fn ran_too_long(minutes: u32) -> String {
    format!("Stopped: it ran longer than limits.max_run_minutes = {minutes} allows.")
}

pub fn waited_too_long(minutes: u32) -> String {
    format!(
        "interrupted: the host that it waited for could not be reached for longer than \
         limits.max_run_minutes = {minutes} allows. Nothing of it ran; launch it again if it is \
         still needed."
    )
}

pub fn was_silent_too_long(minutes: u32) -> String {
    format!("Stopped: it was silent longer than limits.max_quiet_minutes = {minutes} allows.")
}

pub fn waited_for_provider(retry: Option<&Retry>) -> String {
    let hours = PROVIDER_WAIT_MAX_MS / 3_600_000;
    let said =
        retry.map_or_else(String::new, |retry| format!(" It says: {}.", plain_end(&retry.why)));
    format!("Stopped: it waited for its provider for {hours} hours in a row.{said}")
}

/// What a helper is told that was cut off and is to go on.
pub fn go_on(prompt: &str) -> String {
    format!(
        "You were interrupted because the program that you ran in was closed. Look at what is \
         already done and go on with this task:\n\n{prompt}"
    )
}

/// A result or reason as it is kept: bounded, and without NUL, which not every reader survives.
pub fn kept_detail(detail: String) -> String {
    let mut detail = if detail.contains('\0') { detail.replace('\0', "\u{fffd}") } else { detail };
    if detail.len() > DETAIL_MAX_BYTES {
        let end = (0..=DETAIL_MAX_BYTES).rev().find(|at| detail.is_char_boundary(*at));
        detail.truncate(end.unwrap_or(0));
        detail.push_str("\n\n(The rest was longer than is kept.)");
    }
    detail
}

pub fn queued(ahead: usize) -> String {
    match ahead {
        0 => "queued, next in line".to_owned(),
        ahead => format!("queued, {} before it", counted(ahead, "task")),
    }
}

/// What a question wants of a person.
pub fn asks(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Permission => "asks for a permission",
        QuestionKind::Question => "asks",
    }
}

/// How a run ended, where a person reads it first.
pub fn ended(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Completed) => "Completed",
        Some(Outcome::Cancelled) => "Cancelled",
        Some(Outcome::Failed) | None => "Failed",
    }
}

/// A question with its options, where they are part of it.
pub fn question(question: &QuestionView) -> String {
    let subject = plain(&question.subject, HOST_TEXT_MAX_CHARS);
    if question.kind == QuestionKind::Permission || question.options.is_empty() {
        return subject;
    }
    let option = |option: &QuestionOption| format!("{}: {}", option.id, option.label);
    let options: Vec<String> = question.options.iter().map(option).collect();
    format!("{subject} ({})", options.join(", "))
}

pub const NO_TEXT: &str = "(The helper answered without any text.)";

fn plain_end(text: &str) -> String {
    cut(text.trim_end_matches('.'), HOST_TEXT_MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_detail_is_bounded_and_holds_no_nul() {
        assert_eq!(kept_detail("a\0b".to_owned()), "a\u{fffd}b");
        let long = kept_detail("é".repeat(DETAIL_MAX_BYTES));
        assert!(long.len() < DETAIL_MAX_BYTES + 100);
        assert!(long.ends_with("is kept.)"));
    }
}
