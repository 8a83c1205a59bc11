//! What came of requests, in words for people. What models read of the same values is the engine's.

use legwork_protocol::amounts::{counted, duration};
use legwork_protocol::api::{Answer, Reply};
use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::money::amount;
use legwork_protocol::refusal::plain;
use legwork_protocol::slips::nearest;
use legwork_protocol::view::{BudgetOf, QuestionKind, QuestionView, TaskView, Waiting};
use legwork_protocol::{Refusal, SessionId};

use crate::model::ask::answered;

/// The agent that is built in, for those who know it by name.
const REHEARSAL: &str = "rehearsal";
/// Longer than any question that is kept.
pub const QUESTION_MAX_CHARS: usize = 1_000;

pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotFound(name) => {
            let name = plain(name, ECHO_MAX_CHARS);
            format!("Task not found: {name}. `legwork list` shows the tasks with their ids.")
        }
        Refusal::BeingResumed => "The task is being resumed already. Wait for its end.".to_owned(),
        Refusal::NotCompleted(_) => "The task is still at work. Wait for its end, or cancel it, \
             and resume it then."
            .to_owned(),
        Refusal::BeingStopped => {
            "What the task did last is still being stopped. Try again in a moment.".to_owned()
        }
        Refusal::PromptRequired => "Say what is to be done: the prompt is empty.".to_owned(),
        Refusal::HostUnreachable => "The program that keeps the task's session is not running. \
             Open it again in the task's folder (`legwork show` names it), then try again."
            .to_owned(),
        Refusal::SessionExpired => {
            "The task has no session any more, so it cannot go on. Launch a new task.".to_owned()
        }
        Refusal::UnknownAgent { agent, known } => unknown_agent(agent, known),
        Refusal::TooManyTasks { limit, held, .. } => format!(
            "This session and its helpers have {held} of {limit} tasks \
             (limits.max_tasks_per_root). `legwork clear --finished` makes room."
        ),
        Refusal::OverBudget { spent_micros, limit_micros, currency, of } => {
            let (who, else_do) = match of {
                BudgetOf::Session => {
                    ("The helpers of this session have cost", "begin a new session")
                }
                BudgetOf::Day => {
                    ("The helpers of your terminals have cost, today,", "wait until tomorrow (UTC)")
                }
            };
            let (spent, limit) = (amount(*spent_micros), amount(*limit_micros));
            let setting = of.setting();
            format!(
                "{who} {spent} of {limit} {currency} ({setting}). Raise {setting} in config.toml \
                 and run `legwork daemon stop`, or {else_do}."
            )
        }
        Refusal::CannotCancel(status) => {
            format!("The task is {status} already. Only an unfinished task can be cancelled.")
        }
        Refusal::CannotSave => "legwork cannot save its records (the disk may be full) and takes \
             on nothing new. Tasks that are there stay as they are. Make room, then try again."
            .to_owned(),
        Refusal::NoSuchQuestion(_) => {
            "No helper waits for this answer any more. It may have been answered already."
                .to_owned()
        }
        Refusal::BadArguments { why, .. } => why.clone(),
        Refusal::Missing(names) => format!("Something is missing: {}.", names.join(", ")),
        Refusal::NotASession => "Nobody can do this from here.".to_owned(),
        other => other.text(),
    }
}

/// That there is no such agent: which was meant, and which there are.
pub fn unknown_agent(agent: &str, known: &[String]) -> String {
    let names = || known.iter().map(String::as_str);
    let mut said = format!("There is no agent named {}.", plain(agent, ECHO_MAX_CHARS));
    if let Some(near) = nearest(agent, names().chain([REHEARSAL])) {
        said += &format!(" Did you mean {near}?");
    }
    said += &match names().collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => format!(" There is only {REHEARSAL}, which follows a script."),
        known => format!(" There are: {known} and {REHEARSAL}, which follows a script."),
    };
    said
}

