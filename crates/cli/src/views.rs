//! Tasks as a person sees them: what one does at the moment, a page of facts.

use anstyle::Style;
use legwork_protocol::view::TaskView;
use legwork_protocol::{SessionId, Status};

use crate::screen::{BOLD, DIM, MIND, style_of};
use crate::sentences::all_waiting;
use crate::table::{self, Cell};
use crate::words::{ago, counted, duration, moment};

/// What a task does at the moment, in a few words.
pub fn activity(task: &TaskView) -> String {
    if let Some(waiting) = all_waiting(task).first() {
        return format!("waiting: {waiting}");
    }
    if !task.status.is_unfinished() {
        let calls = counted(task.tool_calls as usize, "tool call");
        let is_owed = task.notice_pending && !is_terminal(&task.parent);
        return if is_owed { format!("{calls}, parent not told yet") } else { calls };
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
    if let Some(tokens) = task.tokens {
        facts.push(("Tokens", Cell::new(tokens.to_string())));
    }
    if let Some(micros) = task.cost_micros {
        let (whole, part) = (micros / 1_000_000, micros % 1_000_000 / 100);
        facts.push(("Cost", Cell::new(format!("{whole}.{part:04}"))));
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
    table::facts(facts)
}

/// Whether a session is that of a terminal, in which nobody but a person reads.
pub fn is_terminal(session: &SessionId) -> bool {
    session.as_str().starts_with("term_")
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
