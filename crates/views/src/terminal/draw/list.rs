//! The list: groups by whom they need, each task with its sign, what it asks or does, how long it
//! takes and when it was at work.

use crate::model::grouping::Heading;
use crate::model::sentences::number;
use crate::model::text::fit;
use crate::model::words::day;
use crate::model::{Group, Item, State};
use legwork_protocol::amounts::{counted, duration};
use unicode_width::UnicodeWidthStr;

use super::canvas::{Canvas, state_ink};
use super::timeline::bar;
use crate::terminal::model::{Link, ListLine, Model, Title};
use crate::terminal::paper::{Ink, Line, Piece, line, width};
use ratatui::layout::Rect;

/// Columns of the bar in a row, and of the cost or the time behind it.
const BAR: usize = 12;
const BEHIND: usize = 9;
/// Columns of the time at which a task ended.
const ENDED: usize = 7;
/// Below this width there is no room for a bar, nor for when a task ended.
const BAR_FROM: usize = 46;

pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    let spot = model.layout.list;
    if spot.height == 0 {
        return;
    }
    if model.rows.is_empty() {
        return nobody(canvas, model, spot);
    }
    let shown = model.rows.iter().skip(model.top).take(usize::from(spot.height));
    for (y, row) in (0..).zip(shown) {
        match row {
            ListLine::Blank => {}
            ListLine::Title(above) => canvas.write(spot, 0, y, &title(model, above, spot)),
            ListLine::Task(id) | ListLine::Doing(id) => {
                let Some(item) = model.item_of(*id) else { continue };
                let is_chosen = model.selected == Some(*id);
                let is_first = matches!(row, ListLine::Task(_));
                let line = match is_first {
                    true => first(model, item, usize::from(spot.width)),
                    false => second(model, item, usize::from(spot.width)),
                };
                match is_chosen {
                    true if is_first => canvas.write_bold(spot, 1, y, &line),
                    _ => canvas.write(spot, 1, y, &line),
                }
                if is_chosen {
                    canvas.write(spot, 0, y, &[Piece::new("▌", Ink::Live)]);
                }
            }
        }
    }
}

fn title(model: &Model, above: &Title, spot: Rect) -> Line {
    let (name, more) = match &above.heading {
        Heading::Need(group) => (group.title().to_owned(), of_need(model, *group, above.shown)),
        Heading::Named(name) => (name.clone(), of_name(model, above)),
    };
    let name = fit(&Piece::new(&name, Ink::Strong).text, usize::from(spot.width) / 2);
    let mut pieces =
        vec![Piece::new(&format!(" {name}"), Ink::Strong), Piece::new(&more, Ink::Faint)];
    let topmost = model.rows.iter().skip(model.top).find_map(|row| match row {
        ListLine::Title(title) => Some(title),
        _ => None,
    });
    if topmost == Some(above) {
        let columns = usize::from(spot.width);
        let gap = columns.saturating_sub(width(&pieces) + BEHIND + 1);
        let name = bar_name(model, columns);
        if name.width() < gap {
            let name = format!("{name:>gap$}{}", " ".repeat(BEHIND + 1));
            pieces.push(Piece::new(&name, Ink::Faint));
        }
    }
    pieces
}

/// What stands behind whom the tasks need.
fn of_need(model: &Model, group: Group, shown: usize) -> String {
    let counts = model.board.counts();
    let finished = counts.completed + counts.failed + counts.cancelled;
    match group {
        _ if model.filter.is_on() => match model.filter.total {
            Some(total) if group == Group::Finished => {
                format!(", {} found in all", number(total as u64))
            }
            _ => format!(", {} found", number(shown as u64)),
        },
        // Each host has its own: what is at work on all of them is no part of this number.
        Group::Queued if counts.slots > 0 => {
            format!(", {} on each host", counted(counts.slots as usize, "slot"))
        }
        Group::Finished if shown < finished => {
            format!(", {} of {}", number(shown as u64), number(finished as u64))
        }
        _ => String::new(),
    }
}

/// What stands behind a project or an agent.
fn of_name(model: &Model, above: &Title) -> String {
    let found = if model.filter.is_on() { " found" } else { "" };
    let asking = match above.asking {
        0 => String::new(),
        asking => format!(", asks you {}", number(asking as u64)),
    };
    format!(", {}{found}{asking}", number(above.shown as u64))
}

/// What stands above the bars, as wide as they are: how much time they show.
fn bar_name(model: &Model, columns: usize) -> String {
    let minutes = model.scale_ms() / 60_000;
    let span = match minutes {
        0..=90 => format!("last {minutes} min"),
        91..=1_439 => format!("last {} h", minutes / 60),
        _ => "last day".to_owned(),
    };
    match bar_columns(model, columns) {
        0 => String::new(),
        wide if model.timeline => format!("{:<wide$}", format!("the {span}, + -")),
        wide => format!("{span:<wide$}"),
    }
}

