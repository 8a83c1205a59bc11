//! What helpers ask, one question at a time, and what a person types in answer. Nothing here reads
//! or writes: keys come in as bytes, and what is to be shown goes out as lines.

use std::collections::{BTreeSet, VecDeque};

use legwork_protocol::api::Reply;
use legwork_protocol::view::{QuestionKind, QuestionView, TaskView};
use legwork_protocol::{QuestionId, TaskId};

use crate::screen::{BOLD, DIM, MIND, harmless, paint};
use crate::table::{fit, wrap};
use crate::words::counted;

/// What a person types in one line; more is a mistake.
const TYPED_MAX_BYTES: usize = 4096;
const ESCAPE: u8 = 0x1b;

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
    /// Words are typed: so far these. They go with a no, or are the answer.
    Words(Vec<u8>, Meant),
    /// It is under way to the helper.
    Sent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    Reject,
    Answer,
}

/// What is to be done about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    Nothing,
    Reply(QuestionId, Reply),
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
}

impl Questions {
    /// This one alone, asked at once.
    pub fn of(asked: Asked) -> Self {
        let entry = first_entry(&asked.question);
        Self { current: Some((asked, entry)), ..Self::default() }
    }

    /// A helper asks this now, and nothing else. Says whether what the person was asked is no
    /// question any more.
    pub fn update(&mut self, task: &TaskView) -> bool {
        let is_open = |asked: &Asked| {
            asked.task != task.id || task.questions.iter().any(|open| open.id == asked.question.id)
        };
        self.queue.retain(is_open);
        let overtaken = self.current.take_if(|(asked, _)| !is_open(asked));
        for question in &task.questions {
            let is_known = self.aside.contains(&question.id)
                || self.queue.iter().any(|asked| asked.question.id == question.id)
                || self.current().is_some_and(|asked| asked.question.id == question.id);
            if !is_known {
                self.queue.push_back(Asked::of(task, question));
            }
        }
        // One that we have answered ourselves is expected to go.
        overtaken.is_some_and(|(_, entry)| entry != Entry::Sent)
    }

    /// A helper asks nothing any more.
    pub fn forget(&mut self, task: TaskId) -> bool {
        self.queue.retain(|asked| asked.task != task);
        let overtaken = self.current.take_if(|(asked, _)| asked.task == task);
        overtaken.is_some_and(|(_, entry)| entry != Entry::Sent)
    }

    pub fn current(&self) -> Option<&Asked> {
        self.current.as_ref().map(|(asked, _)| asked)
    }

    /// Whether a task's question is in the queue or being asked, so that it is answered here.
    pub fn holds(&self, task: TaskId) -> bool {
        self.current().into_iter().chain(&self.queue).any(|asked| asked.task == task)
    }

