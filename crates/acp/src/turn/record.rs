//! The record of a turn under way: its answer, its tool calls, and what was said and done in it for
//! people who read the conversation. Complete entries go into the session log; the others are kept
//! here until they are complete.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use legwork_machine::lock;
use legwork_protocol::api::transcript::{Cut, Entry, EntryKind, PlanStep, ToolState, ToolUse};
use legwork_protocol::refusal::plain;
use legwork_protocol::{Cost, MessageId, SessionId};
use serde_json::Value;
use tokio::sync::watch;

use super::active_turn::now;
use super::answer::Answer;
use super::update::{Update, plan_text, tool_title};
use crate::limits::{
    NAME_MAX_CHARS, SAID_MAX_BYTES, SAID_MAX_ENTRIES, SAID_MAX_OPEN, THOUGHT_MAX_BYTES,
    TOOL_CALLS_MAX, TOOL_TEXT_MAX_BYTES,
};

/// The records of all sessions with a turn under way, and the followers of sessions.
#[derive(Debug, Default)]
pub struct Records(Mutex<Shared>);

#[derive(Debug, Default)]
struct Shared {
    turns: BTreeMap<SessionId, TurnRecord>,
    followed: BTreeMap<SessionId, watch::Sender<u64>>,
}

#[derive(Debug)]
pub struct TurnRecord {
    /// The prompt of the turn.
    message: MessageId,
    pub answer: Answer,
    pub tool_calls: u32,
    /// Entries that are not complete, oldest first, each with the hash of its tool call's id.
    open: Vec<(Option<u64>, Entry)>,
    /// The hashes of the ids of all tool calls.
    calls: BTreeSet<u64>,
    /// Tool calls that a person allowed. Some agents say no more of such a call.
    allowed: BTreeSet<u64>,
    hasher: RandomState,
    /// The plan as the agent sent it last.
    plan: Vec<PlanStep>,
    count: usize,
    bytes: usize,
    left_out: usize,
}

/// What follows from an update.
#[derive(Debug, Default, PartialEq)]
pub struct Taken {
    /// Entries that the update has completed.
    pub complete: Vec<Entry>,
    pub progress: Progress,
}

#[derive(Debug, Default, PartialEq)]
pub enum Progress {
    /// A tool call has begun.
    Tool(String),
    /// What the session has cost so far.
    Cost(Cost),
    #[default]
    Life,
}

impl From<Vec<Entry>> for Taken {
    fn from(complete: Vec<Entry>) -> Self {
        Self { complete, progress: Progress::Life }
    }
}

impl Records {
    pub fn begin(&self, session: &SessionId, message: &MessageId) {
        lock(&self.0).turns.insert(session.clone(), TurnRecord::new(message.clone()));
        self.tell(session);
    }

    /// Changes the record of the turn under way, and tells the session's followers.
    pub fn change<T>(
        &self,
        session: &SessionId,
        change: impl FnOnce(&mut TurnRecord) -> T,
    ) -> Option<T> {
        let changed = lock(&self.0).turns.get_mut(session).map(change);
        self.tell(session);
        changed
    }

    pub fn read<T>(&self, session: &SessionId, read: impl FnOnce(&TurnRecord) -> T) -> Option<T> {
        lock(&self.0).turns.get(session).map(read)
    }

    /// Drops the record of this prompt's turn, because the log has it.
    pub fn forget(&self, session: &SessionId, message: &MessageId) {
        lock(&self.0).turns.retain(|id, turn| id != session || turn.message != *message);
        self.tell(session);
    }

    pub fn follow(&self, session: &SessionId) -> watch::Receiver<u64> {
        let mut shared = lock(&self.0);
        shared.followed.retain(|_, changed| changed.receiver_count() > 0);
        let changed = shared.followed.entry(session.clone());
        changed.or_insert_with(|| watch::channel(0).0).subscribe()
    }

    fn tell(&self, session: &SessionId) {
        if let Some(changed) = lock(&self.0).followed.get(session) {
            changed.send_modify(|count| *count += 1);
        }
    }
}

impl TurnRecord {
    pub fn new(message: MessageId) -> Self {
        Self {
            message,
            answer: Answer::default(),
            tool_calls: 0,
            open: Vec::new(),
            calls: BTreeSet::new(),
            allowed: BTreeSet::new(),
            hasher: RandomState::new(),
            plan: Vec::new(),
            count: 0,
            bytes: 0,
            left_out: 0,
        }
    }

    /// Takes in an update of the agent.
    pub fn take(&mut self, update: &Value) -> Taken {
        match Update::read(update) {
            Update::Text(piece) => {
                self.answer.push(piece);
                self.write(EntryKind::Text, piece).into()
            }
            Update::Thought(piece) => self.write(EntryKind::Thought, piece).into(),
            Update::Plan(steps) => self.plan(steps).into(),
            Update::Tool { call, begins } => self.tool(call, begins),
            Update::Cost(cost) => Taken { complete: Vec::new(), progress: Progress::Cost(cost) },
            Update::Thread { is_broken } => {
                self.answer.is_broken = is_broken;
                Taken::default()
            }
            Update::Life => Taken::default(),
        }
    }