fn bar_columns(model: &Model, columns: usize) -> usize {
    match model.timeline {
        true => columns.saturating_sub(4) / 2,
        false if columns >= BAR_FROM => BAR,
        false => 0,
    }
}

/// The sign, what it is to do, and how long it takes; of a finished one when it ended, and its bar.
fn first(model: &Model, item: &Item, columns: usize) -> Line {
    let task = &item.task;
    let run = if task.resumes > 0 { format!(" (run {})", task.resumes) } else { String::new() };
    let time = elapsed(model, item);
    let is_over = item.row.group == Group::Finished;
    let bar_columns = if model.timeline || is_over { bar_columns(model, columns) } else { 0 };
    let behind = bar_columns + if bar_columns > 0 { 2 } else { 0 } + BEHIND + 1;
    let ended = match task.ended.filter(|_| columns >= BAR_FROM) {
        Some(ended) => format!("{:>ENDED$}", day(ended, model.now)),
        None => String::new(),
    };
    let room = columns.saturating_sub(behind + ended.width() + 3);
    let name = Piece::new(&task.description, Ink::Plain).text;
    let name = format!("{}{run}", fit(&name, room.saturating_sub(run.width())));
    let gap = room.saturating_sub(name.width());
    let ink = state_ink(item.row.state);
    let mut pieces = vec![
        Piece::new(&format!("{} ", item.row.state.sign()), ink),
        Piece::new(&name, Ink::Plain),
        Piece::new(&" ".repeat(gap), Ink::Plain),
        Piece::new(&ended, Ink::Faint),
    ];
    if bar_columns > 0 {
        pieces.push(Piece::new("  ", Ink::Plain));
        pieces.extend(bar(task, model.now, model.scale_ms(), bar_columns));
    }
    pieces.push(Piece::new(&format!("{time:>BEHIND$}"), Ink::Plain));
    pieces
}

/// What it asks or does, when it was at work, and what it costs.
fn second(model: &Model, item: &Item, columns: usize) -> Line {
    let task = &item.task;
    let text = match item.row.state {
        State::Asks => item.row.line.clone(),
        _ => format!("{} · {} · {}", task.agent, item.row.project, item.row.line),
    };
    let text = Piece::new(&text, Ink::Plain).text;
    let ink = if item.row.state == State::Asks { Ink::Mind } else { Ink::Faint };
    let bar_columns = bar_columns(model, columns);
    let behind = if bar_columns > 0 { bar_columns + 2 + BEHIND } else { 0 };
    let room = columns.saturating_sub(behind + 4);
    let text = fit(&text, room);
    let gap = room.saturating_sub(text.width());
    let mut pieces =
        vec![Piece::new(&format!("  {text}"), ink), Piece::new(&" ".repeat(gap + 2), Ink::Plain)];
    if bar_columns > 0 {
        pieces.extend(bar(task, model.now, model.scale_ms(), bar_columns));
        let cost = fit(item.row.cost.as_deref().unwrap_or("–"), BEHIND - 1);
        pieces.push(Piece::new(&format!("{cost:>BEHIND$}"), Ink::Faint));
    }
    pieces
}

/// How long its run takes or took.
pub fn elapsed(model: &Model, item: &Item) -> String {
    let task = &item.task;
    if task.status.is_unfinished() {
        return duration(model.now.since(task.started));
    }
    duration(task.elapsed_ms)
}

/// What there is to do where there is nothing to see.
fn nobody(canvas: &mut Canvas<'_>, model: &Model, spot: Rect) {
    let lines: Vec<(&str, Ink)> = match &model.link {
        _ if model.filter.is_on() => {
            vec![
                ("No task has this in its description, agent, folder or id.", Ink::Plain),
                ("esc shows all", Ink::Faint),
            ]
        }
        Link::Live => vec![
            ("Nobody is out on an errand.", Ink::Strong),
            ("", Ink::Plain),
            ("n, or legwork run \"…\"        sends a helper", Ink::Plain),
            ("legwork install opencode     lets OpenCode send them", Ink::Plain),
            ("legwork demo                 shows how it goes", Ink::Plain),
        ],
        Link::Connecting => vec![("Asking the daemon …", Ink::Faint)],
        Link::Away(_) => vec![("The daemon cannot be asked. It is tried again.", Ink::Plain)],
    };
    for (y, (text, ink)) in (1..).zip(lines) {
        canvas.write(spot, 2, y, &line(text, ink));
    }
}
