//! The listing: one line a task, in columns, whatever is in a description.

use unicode_width::UnicodeWidthStr;

use legwork_protocol::Time;

use super::answers::waiting_for;
use super::fence::named;
use super::words::{ago, duration};
use super::{Answer, Text};
use crate::run::Volatile;
use crate::task::Task;

/// One line of it.
pub struct Row<'a> {
    /// The task.
    pub task: &'a Task,
    /// What is known of its run, if that is unfinished.
    pub watch: Option<&'a Volatile>,
    /// How many wait before it, if it waits.
    pub ahead: Option<usize>,
    /// Whether its host cannot be asked.
    pub away: bool,
}

const GAP: usize = 4;
/// S5.
const NONE: &str = "No background tasks found.";

/// The tasks in the order given; `total` is how many there are altogether, and `missing` says why
/// some may not be among them.
pub fn listing(rows: Vec<Row<'_>>, total: usize, missing: Option<&str>, now: Time) -> Answer {
    let text = if rows.is_empty() { NONE.to_owned() } else { table(&rows, total, now) };
    Answer::done(Text::from(
        [Some(text.as_str()), missing].into_iter().flatten().collect::<Vec<_>>().join("\n\n"),
    ))
}

fn table(rows: &[Row<'_>], total: usize, now: Time) -> String {
    let shown = rows.len();
    let cells: Vec<[String; 6]> = rows.iter().map(|row| cells(row, now)).collect();
    let mut widths = [0; 6];
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut lines: Vec<String> = cells.iter().map(|row| line(row, &widths)).collect();
    if total > shown {
        lines.push(format!("({} older ones are not shown.)", total - shown));
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

fn cells(row: &Row<'_>, now: Time) -> [String; 6] {
    let task = row.task;
    let resumed = if task.run.number > 0 { " (resumed)" } else { "" };
    [
        format!("{}{resumed}", task.id),
        task.status().to_string(),
        task.description.as_ref().to_owned(),
        task.agent.as_ref().to_owned(),
        duration(task.elapsed_ms(now)),
        row.watch.map(|watch| activity(watch, row, now)).unwrap_or_default(),
    ]
}

fn activity(watch: &Volatile, row: &Row<'_>, now: Time) -> String {
    if let Some(waiting) = waiting_for(watch, row.ahead, row.away, now).into_iter().next() {
        return format!("waits: {waiting}");
    }
    let ago = ago(watch.quiet_ms(now));
    match watch.tools.back() {
        Some(tool) => format!("{}, {ago}", named(tool)),
        None => format!("active {ago}"),
    }
}
