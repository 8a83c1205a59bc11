//! Tasks as a person sees them: what one does at the moment, a page of facts.

use std::collections::BTreeMap;

use anstyle::Style;
use legwork_protocol::refusal::cut;
use legwork_protocol::view::{BudgetView, RunView, TaskView};
use legwork_protocol::{Cost, Currency, Outcome, SessionId, Stage, Status, Time};
use legwork_views::model::{State, line};

use crate::screen::{BOLD, DIM, MIND, style_of};
use crate::sentences::{self, is_terminal, not_notified, number};
use crate::table::{self, Cell};
use crate::words::{ago, counted, duration, moment, since};

/// Lines of a prompt that are shown unless all of it is wanted, and characters of each.
const PROMPT_LINES: usize = 3;
const PROMPT_LINE_CHARS: usize = 200;

/// What a host does not tell.
const UNKNOWN: &str = "unknown";

/// Budgets of which a list says that they are nearly used up.
const BUDGETS_SHOWN: usize = 10;

/// What a task does at the moment, or what came of it.
pub fn activity(task: &TaskView) -> String {
    let state = State::of(task);
    let line = if state == State::Completed { figures(task) } else { line(task) };
    match (task.quiet_ms, not_notified(task)) {
        (Some(quiet), _) if state == State::Working && task.waiting.is_empty() => {
            format!("{line}, {}", ago(quiet))
        }
        (_, Some(pending)) if !task.status.is_unfinished() => format!("{line}, {pending}"),
        _ => line,
    }
}

/// What the last run of a task took. The sums over all runs are `legwork cost`'s.
pub fn figures(task: &TaskView) -> String {
    let calls = counted(task.tool_calls as usize, "tool call");
    let cost = task.usage.cost.map(|cost| format!(", {cost}")).unwrap_or_default();
    let of = if task.resumes > 0 { " in its last run" } else { "" };
    format!("{calls}{cost}{of}")
}

pub fn activity_style(task: &TaskView) -> Style {
    if task.waiting.is_empty() && task.questions.is_empty() { DIM } else { MIND }
}

/// How much of a task is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// The whole prompts, and not their first lines.
    pub full: bool,
    /// Ids of sessions and hosts, which are of use only to find a fault.
    pub verbose: bool,
}

pub fn page(
    task: &TaskView,
    runs: &[RunView],
    depth: Depth,
    columns: Option<usize>,
) -> Vec<String> {
    let mut facts = vec![
        ("Task", Cell::new(&task.description).styled(BOLD)),
        ("Id", Cell::new(task.id.to_string())),
        ("Status", Cell::new(status(task)).styled(style_of(State::of(task)))),
    ];
    if let Some(reason) = &task.reason {
        facts.push(("Why", Cell::new(reason).styled(style_of(State::of(task)))));
    }
    for question in &task.questions {
        let asks = format!("{} (legwork answer {})", sentences::asks(question), task.id);
        facts.push(("Waiting", Cell::lines(&asks).styled(MIND)));
    }
    for waiting in &task.waiting {
        facts.push(("Waiting", Cell::new(sentences::waiting_now(waiting)).styled(MIND)));
    }
    facts.push(("Agent", Cell::new(&task.agent)));
    facts.push(("Host", Cell::new(host(task))));
    facts.push(("Folder", Cell::new(&task.directory)));
    facts.push(("Launched", Cell::new(when(task.created))));
    if let Some(ended) = task.ended {
        facts.push(("Ended", Cell::new(when(ended))));
    }
    facts.push(("Worked", Cell::new(duration(task.elapsed_ms))));
    facts.push(("Tool calls", Cell::new(calls(task))));
    if let Some(quiet) = task.quiet_ms {
        facts.push(("Last active", Cell::new(ago(quiet))));
    }
    facts.push(("Model", Cell::new(task.usage.model.as_deref().unwrap_or(UNKNOWN))));
    facts.push(("Tokens", Cell::new(task.usage.tokens.map_or(UNKNOWN.to_owned(), number))));
    facts.push(("Cost", Cell::new(cost(task, runs))));
    if let Some(budget) = &task.budget {
        facts.push(("Budget", Cell::new(sentences::budget(budget)).styled(MIND)));
    }
    facts.extend(not_notified(task).map(|pending| ("Notice", Cell::new(pending).styled(MIND))));
    if depth.verbose {
        facts.push(("Parent", Cell::new(parent(task))));
        facts.extend(task.session.iter().map(|id| ("Session", Cell::new(id.as_str()))));
        facts.push(("Host id", Cell::new(task.host.as_str())));
        facts.push(("Place", Cell::new(task.place.as_str())));
    }
    let names: Vec<String> = runs.iter().map(|run| run_name(run, runs.len())).collect();
    for (name, run) in names.iter().zip(runs) {
        facts.push((name, Cell::lines(&prompt(&run.prompt, depth.full))));
    }
    let mut lines = table::facts_within(facts, columns);
    if runs.len() > 1 {
        lines.push(String::new());
        lines.extend(run_table(runs));
    }
    lines
}

