//! The task that is looked at: its conversation, its result, the decisions about it, and which part
//! of them is on the screen.

use crate::model::entry::{join, missing};
use crate::model::{Item, why, words};
use legwork_protocol::TaskId;
use legwork_protocol::amounts::duration;
use legwork_protocol::api::transcript::{Entry, EntryKind, Source, Transcript};
use legwork_protocol::view::{News as Decision, ResultView, TaskView};

use crate::terminal::limits::{CONVERSATION_MAX_BYTES, ENTRIES_MAX};
use crate::terminal::paper::{Ink, Line, Piece, Saying, entry_lines, flow, line, markdown_lines};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    #[default]
    Conversation,
    Result,
    Why,
}

impl Tab {
    pub const ALL: [Self; 3] = [Self::Conversation, Self::Result, Self::Why];

    pub fn title(self, is_over: bool) -> &'static str {
        match self {
            Self::Conversation => "Conversation",
            Self::Result => "Result",
            Self::Why if is_over => "What happened",
            Self::Why => "Why is it not done?",
        }
    }

    /// For a narrow screen.
    pub fn short_title(self, is_over: bool) -> &'static str {
        match self {
            Self::Why => "Why?",
            _ => self.title(is_over),
        }
    }
}

/// An entry, and its lines for the last width.
#[derive(Debug)]
struct Said {
    entry: Entry,
    lines: Option<(usize, Vec<Line>)>,
}

#[derive(Debug, Default)]
pub struct Opened {
    pub task: Option<TaskId>,
    pub tab: Tab,
    said: Vec<Said>,
    bytes: usize,
    /// Entries that were dropped to make room.
    dropped: usize,
    source: Option<Source>,
    pub trouble: Option<String>,
    result: Option<Result<ResultView, String>>,
    log: Option<Result<Vec<Decision>, String>>,
    /// What the last read result and log are of.
    result_of: Option<(u32, bool)>,
    log_of: Option<TaskView>,
    run: (u32, bool),
    seen: Option<TaskView>,
    /// The lines of the open tab, and the first that is on the screen.
    pub lines: Vec<Line>,
    pub top: usize,
    /// Whether the end is kept in sight.
    pub follows: bool,
    /// Entries that came below what is on the screen.
    pub unseen: usize,
    page: usize,
}

impl Opened {
    pub fn of(task: Option<TaskId>, tab: Tab) -> Self {
        Self { task, tab, follows: true, ..Self::default() }
    }

    pub fn is(&self, task: TaskId) -> bool {
        self.task == Some(task)
    }

    /// Takes in how the task is now. True if it goes on after an end: there is more to read.
    pub fn see(&mut self, task: &TaskView) -> bool {
        let run = (task.resumes, task.status.is_unfinished());
        let goes_on = self.seen.is_some() && run.1 && run != self.run;
        self.run = run;
        self.seen = Some(task.clone());
        goes_on
    }

    pub fn wants_result(&mut self) -> bool {
        let wants = self.result_of != Some(self.run);
        self.result_of = Some(self.run);
        wants
    }

    pub fn wants_log(&mut self) -> bool {
        let wants = self.log_of != self.seen;
        self.log_of = self.seen.clone();
        wants
    }

    pub fn hear_page(&mut self, page: Transcript) {
        self.trouble = None;
        let was_recorded = self.source.is_some_and(|source| source != Source::Host);
        // What the records had is in the conversation too.
        if page.restarted || was_recorded && page.source == Source::Host {
            self.said.clear();
            (self.bytes, self.dropped) = (0, 0);
        }
        self.source = Some(page.source);
        for entry in page.entries {
            self.add(entry);
        }
        while self.said.len() > ENTRIES_MAX || self.bytes > CONVERSATION_MAX_BYTES {
            if self.said.len() <= 1 {
                break;
            }
            let first = self.said.remove(0);
            self.bytes = self.bytes.saturating_sub(size(&first.entry));
            self.dropped += 1;
        }
    }

    /// One with a known key is the same entry, changed.
    fn add(&mut self, entry: Entry) {
        let known = self.said.iter_mut().rev().find(|said| said.entry.key == entry.key);
        let Some(known) = known else {
            if !self.follows {
                self.unseen += 1;
            }
            self.bytes += size(&entry);
            self.said.push(Said { entry, lines: None });
            return;
        };
        self.bytes = self.bytes.saturating_sub(size(&known.entry));
        join(&mut known.entry, entry);
        known.lines = None;
        self.bytes += size(&known.entry);
    }

    pub fn hear_result(&mut self, result: Result<ResultView, String>) {
        if result.is_err() {
            self.result_of = None;
        }
        self.result = Some(result);
    }

    pub fn hear_log(&mut self, log: Result<Vec<Decision>, String>) {
        if log.is_err() {
            self.log_of = None;
        }
        self.log = Some(log);
    }

    pub fn show(&mut self, tab: Tab) {
        self.tab = tab;
        (self.top, self.follows, self.unseen) = (0, tab == Tab::Conversation, 0);
    }

    pub fn scroll(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(by).min(last);
        self.follow(self.top == last && self.tab == Tab::Conversation);
    }

    pub fn scroll_page(&mut self, by: isize) {
        let page = isize::try_from(self.page.saturating_sub(1).max(1)).unwrap_or(1);
        self.scroll(by.saturating_mul(page));
    }

