//! A task as a row of a view: whom it needs, its state as a sign and a word, and one line that says
//! what a person needs to know. A row depends on the task alone, so that it changes only when the
//! task does; what changes with the clock is for the views to count.

use legwork_protocol::amounts::counted;
use legwork_protocol::money::{Cost, Currency};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::TaskView;
use legwork_protocol::{Stage, Status};
use serde::{Deserialize, Serialize};

use crate::model::ask::Asked;
use crate::model::limits::LINE_MAX_CHARS;
use crate::model::sentences::waiting;
use crate::model::{ask, project};

/// Whom a task needs, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// A person.
    Asks,
    /// Its helper.
    Working,
    /// A free slot.
    Queued,
    /// Nobody any more.
    Finished,
}

impl Group {
    pub const ALL: [Self; 4] = [Self::Asks, Self::Working, Self::Queued, Self::Finished];

    /// What stands above it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Asks => "Asks you",
            Self::Working => "Working",
            Self::Queued => "Queued",
            Self::Finished => "Finished",
        }
    }
}

/// How a task is, finer than its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum State {
    Asks,
    Working,
    Queued,
    Completed,
    Failed,
    Cancelled,
}

impl State {
    pub fn of(task: &TaskView) -> Self {
        match task.status {
            Status::Completed => Self::Completed,
            Status::Error => Self::Failed,
            Status::Cancelled => Self::Cancelled,
            Status::Running | Status::Resumed if !task.questions.is_empty() => Self::Asks,
            Status::Running | Status::Resumed if task.stage == Stage::Queued => Self::Queued,
            Status::Running | Status::Resumed => Self::Working,
        }
    }

    pub fn group(self) -> Group {
        match self {
            Self::Asks => Group::Asks,
            Self::Working => Group::Working,
            Self::Queued => Group::Queued,
            Self::Completed | Self::Failed | Self::Cancelled => Group::Finished,
        }
    }

