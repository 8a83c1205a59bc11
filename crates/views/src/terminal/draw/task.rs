//! One task: what it is, what it asks, and the open tab.

use crate::model::sentences::number;
use crate::model::text::fit;
use crate::model::words::clock_or_moment;
use crate::model::{Item, State};
use crate::model::{answering, ask};
use legwork_protocol::amounts::{counted, duration};
use legwork_protocol::view::QuestionView;
use unicode_width::UnicodeWidthStr;

use super::canvas::{Canvas, state_ink};
use super::list::elapsed;
use crate::terminal::model::{Model, Tab};
use crate::terminal::paper::{Ink, Line, Piece, line, width};
use ratatui::layout::Rect;

pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    let spot = model.layout.task;
    let Some(item) = model.item().filter(|_| spot.height > 0) else { return };
    for (y, text) in (0..).zip(facts(model, item, usize::from(spot.width))) {
        canvas.write(spot, 0, y, &text);
    }
    if let Some(question) = model.question() {
        card(canvas, model, question);
    }
    let columns = usize::from(model.layout.tabs.width);
    let ways = [(2, Tab::title as fn(Tab, bool) -> _), (1, Tab::title), (1, Tab::short_title)];
    let ways = ways.map(|(gap, title)| tabs(model, item, gap, title));
    let whole = ways.iter().find(|tabs| width(tabs) <= columns).or(ways.last());
    canvas.write(model.layout.tabs, 0, 0, whole.map_or(&[], Vec::as_slice));
    body(canvas, model);
}

fn facts(model: &Model, item: &Item, columns: usize) -> [Line; 3] {
    let task = &item.task;
    let state = item.row.state;
    let run = if task.resumes > 0 { format!(" (run {})", task.resumes) } else { String::new() };
    let word = if state == State::Asks { String::new() } else { format!("{} ", state.word()) };
    let title = Piece::new(&task.description, Ink::Strong).text;
    let room = columns.saturating_sub(3 + word.width() + run.width());
    let title = vec![
        Piece::new(&format!("{} {word}", state.sign()), state_ink(state)),
        Piece::new(&format!("{}{run}", fit(&title, room)), Ink::Strong),
    ];
    let asker = model.board.items().find(|other| other.task.session.as_ref() == Some(&task.parent));
    let asker = asker.map(|other| format!(", asked by “{}”", other.task.description));
    let who = format!(
        "{}   {} in {}{}",
        task.id,
        task.agent,
        item.row.project,
        asker.unwrap_or_default()
    );
    let who = Piece::new(&who, Ink::Faint).text;
    let mut figures = vec![elapsed(model, item)];
    figures.extend(task.ended.map(|at| format!("ended {}", clock_or_moment(at, model.now))));
    figures.push(counted(task.tool_calls as usize, "tool call"));
    figures.extend(task.usage.tokens.map(|tokens| format!("{} tokens", short(tokens))));
    figures.extend(item.row.cost.clone());
    figures.extend(task.usage.model.as_deref().map(str::to_owned));
    let figures = Piece::new(&figures.join("   "), Ink::Plain).text;
    [title, line(&fit(&who, columns), Ink::Faint), line(&fit(&figures, columns), Ink::Plain)]
}

/// `950`, `48k`, `1.2M`.
fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", (tokens + 500) / 1_000),
        _ => format!("{}.{}M", number(tokens / 1_000_000), tokens % 1_000_000 / 100_000),
    }
}

/// The question in a frame, with the keys that answer it.
fn card(canvas: &mut Canvas<'_>, model: &Model, question: &QuestionView) {
    let spot = model.layout.card;
    let columns = usize::from(spot.width).saturating_sub(4);
    let many = model.item().map_or(1, |item| item.task.questions.len());
    let many = if many > 1 { format!(" (1 of {many})") } else { String::new() };
    let title = format!("{}{many}", ask::headline(question));
    let waits = format!("waits {}", duration(model.now.since(question.since)));
    let has_room = title.width() + waits.width() + 2 < columns;
    let title = fit(&title, columns.saturating_sub(1));
    let inner = canvas.frame(spot, &title, if has_room { &waits } else { "" });
    let is_high = spot.height >= u16::try_from(model.layout.card_lines.len()).unwrap_or(0) + 4;
    let mut lines: Vec<Line> =
        model.layout.card_lines.iter().map(|text| line(text, Ink::Strong)).collect();
    if is_high {
        lines.push(vec![]);
    }
    lines.push(answers(question, columns));
    for (y, text) in (0..inner.height).zip(lines) {
        canvas.write(inner, 0, y, &text);
    }
}

/// The keys with which this question can be answered.
fn answers(question: &QuestionView, columns: usize) -> Line {
    let mut pieces = Vec::new();
    for (key, means) in answering::keys(question) {
        let means = format!(" {means}   ");
        let next = [Piece::new(&key.to_string(), Ink::Strong), Piece::new(&means, Ink::Plain)];
        if width(&pieces) + 1 + means.trim().width() < columns {
            pieces.extend(next);
        }
    }
    let all = width(&pieces);
    if let Some(last) = pieces.last_mut().filter(|_| all > columns) {
        last.text = last.text.trim_end().to_owned();
    }
    pieces
}

fn tabs(model: &Model, item: &Item, gap: usize, title: fn(Tab, bool) -> &'static str) -> Line {
    let is_over = !item.task.status.is_unfinished();
    let mut pieces = Vec::new();
    for (number, tab) in (1..).zip(Tab::ALL) {
        let is_open = model.opened.tab == tab;
        let (mark, ink) = if is_open { ("▸", Ink::Strong) } else { (" ", Ink::Faint) };
        let gap = if tab == Tab::Why { 0 } else { gap };
        let text = format!("{mark}{number} {}{}", title(tab, is_over), " ".repeat(gap));
        pieces.push(Piece::new(&text, ink));
    }
    pieces
}

fn body(canvas: &mut Canvas<'_>, model: &Model) {
    let (spot, opened) = (model.layout.body, &model.opened);
    let shown = opened.lines.iter().skip(opened.top).take(usize::from(spot.height));
    for (y, text) in (0..).zip(shown) {
        canvas.write(spot, 0, y, text);
    }
    if opened.tab == Tab::Conversation && opened.unseen > 0 {
        more_below(canvas, spot, opened.unseen);
    }
}

/// That something came below what is on the screen.
fn more_below(canvas: &mut Canvas<'_>, spot: Rect, count: usize) {
    let text = format!(" {count} new ↓ f follows ");
    let wide = u16::try_from(text.width()).unwrap_or(spot.width);
    if spot.height > 0 && wide <= spot.width {
        canvas.write(spot, spot.width - wide, spot.height - 1, &line(&text, Ink::Mind));
    }
}
