//! A line that is being typed.

use crate::model::{answering, project};
use legwork_protocol::TaskId;
use legwork_protocol::refusal::{plain, steers};
use legwork_protocol::view::QuestionView;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Mode, Model, Order};
use crate::terminal::act::{Act, Launches};
use crate::terminal::limits::INPUT_MAX_CHARS;

/// Of the name of a project, so that there is room to type.
const PROJECT_MAX_CHARS: usize = 20;

/// What the line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    Find,
    GoOn(TaskId),
    Launch(Launches),
    /// Words for a question: the answer, or why not.
    Answer(Box<QuestionView>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub purpose: Purpose,
    pub text: String,
    /// The byte before which the next character goes.
    pub cursor: usize,
}

impl Input {
    pub fn new(purpose: Purpose, text: &str) -> Self {
        Self { purpose, text: text.to_owned(), cursor: text.len() }
    }

    pub fn label(&self) -> String {
        match &self.purpose {
            Purpose::Find => "Find: ".to_owned(),
            Purpose::GoOn(_) => "Go on with: ".to_owned(),
            Purpose::Launch(Launches { agent, folder }) => {
                let project = project::name(&folder.to_string_lossy());
                format!("New task for {agent} in {}: ", plain(&project, PROJECT_MAX_CHARS))
            }
            Purpose::Answer(question) => answering::label(question).to_owned(),
        }
    }

    /// Puts a text where the cursor is, on one line.
    pub fn insert(&mut self, text: &str) {
        let room = INPUT_MAX_CHARS.saturating_sub(self.text.chars().count());
        let clean = text.chars().map(|c| if steers(c) { ' ' } else { c });
        let clean: String = clean.take(room).collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].chars().next();
        self.cursor + next.map_or(0, char::len_utf8)
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    /// Where the word before the cursor begins.
    fn word(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(' ').map_or(0, |at| at + 1)
    }

    /// Whether it was a key that edits.
    fn edit(&mut self, key: KeyEvent) -> bool {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if is_control => self.delete(0, self.cursor),
            KeyCode::Char('w') if is_control => self.delete(self.word(), self.cursor),
            KeyCode::Char('a') if is_control => self.cursor = 0,
            KeyCode::Char('e') if is_control => self.cursor = self.text.len(),
            KeyCode::Char(c) if !is_control => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => self.delete(self.before(), self.cursor),
            KeyCode::Delete => self.delete(self.cursor, self.after()),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }
}

impl Model {
    pub(super) fn input_key(&mut self, mut input: Input, key: KeyEvent) -> Vec<Order> {
        self.typing.hold(self.now);
        match key.code {
            KeyCode::Esc => {
                if input.purpose == Purpose::Find {
                    self.filter.set("", self.now);
                }
                return vec![];
            }
            KeyCode::Enter => return self.entered(input),
            KeyCode::Up if input.purpose == Purpose::Find => self.step(-1),
            KeyCode::Down if input.purpose == Purpose::Find => self.step(1),
            _ => {
                input.edit(key);
            }
        }
        if input.purpose == Purpose::Find {
            self.filter.set(&input.text, self.now);
        }
        self.mode = Mode::Input(input);
        vec![]
    }

    fn entered(&mut self, input: Input) -> Vec<Order> {
        let text = input.text.trim().to_owned();
        if text.is_empty() {
            return vec![];
        }
        let act = match input.purpose {
            Purpose::Find => {
                self.meant = self.selected;
                return vec![];
            }
            Purpose::GoOn(task) => Act::GoOn { task, prompt: text },
            Purpose::Launch(by) => Act::Launch { prompt: text, by },
            Purpose::Answer(question) => {
                let reply = answering::worded(&question, text);
                Act::Reply { question, reply }
            }
        };
        vec![Order::Do(act)]
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.typing.hold(self.now);
        if let Mode::Input(input) = &mut self.mode {
            input.insert(text.trim_end_matches('\n'));
            if input.purpose == Purpose::Find {
                let text = input.text.clone();
                self.filter.set(&text, self.now);
            }
        } else {
            // A paste is no row of keys: nobody means what it would do.
            self.hold_open_text();
        }
    }
}
