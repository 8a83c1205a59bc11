//! Screens of any size, and texts that mean harm.

use legwork_protocol::TaskId;
use legwork_protocol::api::transcript::{Entry, EntryKind, PlanStep, ToolState};
use legwork_protocol::refusal::steers;
use legwork_protocol::view::{ResultView, TaskView};
use legwork_protocol::{Status, Time};
use proptest::prelude::*;
use ratatui::crossterm::event::KeyCode;

use super::stage::{Stage, asks, conversation, entry, finished, log, page, said, tasks, tool};
use crate::terminal::model::News;
use crate::terminal::paper::{Line, Saying, entry_lines};

const SIZES: [(u16, u16); 14] = [
    (1, 1),
    (1, 50),
    (2, 2),
    (3, 3),
    (7, 4),
    (10, 10),
    (20, 5),
    (40, 12),
    (60, 20),
    (99, 3),
    (100, 8),
    (124, 38),
    (300, 100),
    (300, 1),
];

/// Keys that bring the view into each of its states.
const STATES: [&str; 12] = ["", "?", "w", "x", "C", "e", "v", "g", "/login", "1", "2", "3"];

#[test]
fn v4_no_size_of_the_screen_is_too_small_or_too_large_for_any_state() {
    for state in STATES {
        for is_open in [false, true] {
            let mut stage = Stage::new();
            if is_open {
                stage.key(KeyCode::Enter);
            }
            stage.keys(state);
            stage.hear(News::Log(asks().id, Ok(log(&asks()))));
            for (columns, rows) in SIZES {
                let screen = stage.screen(columns, rows);
                assert_eq!(screen.matches('\n').count() + 1, usize::from(rows));
            }
        }
    }
}

#[test]
fn v4_every_small_size_can_be_drawn() {
    let mut stage = Stage::new();
    stage.key(KeyCode::Enter);
    for columns in 1..40 {
        for rows in 1..24 {
            stage.screen(columns, rows);
        }
    }
}

const HOSTILE: &str =
    "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}evil\u{2066}\u{200f}\r\n\tb\u{0}\u{8}";

fn hostile() -> TaskView {
    let mut task = asks();
    task.description = HOSTILE.to_owned();
    task.agent = HOSTILE.to_owned();
    task.directory = HOSTILE.to_owned();
    task.doing = Some(HOSTILE.to_owned());
    task.usage.model = Some(HOSTILE.into());
    task.questions[0].subject = format!("bash: {HOSTILE}");
    for option in &mut task.questions[0].options {
        option.label = HOSTILE.to_owned();
    }
    task
}

fn check(screen: &str) {
    let steering = screen.chars().find(|c| *c != '\n' && steers(*c));
    assert_eq!(steering, None, "{screen:?}");
}

#[test]
fn v7_no_text_of_a_helper_steers_the_terminal() {
    let mut stage = Stage::empty();
    let mut failed = finished(3, HOSTILE, Status::Error, 1_000);
    failed.reason = Some(HOSTILE.to_owned());
    stage.hear(News::Board(Box::new(page(true, vec![failed, hostile()]))));
    let mut entries = vec![
        entry("a", EntryKind::Prompt, HOSTILE),
        entry("b", EntryKind::Text, HOSTILE),
        entry("c", EntryKind::Thought, HOSTILE),
        entry("d", EntryKind::Error, HOSTILE),
        tool("e", HOSTILE, HOSTILE, ToolState::Failed),
        tool("f", HOSTILE, HOSTILE, ToolState::Running),
    ];
    if let Some(tool) = &mut entries[4].tool {
        tool.error = HOSTILE.into();
    }
    let task = hostile();
    stage.hear(News::Said(task.id, Box::new(said(&task, entries))));
    stage.hear(News::Done(Err(HOSTILE.to_owned())));
    let mut decisions = log(&task);
    decisions[0].line = HOSTILE.to_owned();
    stage.hear(News::Log(task.id, Ok(decisions)));
    for state in STATES {
        stage.keys(state);
        for (columns, rows) in [(124, 38), (80, 24), (60, 20)] {
            check(&stage.screen(columns, rows));
        }
        stage.key(KeyCode::Esc);
    }
    stage.key(KeyCode::End).keys("2");
    let id = stage.model.selected.unwrap();
    let text = Some(HOSTILE.to_owned());
    let result = ResultView { task: hostile(), offset: 0, text, next: None };
    stage.hear(News::Result(id, Box::new(Ok(result))));
    stage.hear(News::Away(HOSTILE.to_owned()));
    check(&stage.screen(124, 38));
}

