//! What is known and chosen. It takes news and keys, never asks or draws by itself, and says what
//! is to be done as plain values. What time it is comes from outside.

mod dialog;
mod input;
mod keys;
mod layout;
mod list;
mod opened;

pub use dialog::Mode;
pub use input::{Input, Purpose};
pub use layout::Layout;
pub use list::{Filter, ListLine, Title};
pub use opened::{Opened, Tab};

use crate::model::answering::Guard;
use crate::model::grouping::Grouping;
use crate::model::limits::NEW_QUESTION_MS;
use crate::model::{Board, Item};
use legwork_protocol::api::board::BoardPage;
use legwork_protocol::api::transcript::Transcript;
use legwork_protocol::view::{News as Decision, QuestionView, ResultView, TaskView, TasksView};
use legwork_protocol::{QuestionId, TaskId, Time};
use ratatui::crossterm::event::KeyEvent;

use crate::terminal::act::{Act, Launches};
use crate::terminal::limits::{FIND_AFTER_MS, MESSAGE_MS, OPEN_AFTER_MS, STALE_MS};

/// What has happened.
#[derive(Debug)]
pub enum News {
    Board(Box<BoardPage>),
    /// The board cannot be read at the moment; why.
    Away(String),
    /// A page of a task's conversation.
    Said(TaskId, Box<Transcript>),
    /// Why there is none.
    Unread(TaskId, String),
    Result(TaskId, Box<Result<ResultView, String>>),
    Log(TaskId, Result<Vec<Decision>, String>),
    Found(String, Result<TasksView, String>),
    /// What came of something that was to be done.
    Done(Result<String, String>),
    /// A task that was launched here.
    Launched(Box<TaskView>),
    Key(KeyEvent),
    Pasted(String),
    Resized,
    /// It is to end, because of this signal.
    Stop(u8),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Quit,
    /// Read this conversation from now on.
    Read(TaskId),
    /// And none.
    ReadNothing,
    Do(Act),
}

/// Whether what is shown is how it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Link {
    #[default]
    Connecting,
    Live,
    Away(String),
}

/// Where keys go that could go to either half.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Focus {
    #[default]
    List,
    Task,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Theme {
    pub colours: bool,
}

/// A sentence at the bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    pub is_bad: bool,
    until: Time,
}

/// How much time the bars of the list show.
pub const SCALES_MIN: [u64; 3] = [30, 120, 1_440];

#[derive(Debug, Default)]
pub struct Model {
    pub board: Board,
    pub link: Link,
    heard: Time,
    pub now: Time,
    pub theme: Theme,
    only_looking: Option<String>,
    /// Who does what is launched here; or why nothing can be.
    launches: Option<Result<Launches, String>>,
    pub selected: Option<TaskId>,
    selected_at: Time,
    /// What a person chose last: it is chosen again when it is back in the list.
    meant: Option<TaskId>,
    /// The task whose question was answered with a key, until it does not ask any more.
    answered: Option<TaskId>,
    /// The task that was on the screen last.
    prepared: Option<TaskId>,
    /// When a key last chose another task.
    stepped_at: Time,
    /// The conversation that was ordered.
    reading: Option<TaskId>,
    pub focus: Focus,
    pub opened: Opened,
    pub mode: Mode,
    pub filter: Filter,
    pub grouping: Grouping,
    /// Whether the bars have the whole width.
    pub timeline: bool,
    scale: usize,
    pub message: Option<Message>,
    /// The question that stands in the card, and since when.
    asked: Option<(QuestionId, Time)>,
    /// Keys that act do not count while, or right after, a text was expected.
    typing: Guard,
    /// The same for every letter, after a text that ended without its Enter or Escape.
    open_text: Guard,
    pub layout: Layout,
    pub rows: Vec<ListLine>,
    pub top: usize,
    size: (u16, u16),
    redraw: bool,
    /// Who is chosen if the chosen task goes.
    neighbours: Vec<TaskId>,
}

impl Model {
    pub fn new(
        theme: Theme,
        only_looking: Option<String>,
        launches: Result<Launches, String>,
        now: Time,
    ) -> Self {
        Self {
            theme,
            only_looking,
            launches: Some(launches),
            heard: now,
            now,
            selected_at: now,
            ..Self::default()
        }
    }

    /// Takes in what has happened.
    pub fn hear(&mut self, news: News, now: Time) -> Vec<Order> {
        self.now = now;
        let mut orders = Vec::new();
        match news {
            News::Board(page) => self.hear_board(*page, &mut orders),
            News::Away(why) => self.link = Link::Away(why),
            News::Said(task, page) if self.opened.is(task) => self.opened.hear_page(*page),
            News::Unread(task, why) if self.opened.is(task) => self.opened.trouble = Some(why),
            News::Result(task, result) if self.opened.is(task) => self.opened.hear_result(*result),
            News::Log(task, log) if self.opened.is(task) => self.opened.hear_log(log),
            News::Said(..) | News::Unread(..) | News::Result(..) | News::Log(..) => {}
            News::Found(text, found) => self.hear_found(&text, found),
            News::Done(Ok(text)) => self.say(&text, false),
            News::Done(Err(why)) => self.say(&why, true),
            News::Launched(task) => {
                self.say(&format!("Launched: {} ({}).", task.description, task.id), false);
                self.meant = Some(task.id);
            }
            News::Key(key) => orders = self.key(key),
            News::Pasted(text) => self.paste(&text),
            News::Resized | News::Stop(_) => {}
        }
        self.after(&mut orders);
        orders
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Time) -> Vec<Order> {
        self.now = now;
        let mut orders = Vec::new();
        if self.message.as_ref().is_some_and(|message| message.until <= now) {
            self.message = None;
        }
        if let Some(text) = self.filter.due(now, FIND_AFTER_MS) {
            orders.push(Order::Do(Act::Find(text)));
        }
        self.after(&mut orders);
        orders
    }

