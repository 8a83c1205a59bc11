//! Tasks as rows of a listing. On a terminal no row is wider than the screen, and what a person has
//! to know of a task (it asks, it waits, it failed) stands on a line under its row. In a pipe each
//! task is one line, and nothing is cut.

use legwork_protocol::Status;
use legwork_protocol::view::TaskView;
use legwork_views::model::{State, line};
use unicode_width::UnicodeWidthStr;

use crate::project::Projects;
use crate::screen::{BAD, MIND, Screen, paint, style_of};
use crate::table::{self, Cell, fit, table_within};
use crate::views::{activity, activity_style};
use crate::words::{age, duration, since};

/// From this width on there is room for who does it, how long it takes and what it does.
const WIDE: usize = 100;
/// The columns that are cut on a narrow screen, each with its least width: activity, description,
/// agent, project.
const YIELDING: [(usize, usize); 4] = [(7, 20), (4, 12), (5, 8), (3, 6)];
const NAMES: [&str; 8] =
    ["ID", "STATUS", "AGE", "PROJECT", "DESCRIPTION", "AGENT", "TIME", "ACTIVITY"];
/// Columns that every screen has room for.
const NARROW: usize = 5;
const INDENT: &str = "    ";

/// One row a task, under headings.
pub fn list(tasks: &[TaskView], screen: &Screen) -> Vec<String> {
    let mut projects = Projects::default();
    let mut rows = vec![table::headings(NAMES)];
    let Some(columns) = screen.columns() else {
        rows.extend(tasks.iter().map(|task| row(task, &mut projects, note(task))));
        return table::table(&rows);
    };
    // What stands under the row is not said in it too.
    rows.extend(
        tasks.iter().map(|task| row(task, &mut projects, note(task).map(|_| String::new()))),
    );
    if columns < WIDE {
        rows.iter_mut().for_each(|row| row.truncate(NARROW));
    }
    let mut lines = table_within(&rows, Some(columns), &YIELDING).into_iter();
    let heading = lines.next();
    let with_notes = lines.zip(tasks).flat_map(|(line, task)| {
        let room = columns.saturating_sub(INDENT.width() + 1);
        let style = if task.status.is_unfinished() { MIND } else { BAD };
        let note = note(task).map(|note| {
            let note = legwork_protocol::refusal::plain(&note, NOTE_MAX_CHARS);
            format!("{INDENT}{}", paint(style, fit(&note, room)))
        });
        [Some(line), note].into_iter().flatten()
    });
    heading.into_iter().chain(with_notes).collect()
}

/// No screen is wider.
const NOTE_MAX_CHARS: usize = 1_000;

fn row(task: &TaskView, projects: &mut Projects, note: Option<String>) -> Vec<Cell> {
    let doing = note.unwrap_or_else(|| activity(task));
    let state = State::of(task);
    vec![
        Cell::new(task.id.to_string()),
        Cell::new(state.word()).styled(style_of(state)),
        Cell::new(age(since(task.created))),
        Cell::new(projects.name(&task.directory)),
        Cell::new(&task.description),
        Cell::new(&task.agent),
        Cell::new(duration(task.elapsed_ms)),
        Cell::new(doing).styled(activity_style(task)),
    ]
}

/// What a person has to know of a task beside what it is: what it asks or waits for, or why it
/// failed.
fn note(task: &TaskView) -> Option<String> {
    let waits = !(task.questions.is_empty() && task.waiting.is_empty());
    (waits || task.status == Status::Error).then(|| line(task))
}
