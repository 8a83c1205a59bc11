//! What stands over the screen: all keys, a whole question, something to say yes to; and the line
//! that is typed at the bottom.

use crate::model::ask;
use crate::model::text::wrap;
use unicode_width::UnicodeWidthStr;

use super::canvas::Canvas;
use crate::terminal::model::{Input, Mode, Model};
use crate::terminal::paper::{Ink, Line, Piece, line, width};
use ratatui::layout::Rect;

/// Every key, and what it does.
pub const KEYS: [(&str, &str); 18] = [
    ("j k ↓ ↑", "move in the list; scroll in an open task"),
    ("Enter  Esc", "open the task; back to the list"),
    ("1 2 3  Tab", "conversation, result, why it is not done"),
    ("PgUp PgDn", "scroll the task by pages; Home End to its ends"),
    ("f", "follow the end of the conversation, or stay"),
    ("o w r", "allow it once, always (asks first), or reject it"),
    ("e", "reject it with words; answer a question"),
    ("v", "read a long question whole"),
    ("n", "launch a new task in the folder of this view"),
    ("x", "cancel the task; asks first"),
    ("c", "have a finished task go on"),
    ("R", "try a failed or cancelled task again; asks first"),
    ("C", "clear all finished tasks; asks first"),
    ("g  + -", "timeline over the whole width; its scale"),
    ("b", "group by need, project or agent"),
    ("━ ╌ ·", "in a bar: at work, in the queue, neither"),
    ("/", "find by words, also among older tasks"),
    ("q  Ctrl-C", "quit; helpers work on"),
];

pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    match &model.mode {
        Mode::Normal | Mode::Input(_) => {}
        Mode::Keys => {
            let line = |(key, does): &(&str, &str)| {
                let gap = " ".repeat(12usize.saturating_sub(key.width()));
                vec![Piece::new(key, Ink::Strong), Piece::new(&format!("{gap}{does}"), Ink::Plain)]
            };
            let lines: Vec<Line> = KEYS.iter().map(line).collect();
            framed(canvas, "Keys", &lines, "any key goes back");
        }
        Mode::Whole(top) => {
            let Some(question) = model.question() else { return };
            let columns = usize::from(canvas.area().width).saturating_sub(8).max(1);
            let lines = wrap(ask::subject(question), columns);
            let last =
                lines.len().saturating_sub(usize::from(canvas.area().height).saturating_sub(6));
            let shown = lines.iter().skip((*top).min(last)).map(|text| line(text, Ink::Plain));
            let shown: Vec<Line> = shown.collect();
            framed(canvas, ask::headline(question), &shown, "j k scroll   esc back");
        }
        Mode::Confirm(confirm) => {
            let columns = usize::from(canvas.area().width).saturating_sub(8).clamp(1, 70);
            let lines = wrap(&confirm.text, columns);
            let lines: Vec<Line> = lines.iter().map(|text| line(text, Ink::Plain)).collect();
            framed(canvas, &confirm.title, &lines, "y yes   n no");
        }
    }
}

/// A frame in the middle of the screen. Its title and its keys are there however small the screen
/// is; what does not fit between them is said to be missing.
fn framed(canvas: &mut Canvas<'_>, title: &str, lines: &[Line], keys: &str) {
    let area = canvas.area();
    let widest = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    let inner = widest.max(title.width() + 1).max(keys.width());
    let inner = inner.min(usize::from(area.width).saturating_sub(4));
    let room = usize::from(area.height).saturating_sub(4);
    let mut shown: Vec<Line> = lines.iter().take(room).cloned().collect();
    if shown.len() < lines.len()
        && let Some(last) = shown.last_mut()
    {
        *last = line(&format!("… {} more lines", lines.len() - room + 1), Ink::Faint);
    }
    shown.push(vec![]);
    shown.push(line(keys, Ink::Strong));
    let high = u16::try_from(shown.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let wide = u16::try_from(inner + 4).unwrap_or(u16::MAX).min(area.width);
    let spot =
        Rect { x: (area.width - wide) / 2, y: (area.height - high) / 2, width: wide, height: high };
    let inner = canvas.frame(spot, title, "");
    for (y, text) in (0..inner.height).zip(shown) {
        canvas.write(inner, 0, y, &text);
    }
}

/// The line that is typed, with its end in sight, and where the cursor is.
pub fn input(canvas: &mut Canvas<'_>, spot: Rect, input: &Input) -> Option<(u16, u16)> {
    let label = format!(" {}", input.label());
    let room = usize::from(spot.width).saturating_sub(label.width() + 1);
    let (before, after) = input.text.split_at(input.cursor);
    // Whole characters from the right, as many as there is room for.
    let mut begin = before.len();
    for (at, _) in before.char_indices().rev() {
        if before[at..].width() > room {
            break;
        }
        begin = at;
    }
    let before = &before[begin..];
    let typed = vec![
        Piece::new(&label, Ink::Strong),
        Piece::new(before, Ink::Plain),
        Piece::new(after, Ink::Plain),
    ];
    canvas.write(spot, 0, 0, &typed);
    let x = u16::try_from(label.width() + before.width()).ok()?;
    (spot.height > 0 && x < spot.width).then_some((spot.x + x, spot.y))
}
