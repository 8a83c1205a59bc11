//! Tasks as a person sees them: a line in a list, a page of facts.

use std::collections::BTreeMap;

use anstyle::Style;
use legwork_protocol::view::{BudgetView, RunView, TaskView};
use legwork_protocol::{Cost, Currency, SessionId, Status};

use crate::screen::{BOLD, DIM, MIND, Screen, style_of};
use crate::sentences::{self, all_waiting, number};
use crate::table::{self, Cell, table_within};
use crate::words::{ago, counted, duration, moment};

/// The columns of a list that are cut on a narrow screen: description, then activity.
const YIELDING: [usize; 2] = [2, 5];

/// What a host does not tell.
const UNKNOWN: &str = "unknown";

/// Budgets of which a list says that they are nearly used up.
const BUDGETS_SHOWN: usize = 10;

/// One line a task, under headings.
pub fn list(tasks: &[TaskView], screen: &Screen) -> Vec<String> {
    let names = ["ID", "STATUS", "DESCRIPTION", "AGENT", "TIME", "ACTIVITY"];
    let mut rows = vec![table::headings(names)];
    rows.extend(tasks.iter().map(row));
    table_within(&rows, screen.columns(), &YIELDING)
}

fn row(task: &TaskView) -> Vec<Cell> {
    let resumed = if task.resumes > 0 { " (resumed)" } else { "" };
    vec![
        Cell::new(format!("{}{resumed}", task.id)),
        Cell::new(task.status.as_str()).styled(style_of(task.status)),
        Cell::new(&task.description),
        Cell::new(&task.agent),
        Cell::new(duration(task.elapsed_ms)),
        Cell::new(activity(task)).styled(activity_style(task)),
    ]
}

/// What a task does at the moment, in a few words.
pub fn activity(task: &TaskView) -> String {
    if let Some(waiting) = all_waiting(task).first() {
        return format!("waiting: {waiting}");
    }
    if !task.status.is_unfinished() {
        let calls = counted(task.tool_calls as usize, "tool call");
        let cost = task.cost().map(|cost| format!(", {cost}")).unwrap_or_default();
        let untold = if task.notice_pending { ", parent not told yet" } else { "" };
        return format!("{calls}{cost}{untold}");
    }
    match (task.last_tools.last(), task.quiet_ms) {
        (Some(tool), Some(quiet)) => format!("{tool}, {}", ago(quiet)),
        (None, Some(quiet)) => format!("{}, {}", task.stage, ago(quiet)),
        (Some(tool), None) => tool.clone(),
        (None, None) => task.stage.clone(),
    }
}

pub fn activity_style(task: &TaskView) -> Style {
    if task.waiting.is_empty() && task.questions.is_empty() { DIM } else { MIND }
}

pub fn page(task: &TaskView) -> Vec<String> {
    let mut facts = vec![
        ("Task", Cell::new(task.id.to_string()).styled(BOLD)),
        ("Status", Cell::new(status(task)).styled(style_of(task.status))),
        ("Description", Cell::new(&task.description)),
        ("Agent", Cell::new(&task.agent)),
        ("Launched", Cell::new(moment(task.created))),
    ];
    if task.resumes > 0 {
        facts.push(("Resumed", Cell::new(format!("{} times", task.resumes))));
        facts.push(("Run began", Cell::new(moment(task.started))));
    }
    if let Some(ended) = task.ended {
        facts.push(("Ended", Cell::new(moment(ended))));
    }
    facts.push(("Time", Cell::new(duration(task.elapsed_ms))));
    facts.push(("Tool calls", Cell::new(calls(task))));
    if let Some(quiet) = task.quiet_ms {
        facts.push(("Last active", Cell::new(ago(quiet))));
    }
    facts.push(("Model", Cell::new(task.model.as_deref().unwrap_or(UNKNOWN))));
    facts.push(("Tokens", Cell::new(task.tokens.map_or(UNKNOWN.to_owned(), number))));
    facts.push(("Cost", Cell::new(cost(task))));
    if let Some(budget) = &task.budget {
        facts.push(("Budget", Cell::new(sentences::budget(budget)).styled(MIND)));
    }
    for waiting in all_waiting(task) {
        facts.push(("Waiting", Cell::new(waiting).styled(MIND)));
    }
    facts.push(("Parent", Cell::new(parent(task))));
    if let Some(session) = &task.session {
        facts.push(("Session", Cell::new(session.as_str())));
    }
    facts.push(("Host", Cell::new(task.host.as_str())));
    if task.notice_pending {
        facts.push(("Notice", Cell::new("its parent has not been told yet").styled(MIND)));
    }
    let mut lines = table::facts(facts);
    if task.runs.len() > 1 {
        lines.push(String::new());
        lines.extend(runs(task));
    }
    lines
}

