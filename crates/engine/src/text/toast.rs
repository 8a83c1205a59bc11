//! Toasts: a few words on a person's screen that go away by themselves. Nothing depends on them.

use legwork_protocol::Time;
use legwork_protocol::limits::TOAST_MAX_TASKS;
use legwork_protocol::money::amount;
use legwork_protocol::refusal::cut;
use legwork_protocol::view::{BudgetView, QuestionView};

use super::notification;
use super::words::{self, counted, duration};
use crate::task::{Outcome, Task};
use crate::tasks::Live;

const PROGRESS_MS: u32 = 4_000;
const END_MS: u32 = 6_000;
const QUESTION_MS: u32 = 15_000;
/// A run without tool calls shows its time in steps, so that a toast is not shown anew for nothing.
const STEP_MS: u64 = 10_000;
/// A description or a reason, as far as it fits.
const LINE_CHARS: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub title: String,
    pub message: String,
    pub kind: ToastKind,
    pub duration_ms: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToastKind {
    /// What goes on at the moment.
    Info,
    Success,
    /// Somebody is asked, or something was called off.
    Warning,
    Error,
}

pub(crate) fn progress(running: &[&Live], queued: usize, now: Time) -> Option<Toast> {
    if running.is_empty() && queued == 0 {
        return None;
    }
    let mut title = format!("{} running", counted(running.len(), "background task"));
    if queued > 0 {
        title.push_str(&format!(", {queued} queued"));
    }
    let message = few(running, |live| line(live, now)).join("\n");
    Some(Toast { title, message, kind: ToastKind::Info, duration_ms: PROGRESS_MS })
}

/// A line for each of the first, and how many others there are.
fn few<T>(all: &[T], line: impl FnMut(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().take(TOAST_MAX_TASKS).map(line).collect();
    if all.len() > TOAST_MAX_TASKS {
        lines.push(format!("and {} more", all.len() - TOAST_MAX_TASKS));
    }
    lines
}

fn line(live: &Live, now: Time) -> String {
    let Live { task, volatile } = live;
    let name = cut(&task.description, LINE_CHARS);
    let doing = match volatile.tools.back() {
        _ if !volatile.questions.is_empty() => "waits for your answer".to_owned(),
        _ if volatile.retry.is_some() => "retrying its provider".to_owned(),
        Some(tool) => format!("{tool} ({})", counted(task.run.tool_calls as usize, "tool call")),
        None => match task.elapsed_ms(now) / STEP_MS {
            0 => "begins".to_owned(),
            steps => duration(steps * STEP_MS),
        },
    };
    format!("{name}: {doing}")
}

pub(crate) fn ended(task: &Task, detail: &str) -> Toast {
    let kind = match task.outcome() {
        Some(Outcome::Completed) => ToastKind::Success,
        Some(Outcome::Cancelled) => ToastKind::Warning,
        Some(Outcome::Failed) | None => ToastKind::Error,
    };
    let took = duration(task.elapsed_ms(task.run.started));
    let mut message = format!("{}, {took}", task.agent);
    if kind == ToastKind::Error {
        message.push('\n');
        message.push_str(&cut(detail.lines().next().unwrap_or_default(), 2 * LINE_CHARS));
    }
    let title = format!("{}: {}", words::ended(task.outcome()), cut(&task.description, LINE_CHARS));
    Toast { title, message, kind, duration_ms: END_MS }
}

/// These work on although a person undid their launches.
pub(crate) fn undone(tasks: &[&Task]) -> Toast {
    let mut lines = few(tasks, |task| cut(&task.description, LINE_CHARS));
    lines.push(match tasks {
        [task] => format!("Cancel it? legwork cancel {}", task.id),
        _ => "Cancel them? legwork list shows them, legwork cancel ID cancels one".to_owned(),
    });
    let title = match tasks {
        [_] => "You undid its launch, and it works on",
        _ => "You undid their launches, and they work on",
    };
    warning(title, lines.join("\n"))
}

pub fn warning(title: &str, message: String) -> Toast {
    let title = title.to_owned();
    Toast { title, message, kind: ToastKind::Warning, duration_ms: QUESTION_MS }
}

/// A budget is nearly used up, or more.
pub(crate) fn near_budget(budget: &BudgetView) -> Toast {
    let BudgetView { spent_micros, limit_micros, currency, of, .. } = budget;
    let (spent, limit, setting) = (amount(*spent_micros), amount(*limit_micros), of.setting());
    let message = format!(
        "They have cost {spent} of {limit} {currency}. At {setting} no more is started, nor what \
         waits."
    );
    warning("Background tasks are near their budget", message)
}

/// In words for the person; its notice is for the model.
pub(crate) fn asks(task: &Task, question: &QuestionView) -> Toast {
    let asks = notification::asked(&task.description, question);
    let remedy = format!("Answer it in the list of helpers, or: legwork answer {}", task.id);
    warning("A helper asks you", format!("{asks}\n{remedy}"))
}
