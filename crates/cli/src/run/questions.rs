//! What helpers ask, one question at a time, and what a person types in answer. Nothing here reads
//! or writes: keys come in as bytes, and what is to be shown goes out as lines.

use std::collections::{BTreeSet, VecDeque};

use legwork_protocol::api::Reply;
use legwork_protocol::view::{QuestionKind, QuestionView, TaskView};
use legwork_protocol::{QuestionId, TaskId, Time};
use legwork_views::model::answering::{self, Guard, Step, WIDER, label};

use crate::screen::{BOLD, DIM, MIND, harmless, paint};
use crate::sentences::question_name;
use crate::table::{fit, wrap};
use crate::words::{ago, counted, since};

/// What a person types in one line; more is a mistake.
const TYPED_MAX_BYTES: usize = 4096;
const ESCAPE: u8 = 0x1b;
/// With less room what is typed needs it more than what ends it.
const HINT_FROM: usize = 76;

/// A question, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub task: TaskId,
    pub description: String,
    pub question: QuestionView,
}

impl Asked {
    pub fn of(task: &TaskView, question: &QuestionView) -> Self {
        let (description, question) = (task.description.clone(), question.clone());
        Self { task: task.id, description, question }
    }
}

/// How far the answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// A key is waited for.
    Choice,
    /// A yes is waited for, to more than was asked.
    Sure,
    /// Words are typed: so far these.
    Words(Vec<u8>),
    /// It is under way to the helper.
    Sent,
}

/// What is to be done about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    Nothing,
    Reply(Box<QuestionView>, Reply),
    /// The person answers later, elsewhere.
    Later(TaskId),
}

/// The open questions, in the order in which they came.
#[derive(Debug, Default)]
pub struct Questions {
    queue: VecDeque<Asked>,
    current: Option<(Asked, Entry)>,
    /// Those that are answered elsewhere, or were.
    aside: BTreeSet<QuestionId>,
    /// Keys do not count right after a text, or after another question.
    typing: Guard,
}

impl Questions {
    /// A helper asks this now, and nothing else. Says whether what the person was asked is no
    /// question any more.
    pub fn update(&mut self, task: &TaskView) -> bool {
        let is_open = |asked: &Asked| {
            asked.task != task.id || task.questions.iter().any(|open| open.id == asked.question.id)
        };
        let is_overtaken = self.retain(is_open);
        for question in &task.questions {
            let is_known = self.aside.contains(&question.id)
                || self.queue.iter().any(|asked| asked.question.id == question.id)
                || self.current().is_some_and(|asked| asked.question.id == question.id);
            if !is_known {
                self.queue.push_back(Asked::of(task, question));
            }
        }
        is_overtaken
    }

    /// A helper asks nothing any more.
    pub fn forget(&mut self, task: TaskId) -> bool {
        self.retain(|asked| asked.task != task)
    }

    fn retain(&mut self, is_open: impl Fn(&Asked) -> bool) -> bool {
        self.queue.retain(&is_open);
        // Of one that was answered here it is said whether the helper has it.
        let gone = |(asked, entry): &mut (Asked, Entry)| *entry != Entry::Sent && !is_open(asked);
        self.current.take_if(gone).is_some()
    }

    /// Whether an answer is under way.
    pub fn is_sent(&self) -> bool {
        matches!(self.current, Some((_, Entry::Sent)))
    }

    pub fn current(&self) -> Option<&Asked> {
        self.current.as_ref().map(|(asked, _)| asked)
    }

    /// Whether a task's question is in the queue or being asked, so that it is answered here.
    pub fn holds(&self, task: TaskId) -> bool {
        self.current().into_iter().chain(&self.queue).any(|asked| asked.task == task)
    }