    /// Takes in a tool call that the agent mentions. Gemini (seen in 0.61.0) does not announce a
    /// call for which it wants a permission.
    pub fn mentioned(&mut self, call: &Value) -> Taken {
        self.tool(call, false)
    }

    /// The entries that are not complete.
    pub fn open(&self) -> Vec<Entry> {
        self.open.iter().map(|(_, entry)| entry.clone()).collect()
    }

    /// Adds a piece of a text to the last entry, or to a new one if the last is of another kind.
    fn write(&mut self, kind: EntryKind, piece: &str) -> Vec<Entry> {
        if piece.is_empty() {
            return Vec::new();
        }
        let is_last = |(_, last): &&mut (Option<u64>, Entry)| last.kind == kind && !last.is_plan();
        if let Some((_, last)) = self.open.last_mut().filter(is_last) {
            add(&mut last.text, piece, kind);
            return Vec::new();
        }
        let complete = self.close_texts();
        let mut entry = self.entry(kind);
        add(&mut entry.text, piece, kind);
        self.open.push((None, entry));
        complete
    }

    /// Takes in the plan as it is now. Its entry stands where the plan last changed.
    fn plan(&mut self, steps: Vec<PlanStep>) -> Vec<Entry> {
        if steps.is_empty() || self.plan == steps {
            return Vec::new();
        }
        self.plan = steps.clone();
        let text = plan_text(&steps).into();
        if let Some((_, last)) = self.open.last_mut().filter(|(_, last)| last.is_plan()) {
            last.plan = steps;
            last.text = text;
            return Vec::new();
        }
        let complete = self.close_texts();
        let mut entry = self.entry(EntryKind::Thought);
        entry.plan = steps;
        entry.text = text;
        self.open.push((None, entry));
        complete
    }

    fn tool(&mut self, call: &Value, begins: bool) -> Taken {
        let id = call["toolCallId"].as_str().filter(|id| !id.is_empty());
        let hash = id.map(|id| self.hasher.hash_one(id));
        let progress = if self.is_new_call(hash, begins) {
            self.tool_calls += 1;
            self.answer.tool_began();
            Progress::Tool(tool_title(call))
        } else {
            Progress::Life
        };
        Taken { complete: self.tool_entry(hash, call), progress }
    }

    /// True if a call with this hash of its id is counted. Without an id, or when no more calls are
    /// told apart, only an announced call is.
    fn is_new_call(&mut self, hash: Option<u64>, begins: bool) -> bool {
        match hash {
            Some(hash) if self.calls.contains(&hash) => false,
            Some(hash) if self.calls.len() < TOOL_CALLS_MAX => self.calls.insert(hash),
            _ => begins,
        }
    }

    fn tool_entry(&mut self, id: Option<u64>, update: &Value) -> Vec<Entry> {
        let mut complete = Vec::new();
        let known = self.open.iter().position(|(open, _)| id.is_some() && *open == id);
        let at = known.unwrap_or_else(|| {
            complete = self.close_texts();
            let mut entry = self.entry(EntryKind::Tool);
            entry.tool = Some(ToolUse { name: tool_title(update), ..ToolUse::default() });
            self.open.push((id, entry));
            self.open.len() - 1
        });
        let (_, entry) = &mut self.open[at];
        if let Some(tool) = &mut entry.tool {
            update_tool(tool, update);
            if tool.state.is_over() {
                let (_, entry) = self.open.remove(at);
                complete.extend(self.close(entry));
            }
        }
        if self.open.len() > SAID_MAX_OPEN {
            let (_, oldest) = self.open.remove(0);
            complete.extend(self.close(oldest));
        }
        complete
    }

    /// A person has answered the question about this tool call. A refused call is over. An allowed
    /// call runs, and ends with the turn if the agent does not say so before.
    pub fn answered(&mut self, call: &str, is_allowed: bool) {
        let id = self.hasher.hash_one(call);
        let open = self.open.iter_mut().find(|(open, _)| *open == Some(id));
        let Some(tool) = open.and_then(|(_, entry)| entry.tool.as_mut()) else { return };
        if is_allowed {
            self.allowed.insert(id);
            tool.state = ToolState::Running;
        } else {
            tool.state = ToolState::Failed;
            tool.error = "A person did not allow it.".to_owned().into();
        }
    }

