//! The screen, made of what is known. Nothing is decided here, and nothing is drawn outside of the
//! screen, however small it is.

mod canvas;
mod list;
mod overlay;
mod task;
mod timeline;

use crate::model::State;
use crate::model::sentences::number;
use crate::model::text::fit;
use crate::model::words::clock;
use ratatui::Frame;

use crate::terminal::draw::canvas::{Canvas, state_ink};
use crate::terminal::model::{Focus, Link, Mode, Model};
use crate::terminal::paper::{Ink, Line, Piece, line, width};
use ratatui::layout::Rect;

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
    let room = usize::from(spot.width).saturating_sub(1);
    let right = link(model);
    let short: Line = right.iter().take(1).cloned().collect();
    let ways = [
        (counts(model, true), &right),
        (counts(model, true), &short),
        (counts(model, false), &right),
        (counts(model, false), &short),
    ];
    let fits = ways.iter().find(|(left, right)| width(left) + 2 + width(right) <= room);
    match fits {
        Some((left, right)) => {
            canvas.write(spot, 0, 0, left);
            let x = u16::try_from(room - width(right)).unwrap_or(0);
            canvas.write(spot, x, 0, right);
        }
        // What is not so any more has to be said before anything else.
        None if !model.is_live() => canvas.write(spot, 0, 0, &right),
        None => canvas.write(spot, 0, 0, &counts(model, false)),
    }
    if spot.height > 1 {
        canvas.write(spot, 0, 1, &line(&"─".repeat(usize::from(spot.width)), Ink::Faint));
    }
}

/// How many tasks there are of each kind, with words or with signs alone.
fn counts(model: &Model, with_words: bool) -> Line {
    let counts = model.board.counts();
    let mut pieces: Line = vec![Piece::new(" legwork", Ink::Strong)];
    if model.board.as_of().is_none() {
        return pieces;
    }
    let all = [
        (State::Asks, counts.asking, " ask you", true),
        (State::Working, counts.working, " working", true),
        (State::Queued, counts.queued, " queued", counts.queued > 0),
        (State::Failed, counts.failed, "", counts.failed > 0),
        (State::Completed, counts.completed, "", true),
    ];
    for (state, many, word, _) in all.into_iter().filter(|(.., is_shown)| *is_shown) {
        let gap = if with_words { "   " } else { "  " };
        let text = format!("{gap}{} {}", state.sign(), number(many as u64));
        pieces.push(Piece::new(&text, state_ink(state)));
        pieces.push(Piece::new(if with_words { word } else { "" }, Ink::Plain));
    }
    pieces
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
    match model.notice() {
        Some((_, ink)) => notice(canvas, spot, &model.layout.notice, ink),
        None => canvas.write(spot, 0, 0, &keys(model, spot)),
    }
    None
}

/// A sentence at the bottom: what does not fit on the last line stands above it.
fn notice(canvas: &mut Canvas<'_>, spot: Rect, lines: &[String], ink: Ink) {
    let high = u16::try_from(lines.len()).unwrap_or(1).max(1);
    if spot.height == 0 {
        return;
    }
    let spot = Rect { y: spot.y + 1 - high, height: high, ..spot };
    canvas.clear(spot);
    for (y, text) in (0..).zip(lines) {
        canvas.write(spot, 1, y, &line(text, ink));
    }
}

fn keys(model: &Model, spot: Rect) -> Line {
    let state = model.item().map(|item| item.row.state);
    let mut keys: Vec<(&str, &str)> = match model.focus {
        _ if model.item().is_none() => vec![],
        Focus::Task => vec![("esc", "back"), ("j k", "scroll"), ("1 2 3", "tabs")],
        Focus::List => vec![("j k", "move"), ("↵", "open"), ("1 2 3", "tabs")],
    };
    match state {
        Some(State::Asks) => keys.extend([("o w r e", "answer"), ("x", "cancel")]),
        Some(State::Completed) => keys.push(("c", "go on")),
        Some(State::Failed | State::Cancelled) => keys.extend([("R", "retry"), ("c", "go on")]),
        Some(State::Working | State::Queued) => keys.push(("x", "cancel")),
        None => {}
    }
    if model.focus == Focus::List || model.is_wide() {
        keys.extend([("/", "find"), ("n", "new"), ("g", "timeline")]);
    }
    let last = [("?", "keys"), ("q", "quit")].map(key);
    let room = usize::from(spot.width.max(NARROWEST)).saturating_sub(width(&last.concat()));
    let mut pieces = filtered(model);
    for next in keys.into_iter().map(key) {
        if width(&pieces) + width(&next) > room {
            break;
        }
        pieces.extend(next);
    }
    pieces.extend(last.concat());
    pieces
}

fn key((key, means): (&str, &str)) -> Line {
    vec![Piece::new(&format!(" {key}"), Ink::Strong), Piece::new(&format!(" {means} "), Ink::Faint)]
}

/// That not all tasks are shown.
fn filtered(model: &Model) -> Line {
    if !model.filter.is_on() || model.focus == Focus::Task {
        return vec![];
    }
    let text = format!(" only “{}” ", fit(&Piece::new(&model.filter.text, Ink::Mind).text, FILTER));
    [line(&text, Ink::Mind), key(("esc", "all"))].concat()
}

/// Columns of what is looked for, so that there is room for the keys.
const FILTER: usize = 20;