    /// Asks the next one, if none is being asked. Says whether it is a new one.
    pub fn ask_next(&mut self, now: Time) -> bool {
        if self.current.is_some() {
            return false;
        }
        if !self.queue.is_empty() {
            self.typing.hold_for_question(now);
        }
        self.current = self.queue.pop_front().map(|asked| {
            let entry = first_entry(&asked.question);
            (asked, entry)
        });
        self.current.is_some()
    }

    /// The helper has it, or refused it with this; then the person may try again.
    pub fn replied(&mut self, question: &QuestionId, is_over: bool) {
        if is_over {
            self.aside.insert(question.clone());
            self.current.take_if(|(asked, _)| asked.question.id == *question);
        } else if let Some((asked, entry)) = &mut self.current
            && asked.question.id == *question
        {
            *entry = first_entry(&asked.question);
        }
    }

    /// Takes in what was typed: one key, or a piece of a line. Of a piece that ends the line, the
    /// rest is dropped: it was not typed for what comes next.
    pub fn typed(&mut self, piece: &[u8], now: Time) -> Typed {
        let Some((asked, entry)) = &mut self.current else {
            self.typing.hold(now);
            return Typed::Nothing;
        };
        let typed = match entry {
            Entry::Words(line) => {
                self.typing.hold(now);
                match edit(line, piece).as_deref() {
                    None => Typed::Nothing,
                    Some("") if first_entry(&asked.question) != Entry::Choice => {
                        Typed::Later(asked.task)
                    }
                    Some("") => {
                        *entry = Entry::Choice;
                        Typed::Nothing
                    }
                    Some(words) => {
                        let words = answering::worded(&asked.question, words.to_owned());
                        reply(asked, entry, words)
                    }
                }
            }
            // A paste, or an arrow key: neither is one of the keys.
            _ if piece.len() != 1 => {
                self.typing.hold(now);
                Typed::Nothing
            }
            _ if !self.typing.lets_through(now) || *entry == Entry::Sent => Typed::Nothing,
            Entry::Sure if piece.eq_ignore_ascii_case(b"y") => reply(asked, entry, Reply::Always),
            Entry::Sure | Entry::Sent => {
                self.typing.hold(now);
                *entry = Entry::Choice;
                Typed::Nothing
            }
            Entry::Choice => choose(asked, entry, char::from(piece[0]).to_ascii_lowercase()),
        };
        match &typed {
            Typed::Later(_) | Typed::Reply(..) => self.typing.hold(now),
            Typed::Nothing if matches!(self.current, Some((_, Entry::Sure))) => {
                self.typing.hold(now);
            }
            Typed::Nothing => {}
        }
        if let Typed::Later(_) = typed
            && let Some((asked, _)) = self.current.take()
        {
            self.aside.insert(asked.question.id);
        }
        typed
    }

    /// A key was meant for something else: what is typed on answers nothing.
    pub fn hold(&mut self, now: Time) {
        self.typing.hold(now);
    }

    /// Which keys there are, once they count, or what is typed so far; and how many questions wait
    /// after this one.
    pub fn prompt(&self, columns: usize, now: Time) -> Vec<String> {
        let Some((asked, entry)) = &self.current else { return Vec::new() };
        let line = match entry {
            Entry::Sent => "Telling the helper…".to_owned(),
            Entry::Choice if self.typing.holds(now) => "In a moment a key answers…".to_owned(),
            Entry::Choice => keys(&asked.question),
            Entry::Sure if self.typing.holds(now) => format!("{WIDER} (in a moment)"),
            Entry::Sure => format!("{WIDER} [y]es, any other key: no"),
            Entry::Words(typed) => {
                let hint = if columns < HINT_FROM { "" } else { "(Enter sends, Esc leaves) " };
                let head = format!("{}{hint}", label(&asked.question));
                let typed = harmless(&String::from_utf8_lossy(typed));
                let room = columns.saturating_sub(head.len() + 1).max(8);
                let skip = typed.chars().count().saturating_sub(room);
                format!("{head}{}▏", typed.chars().skip(skip).collect::<String>())
            }
        };
        let more = match self.queue.len() {
            0 => None,
            more => Some(format!("{} after this one", counted(more, "question"))),
        };
        let more = more.map(|more| paint(DIM, fit(&more, columns)));
        more.into_iter().chain([paint(MIND, fit(&line, columns))]).collect()
    }
}

