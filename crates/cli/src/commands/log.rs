//! `legwork log`.

use anstyle::Style;
use clap::Args;
use legwork_protocol::api::Request;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{News, TaskView};
use legwork_views::model::{State, why};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find_task, get};
use crate::screen::{DIM, MIND, paint};
use crate::table::{Cell, table, wrap};
use crate::words::{clock, duration, moment};

/// Longer than any question.
const LINE_MAX_CHARS: usize = 10_000;

/// Show what happened to a task, and when
///
/// Shows what became of a task from its launch on: the time of day, the time since the launch, the
/// run (0 is the launch, each resume one more) and what was decided. At the end stands what the
/// task waits for now. With --verbose every decision is shown, also how prompts and notices were
/// handed over, which helps to find a fault.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork log 4k2                   why did it take so long, why did it fail
  legwork log 4k2 --verbose         every decision, with those about prompts and notices")]
pub struct Log {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
    /// Show also how prompts and notices were handed over
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Serialize)]
struct TaskLog {
    task: TaskView,
    timeline: Vec<News>,
}

impl super::Command for Log {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let task = find_task(&mut client, &self.task)?;
        let mut timeline: Vec<News> = get(&mut client, Request::Log { task: task.id.to_string() })?;
        if !screen.is_json() {
            timeline.retain(|news| self.verbose || !news.detail);
        }
        let log = TaskLog { task, timeline };
        screen.report(|| &log, || log.lines(screen.columns().unwrap_or(usize::MAX)))
    }
}

impl TaskLog {
    fn lines(&self, columns: usize) -> Vec<String> {
        let Self { task, timeline } = self;
        let mut lines = vec![paint(DIM, format!("{}, launched {}", task.id, moment(task.created)))];
        let rows: Vec<Vec<Cell>> = timeline.iter().map(|news| row(news, task)).collect();
        lines.extend(hanging(&table(&rows), timeline, columns));
        let is_waiting = State::of(task) == State::Asks || !task.waiting.is_empty();
        let style = if is_waiting { MIND } else { Style::new() };
        lines.extend(wrap(&why(task).text, columns).into_iter().map(|line| paint(style, line)));
        lines
    }
}

fn row(news: &News, task: &TaskView) -> Vec<Cell> {
    let since = news.at.since(task.created);
    vec![
        Cell::new(clock(news.at)).styled(DIM),
        Cell::new(format!("+{}", duration(since))),
        Cell::new(format!("run {}", news.run)).styled(DIM),
        // So that every row is as wide as the widest.
        Cell::new(""),
    ]
}

/// Each row with what was decided behind it, which goes on under itself.
fn hanging(rows: &[String], timeline: &[News], columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (row, news) in rows.iter().zip(timeline) {
        let margin = anstream::adapter::strip_str(row).to_string().width();
        let said = wrap(&plain(&news.line, LINE_MAX_CHARS), columns.saturating_sub(margin).max(20));
        for (number, piece) in said.iter().enumerate() {
            let margin = " ".repeat(margin);
            lines.push(format!("{}{piece}", if number == 0 { row } else { &margin }));
        }
    }
    lines
}