/// What was done, where there is something to say about it.
pub fn done(answer: &Answer) -> String {
    match answer {
        Answer::Cancelled { task, stopping, told, .. } => {
            let stopping = if *stopping { " Its session is being stopped." } else { "" };
            let told = if *told { " Its parent is notified." } else { "" };
            format!("Cancelled {} ({}).{stopping}{told}", task.id, task.description)
        }
        Answer::Cleared { tasks: 0, .. } => "There are no tasks to clear.".to_owned(),
        Answer::Cleared { tasks, unfinished: 0 } => format!("Cleared {}.", counted(*tasks, "task")),
        Answer::Cleared { tasks, unfinished } => format!(
            "Cancelled {} and cleared {}.",
            counted(*unfinished, "unfinished task"),
            counted(*tasks, "task")
        ),
        _ => String::new(),
    }
}

/// What a task waits for, without how long that takes.
pub fn waiting(waiting: &Waiting) -> String {
    match waiting {
        Waiting::Slot { ahead: 0 } => "queued, next in line".to_owned(),
        Waiting::Slot { ahead } => format!("queued, {} before it", counted(*ahead, "task")),
        Waiting::AnotherHost => {
            "its host ended; it goes on in the next one that opens its project".to_owned()
        }
        Waiting::Host => {
            "its host cannot be reached at the moment; it goes on when that is back".to_owned()
        }
        Waiting::Provider { attempt, why, .. } => {
            format!("retrying its provider, attempt {attempt} ({why})")
        }
    }
}

/// What a task waits for at this moment.
pub fn waiting_now(waits: &Waiting) -> String {
    match waits {
        Waiting::Provider { in_ms, .. } => format!("{} in {}", waiting(waits), duration(*in_ms)),
        other => waiting(other),
    }
}

/// That the notice of a task's end is pending. Nothing is said of a terminal's, because its next
/// command shows them.
pub fn not_notified(task: &TaskView) -> Option<&'static str> {
    let is_pending = task.notice_pending && !is_terminal(&task.parent);
    is_pending.then_some("its parent has not been notified yet")
}

/// Whether a session is that of a command in a terminal.
pub fn is_terminal(session: &SessionId) -> bool {
    session.as_str().starts_with("term_")
}

/// What a helper asks, on one line.
pub fn question(question: &QuestionView) -> String {
    plain(&asks(question), QUESTION_MAX_CHARS)
}

/// What a helper asks, whole.
pub fn asks(question: &QuestionView) -> String {
    match question.kind {
        QuestionKind::Permission => format!("asks for a permission: {}", question.subject),
        QuestionKind::Question => format!("asks: {}", question.subject),
    }
}

/// What a person has just answered, and what became of words that were meant for the helper.
pub fn replied(question: &QuestionView, reply: &Reply) -> String {
    let said = answered(question, reply);
    match reply {
        Reply::Reject(Some(_)) if !question.takes_words_with_a_no() => {
            format!("{said} (It takes no words with a no: yours were dropped.)")
        }
        _ => said,
    }
}

/// A number in groups of three digits.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use legwork_protocol::api::Inside;
    use legwork_protocol::{Status, TaskId};

    use super::*;

    #[test]
    fn p10_what_a_person_is_refused_names_no_tool_of_a_model() {
        let name = || "x".to_owned();
        let all = [
            Refusal::Missing(vec![name()]),
            Refusal::PromptRequired,
            Refusal::NotFound(name()),
            Refusal::BeingResumed,
            Refusal::BeingStopped,
            Refusal::NotCompleted(Status::Running),
            Refusal::SessionExpired,
            Refusal::UnknownAgent { agent: name(), known: vec![name()] },
            Refusal::TooDeep { limit: 1 },
            Refusal::TooManyTasks { limit: 1, held: 1, finished: 1, unfinished: 0 },
            Refusal::CannotCancel(Status::Completed),
            Refusal::BadArguments { tool: "background_task".to_owned(), why: name() },
            Refusal::HostUnreachable,
            Refusal::NotStarted(name()),
            Refusal::NotDone(name()),
            Refusal::CallRepeated,
            Refusal::CannotSave,
            Refusal::CannotRead,
            Refusal::NoSuchQuestion("per_1".to_owned()),
            Refusal::Forgotten {
                task: TaskId::from_number(1),
                description: name(),
                days_left: 1,
                found: name(),
            },
            Refusal::NotASession,
            Refusal::NotAPerson(Inside::Agent),
            Refusal::RecordsReplaced { path: name() },
        ];
        for refused in all {
            let said = refusal(&refused);
            assert!(!said.contains("background_") && !said.contains("per_1"), "{said}");
            assert!(!said.is_empty());
        }
    }
}