    /// Ends the turn and returns the entries that were open. The text that is the answer is left
    /// out, because the log has it already.
    pub fn end(&mut self, answer: &str) -> Vec<Entry> {
        let open = std::mem::take(&mut self.open);
        let mut complete = Vec::new();
        for (id, mut entry) in open {
            let was_allowed = id.is_some_and(|id| self.allowed.contains(&id));
            if let Some(tool) = entry.tool.as_mut().filter(|tool| !tool.state.is_over())
                && was_allowed
            {
                tool.state = ToolState::Done;
            }
            if entry.kind == EntryKind::Text && entry.text.text == answer {
                entry.text = Cut::default();
                entry.open = false;
                entry.ended = Some(now());
                complete.push(entry);
            } else {
                complete.extend(self.close(entry));
            }
        }
        if self.left_out > 0 {
            let mut note = self.entry(EntryKind::Notice);
            note.open = false;
            note.text = format!("{} more entries were not kept.", self.left_out).into();
            complete.push(note);
        }
        complete
    }

    fn close_texts(&mut self) -> Vec<Entry> {
        let is_text = |(_, entry): &mut (Option<u64>, Entry)| entry.kind != EntryKind::Tool;
        let texts: Vec<Entry> = self.open.extract_if(.., is_text).map(|(_, entry)| entry).collect();
        texts.into_iter().filter_map(|entry| self.close(entry)).collect()
    }

    /// Shortens an entry for the log. None if there are too many.
    fn close(&mut self, mut entry: Entry) -> Option<Entry> {
        if self.count > SAID_MAX_ENTRIES {
            self.left_out += 1;
            return None;
        }
        let room = SAID_MAX_BYTES.saturating_sub(self.bytes);
        entry.text.shorten(room);
        self.bytes += entry.text.text.len();
        let steps: usize = entry.plan.iter().map(|step| step.text.len()).sum();
        if self.bytes + steps > SAID_MAX_BYTES {
            entry.plan = Vec::new();
        }
        self.bytes += steps;
        if let Some(tool) = &mut entry.tool {
            for text in [&mut tool.error, &mut tool.input, &mut tool.output] {
                text.shorten(SAID_MAX_BYTES.saturating_sub(self.bytes));
                self.bytes += text.text.len();
            }
        }
        entry.open = false;
        entry.ended = Some(now());
        Some(entry)
    }

    fn entry(&mut self, kind: EntryKind) -> Entry {
        self.count += 1;
        let key = format!("{}/{}", self.message, self.count);
        let run = MessageId::prompts_run(self.message.as_str()).unwrap_or_default();
        Entry { key, run, kind, at: Some(now()), open: true, ..Entry::default() }
    }
}

/// Adds a piece. Only thoughts are shortened, because an agent that answers too much is ended.
fn add(text: &mut Cut, piece: &str, kind: EntryKind) {
    if text.left_out > 0 {
        text.left_out += piece.chars().count() as u64;
        return;
    }
    text.text.push_str(piece);
    if kind == EntryKind::Thought {
        text.shorten(THOUGHT_MAX_BYTES);
    }
}

/// Changes a tool call as an update says.
fn update_tool(tool: &mut ToolUse, update: &Value) {
    if update["title"].is_string() {
        tool.title = tool_title(update);
    }
    // "other" says less than the title does.
    if let Some(kind) = update["kind"].as_str().filter(|kind| *kind != "other") {
        tool.name = plain(kind, NAME_MAX_CHARS);
    }
    match update["status"].as_str() {
        Some("pending") => tool.state = ToolState::Pending,
        Some("in_progress") => tool.state = ToolState::Running,
        Some("completed") => tool.state = ToolState::Done,
        Some("failed") => tool.state = ToolState::Failed,
        _ => {}
    }
    if let Some(input) = update.get("rawInput").filter(|input| !input.is_null()) {
        tool.input = bounded(input.to_string());
    }
    let output = output(update);
    if !output.is_empty() {
        let place = match tool.state {
            ToolState::Failed => &mut tool.error,
            _ => &mut tool.output,
        };
        *place = bounded(output);
    }
}

/// The output of a tool: texts, and which files it changed.
fn output(update: &Value) -> String {
    let content = update["content"].as_array().into_iter().flatten();
    let pieces = content.filter_map(|piece| match piece["type"].as_str()? {
        "content" => piece["content"]["text"].as_str().map(str::to_owned),
        "diff" => piece["path"].as_str().map(|path| format!("changed {path}")),
        _ => None,
    });
    let pieces: Vec<String> = pieces.collect();
    match &update["rawOutput"] {
        Value::Null => pieces.join("\n"),
        Value::String(text) if pieces.is_empty() => text.clone(),
        raw if pieces.is_empty() => raw.to_string(),
        _ => pieces.join("\n"),
    }
}

fn bounded(text: String) -> Cut {
    let mut cut = Cut::from(text);
    cut.shorten(TOOL_TEXT_MAX_BYTES);
    cut
}

#[cfg(test)]
mod tests;