    /// Asks the next one, if none is being asked. Says whether it is a new one.
    pub fn ask_next(&mut self) -> bool {
        if self.current.is_some() {
            return false;
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
    pub fn typed(&mut self, piece: &[u8]) -> Typed {
        let Some((asked, entry)) = &mut self.current else { return Typed::Nothing };
        let typed = match entry {
            Entry::Sent => Typed::Nothing,
            Entry::Choice => match piece {
                [key] => choose(asked, entry, *key),
                // A paste, or an arrow key.
                _ => Typed::Nothing,
            },
            Entry::Words(line, meant) => match edit(line, piece) {
                Line::Open => Typed::Nothing,
                Line::Left if *meant == Meant::Reject => {
                    *entry = Entry::Choice;
                    Typed::Nothing
                }
                Line::Left if asked.question.options.is_empty() => Typed::Later(asked.task),
                Line::Left => {
                    *entry = Entry::Choice;
                    Typed::Nothing
                }
                Line::Done(words) => {
                    let reply = match meant {
                        Meant::Reject => Reply::Reject(Some(words)),
                        Meant::Answer => Reply::Words(words),
                    };
                    *entry = Entry::Sent;
                    Typed::Reply(asked.question.id.clone(), reply)
                }
            },
        };
        if let Typed::Later(_) = typed
            && let Some((asked, _)) = self.current.take()
        {
            self.aside.insert(asked.question.id);
        }
        typed
    }

    /// The question as it stays on the screen: whole, in words, and whose it is.
    pub fn block(&self, columns: usize) -> Vec<String> {
        let Some(asked) = self.current() else { return Vec::new() };
        let mut lines = block(asked, columns);
        lines.push(paint(DIM, fit(&format!("  ({})", asked.task), columns)));
        lines
    }

    /// Which keys there are, or what is typed so far; and how many questions wait after this one.
    pub fn prompt(&self, columns: usize) -> Vec<String> {
        let Some((asked, entry)) = &self.current else { return Vec::new() };
        let line = match entry {
            Entry::Sent => "Telling the helper…".to_owned(),
            Entry::Choice => keys(&asked.question),
            Entry::Words(typed, _) => {
                let head = "Your words (Enter sends, Esc leaves): ";
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
        QuestionKind::Question if question.options.is_empty() => {
            Entry::Words(Vec::new(), Meant::Answer)
        }
        QuestionKind::Question | QuestionKind::Permission => Entry::Choice,
    }
}

/// What is asked, whole, at this width.
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
    lines
}

fn offers(question: &QuestionView, id: &str) -> bool {
    question.options.iter().any(|option| option.id == id)
}

fn keys(question: &QuestionView) -> String {
    let mut keys: Vec<&str> = Vec::new();
    match question.kind {
        QuestionKind::Permission => {
            keys.extend(offers(question, "once").then_some("[o]nce"));
            keys.extend(offers(question, "always").then_some("[a]lways"));
            keys.push("[r]eject");
            keys.extend(question.takes_words.then_some("reject with [w]ords"));
        }
        QuestionKind::Question => {
            keys.push("its number");
            keys.push("your own [w]ords");
            keys.push("[r]eject");
        }
    }
    keys.push("[l]ater");
    keys.join(", ")
}

fn choose(asked: &Asked, entry: &mut Entry, key: u8) -> Typed {
    let (question, id) = (&asked.question, asked.question.id.clone());
    let is_permission = question.kind == QuestionKind::Permission;
    let reply = match key.to_ascii_lowercase() {
        b'o' if is_permission && offers(question, "once") => Reply::Once,
        b'a' if is_permission && offers(question, "always") => Reply::Always,
        b'r' => Reply::Reject(None),
        b'w' if is_permission && question.takes_words => {
            *entry = Entry::Words(Vec::new(), Meant::Reject);
            return Typed::Nothing;
        }
        b'w' if !is_permission => {
            *entry = Entry::Words(Vec::new(), Meant::Answer);
            return Typed::Nothing;
        }
        b'l' => return Typed::Later(asked.task),
        digit if !is_permission && offers(question, &char::from(digit).to_string()) => {
            Reply::Words(char::from(digit).to_string())
        }
        _ => return Typed::Nothing,
    };
    *entry = Entry::Sent;
    Typed::Reply(id, reply)
}

enum Line {
    Open,
    Left,
    Done(String),
}

fn edit(line: &mut Vec<u8>, piece: &[u8]) -> Line {
    match piece {
        [ESCAPE] => return Line::Left,
        // An arrow key or its like.
        [ESCAPE, ..] => return Line::Open,
        _ => {}
    }
    for byte in piece {
        match byte {
            b'\r' | b'\n' => {
                let words = String::from_utf8_lossy(line).trim().to_owned();
                return if words.is_empty() { Line::Left } else { Line::Done(words) };
            }
            0x7f | 0x08 => rub_out(line),
            // Ctrl-U.
            0x15 => line.clear(),
            0..=0x1f => {}
            byte if line.len() < TYPED_MAX_BYTES => line.push(*byte),
            _ => {}
        }
    }
    Line::Open
}

/// Takes the last character away, which may be several bytes.
fn rub_out(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

#[cfg(test)]
mod tests;
