//! What the keys do.

use crate::model::answering::{self, Step};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Focus, Input, Mode, Model, Order, Purpose, SCALES_MIN, Tab};
use crate::terminal::act::Act;

/// Keys that answer a question, or open what answers it.
const ANSWERS: [char; 5] = ['o', 'w', 'a', 'r', 'e'];

impl Model {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Order> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return vec![Order::Quit],
            KeyCode::Char('l') if is_control => {
                self.redraw = true;
                return vec![];
            }
            _ => {}
        }
        match std::mem::replace(&mut self.mode, Mode::Normal) {
            Mode::Normal if is_control || key.modifiers.contains(KeyModifiers::ALT) => vec![],
            Mode::Normal if self.is_typed(key.code) => {
                self.say("That key came too soon after a dialog or a text. Press it again.", true);
                vec![]
            }
            Mode::Normal => {
                self.message = None;
                if key.code != KeyCode::Esc {
                    self.meant = self.selected;
                }
                self.normal_key(key.code)
            }
            // Any key goes back; none of them does anything else.
            Mode::Keys => {
                self.hold_after(key.code);
                vec![]
            }
            Mode::Whole(top) => {
                match key.code {
                    KeyCode::Char('j') | KeyCode::Down => self.mode = Mode::Whole(top + 1),
                    KeyCode::Char('k') | KeyCode::Up => {
                        self.mode = Mode::Whole(top.saturating_sub(1));
                    }
                    other => self.hold_after(other),
                }
                vec![]
            }
            Mode::Confirm(confirm) => self.confirm_key(confirm, key.code),
            Mode::Input(input) => self.input_key(input, key),
        }
    }

    /// Whether this key is a letter of a text that was expected a moment ago. A text that nobody
    /// ended goes on, so each of its letters is one. After Enter or Escape only the keys that
    /// answer are held, and every letter prolongs that: the next one may answer.
    fn is_typed(&mut self, code: KeyCode) -> bool {
        let KeyCode::Char(key) = code else { return false };
        let is_open = !self.open_text.lets_through(self.now);
        let is_early = !self.typing.lets_through(self.now);
        is_open || (is_early && ANSWERS.contains(&key))
    }

    /// A text is expected that nothing has taken, or not to its end.
    pub(super) fn hold_open_text(&mut self) {
        self.typing.hold(self.now);
        self.open_text.hold(self.now);
    }

    fn normal_key(&mut self, code: KeyCode) -> Vec<Order> {
        match code {
            KeyCode::Char('q') => return vec![Order::Quit],
            KeyCode::Char('?') => self.mode = Mode::Keys,
            KeyCode::Char('j') | KeyCode::Down => self.down(1),
            KeyCode::Char('k') | KeyCode::Up => self.down(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.page(1),
            KeyCode::PageUp => self.page(-1),
            KeyCode::Home => self.down(isize::MIN),
            KeyCode::End => self.down(isize::MAX),
            KeyCode::Enter if self.selected.is_some() => self.focus = Focus::Task,
            KeyCode::Esc => self.back(),
            KeyCode::Char('1') => return self.show(Tab::Conversation),
            KeyCode::Char('2') => return self.show(Tab::Result),
            KeyCode::Char('3') => return self.show(Tab::Why),
            KeyCode::Tab => return self.show(self.next_tab()),
            KeyCode::Char('f') => self.opened.follow(!self.opened.follows),
            KeyCode::Char('g') => self.timeline = !self.timeline,
            KeyCode::Char('b') => {
                self.grouping = self.grouping.next();
                self.say(&format!("Grouped by {}.", self.grouping.word()), false);
            }
            KeyCode::Char('-') => self.scale = (self.scale + 1).min(SCALES_MIN.len() - 1),
            KeyCode::Char('+') => self.scale = self.scale.saturating_sub(1),
            KeyCode::Char('/') => {
                self.focus = Focus::List;
                self.mode = Mode::Input(Input::new(Purpose::Find, &self.filter.text));
            }
            other => return self.acting_key(other),
        }
        vec![]
    }

    /// Keys that change something.
    fn acting_key(&mut self, code: KeyCode) -> Vec<Order> {
        let KeyCode::Char(key @ ('o' | 'w' | 'a' | 'r' | 'e' | 'v' | 'x' | 'c' | 'n' | 'R' | 'C')) =
            code
        else {
            return vec![];
        };
        if let Some(why) = self.only_looking.clone()
            && key != 'v'
        {
            self.say(&why, true);
            return vec![];
        }
        match key {
            'x' => self.confirm_cancel(),
            'c' => self.go_on(),
            'n' => self.launch(),
            'R' => self.confirm_retry(),
            'C' => self.confirm_clear(),
            key => return self.answer(key),
        }
        vec![]
    }

    fn answer(&mut self, key: char) -> Vec<Order> {
        let Some(question) = self.question().cloned() else {
            return self.not_answered("It asks nothing.", key);
        };
        if key == 'v' {
            self.mode = Mode::Whole(0);
            return vec![];
        }
        if !self.takes_answers() {
            let new = "This question has just come. Read it, then press the key again.";
            return self.not_answered(new, key);
        }
        match answering::step(&question, key) {
            Some(Step::Reply(reply)) => {
                return vec![Order::Do(Act::Reply { question: Box::new(question), reply })];
            }
            Some(Step::Sure) => self.confirm_always(&question),
            Some(Step::Words) => {
                self.mode = Mode::Input(Input::new(Purpose::Answer(Box::new(question)), ""));
            }
            Some(Step::Not(why)) => return self.not_answered(why, key),
            None => {}
        }
        vec![]
    }

    /// Says why a key does nothing. Who wanted to type words may do so without looking.
    fn not_answered(&mut self, why: &str, key: char) -> Vec<Order> {
        self.say(why, true);
        if key == 'e' {
            self.hold_open_text();
        }
        vec![]
    }

    fn go_on(&mut self) {
        let Some(item) = self.item() else { return };
        if item.task.status.is_unfinished() {
            return self.say("It is at work. It can be asked to go on when it is done.", true);
        }
        self.mode = Mode::Input(Input::new(Purpose::GoOn(item.task.id), ""));
    }

    fn launch(&mut self) {
        match self.launches.clone() {
            Some(Ok(by)) => self.mode = Mode::Input(Input::new(Purpose::Launch(by), "")),
            Some(Err(why)) => self.say(&why, true),
            None => {}
        }
    }

    /// Down in the half that has the keys.
    fn down(&mut self, by: isize) {
        match self.focus {
            Focus::List => self.step(by),
            Focus::Task => self.opened.scroll(by),
        }
    }

    /// Pages are those of the task, wherever it is on the screen.
    fn page(&mut self, by: isize) {
        if self.layout.task.height > 0 {
            self.opened.scroll_page(by);
        } else {
            let page = isize::try_from(self.layout.list.height / 2).unwrap_or(1).max(1);
            self.step(by * page);
        }
    }

    fn back(&mut self) {
        if self.focus == Focus::Task {
            self.focus = Focus::List;
        } else if self.filter.is_on() {
            self.filter.set("", self.now);
        } else {
            self.timeline = false;
        }
    }

    fn next_tab(&self) -> Tab {
        match self.opened.tab {
            Tab::Conversation => Tab::Result,
            Tab::Result => Tab::Why,
            Tab::Why => Tab::Conversation,
        }
    }

    fn show(&mut self, tab: Tab) -> Vec<Order> {
        if self.selected.is_none() {
            return vec![];
        }
        if self.opened.tab != tab {
            self.opened.show(tab);
        }
        if self.layout.task.height == 0 {
            self.focus = Focus::Task;
        }
        let mut orders = vec![];
        self.read_tab(&mut orders);
        orders
    }
}