/// What the last run cost, and all of them where there are several.
fn cost(task: &TaskView, runs: &[RunView]) -> String {
    let last = task.usage.cost.map_or(UNKNOWN.to_owned(), |cost| cost.to_string());
    let mut all: BTreeMap<Currency, u64> = BTreeMap::new();
    for cost in runs.iter().filter_map(|run| run.usage.cost) {
        let sum = all.entry(cost.currency).or_default();
        *sum = sum.saturating_add(cost.micros);
    }
    if runs.len() < 2 || all.is_empty() {
        return last;
    }
    let all = all.into_iter().map(|(currency, micros)| Cost { micros, currency });
    format!("{last} (all runs: {})", sentences::costs(&all.collect::<Vec<_>>()))
}

/// Every run of a task, a line for each.
fn run_table(runs: &[RunView]) -> Vec<String> {
    let names = ["RUN", "BEGAN", "OUTCOME", "TOOL CALLS", "TOKENS", "COST", "MODEL"];
    let mut rows = vec![table::headings(names)];
    rows.extend(runs.iter().map(|run| {
        let known = |value: Option<String>| Cell::new(value.unwrap_or(UNKNOWN.to_owned()));
        vec![
            Cell::new(run.run.to_string()),
            Cell::new(moment(run.started)),
            Cell::new(run.outcome.map_or("unfinished", Outcome::as_str)),
            known(run.tool_calls.map(|calls| calls.to_string())),
            known(run.usage.tokens.map(number)),
            known(run.usage.cost.map(|cost| cost.to_string())),
            known(run.usage.model.as_deref().map(str::to_owned)),
        ]
    }));
    table::table(&rows)
}

/// That budgets are nearly used up, a line for each of those that these tasks belong to.
pub fn budgets(tasks: &[TaskView]) -> Vec<String> {
    let near: BTreeMap<&SessionId, &BudgetView> =
        tasks.iter().filter_map(|task| task.budget.as_ref()).map(|it| (&it.root, it)).collect();
    let line = |budget: &BudgetView| format!("Budget: {}.", sentences::budget(budget));
    near.values().map(|budget| line(budget)).take(BUDGETS_SHOWN).collect()
}

fn run_name(run: &RunView, of: usize) -> String {
    if of == 1 { "Prompt".to_owned() } else { format!("Run {}", run.run) }
}

/// What was asked, or the first lines of it.
fn prompt(prompt: &str, full: bool) -> String {
    let mut lines: Vec<String> = prompt.trim().lines().map(str::to_owned).collect();
    if full {
        return lines.join("\n");
    }
    let left = lines.len().saturating_sub(PROMPT_LINES);
    lines.truncate(PROMPT_LINES);
    lines.iter_mut().for_each(|line| *line = cut(line, PROMPT_LINE_CHARS));
    if left > 0 {
        lines.push(format!("… and {} (--full)", counted(left, "more line")));
    }
    lines.join("\n")
}

fn when(time: Time) -> String {
    format!("{}, {}", ago(since(time)), moment(time))
}

/// What kind of program runs it.
fn host(task: &TaskView) -> &str {
    let kind = task.host.as_str().split('-').next().unwrap_or_default();
    if kind == "acp" { "an agent of this terminal's daemon (ACP)" } else { kind }
}

fn parent(task: &TaskView) -> String {
    let parent = task.parent.as_str();
    if is_terminal(&task.parent) { format!("a terminal, {parent}") } else { parent.to_owned() }
}

/// How it is, and the stage where that says more.
fn status(task: &TaskView) -> String {
    match State::of(task) {
        State::Working if task.stage != Stage::Working => format!("working ({})", task.stage),
        state => state.word().to_owned(),
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
    let mut step = |command: String, what| steps.push((command, what));
    if !task.questions.is_empty() {
        step(format!("legwork answer {id}"), "answer what it asks");
    }
    if task.status.is_unfinished() {
        step(format!("legwork wait {id}"), "wait for its end");
        step(format!("legwork cancel {id}"), "cancel it");
    } else {
        step(format!("legwork output {id}"), "read what came of it");
        step(format!("legwork resume {id} \"go on\""), "have it go on");
        if task.status != Status::Completed {
            step(format!("legwork retry {id}"), "have it try its prompt again");
        }
    }
    step(format!("legwork transcript {id}"), "what it said and did");
    step(format!("legwork log {id}"), "every decision about it");
    let width = steps.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    steps.into_iter().map(|(command, what)| format!("{command:<width$}  {what}")).collect()
}