/// What the last run cost, and all of them where there are several.
fn cost(task: &TaskView) -> String {
    let last = task.cost().map_or(UNKNOWN.to_owned(), |cost| cost.to_string());
    let mut all: BTreeMap<Currency, u64> = BTreeMap::new();
    for cost in task.runs.iter().filter_map(RunView::cost) {
        let sum = all.entry(cost.currency).or_default();
        *sum = sum.saturating_add(cost.micros);
    }
    if task.runs.len() < 2 || all.is_empty() {
        return last;
    }
    let all = all.into_iter().map(|(currency, micros)| Cost { micros, currency });
    format!("{last} (all runs: {})", sentences::costs(&all.collect::<Vec<_>>()))
}

/// Every run of a task, a line for each.
fn runs(task: &TaskView) -> Vec<String> {
    let names = ["RUN", "BEGAN", "OUTCOME", "TOOL CALLS", "TOKENS", "COST", "MODEL"];
    let mut rows = vec![table::headings(names)];
    rows.extend(task.runs.iter().map(|run| {
        let known = |value: Option<String>| Cell::new(value.unwrap_or(UNKNOWN.to_owned()));
        vec![
            Cell::new(run.run.to_string()),
            Cell::new(moment(run.started)),
            Cell::new(run.outcome.as_deref().unwrap_or("unfinished")),
            known(run.tool_calls.map(|calls| calls.to_string())),
            known(run.tokens.map(number)),
            known(run.cost().map(|cost| cost.to_string())),
            known(run.model.clone()),
        ]
    }));
    table::table(&rows)
}

/// That budgets are nearly used up, a line for each of those that these tasks belong to.
pub fn budgets(tasks: &[TaskView]) -> Vec<String> {
    let near: BTreeMap<&SessionId, &BudgetView> =
        tasks.iter().filter_map(|task| task.budget.as_ref()).map(|it| (&it.root, it)).collect();
    let line =
        |budget: &BudgetView| format!("Budget of one session: {}.", sentences::budget(budget));
    near.values().map(|budget| line(budget)).take(BUDGETS_SHOWN).collect()
}

fn parent(task: &TaskView) -> String {
    let parent = task.parent.as_str();
    if parent.starts_with("term_") { format!("a terminal, {parent}") } else { parent.to_owned() }
}

/// The status, and the stage where it says more.
fn status(task: &TaskView) -> String {
    match task.status {
        Status::Running | Status::Resumed => format!("{} ({})", task.status, task.stage),
        Status::Completed | Status::Error | Status::Cancelled => task.status.to_string(),
    }
}

fn calls(task: &TaskView) -> String {
    if task.last_tools.is_empty() {
        return task.tool_calls.to_string();
    }
    format!("{} (last: {})", task.tool_calls, task.last_tools.join(", "))
}

pub fn next_steps(task: &TaskView) -> Vec<String> {
    let id = task.id;
    let mut steps = Vec::new();
    if !task.questions.is_empty() {
        steps.push(format!("legwork answer {id}    answer what it asks"));
    }
    if task.status.is_unfinished() {
        steps.push(format!("legwork wait {id}      wait for its end"));
        steps.push(format!("legwork cancel {id}    call it off"));
    } else {
        steps.push(format!("legwork output {id}    read what came of it"));
    }
    steps.push(format!("legwork log {id}       every decision about it"));
    steps
}
