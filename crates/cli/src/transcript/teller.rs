//! Entries of a conversation as lines of text. A text that is still being written is told piece by
//! piece; whatever comes in between begins a new line.

use std::collections::BTreeMap;

use legwork_protocol::api::transcript::{Cut, Entry, EntryKind, ToolState, ToolUse};
use legwork_protocol::refusal::plain;
use legwork_views::model::entry::{self, subject, took};

use crate::screen::{BAD, BOLD, DIM, GOOD, LIVE, harmless, paint};
use crate::words::{clock, moment};

/// Lines of what a tool gave back that are shown in short.
const OUTPUT_LINES: usize = 8;
/// Characters of each of them.
const OUTPUT_LINE_CHARS: usize = 300;
/// Of the agent's name.
const NAME_CHARS: usize = 160;
const INDENT: &str = "    ";

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Short,
    /// With what tools were given and gave back, whole.
    Full,
}

/// Tells entries in the order in which they come.
#[derive(Debug)]
pub struct Teller {
    agent: String,
    depth: Depth,
    run: Option<u32>,
    /// What was told of each text that may still grow.
    texts: BTreeMap<String, String>,
    /// The one whose last line is being written.
    writing: Option<String>,
    /// Tools that were told of as being at work.
    tools: Vec<String>,
    /// Prompts that the records told before the conversation could be read.
    recorded: Vec<u32>,
}

impl Teller {
    pub fn new(agent: &str, depth: Depth) -> Self {
        Self {
            agent: plain(agent, NAME_CHARS),
            depth,
            run: None,
            texts: BTreeMap::new(),
            writing: None,
            tools: Vec::new(),
            recorded: Vec::new(),
        }
    }

    /// What was told so far comes again, in full. Only what the records told is not told twice.
    pub fn restart(&mut self) {
        self.texts.clear();
        self.tools.clear();
    }

    /// The text to write for an entry.
    pub fn tell(&mut self, entry: &Entry, is_recorded: bool) -> String {
        if entry.kind == EntryKind::Prompt {
            if self.recorded.contains(&entry.run) && !is_recorded {
                self.recorded.retain(|run| *run != entry.run);
                return String::new();
            }
            if is_recorded {
                self.recorded.push(entry.run);
            }
        }
        let told = match &entry.tool {
            Some(tool) => self.tool(entry, tool),
            None => self.text(entry),
        };
        if told.is_empty() {
            return told;
        }
        let before = self.headline(entry);
        format!("{before}{told}")
    }

    /// What ends the last line, if one is being written.
    pub fn end(&mut self) -> String {
        if self.writing.take().is_some() { "\n".to_owned() } else { String::new() }
    }

    /// The beginning of a run.
    fn headline(&mut self, entry: &Entry) -> String {
        if self.run == Some(entry.run) {
            return String::new();
        }
        let is_first = self.run.replace(entry.run).is_none();
        let gap = if is_first { "" } else { "\n" };
        let what = match entry.run {
            0 => "launched".to_owned(),
            run => format!("resumed (run {run})"),
        };
        let at = entry.at.map(|at| format!(", {}", moment(at))).unwrap_or_default();
        let line = format!("{what}{at}");
        format!("{gap}{}\n", paint(DIM, format!("── {line} ──")))
    }

    /// What is new of a text, under who wrote it. Blank lines before its first word are left out.
    fn text(&mut self, entry: &Entry) -> String {
        let before = self.texts.remove(&entry.key).unwrap_or_default();
        let is_more = entry.from > 0 && entry.from == before.len() as u64;
        let was_told = !before.trim().is_empty();
        let told = if is_more { before } else { String::new() };
        let is_blank = told.trim().is_empty();
        let piece = harmless(&entry.text.text);
        let piece = if is_blank { piece.trim_start() } else { &piece };
        let mut out = String::new();
        if !piece.is_empty() {
            if is_blank || self.writing.as_deref() != Some(&entry.key) {
                out.push_str(&self.end());
                let goes_on = was_told && is_more;
                out.push_str(&self.who(entry, was_told && !is_more, goes_on));
            }
            out.push_str(&indented(piece));
            self.writing = Some(entry.key.clone());
        }
        if entry.open {
            self.texts.insert(entry.key.clone(), told + &entry.text.text);
            return out;
        }
        if entry.text.left_out > 0 {
            let note = format!("{}, which were not kept", entry::left_out(entry.text.left_out));
            out.push_str(&format!("\n{INDENT}{}", paint(DIM, note)));
        }
        if self.writing.as_deref() == Some(&entry.key) {
            out.push_str(&self.end());
        }
        out
    }

