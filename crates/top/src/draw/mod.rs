//! The screen, made of what is known. Nothing is decided here, and nothing is drawn outside of the
//! screen, however small it is.

mod canvas;
mod list;
mod overlay;
mod task;
mod timeline;

use legwork_board::State;
use legwork_board::sentences::number;
use legwork_board::words::clock;
use ratatui::Frame;

use crate::draw::canvas::{Canvas, state_ink};
use crate::model::{Focus, Link, Mode, Model, Spot};
use crate::paper::{Ink, Line, Piece, line, width};

/// The narrowest screen that is drawn on as a whole.
const NARROWEST: u16 = 20;

pub fn draw(frame: &mut Frame<'_>, model: &Model) {
    let cursor = {
        let area = frame.area();
        let mut canvas = Canvas::new(frame.buffer_mut(), area, model.theme);
        header(&mut canvas, model);
        list::draw(&mut canvas, model);
        between(&mut canvas, model);
        task::draw(&mut canvas, model);
        let cursor = footer(&mut canvas, model);
        overlay::draw(&mut canvas, model);
        cursor
    };
    if let Some((x, y)) = cursor
        && matches!(model.mode, Mode::Input(_))
    {
        frame.set_cursor_position((x, y));
    }
}

fn header(canvas: &mut Canvas<'_>, model: &Model) {
    let spot = model.layout.header;
    let counts = model.board.counts();
    let mut left: Line = vec![Piece::new(" legwork ", Ink::Strong)];
    let mut count = |state: State, many: usize, word: &str, is_shown: bool| {
        if is_shown {
            let text = format!("  {} {}", state.sign(), number(many as u64));
            left.push(Piece::new(&text, state_ink(state)));
            left.push(Piece::new(word, Ink::Plain));
        }
    };
    let is_known = model.board.as_of().is_some();
    count(State::Asks, counts.asking, " ask", is_known);
    count(State::Working, counts.working, " work", is_known);
    count(State::Queued, counts.queued, " wait", is_known && counts.queued > 0);
    count(State::Failed, counts.failed, "", counts.failed > 0);
    count(State::Completed, counts.completed, "", is_known);
    let right = link(model);
    let room = usize::from(spot.width).saturating_sub(width(&left) + 2);
    canvas.write(spot, 0, 0, &left);
    if width(&right) <= room {
        let x = usize::from(spot.width) - width(&right) - 1;
        canvas.write(spot, u16::try_from(x).unwrap_or(0), 0, &right);
    } else if !model.is_live() {
        // What is not so any more has to be said before anything else.
        canvas.clear(spot, 0);
        canvas.write(spot, 0, 0, &right);
    }
    if spot.height > 1 {
        canvas.write(spot, 0, 1, &line(&"─".repeat(usize::from(spot.width)), Ink::Faint));
    }
}

/// Whether what is shown is how it is now, or since when it is not.
fn link(model: &Model) -> Line {
    let as_of = model.board.as_of().map(clock);
    match (&model.link, as_of) {
        (Link::Connecting, _) => line("connecting", Ink::Mind),
        (Link::Live, Some(_)) if model.is_live() => {
            vec![
                Piece::new("live", Ink::Good),
                Piece::new(&format!("  {}", clock(model.now)), Ink::Faint),
            ]
        }
        (_, Some(as_of)) => line(&format!("reconnecting, as of {as_of}"), Ink::Mind),
        (_, None) => line("cannot connect", Ink::Bad),
    }
}

fn between(canvas: &mut Canvas<'_>, model: &Model) {
    let spot = model.layout.between;
    let ink = if model.focus == Focus::Task { Ink::Live } else { Ink::Faint };
    for y in 0..spot.height {
        canvas.write(spot, 0, y, &line("│", ink));
    }
}

/// The keys that count here, a message, or the line that is typed; and where its cursor is.
fn footer(canvas: &mut Canvas<'_>, model: &Model) -> Option<(u16, u16)> {
    let spot = model.layout.footer;
    if let Mode::Input(input) = &model.mode {
        return overlay::input(canvas, spot, input);
    }
    let text = match (&model.message, &model.link) {
        (Some(message), _) => {
            let ink = if message.is_bad { Ink::Bad } else { Ink::Good };
            line(&format!(" {}", message.text), ink)
        }
        (None, Link::Away(why)) => line(&format!(" {why}"), Ink::Mind),
        (None, _) if !model.board.is_healthy() => line(UNHEALTHY, Ink::Bad),
        (None, _) => keys(model, spot),
    };
    canvas.write(spot, 0, 0, &text);
    None
}

const UNHEALTHY: &str = " Records cannot be saved (is the disk full?): nothing new is taken on.";

fn keys(model: &Model, spot: Spot) -> Line {
    let is_task_alone = model.focus == Focus::Task && !model.is_wide();
    let asks = model.question().is_some();
    let is_over = model.item().is_some_and(|item| !item.task.status.is_unfinished());
    let mut keys: Vec<(&str, &str)> = Vec::new();
    if model.focus == Focus::Task {
        keys.extend([("esc", "back"), ("j k", "scroll"), ("1 2 3", "tabs")]);
    } else {
        keys.extend([("j k", "move"), ("↵", "open"), ("1 2 3", "tabs")]);
    }
    match model.item() {
        Some(_) if asks => keys.extend([("o w r e", "answer"), ("x", "cancel")]),
        Some(_) if is_over => keys.push(("c", "go on")),
        Some(_) => keys.push(("x", "cancel")),
        None => keys.clear(),
    }
    if !is_task_alone {
        keys.extend([("/", "find"), ("g", "timeline")]);
    }
    keys.extend([("?", "keys"), ("q", "quit")]);
    let mut pieces = Vec::new();
    for (key, means) in keys {
        let next = [
            Piece::new(&format!(" {key}"), Ink::Strong),
            Piece::new(&format!(" {means}  "), Ink::Faint),
        ];
        if width(&pieces) + width(&next) > usize::from(spot.width.max(NARROWEST)) {
            break;
        }
        pieces.extend(next);
    }
    pieces
}
