//! The rows of `legwork list`, drawn anew in their place. The last picture stays on the screen.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use legwork_protocol::api::board::BoardPage;
use legwork_protocol::view::TaskView;
use legwork_protocol::{TaskId, Time};
use legwork_views::model::Board;
use unicode_width::UnicodeWidthStr;

use crate::fault::Fault;
use crate::listing;
use crate::screen::{DIM, MIND, Screen, paint};
use crate::words::{clock, counted};

/// Rows that are there besides those of the table: the last line, and one for what is typed.
const BESIDES: usize = 3;

#[derive(Debug, Default)]
pub struct Table {
    board: Board,
    /// When each task was last told of: from then on its times are counted here.
    told_at: BTreeMap<TaskId, Time>,
    is_away: bool,
    /// The widths of the lines that are drawn.
    drawn: Vec<usize>,
}

impl Table {
    pub fn apply(&mut self, page: BoardPage) {
        self.is_away = false;
        let now = page.now;
        let applied = self.board.apply(page);
        self.told_at.extend(applied.changed.iter().map(|id| (*id, now)));
        for id in &applied.gone {
            self.told_at.remove(id);
        }
    }

    /// The daemon cannot be asked at the moment.
    pub fn lose(&mut self) {
        self.is_away = true;
    }

    /// Draws how it is now over how it was.
    pub fn draw(&mut self, screen: &Screen, now: Time) -> Result<(), Fault> {
        let (columns, rows) = size();
        let lines = self.lines(screen, now, rows);
        let mut text = self.wipe(columns);
        let plain = AutoStream::choice(&io::stdout()) == ColorChoice::Never;
        self.drawn.clear();
        for line in lines {
            let bare = anstream::adapter::strip_str(&line).to_string();
            self.drawn.push(bare.width());
            text.push_str(if plain { &bare } else { &line });
            text.push('\n');
        }
        put(&text)
    }

    /// Takes it away, so that something else can be written in its place.
    pub fn clear(&mut self) -> Result<(), Fault> {
        let text = self.wipe(size().0);
        self.drawn.clear();
        put(&text)
    }

    /// What goes back to where the last picture begins. On a screen that has become narrower nobody
    /// knows where that is: some terminals break its lines anew and some do not. Then it stays, and
    /// the next one stands below it, so that nothing of the person's is taken away.
    fn wipe(&self, columns: usize) -> String {
        let rows = self.drawn.len();
        if rows == 0 || self.drawn.iter().any(|width| *width > columns) {
            return String::new();
        }
        format!("\r\u{1b}[{rows}A\u{1b}[J")
    }

    fn lines(&self, screen: &Screen, now: Time, rows: usize) -> Vec<String> {
        let room = rows.saturating_sub(BESIDES).max(1);
        let tasks = self.tasks(now, room);
        let mut lines = match tasks.as_slice() {
            [] => vec!["No tasks yet. `legwork run \"…\"` launches one.".to_owned()],
            tasks => listing::list(tasks, screen),
        };
        lines.truncate(room);
        lines.push(self.last_line(now));
        lines
    }

    /// The unfinished ones, then the others, each newest first; no more than there is room for.
    fn tasks(&self, now: Time, most: usize) -> Vec<TaskView> {
        let mut tasks: Vec<&TaskView> = self.board.items().map(|item| &item.task).collect();
        tasks.sort_by_key(|task| (!task.status.is_unfinished(), std::cmp::Reverse(task.seq)));
        let tasks = tasks.into_iter().take(most).cloned();
        tasks.map(|task| self.by_now(task, now)).collect()
    }

    /// The task with its times as they are now.
    fn by_now(&self, mut task: TaskView, now: Time) -> TaskView {
        let told_at = self.told_at.get(&task.id).copied().unwrap_or(now);
        if task.status.is_unfinished() {
            task.elapsed_ms = task.elapsed_ms.saturating_add(now.since(told_at));
            task.quiet_ms = task.quiet_ms.map(|quiet| quiet.saturating_add(now.since(told_at)));
        }
        task
    }

    fn last_line(&self, now: Time) -> String {
        let as_of = self.board.as_of().unwrap_or(now);
        if self.is_away {
            let text = format!("Reconnecting, as of {}. Ctrl-C ends.", clock(as_of));
            return paint(MIND, text);
        }
        let counts = self.board.counts();
        let finished = counts.tasks() - counts.unfinished();
        let text = format!(
            "{}, {} unfinished, {finished} finished. {}  Ctrl-C ends.",
            counted(counts.asking, "question"),
            counts.unfinished(),
            clock(now)
        );
        paint(DIM, text)
    }
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
    (usize::from(columns).max(1), usize::from(rows).max(1))
}

fn put(text: &str) -> Result<(), Fault> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Fault::Output)
}
