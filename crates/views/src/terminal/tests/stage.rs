//! A model with something in it, keys to press, and a screen to read.

use crate::model::{Board, example};
use legwork_protocol::api::board::{BoardPage, BoardPosition, Counts};
use legwork_protocol::api::transcript::{
    Entry, EntryKind, Position, Source, ToolState, ToolUse, Transcript,
};
use legwork_protocol::view::{
    Activity, News as Decision, QuestionKind, QuestionOption, QuestionView, RunView, TaskView,
    Waiting,
};
use legwork_protocol::{Cost, Currency, Outcome, Stage as RunStage, Status, TaskId, Time, Usage};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::terminal::act::Launches;
use crate::terminal::draw::draw;
use crate::terminal::model::{Model, News, Order, Theme};

pub const NOW: Time = Time(1_794_838_000_000);
const MINUTE: u64 = 60_000;

pub fn ago(ms: u64) -> Time {
    Time(NOW.0 - ms)
}

pub fn task(number: u64, description: &str, since_ms: u64) -> TaskView {
    let (tool, subject) = ("read".to_owned(), "crates/daemon/src/outbox.rs".to_owned());
    TaskView {
        id: TaskId::from_number(number * 7_919_191_919),
        seq: number,
        description: description.to_owned(),
        agent: "general".to_owned(),
        directory: "/nowhere/shopfront".to_owned(),
        parent: "ses_parent".parse().unwrap(),
        created: ago(since_ms),
        started: ago(since_ms),
        elapsed_ms: since_ms,
        tool_calls: 23,
        doing: Some(format!("{tool} {subject}")),
        activity: Some(Activity { tool, subject }),
        runs: vec![run(0, ago(since_ms), None)],
        ..example::task(number)
    }
}

fn run(run: u32, started: Time, ended: Option<Time>) -> RunView {
    RunView {
        run,
        prompt: String::new(),
        started,
        ended,
        outcome: ended.map(|_| Outcome::Completed),
        tool_calls: None,
        usage: Usage::default(),
    }
}

pub fn permission(id: &str, subject: &str) -> QuestionView {
    let option = |(id, label): (&str, &str)| QuestionOption { id: id.into(), label: label.into() };
    let options =
        [("once", "Allow once"), ("always", "Allow always: cargo test *"), ("reject", "Reject")];
    QuestionView {
        id: id.parse().unwrap(),
        options: options.map(option).to_vec(),
        since: ago(98_000),
        ..example::permission(subject)
    }
}

pub fn asks() -> TaskView {
    TaskView {
        questions: vec![permission("per_1", "bash: cargo test --test login -- --test-threads 1")],
        usage: Usage {
            tokens: Some(48_211),
            cost: Some(Cost { micros: 184_999, currency: Currency::USD }),
            model: None,
        },
        ..task(9, "Make the flaky login test deterministic", 4 * MINUTE + 12_000)
    }
}

pub fn question() -> QuestionView {
    let option = |(id, label): (&str, &str)| QuestionOption { id: id.into(), label: label.into() };
    QuestionView {
        number: 1,
        kind: QuestionKind::Question,
        options: [("1", "Red"), ("2", "Blue")].map(option).to_vec(),
        ..permission("que_1", "Which colour is the shed to have?")
    }
}

pub fn finished(number: u64, description: &str, status: Status, ended_ms: u64) -> TaskView {
    let ended_so = |outcome: &Outcome| Status::from(*outcome) == status;
    let outcome = Outcome::ALL.into_iter().find(ended_so).unwrap();
    TaskView {
        status,
        stage: outcome.stage(),
        ended: Some(ago(ended_ms)),
        elapsed_ms: 220_000,
        runs: vec![run(0, ago(ended_ms + 220_000), Some(ago(ended_ms)))],
        doing: None,
        activity: None,
        last_tools: vec![],
        reason: (status == Status::Error).then(|| "The provider refused: no credit.".to_owned()),
        ..task(number, description, ended_ms + 220_000)
    }
}

/// Some of every kind.
pub fn tasks() -> Vec<TaskView> {
    let resumed = TaskView {
        status: Status::Resumed,
        resumes: 1,
        runs: vec![run(0, ago(20 * MINUTE), Some(ago(12 * MINUTE))), run(1, ago(6 * MINUTE), None)],
        started: ago(6 * MINUTE),
        ..task(6, "Write the missing tests for the parser", 20 * MINUTE)
    };
    let provider = Waiting::Provider { attempt: 3, why: "overloaded".into(), in_ms: 8_000 };
    let queued = TaskView {
        stage: RunStage::Queued,
        waiting: vec![Waiting::Slot { ahead: 0 }],
        ..task(4, "Document every key of the config file", 80_000)
    };
    vec![
        finished(1, "Summarise the open issues about streaming", Status::Completed, 9 * MINUTE),
        finished(2, "Benchmark the tokenizer", Status::Error, 4 * MINUTE),
        finished(3, "Rewrite the README in French", Status::Cancelled, 14 * MINUTE),
        queued,
        TaskView { waiting: vec![provider], ..task(5, "Compare three clients", 210_000) },
        resumed,
        task(7, "Review the error handling in src/", 133_000),
        TaskView {
            questions: vec![permission("per_2", "external_directory: ~/.cargo/config.toml")],
            ..task(8, "Upgrade axum to 0.8 in the gateway", 580_000)
        },
        asks(),
    ]
}

