//! Where everything stands, for a screen of any size.

use crate::model::ask;
use crate::model::text::wrap;
use legwork_protocol::view::{QuestionKind, QuestionView};
use ratatui::layout::Rect;

use super::{Focus, Link, Mode, Model};
use crate::terminal::limits::CARD_LINES_MAX;
use crate::terminal::paper::Ink;

/// From this width on there are two halves.
pub const WIDE: u16 = 100;

/// The parts; one that is not shown has no height.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    pub header: Rect,
    pub list: Rect,
    /// The column between the halves.
    pub between: Rect,
    pub task: Rect,
    pub card: Rect,
    pub card_lines: Vec<String>,
    pub tabs: Rect,
    pub body: Rect,
    pub footer: Rect,
    /// A sentence at the bottom, whole: what does not fit into the footer stands above it.
    pub notice: Vec<String>,
}

/// Lines of a sentence at the bottom: more than any of ours needs on the narrowest screen.
const NOTICE_LINES: usize = 4;

const UNHEALTHY: &str = "Records cannot be saved (is the disk full?): nothing new is taken on.";

impl Model {
    /// Whether both halves are on the screen.
    pub fn is_wide(&self) -> bool {
        self.size.0 >= WIDE && !self.timeline
    }

    /// What is said at the bottom in the place of the keys.
    pub fn notice(&self) -> Option<(&str, Ink)> {
        match (&self.mode, &self.message, &self.link) {
            (Mode::Input(_), ..) => None,
            (_, Some(said), _) => {
                Some((&said.text, if said.is_bad { Ink::Bad } else { Ink::Good }))
            }
            (_, None, Link::Away(why)) => Some((why, Ink::Mind)),
            _ if !self.board.is_healthy() => Some((UNHEALTHY, Ink::Bad)),
            _ => None,
        }
    }

    /// Rows above the footer that a long sentence takes.
    pub(super) fn covered(&self) -> u16 {
        u16::try_from(self.layout.notice.len().saturating_sub(1)).unwrap_or(0)
    }

    pub(super) fn lay_out(&self, columns: u16, rows: u16) -> Layout {
        let top = if rows >= 4 { 2 } else { rows.min(1) };
        let bottom = u16::from(rows >= 3);
        let main = Rect { x: 0, y: top, width: columns, height: rows - top - bottom };
        let mut layout = Layout {
            header: Rect { x: 0, y: 0, width: columns, height: top },
            footer: Rect { x: 0, y: rows - bottom, width: columns, height: bottom },
            ..Layout::default()
        };
        if self.is_wide() {
            let left = columns / 2;
            layout.list = Rect { width: left, ..main };
            layout.between = Rect { x: left, width: 1, ..main };
            layout.task = Rect { x: left + 2, width: columns - left - 2, ..main };
        } else if self.focus == Focus::Task {
            layout.task = Rect { x: 1.min(columns), width: columns.saturating_sub(2), ..main };
        } else {
            layout.list = main;
        }
        if let Some((text, _)) = self.notice() {
            layout.notice = wrap(text, usize::from(columns).saturating_sub(2));
            layout.notice.truncate(NOTICE_LINES.min(usize::from(layout.footer.y) + 1));
        }
        if self.item().is_some() && layout.task.height > 0 {
            self.lay_out_task(&mut layout);
        }
        layout
    }

    /// Three lines of facts, the question, the tabs, and the rest for what they show.
    fn lay_out_task(&self, layout: &mut Layout) {
        let task = layout.task;
        let gap = u16::from(task.height >= 16);
        let (end, mut y) = (task.y + task.height, task.y + 3);
        if let Some(question) = self.question() {
            let room = usize::from(task.width.saturating_sub(4)).max(1);
            let most = usize::from(task.height.saturating_sub(8)).clamp(1, CARD_LINES_MAX);
            layout.card_lines = card_lines(question, room, most);
            let height = u16::try_from(layout.card_lines.len()).unwrap_or(0) + 3 + gap;
            let height = height.min(end.saturating_sub(y));
            layout.card = Rect { y, height, ..task };
            y += height;
        }
        y += gap;
        layout.tabs = Rect { y, height: u16::from(y < end), ..task };
        y += 1 + gap;
        layout.body = Rect { y: y.min(end), height: end.saturating_sub(y), ..task };
    }
}

/// What a question is about, and what can be chosen; whole, unless it is very long. A command is
/// not cut without a word about it: the end of it may be what counts.
fn card_lines(question: &QuestionView, columns: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(ask::subject(question), columns);
    if question.kind == QuestionKind::Question {
        for option in &question.options {
            lines.extend(wrap(&format!("{}  {}", option.id, option.label), columns));
        }
    }
    if lines.len() > most {
        let left = lines.len() - most.saturating_sub(1);
        lines.truncate(most.saturating_sub(1));
        lines.push(format!("… {left} more lines; v shows all of it"));
    }
    lines
}