    /// In how many milliseconds something is due that does not wait for the next second.
    pub fn wake_in_ms(&self) -> Option<u64> {
        let opens = self.selected.is_some() && self.reading != self.selected;
        (opens || self.filter.is_due()).then_some(OPEN_AFTER_MS)
    }

    fn hear_board(&mut self, page: BoardPage, orders: &mut Vec<Order>) {
        (self.link, self.heard) = (Link::Live, self.now);
        let applied = self.board.apply(page);
        self.filter.found.retain(|item| self.board.item(item.task.id).is_none());
        if let Some(task) = self.opened.task
            && applied.changed.contains(&task)
            && let Some(item) = self.board.item(task)
        {
            let goes_on = self.opened.see(&item.task);
            if goes_on {
                orders.push(Order::Read(task));
            }
            self.read_tab(orders);
        }
    }

    /// What follows from any change.
    fn after(&mut self, orders: &mut Vec<Order>) {
        let answers = |order: &Order| matches!(order, Order::Do(Act::Reply { .. }));
        if orders.iter().any(answers) {
            self.answered = self.selected;
        }
        self.rows = self.list_lines();
        self.go_on_to_the_next_question();
        self.keep_selection();
        self.note_neighbours();
        if self.selected != self.opened.task {
            self.opened = Opened::of(self.selected, self.opened.tab);
            self.asked = None;
            if let Some(task) = self.item().map(|item| item.task.clone()) {
                self.opened.see(&task);
            }
            self.read_tab(orders);
        }
        let is_settled = self.now.since(self.selected_at) >= OPEN_AFTER_MS;
        match self.selected {
            Some(task) if self.reading != Some(task) && is_settled => {
                self.reading = Some(task);
                orders.push(Order::Read(task));
            }
            None if self.reading.take().is_some() => orders.push(Order::ReadNothing),
            _ => {}
        }
        self.watch_question();
    }

    /// Notes since when the question that is shown is shown.
    fn watch_question(&mut self) {
        let shown = self.question().map(|question| question.id.clone());
        let before = self.asked.as_ref().map(|(id, _)| id.clone());
        if shown != before {
            // Who has just chosen its task means the question that comes with it.
            let since = if self.stepped_at == self.now { Time(0) } else { self.now };
            self.asked = shown.map(|id| (id, since));
            self.close_dialog_about_question();
        }
    }

    /// Whether the question has been there long enough to be what a key is meant for.
    pub fn takes_answers(&self) -> bool {
        let since = self.asked.as_ref().map(|(_, since)| *since);
        since.is_some_and(|since| self.now.since(since) >= NEW_QUESTION_MS)
    }

    /// Asks for what the open tab shows, if it is not known or not new.
    fn read_tab(&mut self, orders: &mut Vec<Order>) {
        let is_over = self.item().is_some_and(|item| !item.task.status.is_unfinished());
        let Some(task) = self.opened.task else { return };
        let tab = self.opened.tab;
        if tab == Tab::Result && is_over && self.opened.wants_result() {
            orders.push(Order::Do(Act::Result(task)));
        }
        if tab == Tab::Why && self.opened.wants_log() {
            orders.push(Order::Do(Act::Log(task)));
        }
    }

    /// A task by its id, also one that is not on the board but was found.
    pub fn item_of(&self, task: TaskId) -> Option<&Item> {
        let found = || self.filter.found.iter().find(|item| item.task.id == task);
        self.board.item(task).or_else(found)
    }

    /// The task that is chosen.
    pub fn item(&self) -> Option<&Item> {
        self.item_of(self.selected?)
    }

    /// What it asks first.
    pub fn question(&self) -> Option<&QuestionView> {
        self.item()?.task.questions.first()
    }

    /// Whether what is shown is how it is now.
    pub fn is_live(&self) -> bool {
        self.link == Link::Live && self.now.since(self.heard) < STALE_MS
    }

    /// How much time the bars show.
    pub fn scale_ms(&self) -> u64 {
        SCALES_MIN[self.scale] * 60_000
    }

    pub fn say(&mut self, text: &str, is_bad: bool) {
        let until = self.now.plus(MESSAGE_MS);
        self.message = Some(Message { text: text.to_owned(), is_bad, until });
    }

    pub fn say_busy(&mut self, now: Time) {
        self.now = now;
        self.say("The daemon has not answered what was asked before. Try again.", true);
    }

    /// Whether everything is to be drawn anew, also what is believed to be there.
    pub fn take_redraw(&mut self) -> bool {
        std::mem::take(&mut self.redraw)
    }

    /// Fits everything into a screen of this size.
    pub fn prepare(&mut self, columns: u16, rows: u16) {
        let (size, before) = (self.size, self.layout.body);
        self.size = (columns, rows);
        self.layout = self.lay_out(columns, rows);
        if let Some(item) = self.item().cloned() {
            let body = self.layout.body;
            if self.prepared == self.selected && size == self.size && before.width == body.width {
                let by = i32::from(body.y) - i32::from(before.y);
                self.opened.push_down(isize::try_from(by).unwrap_or(0));
            }
            self.opened.prepare(&item, usize::from(body.width), usize::from(body.height));
        }
        self.prepared = self.selected;
        self.keep_in_sight();
    }
}