/// A question without keys to choose from is answered in words at once.
fn first_entry(question: &QuestionView) -> Entry {
    match question.kind {
        QuestionKind::Question if question.options.is_empty() => Entry::Words(Vec::new()),
        QuestionKind::Question | QuestionKind::Permission => Entry::Choice,
    }
}

/// What is asked, whole, at this width, and who asks since when.
pub fn block(asked: &Asked, columns: usize) -> Vec<String> {
    let kind = match asked.question.kind {
        QuestionKind::Permission => "asks for a permission:",
        QuestionKind::Question => "asks:",
    };
    let head = format!("? {} {kind}", asked.description);
    let mut lines: Vec<String> = wrap(&head, columns);
    lines.iter_mut().for_each(|line| *line = paint(MIND, &line));
    let room = columns.saturating_sub(4).max(8);
    let subject = wrap(&asked.question.subject, room);
    lines.extend(subject.iter().map(|line| format!("    {}", paint(BOLD, line))));
    if asked.question.kind == QuestionKind::Question {
        for option in &asked.question.options {
            let option = format!("{}  {}", option.id, option.label);
            lines.extend(wrap(&option, room).iter().map(|line| format!("    {line}")));
        }
    }
    let (ago, name) = (ago(since(asked.question.since)), question_name(&asked.question));
    let whose = format!("    {ago} ({}, question {name})", asked.task);
    lines.push(paint(DIM, fit(&whose, columns)));
    lines
}

fn keys(question: &QuestionView) -> String {
    let numbers = (!question.options.is_empty() && question.kind == QuestionKind::Question)
        .then(|| "its number".to_owned());
    let keys =
        answering::keys(question).into_iter().map(|(key, means)| match means.strip_prefix(key) {
            Some(rest) => format!("[{key}]{rest}"),
            None => format!("[{key}] {means}"),
        });
    let all = numbers.into_iter().chain(keys).chain(["[l]ater".to_owned()]);
    all.collect::<Vec<_>>().join("  ")
}

fn choose(asked: &Asked, entry: &mut Entry, key: char) -> Typed {
    let question = &asked.question;
    let is_number = question.options.iter().any(|option| option.id == key.to_string());
    match answering::step(question, key) {
        _ if key == 'l' => return Typed::Later(asked.task),
        _ if is_number && question.kind == QuestionKind::Question => {
            return reply(asked, entry, Reply::Words(key.to_string()));
        }
        Some(Step::Reply(given)) => return reply(asked, entry, given),
        Some(Step::Sure) => *entry = Entry::Sure,
        Some(Step::Words) => *entry = Entry::Words(Vec::new()),
        Some(Step::Not(_)) | None => {}
    }
    Typed::Nothing
}

fn reply(asked: &Asked, entry: &mut Entry, reply: Reply) -> Typed {
    *entry = Entry::Sent;
    Typed::Reply(Box::new(asked.question.clone()), reply)
}

/// The line once it is over: nothing in it if it was left.
fn edit(line: &mut Vec<u8>, piece: &[u8]) -> Option<String> {
    match piece {
        [ESCAPE] => return Some(String::new()),
        // An arrow key or its like.
        [ESCAPE, ..] => return None,
        _ => {}
    }
    for byte in piece {
        match byte {
            b'\r' | b'\n' => {
                return Some(String::from_utf8_lossy(line).trim().to_owned());
            }
            // The last character may be several bytes.
            0x7f | 0x08 => while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            // Ctrl-U.
            0x15 => line.clear(),
            0..=0x1f => {}
            byte if line.len() < TYPED_MAX_BYTES => line.push(*byte),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
