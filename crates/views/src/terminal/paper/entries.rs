//! What was said and done, entry by entry: a prompt behind a bar, what the helper wrote as
//! Markdown, a tool call on one line with its sign and how long it took.

use crate::model::entry::{left_out, subject, took};
use crate::model::text::fit;
use crate::model::words::clock;
use legwork_protocol::api::transcript::{Entry, EntryKind, ToolState, ToolUse};
use legwork_protocol::view::QuestionView;
use unicode_width::UnicodeWidthStr;

use super::{Ink, Line, Piece, flow, line, markdown_lines, plain_lines, width};

/// What has to be known of a conversation to show an entry of it.
#[derive(Debug, Clone, Copy)]
pub struct Saying<'a> {
    pub agent: &'a str,
    /// Whether somebody else speaks than in the entry before.
    pub is_new_speaker: bool,
    /// What the helper waits for a person to answer.
    pub asks: &'a [QuestionView],
}

pub fn entry_lines(entry: &Entry, saying: Saying<'_>, columns: usize) -> Vec<Line> {
    if let Some(tool) = &entry.tool {
        let mut lines = tool_lines(entry, tool, saying, columns);
        if saying.is_new_speaker {
            lines.splice(0..0, [vec![], who(entry, saying)]);
        }
        return lines;
    }
    let text = entry.text.text.trim();
    if text.is_empty() && entry.text.left_out == 0 {
        return vec![];
    }
    let mut lines = vec![vec![]];
    if saying.is_new_speaker || entry.beginning_missing {
        lines.push(who(entry, saying));
    }
    match entry.kind {
        EntryKind::Prompt | EntryKind::Person | EntryKind::Notice => {
            lines.extend(plain_lines(text, columns, Ink::Plain, &Piece::new("▏ ", Ink::Faint)));
        }
        EntryKind::Thought if entry.is_plan() => {
            lines.extend(plain_lines(text, columns, Ink::Plain, &Piece::default()));
        }
        EntryKind::Thought => {
            lines.extend(plain_lines(text, columns, Ink::Faint, &Piece::default()));
        }
        EntryKind::Error => lines.extend(plain_lines(text, columns, Ink::Bad, &Piece::default())),
        // What is still being written may be half a mark.
        EntryKind::Text | EntryKind::Tool if entry.open => {
            lines.extend(plain_lines(text, columns, Ink::Plain, &Piece::default()));
        }
        EntryKind::Text | EntryKind::Tool => lines.extend(markdown_lines(text, columns)),
    }
    if entry.text.left_out > 0 {
        let note = format!("{}, which were not kept", left_out(entry.text.left_out));
        lines.push(line(&note, Ink::Faint));
    }
    lines
}

fn who(entry: &Entry, saying: Saying<'_>) -> Line {
    let who = match entry.kind {
        EntryKind::Prompt if entry.run > 0 => format!("Prompt of run {}", entry.run),
        EntryKind::Prompt => "Prompt".to_owned(),
        EntryKind::Person => "A person".to_owned(),
        EntryKind::Notice => "Told".to_owned(),
        EntryKind::Thought if entry.is_plan() => "Plan".to_owned(),
        EntryKind::Thought => format!("{} thinks", saying.agent),
        EntryKind::Error => "Failed".to_owned(),
        EntryKind::Text | EntryKind::Tool => saying.agent.to_owned(),
    };
    let at = entry.at.map(clock).unwrap_or_default();
    let note = if entry.beginning_missing { "  from here on" } else { "" };
    vec![Piece::new(&who, Ink::Strong), Piece::new(&format!("  {at}{note}"), Ink::Faint)]
}

fn tool_lines(entry: &Entry, tool: &ToolUse, saying: Saying<'_>, columns: usize) -> Vec<Line> {
    let waits = !tool.state.is_over() && entry.open && is_asked(tool, saying.asks);
    let (sign, ink, state) = match tool.state {
        _ if waits => ("?", Ink::Mind, "waits for you"),
        ToolState::Pending | ToolState::Running if entry.open => ("●", Ink::Live, "at work"),
        ToolState::Pending | ToolState::Running => ("–", Ink::Faint, "no end told"),
        ToolState::Done => ("✓", Ink::Good, ""),
        ToolState::Failed => ("✗", Ink::Bad, "failed"),
    };
    let end = [Some(state.to_owned()).filter(|state| !state.is_empty()), took(entry)];
    let end: Vec<String> = end.into_iter().flatten().collect();
    let end = end.join("  ");
    let room = columns.saturating_sub(5 + end.width());
    let subject = fit(&Piece::new(&subject(tool), Ink::Plain).text, room);
    let gap = " ".repeat(room.saturating_sub(subject.width()) + 2);
    let call = vec![
        Piece::new(&format!(" {sign} "), ink),
        Piece::new(&subject, Ink::Plain),
        Piece::new(&format!("{gap}{end}"), Ink::Faint),
    ];
    let mut lines = if width(&call) > columns.max(8) {
        flow(
            &[Piece::new(&format!(" {sign} {subject}"), ink)],
            columns,
            &Piece::default(),
            &Piece::default(),
        )
    } else {
        vec![call]
    };
    let error = tool.error.text.trim().lines().next().unwrap_or_default();
    if tool.state == ToolState::Failed && !error.is_empty() {
        let error = fit(&Piece::new(error, Ink::Bad).text, columns.saturating_sub(3));
        lines.push(line(&format!("   {error}"), Ink::Bad));
    }
    lines
}

/// Whether one of the questions is about this call: it names what the call is about.
fn is_asked(tool: &ToolUse, asks: &[QuestionView]) -> bool {
    let about = [&tool.title, &tool.name].into_iter().find(|text| !text.trim().is_empty());
    about.is_some_and(|about| asks.iter().any(|question| question.subject.contains(about.trim())))
}