    pub fn follow(&mut self, follows: bool) {
        self.follows = follows;
        if follows {
            self.unseen = 0;
        }
    }

    /// Writes the open tab on lines of this width, of which so many are on the screen.
    pub fn prepare(&mut self, item: &Item, columns: usize, page: usize) {
        self.page = page;
        self.lines = match self.tab {
            Tab::Conversation => self.conversation(item, columns),
            Tab::Result => self.result_lines(item, columns),
            Tab::Why => self.why_lines(item, columns),
        };
        let last = self.lines.len().saturating_sub(page);
        let at_end = self.tab == Tab::Conversation && self.follows;
        self.top = if at_end { last } else { self.top.min(last) };
    }

    /// Keeps each line on its row of the screen when what stands above the text has become so many
    /// rows higher.
    pub fn push_down(&mut self, by: isize) {
        self.top = self.top.saturating_add_signed(by);
    }

    fn conversation(&mut self, item: &Item, columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.dropped > 0 {
            let id = item.task.id;
            let note = format!("… what was before is shown by `legwork transcript {id}`");
            lines.extend(flow_one(&note, Ink::Faint, columns));
        }
        let mut speaker = None;
        for said in &mut self.said {
            let kind = (speaker_of(said.entry.kind), said.entry.is_plan(), said.entry.run);
            let is_new_speaker = speaker != Some(kind);
            speaker = Some(kind);
            let saying =
                Saying { agent: &item.task.agent, is_new_speaker, asks: &item.task.questions };
            // A tool that waits is said to wait only as long as it does.
            let keeps = said.entry.tool.as_ref().is_none_or(|tool| tool.state.is_over());
            match &said.lines {
                Some((width, made)) if *width == columns && keeps => lines.extend(made.clone()),
                _ => {
                    let made = entry_lines(&said.entry, saying, columns);
                    lines.extend(made.clone());
                    said.lines = Some((columns, made));
                }
            }
        }
        let note = match (&self.trouble, self.source) {
            (Some(why), _) => Some(why.clone()),
            (None, None) => Some("Reading its conversation …".to_owned()),
            (None, Some(source)) => missing(source, &item.task),
        };
        if let Some(note) = note {
            lines.push(vec![]);
            lines.extend(flow_one(&note, Ink::Faint, columns));
        }
        if lines.first().is_some_and(Vec::is_empty) {
            lines.remove(0);
        }
        lines
    }

    fn result_lines(&self, item: &Item, columns: usize) -> Vec<Line> {
        if item.task.status.is_unfinished() {
            let text = "There is no result yet. What it has said so far is in the conversation.";
            return flow_one(text, Ink::Faint, columns);
        }
        match &self.result {
            None => flow_one("Reading its result …", Ink::Faint, columns),
            Some(Err(why)) => flow_one(why, Ink::Bad, columns),
            Some(Ok(result)) => {
                let text = result.text.as_deref().unwrap_or_default();
                let mut lines = markdown_lines(text, columns);
                if text.trim().is_empty() {
                    lines = flow_one("It ended without a word.", Ink::Faint, columns);
                }
                if result.next.is_some() {
                    let more = format!("… `legwork output {}` prints all of it.", item.task.id);
                    lines.push(vec![]);
                    lines.extend(flow_one(&more, Ink::Faint, columns));
                }
                lines
            }
        }
    }

    fn why_lines(&self, item: &Item, columns: usize) -> Vec<Line> {
        let task = &item.task;
        let why = why(task);
        let mut lines = flow_one(&why.text, Ink::Strong, columns);
        if let Some(since) = why.since.filter(|_| task.status.is_unfinished()) {
            let since = format!("since {}", words::clock(since));
            lines.push(line(&since, Ink::Faint));
        }
        lines.push(vec![]);
        match &self.log {
            None => lines.extend(flow_one("Reading what was decided …", Ink::Faint, columns)),
            Some(Err(why)) => lines.extend(flow_one(why, Ink::Bad, columns)),
            Some(Ok(log)) => {
                for decision in log {
                    let after = duration(decision.at.since(task.created));
                    let at = format!("{}  {:>7}  ", words::clock(decision.at), format!("+{after}"));
                    let first = Piece::new(&at, Ink::Faint);
                    let rest = Piece::new(&" ".repeat(at.chars().count()), Ink::Plain);
                    let ink = if decision.detail { Ink::Faint } else { Ink::Plain };
                    let said = [Piece::new(&decision.line, ink)];
                    lines.extend(flow(&said, columns, &first, &rest));
                }
            }
        }
        lines
    }
}

/// Tool calls stand under what their helper said.
fn speaker_of(kind: EntryKind) -> EntryKind {
    if kind == EntryKind::Tool { EntryKind::Text } else { kind }
}

fn size(entry: &Entry) -> usize {
    let tool = entry.tool.as_ref();
    let tool = tool.map_or(0, |tool| {
        tool.title.len() + tool.input.text.len() + tool.output.text.len() + tool.error.text.len()
    });
    let plan: usize = entry.plan.iter().map(|step| step.text.len()).sum();
    entry.key.len() + entry.text.text.len() + plan + tool
}

fn flow_one(text: &str, ink: Ink, columns: usize) -> Vec<Line> {
    flow(&[Piece::new(text, ink)], columns, &Piece::default(), &Piece::default())
}
