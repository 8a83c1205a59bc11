//! The rows of `legwork list`, drawn anew in their place. The last picture stays on the screen.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use legwork_protocol::api::board::BoardPage;
use legwork_protocol::view::TaskView;
use legwork_protocol::{TaskId, Time};
use legwork_views::model::Board;

use crate::listing;
use crate::progress::Live;
use crate::screen::{DIM, MIND, Screen, paint};
use crate::table::fit;
use crate::words::{clock, counted};

/// Rows that are there besides those of the table: the last line, and one for what is typed.
const BESIDES: usize = 3;

#[derive(Debug)]
pub struct Table {
    board: Board,
    /// When each task was last told of: from then on its times are counted here.
    told_at: BTreeMap<TaskId, Time>,
    /// Whether the daemon can be asked at the moment.
    pub is_away: bool,
    pub live: Live,
}

impl Table {
    pub fn new(page: BoardPage) -> Self {
        let mut table = Self {
            board: Board::default(),
            told_at: BTreeMap::new(),
            is_away: false,
            live: Live::on_stdout(),
        };
        table.apply(page);
        table
    }

    pub fn apply(&mut self, page: BoardPage) {
        self.is_away = false;
        let now = page.now;
        let applied = self.board.apply(page);
        self.told_at.extend(applied.changed.iter().map(|id| (*id, now)));
        for id in &applied.gone {
            self.told_at.remove(id);
        }
    }

    pub fn draw(&mut self, screen: &Screen, now: Time) {
        let (columns, rows) = self.live.size();
        let room = rows.saturating_sub(BESIDES).max(1);
        let mut lines = match self.tasks(now, room).as_slice() {
            [] => vec![fit("No tasks yet. `legwork run \"…\"` launches one.", columns)],
            tasks => listing::list(tasks, screen),
        };
        lines.truncate(room);
        let style = if self.is_away { MIND } else { DIM };
        lines.push(paint(style, fit(&self.last_line(now), columns)));
        self.live.draw(&lines);
    }

    /// The unfinished ones, then the others, each newest first; no more than there is room for.
    fn tasks(&self, now: Time, most: usize) -> Vec<TaskView> {
        let mut tasks: Vec<&TaskView> = self.board.items().map(|item| &item.task).collect();
        tasks.sort_by_key(|task| (!task.status.is_unfinished(), Reverse(task.seq)));
        tasks.into_iter().take(most).map(|task| self.by_now(task.clone(), now)).collect()
    }

    /// The task with its times as they are now.
    fn by_now(&self, mut task: TaskView, now: Time) -> TaskView {
        let passed = self.told_at.get(&task.id).map_or(0, |told_at| now.since(*told_at));
        if task.status.is_unfinished() {
            task.elapsed_ms = task.elapsed_ms.saturating_add(passed);
            task.quiet_ms = task.quiet_ms.map(|quiet| quiet.saturating_add(passed));
        }
        task
    }

    fn last_line(&self, now: Time) -> String {
        if self.is_away {
            let as_of = clock(self.board.as_of().unwrap_or(now));
            return format!("Reconnecting, as of {as_of}. Ctrl-C ends.");
        }
        let counts = self.board.counts();
        format!(
            "{}, {} unfinished, {} finished. {}  Ctrl-C ends.",
            counted(counts.asking, "question"),
            counts.unfinished(),
            counts.tasks() - counts.unfinished(),
            clock(now)
        )
    }
}