pub fn counts() -> Counts {
    Counts {
        asking: 2,
        working: 3,
        queued: 1,
        completed: 1_217,
        failed: 6,
        cancelled: 1,
        slots: 16,
    }
}

pub fn page(whole: bool, tasks: Vec<TaskView>) -> BoardPage {
    BoardPage {
        whole,
        tasks,
        gone: vec![],
        counts: counts(),
        now: NOW,
        next: BoardPosition { board: 1, revision: 1 },
        healthy: true,
        incomplete: false,
    }
}

pub fn entry(key: &str, kind: EntryKind, text: &str) -> Entry {
    Entry {
        key: key.to_owned(),
        kind,
        at: Some(ago(250_000)),
        text: text.into(),
        ..Entry::default()
    }
}

pub fn tool(key: &str, name: &str, title: &str, state: ToolState) -> Entry {
    let tool = ToolUse { name: name.into(), title: title.into(), state, ..ToolUse::default() };
    let ended = state.is_over().then(|| ago(249_700));
    let open = !state.is_over();
    Entry { tool: Some(tool), ended, open, ..entry(key, EntryKind::Tool, "") }
}

pub fn said(task: &TaskView, entries: Vec<Entry>) -> Transcript {
    Transcript {
        task: task.clone(),
        source: Source::Host,
        entries,
        next: Position::default(),
        more: false,
        over: false,
        restarted: false,
    }
}

pub fn conversation() -> Vec<Entry> {
    vec![
        entry("a", EntryKind::Prompt, "tests/login.rs fails one time in ten on CI. Find out why."),
        entry("b", EntryKind::Text, "I will read the test **first**, then whatever it waits for."),
        tool("c", "read", "tests/login.rs", ToolState::Done),
        tool("d", "grep", "\"SESSION_CLOCK\" src/", ToolState::Failed),
        entry("e", EntryKind::Text, "Both tests share one clock:\n\n- `a.rs`\n- `b.rs`"),
        tool("f", "bash", "cargo test --test login -- --test-threads 1", ToolState::Pending),
    ]
}

pub fn log(task: &TaskView) -> Vec<Decision> {
    let line = |after, line: &str| Decision {
        at: task.created.plus(after),
        task: task.id,
        run: 0,
        line: line.to_owned(),
        detail: false,
    };
    vec![
        line(0, "launched as \"Make the flaky login test deterministic\" for general"),
        line(154_000, "asks for a permission: cargo test --test login -- --test-threads 1"),
    ]
}

/// The view at a moment.
pub struct Stage {
    pub model: Model,
    pub now: Time,
    pub orders: Vec<Order>,
}

impl Stage {
    pub fn empty() -> Self {
        let by = Launches { agent: "gemini".to_owned(), folder: "/nowhere/shopfront".into() };
        let model = Model::new(Theme { colours: true }, None, Ok(by), ago(1_000));
        Self { model, now: NOW, orders: vec![] }
    }

    /// With some tasks of every kind and the conversation of the first one.
    pub fn new() -> Self {
        let mut stage = Self::empty();
        stage.now = ago(2_000);
        stage.hear(News::Board(Box::new(page(true, tasks()))));
        stage.pass(1_000);
        stage.hear(News::Said(asks().id, Box::new(said(&asks(), conversation()))));
        stage.pass(1_000);
        stage
    }

    pub fn hear(&mut self, news: News) {
        let orders = self.model.hear(news, self.now);
        self.orders.extend(orders);
    }

    pub fn board(&mut self, tasks: Vec<TaskView>) {
        self.hear(News::Board(Box::new(page(false, tasks))));
    }

    pub fn pass(&mut self, ms: u64) -> &mut Self {
        self.now = self.now.plus(ms);
        let orders = self.model.tick(self.now);
        self.orders.extend(orders);
        self
    }

    /// Presses keys that are characters.
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.chars() {
            self.key(KeyCode::Char(key));
        }
        self
    }

    pub fn key(&mut self, code: KeyCode) -> &mut Self {
        self.hear(News::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        self
    }

    /// What was ordered since it was last asked.
    pub fn ordered(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    pub fn screen(&mut self, columns: u16, rows: u16) -> String {
        self.model.prepare(columns, rows);
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw(frame, &self.model)).unwrap();
        let buffer = terminal.backend().buffer();
        let mut lines = Vec::new();
        for y in 0..rows {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..columns {
                let symbol = buffer[(x, y)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
                line.push_str(symbol);
            }
            lines.push(line.trim_end().to_owned());
        }
        same_clock(&lines.join("\n"))
    }
}

/// Times of day as in every time zone.
fn same_clock(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_like = |at: usize, example: &str| {
        let some = chars.get(at..at + example.len());
        let is_so = |(c, like): (&char, char)| match like {
            ':' => *c == ':',
            _ => c.is_ascii_digit(),
        };
        some.is_some_and(|some| some.iter().zip(example.chars()).all(is_so))
    };
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        match ["14:06:23", "14:06"].into_iter().find(|example| is_like(at, example)) {
            Some(example) => {
                out.push_str(example);
                at += example.len();
            }
            None => {
                out.push(chars[at]);
                at += 1;
            }
        }
    }
    out
}

#[test]
fn a_board_of_the_stage_has_all_groups() {
    let mut board = Board::default();
    board.apply(page(true, tasks()));
    assert_eq!(board.items().count(), tasks().len());
}
