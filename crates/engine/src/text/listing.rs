//! The listing: one line a task, in columns, whatever is in a description.

use unicode_width::UnicodeWidthStr;

use legwork_protocol::view::{TaskView, TasksView};

use super::answers::waiting_for;
use super::fence::named;
use super::words::{SET_ASIDE, ago, duration};

const GAP: usize = 4;
/// S5.
const NONE: &str = "No background tasks found.";

pub(super) fn listing(listed: &TasksView) -> String {
    let text = if listed.tasks.is_empty() { NONE.to_owned() } else { table(listed) };
    if listed.incomplete { format!("{text}\n\n{SET_ASIDE}") } else { text }
}

fn table(listed: &TasksView) -> String {
    let rows: Vec<[String; 6]> = listed.tasks.iter().map(cells).collect();
    let widest = |column: usize| rows.iter().map(|row| row[column].width()).max();
    let widths = std::array::from_fn(|column| widest(column).unwrap_or(0));
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    let older = listed.total.saturating_sub(listed.tasks.len());
    if older > 0 {
        lines.push(format!("({older} older ones are not shown.)"));
    }
    lines.join("\n")
}

fn line(row: &[String; 6], widths: &[usize; 6]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width - cell.width() + GAP));
    }
    line.truncate(line.trim_end().len());
    line
}

fn cells(task: &TaskView) -> [String; 6] {
    let resumed = if task.resumes > 0 { " (resumed)" } else { "" };
    [
        format!("{}{resumed}", task.id),
        task.status.to_string(),
        task.description.clone(),
        task.agent.clone(),
        duration(task.elapsed_ms),
        activity(task),
    ]
}

fn activity(task: &TaskView) -> String {
    if let Some(waiting) = waiting_for(task).into_iter().next() {
        return format!("waits: {waiting}");
    }
    match (task.quiet_ms.map(ago), task.last_tools.last()) {
        (None, _) => String::new(),
        (Some(ago), Some(tool)) => format!("{}, {ago}", named(tool)),
        (Some(ago), None) => format!("active {ago}"),
    }
}