#[test]
fn v4_a_long_conversation_keeps_its_end_within_bounds() {
    let mut stage = Stage::new();
    let long = "x".repeat(10_000);
    for page in 0..30 {
        let entries = (0..100)
            .map(|n| entry(&format!("{page}-{n}"), EntryKind::Text, &format!("{long} {page}-{n}")));
        stage.hear(News::Said(asks().id, Box::new(said(&asks(), entries.collect()))));
    }
    let screen = stage.screen(124, 38);
    assert!(screen.contains("29-99"), "{screen}");
    stage.key(KeyCode::Enter).key(KeyCode::Home);
    assert!(
        stage.screen(124, 38).contains("legwork transcript"),
        "the beginning is said to be gone"
    );
}

#[test]
fn v4_a_thousand_tasks_can_be_walked_through() {
    let mut stage = Stage::empty();
    let many = (0..1_000).map(|n| super::stage::task(n + 1, &format!("task {n}"), 1_000));
    stage.hear(News::Board(Box::new(page(true, many.collect()))));
    for _ in 0..999 {
        stage.keys("j");
    }
    let screen = stage.screen(80, 24);
    assert!(screen.contains("▌● task 0 "), "{screen}");
    stage.key(KeyCode::Home);
    assert!(stage.screen(80, 24).contains("▌● task 999 "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn v7_any_texts_and_keys_draw_a_screen_that_steers_nothing(
        text in "\\PC{0,80}|[\\x00-\\xff\u{200e}\u{202e}日\n]{0,80}",
        keys in "[ -~]{0,20}",
        columns in 1u16..140,
        rows in 1u16..50,
    ) {
        let mut stage = Stage::empty();
        let mut all = tasks();
        all[8].description = text.clone();
        all[8].questions[0].subject = text.clone();
        all[7].doing = Some(text.clone());
        all[6].id = TaskId::from_number(5);
        all[6].created = Time(u64::MAX);
        stage.hear(News::Board(Box::new(page(true, all))));
        let mut entries = conversation();
        entries[1].text = text.as_str().into();
        entries[5].text = text.as_str().into();
        stage.hear(News::Said(asks().id, Box::new(said(&asks(), entries))));
        for key in keys.chars() {
            stage.keys(&key.to_string());
            stage.pass(700);
            check(&stage.screen(columns, rows));
        }
        check(&stage.screen(columns, rows));
    }
}

#[test]
fn v4_a_plan_has_a_head_of_its_own_and_a_line_for_each_step() {
    let step = |text: &str, state| PlanStep { text: text.to_owned(), state };
    let plan = Entry {
        plan: vec![step("look", ToolState::Done), step("mend", ToolState::Running)],
        ..entry("p", EntryKind::Thought, "✓ look\n→ mend")
    };
    let saying = Saying { agent: "codex", is_new_speaker: true, asks: &[] };
    let lines = entry_lines(&plan, saying, 40);
    let text = |line: &Line| line.iter().map(|piece| piece.text.as_str()).collect::<String>();
    let lines: Vec<String> = lines.iter().map(text).collect();
    assert!(lines[1].starts_with("Plan  "), "{lines:?}");
    assert_eq!(lines[2..], ["✓ look", "→ mend"], "{lines:?}");
}