    /// One column wide in every terminal.
    pub fn sign(self) -> char {
        match self {
            Self::Asks => '?',
            Self::Working => '●',
            Self::Queued => '○',
            Self::Completed => '✓',
            Self::Failed => '✗',
            Self::Cancelled => '–',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Asks => "asks you",
            Self::Working => "working",
            Self::Queued => "queued",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    pub group: Group,
    pub state: State,
    /// What it asks, does, waits for, or why it failed; without what could steer a screen.
    pub line: String,
    /// What all its runs have cost, where the hosts tell and it is of one currency.
    pub cost: Option<String>,
    /// The project of the folder in which it was launched.
    pub project: String,
    /// The task's questions in the words of a view, in their order.
    #[serde(default)]
    pub asks: Vec<Asked>,
}

/// The row of a task. It looks for the task's project in the file system.
pub fn row(task: &TaskView) -> Row {
    let state = State::of(task);
    Row {
        group: state.group(),
        state,
        line: plain(&line(task), LINE_MAX_CHARS),
        cost: cost(task).map(money),
        project: plain(&project::name(&task.directory), LINE_MAX_CHARS),
        asks: task.questions.iter().map(Asked::from).collect(),
    }
}

/// What a task asks, does, waits for, or why it failed.
pub fn line(task: &TaskView) -> String {
    let reason = task.reason.as_deref().filter(|reason| !reason.trim().is_empty());
    match State::of(task) {
        State::Asks => task.questions.first().map(ask::in_short).unwrap_or_default(),
        State::Working | State::Queued => match task.waiting.first() {
            Some(waits) => waiting(waits),
            None => does(task),
        },
        State::Completed => {
            let of = if task.resumes > 0 { " in its last run" } else { "" };
            format!("{}{of}", counted(task.tool_calls as usize, "tool call"))
        }
        State::Failed => reason.unwrap_or("failed, without a reason").to_owned(),
        State::Cancelled => reason.unwrap_or("cancelled").to_owned(),
    }
}

pub(crate) fn does(task: &TaskView) -> String {
    let said = |text: &&str| !text.trim().is_empty();
    let tool = task.last_tools.last().map(String::as_str).filter(said);
    // An older daemon has the words alone.
    let doing = task.activity.as_ref().map(ToString::to_string).or_else(|| task.doing.clone());
    match (doing.as_deref().filter(said), tool) {
        (Some(only), _) | (None, Some(only)) => only.to_owned(),
        (None, None) => match task.stage {
            Stage::Queued => "queued",
            Stage::Opening => "opening its session",
            Stage::Prompting => "getting its prompt",
            _ => "thinking",
        }
        .to_owned(),
    }
}

/// What all runs have cost; of the last one only, where no others are given.
fn cost(task: &TaskView) -> Option<Cost> {
    let mut costs = task.runs.iter().filter_map(|run| run.usage.cost).peekable();
    if costs.peek().is_none() {
        return task.usage.cost;
    }
    costs.try_fold(None, |sum: Option<Cost>, cost| match sum {
        None => Some(Some(cost)),
        Some(sum) if sum.currency == cost.currency => {
            Some(Some(Cost { micros: sum.micros.saturating_add(cost.micros), ..sum }))
        }
        Some(_) => None,
    })?
}

/// An amount in a narrow column: `$0.18`, `<$0.01`, `2.50 EUR`.
pub fn money(cost: Cost) -> String {
    let cents = (u128::from(cost.micros) + 5_000) / 10_000;
    let (amount, less) = match (cost.micros, cents) {
        (1.., 0) => ("0.01".to_owned(), "<"),
        _ => (format!("{}.{:02}", cents / 100, cents % 100), ""),
    };
    match cost.currency {
        Currency::USD => format!("{less}${amount}"),
        other => format!("{less}{amount} {other}"),
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::view::{Activity, RunView, Waiting};
    use legwork_protocol::{Outcome, Time, Usage};

    use super::*;
    use crate::model::example::{finished, permission, task};

    #[test]
    fn v2_a_row_is_in_the_group_of_whom_it_needs_and_says_why() {
        let asks = TaskView { questions: vec![permission("bash: cargo test")], ..task(1) };
        let queued = |ahead| TaskView {
            stage: Stage::Queued,
            waiting: vec![Waiting::Slot { ahead }],
            ..task(1)
        };
        let provider = Waiting::Provider { attempt: 3, why: "overloaded".into(), in_ms: 7 };
        let file = "crates/daemon/src/outbox.rs";
        let activity = Activity { tool: "edit".to_owned(), subject: file.to_owned() };
        let failed = finished(1, Outcome::Failed);
        let all = [
            (asks, Group::Asks, '?', "may it run cargo test?"),
            (
                // What it does is said once, and of the call that it is about.
                TaskView { doing: Some(activity.to_string()), activity: Some(activity), ..task(1) },
                Group::Working,
                '●',
                "edit crates/daemon/src/outbox.rs",
            ),
            (task(1), Group::Working, '●', "read"),
            (TaskView { last_tools: vec![], ..task(1) }, Group::Working, '●', "thinking"),
            (
                TaskView { waiting: vec![provider], ..task(1) },
                Group::Working,
                '●',
                "retrying its provider, attempt 3 (overloaded)",
            ),
            (queued(0), Group::Queued, '○', "queued, next in line"),
            (queued(2), Group::Queued, '○', "queued, 2 tasks before it"),
            (finished(1, Outcome::Completed), Group::Finished, '✓', "2 tool calls"),
            (failed.clone(), Group::Finished, '✗', "failed, without a reason"),
            (
                TaskView { reason: Some("no credit".into()), ..failed },
                Group::Finished,
                '✗',
                "no credit",
            ),
            (finished(1, Outcome::Cancelled), Group::Finished, '–', "cancelled"),
        ];
        for (task, group, sign, line) in all {
            let row = row(&task);
            assert_eq!((row.group, row.state.sign(), row.line.as_str()), (group, sign, line));
            assert_eq!(row.project, "kestrel");
        }
    }

    #[test]
    fn v7_a_row_has_nothing_that_steers_and_an_end() {
        let hostile = format!("a\u{1b}[2J\u{202e}\n{}", "x".repeat(10_000));
        let row = row(&TaskView { doing: Some(hostile), ..task(1) });
        assert!(!row.line.chars().any(legwork_protocol::refusal::steers), "{:?}", row.line);
        assert_eq!(row.line.chars().count(), LINE_MAX_CHARS);
    }

    #[test]
    fn v2_a_row_has_what_all_runs_cost() {
        let cost = |micros| money(Cost { micros, currency: Currency::USD });
        let all = [0, 1, 4_999, 5_000, 184_999, 12_345_678].map(cost);
        assert_eq!(all, ["$0.00", "<$0.01", "<$0.01", "$0.01", "$0.18", "$12.35"]);
        assert!(money(Cost { micros: u64::MAX, currency: Currency::FIRST }).ends_with(" AAA"));
        let run = |micros, currency| RunView {
            run: 0,
            prompt: String::new(),
            started: Time(0),
            ended: None,
            outcome: None,
            tool_calls: None,
            usage: Usage { cost: Some(Cost { micros, currency }), ..Usage::default() },
        };
        let usd = Currency::USD;
        let two = TaskView { runs: vec![run(100_000, usd), run(50_000, usd)], ..task(1) };
        assert_eq!(row(&two).cost.as_deref(), Some("$0.15"));
        let mixed = TaskView { runs: vec![run(1, usd), run(1, Currency::FIRST)], ..task(1) };
        assert_eq!(row(&mixed).cost, None);
        assert_eq!(row(&task(1)).cost, None);
    }
}