    fn who(&self, entry: &Entry, is_again: bool, is_more: bool) -> String {
        let agent = &self.agent;
        let who = match entry.kind {
            EntryKind::Prompt => paint(BOLD, "asked"),
            EntryKind::Person => paint(BOLD, "a person"),
            EntryKind::Notice => paint(DIM, "told"),
            EntryKind::Thought if entry.is_plan() => paint(BOLD, "plan"),
            EntryKind::Thought => paint(DIM, format!("{agent} thinks")),
            EntryKind::Error => paint(BAD, "failed"),
            EntryKind::Text | EntryKind::Tool => paint(BOLD, agent),
        };
        let note = match (entry.beginning_missing, is_again, is_more) {
            (true, ..) => " (from here on)",
            (_, true, _) => " (the whole text)",
            (_, _, true) => " (goes on)",
            _ => "",
        };
        format!("{}{who}{}\n{INDENT}", self.time(entry), paint(DIM, note))
    }

    fn time(&self, entry: &Entry) -> String {
        let at = entry.at.map_or_else(|| " ".repeat(8), clock);
        format!("{}  ", paint(DIM, at))
    }

    fn tool(&mut self, entry: &Entry, tool: &ToolUse) -> String {
        let was_at_work = self.tools.contains(&entry.key);
        // Of one whose arguments are still being written there is nothing to say.
        let is_unknown = tool.state == ToolState::Pending && tool.title.is_empty();
        // A tool without an end event was printed when it started.
        if !tool.state.is_over() && (was_at_work || entry.open && is_unknown) {
            return String::new();
        }
        let mut out = self.end();
        let (mark, style) = match tool.state {
            ToolState::Pending | ToolState::Running => ("→", LIVE),
            ToolState::Done => ("✓", GOOD),
            ToolState::Failed => ("✗", BAD),
        };
        let took = took(entry).map(|took| format!("  {}", paint(DIM, took))).unwrap_or_default();
        let (time, mark) = (self.time(entry), paint(style, mark));
        out.push_str(&format!("{time}{mark} {}{took}\n", subject(tool)));
        if tool.state.is_over() {
            self.tools.retain(|key| *key != entry.key);
            if self.depth == Depth::Full {
                out.push_str(&self.shown(&tool.input));
            }
            out.push_str(&self.shown(&tool.error));
            out.push_str(&self.shown(&tool.output));
        } else if entry.open {
            self.tools.push(entry.key.clone());
        }
        out
    }

    fn shown(&self, text: &Cut) -> String {
        let clean = harmless(text.text.trim_end());
        if clean.is_empty() {
            return String::new();
        }
        let (shown, left_out) = match self.depth {
            Depth::Full => (clean, text.left_out),
            Depth::Short => {
                let shown = short(&clean);
                let left = clean.chars().count().saturating_sub(shown.chars().count());
                (shown, text.left_out + left as u64)
            }
        };
        let mut out = format!("{INDENT}{}\n", paint(DIM, indented(&shown)));
        if left_out > 0 {
            let how = match self.depth {
                Depth::Short => "--full shows them",
                Depth::Full => "which were not kept",
            };
            let note = format!("{}; {how}", entry::left_out(left_out));
            out.push_str(&format!("{INDENT}{}\n", paint(DIM, note)));
        }
        out
    }
}

/// The first lines, each as far as a person reads it.
fn short(text: &str) -> String {
    let lines = text.lines().take(OUTPUT_LINES);
    let line = |line: &str| line.chars().take(OUTPUT_LINE_CHARS).collect::<String>();
    lines.map(line).collect::<Vec<_>>().join("\n")
}

fn indented(text: &str) -> String {
    text.replace('\n', &format!("\n{INDENT}"))
}

#[cfg(test)]
mod tests;
