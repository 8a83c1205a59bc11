//! What is said and done in the turns under way, for people who read it. What is complete goes into
//! the session log; what is not yet is kept here until it is.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use legwork_machine::lock;
use legwork_protocol::api::transcript::{Cut, Entry, EntryKind, PlanStep, ToolState, ToolUse};
use legwork_protocol::refusal::plain;
use legwork_protocol::{MessageId, SessionId};
use serde_json::Value;
use tokio::sync::watch;

use super::active_turn::now;
use super::plan;
use super::transcript::tool_title;
use crate::limits::{
    NAME_MAX_CHARS, SAID_MAX_BYTES, SAID_MAX_ENTRIES, SAID_MAX_OPEN, THOUGHT_MAX_BYTES,
    TOOL_TEXT_MAX_BYTES,
};

/// All sessions with a turn under way, and those that somebody follows.
#[derive(Debug, Default)]
pub struct Said(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    turns: BTreeMap<SessionId, TurnSaid>,
    followed: BTreeMap<SessionId, watch::Sender<u64>>,
}

#[derive(Debug)]
struct TurnSaid {
    message: MessageId,
    /// What is not complete, oldest first, each with a hash of the agent's id if it has one.
    open: Vec<(Option<u64>, Entry)>,
    /// Tool calls that a person allowed. Some agents say no more of such a call.
    allowed: BTreeSet<u64>,
    hasher: RandomState,
    /// The plan as it was told last.
    plan: Vec<PlanStep>,
    count: usize,
    bytes: usize,
    left_out: usize,
}

impl Said {
    /// A turn begins that answers this prompt.
    pub fn begin(&self, session: &SessionId, message: &MessageId) {
        let turn = TurnSaid {
            message: message.clone(),
            open: Vec::new(),
            allowed: BTreeSet::new(),
            hasher: RandomState::new(),
            plan: Vec::new(),
            count: 0,
            bytes: 0,
            left_out: 0,
        };
        lock(&self.0).turns.insert(session.clone(), turn);
        self.tell(session);
    }

    /// Takes in an update of the agent. Gives back what is complete by it.
    pub fn hear(&self, session: &SessionId, update: &Value) -> Vec<Entry> {
        self.take_in(session, |turn| turn.hear(update))
    }

    /// The same for a tool call that the agent only mentions.
    pub fn mentioned(&self, session: &SessionId, call: &Value) -> Vec<Entry> {
        self.take_in(session, |turn| turn.tool(call))
    }

    /// A person has answered what this tool call waited for.
    pub fn answered(&self, session: &SessionId, call: &str, is_allowed: bool) {
        if let Some(turn) = lock(&self.0).turns.get_mut(session) {
            turn.answered(call, is_allowed);
        }
        self.tell(session);
    }

    fn take_in(
        &self,
        session: &SessionId,
        what: impl FnOnce(&mut TurnSaid) -> Vec<Entry>,
    ) -> Vec<Entry> {
        let complete = match lock(&self.0).turns.get_mut(session) {
            Some(turn) => what(turn),
            None => return Vec::new(),
        };
        self.tell(session);
        complete
    }

    /// The turn is over. Gives back the rest; the text that is its answer has the log already.
    pub fn end(&self, session: &SessionId, answer: &str) -> Vec<Entry> {
        let mut known = lock(&self.0);
        let Some(turn) = known.turns.get_mut(session) else { return Vec::new() };
        turn.end(answer)
    }

    /// What it said is in the log.
    pub fn forget(&self, session: &SessionId, message: &MessageId) {
        let mut known = lock(&self.0);
        if known.turns.get(session).is_some_and(|turn| turn.message == *message) {
            known.turns.remove(session);
        }
        drop(known);
        self.tell(session);
    }

    /// What is not in the log yet.
    pub fn open(&self, session: &SessionId) -> Vec<Entry> {
        let known = lock(&self.0);
        let open = known.turns.get(session).map(|turn| turn.open.iter());
        open.into_iter().flatten().map(|(_, entry)| entry.clone()).collect()
    }

    pub fn follow(&self, session: &SessionId) -> watch::Receiver<u64> {
        let mut known = lock(&self.0);
        known.followed.retain(|_, changed| changed.receiver_count() > 0);
        let changed = known.followed.entry(session.clone());
        changed.or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Those who follow it are told that it has changed.
    pub fn tell(&self, session: &SessionId) {
        if let Some(changed) = lock(&self.0).followed.get(session) {
            changed.send_modify(|count| *count += 1);
        }
    }
}

impl TurnSaid {
    fn hear(&mut self, update: &Value) -> Vec<Entry> {
        let text = || update["content"]["text"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.write(EntryKind::Text, text()),
            Some("agent_thought_chunk") => self.write(EntryKind::Thought, text()),
            Some("tool_call" | "tool_call_update") => self.tool(update),
            Some("plan") => self.plan(plan::steps(update)),
            _ => Vec::new(),
        }
    }

    /// A piece of a text. It goes on with the last one of its kind, unless something came between.
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

    /// The plan as it is now. It stands where it was last changed.
    fn plan(&mut self, steps: Vec<PlanStep>) -> Vec<Entry> {
        if steps.is_empty() || self.plan == steps {
            return Vec::new();
        }
        self.plan = steps.clone();
        let text = plan::told(&steps).into();
        if let Some((_, last)) = self.open.last_mut().filter(|(_, last)| last.is_plan()) {
            (last.plan, last.text) = (steps, text);
            return Vec::new();
        }
        let complete = self.close_texts();
        let mut entry = self.entry(EntryKind::Thought);
        (entry.plan, entry.text) = (steps, text);
        self.open.push((None, entry));
        complete
    }

    fn tool(&mut self, update: &Value) -> Vec<Entry> {
        let id = update["toolCallId"].as_str().filter(|id| !id.is_empty());
        let id = id.map(|id| self.hasher.hash_one(id));
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
            tell_tool(tool, update);
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

    /// A call that is refused is over. One that is allowed is at work, and is over with the turn if
    /// the agent does not say so before.
    fn answered(&mut self, call: &str, is_allowed: bool) {
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

    fn end(&mut self, answer: &str) -> Vec<Entry> {
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

    /// An entry as it is kept; nothing if there are too many.
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
        (entry.open, entry.ended) = (false, Some(now()));
        Some(entry)
    }

    fn entry(&mut self, kind: EntryKind) -> Entry {
        self.count += 1;
        let key = format!("{}/{}", self.message, self.count);
        let run = MessageId::prompts_run(self.message.as_str()).unwrap_or_default();
        Entry { key, run, kind, at: Some(now()), open: true, ..Entry::default() }
    }
}

/// Of an answer the agent is ended before it is too long; of thoughts only so much is kept.
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

/// What an update says of a tool call.
fn tell_tool(tool: &mut ToolUse, update: &Value) {
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
    let told = output(update);
    if !told.is_empty() {
        if tool.state == ToolState::Failed {
            tool.error = bounded(told);
        } else {
            tool.output = bounded(told);
        }
    }
}

/// What a tool gave back: texts, and which files it changed.
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
