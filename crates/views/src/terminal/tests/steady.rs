//! What stays where it is: the marker, the list and the text, whatever is answered or looked for.

use crate::model::limits::KEYS_GUARD_MS;
use legwork_protocol::TaskId;
use legwork_protocol::api::transcript::EntryKind;
use legwork_protocol::view::TaskView;
use ratatui::crossterm::event::KeyCode;

use super::stage::{Stage, asks, entry, page, permission, said, task, tasks};
use crate::terminal::model::News;

const MINUTE: u64 = 60_000;

fn asking(number: u64) -> TaskView {
    let id = format!("per_{number}");
    TaskView {
        questions: vec![permission(&id, "bash: ls")],
        ..task(number, &format!("Asking {number}"), MINUTE)
    }
}

fn with(tasks: Vec<TaskView>) -> Stage {
    let mut stage = Stage::empty();
    stage.hear(News::Board(Box::new(page(true, tasks))));
    stage.pass(1_000);
    stage
}

fn chosen(stage: &Stage) -> Option<TaskId> {
    stage.model.selected
}

/// The line of the screen on which the marker of the chosen task stands.
fn marker(screen: &str) -> Option<usize> {
    screen.lines().position(|line| line.starts_with('▌'))
}

#[test]
fn v4_the_marker_goes_to_the_next_that_asks_once_one_is_answered() {
    let all: Vec<TaskView> = (1..=6).map(asking).collect();
    let mut stage = with(all.clone());
    stage.keys("jj");
    stage.pass(KEYS_GUARD_MS);
    let before = stage.screen(124, 16);
    stage.keys("o");
    assert_eq!(chosen(&stage), Some(all[3].id), "not before it is answered");
    stage.board(vec![TaskView { questions: vec![], ..all[3].clone() }]);
    assert_eq!(chosen(&stage), Some(all[2].id));
    let after = stage.screen(124, 16);
    assert_eq!(marker(&before), marker(&after), "{before}\n{after}");
}

#[test]
fn v4_an_answered_task_stays_chosen_if_no_other_asks_or_if_it_is_open() {
    let mut stage = with(vec![asking(1), task(2, "works", 10)]);
    stage.keys("o");
    stage.board(vec![TaskView { questions: vec![], ..asking(1) }]);
    assert_eq!(chosen(&stage), Some(asking(1).id));
    let mut stage = with(vec![asking(1), asking(2)]);
    stage.key(KeyCode::Enter).keys("o");
    stage.board(vec![TaskView { questions: vec![], ..asking(2) }]);
    assert_eq!(chosen(&stage), Some(asking(2).id));
}

#[test]
fn v4_a_task_that_others_answered_stays_chosen() {
    let mut stage = with(vec![asking(1), asking(2)]);
    stage.board(vec![TaskView { questions: vec![], ..asking(2) }]);
    assert_eq!(chosen(&stage), Some(asking(2).id));
}

#[test]
fn v4_the_marker_comes_back_when_nothing_is_looked_for_any_more() {
    for typed in ["/nobody has this", "/axum"] {
        let mut stage = Stage::new();
        stage.keys("jjj");
        let before = chosen(&stage);
        stage.keys(typed);
        assert_ne!(chosen(&stage), before);
        stage.key(KeyCode::Esc);
        assert_eq!(chosen(&stage), before, "{typed}");
    }
}

#[test]
fn v4_what_was_found_and_opened_stays_chosen() {
    let mut stage = Stage::new();
    stage.keys("jjj/axum").key(KeyCode::Enter);
    let found = chosen(&stage);
    stage.key(KeyCode::Esc);
    assert_eq!(chosen(&stage), found);
}

#[test]
fn v4_a_sentence_at_the_bottom_does_not_cover_the_marker() {
    for columns in [60, 80, 124] {
        let mut stage = with((1..=30).map(|n| task(n, &format!("Task {n}"), MINUTE)).collect());
        stage.screen(columns, 20);
        stage.key(KeyCode::End).key(KeyCode::Up);
        stage.screen(columns, 20);
        let said = "Allowed once: ".to_owned() + &"cargo test --test login ".repeat(12);
        stage.hear(News::Done(Ok(said)));
        let screen = stage.screen(columns, 20);
        let lines = screen.lines().filter(|line| line.starts_with('▌')).count();
        assert_eq!(lines, 2, "{screen}");
    }
}

#[test]
fn v4_the_list_stays_where_it_was_while_a_task_is_open() {
    let mut stage = with((1..=30).map(|n| task(n, &format!("Task {n}"), MINUTE)).collect());
    stage.screen(80, 24);
    stage.keys(&"j".repeat(9));
    let before = stage.screen(80, 24);
    stage.key(KeyCode::Enter);
    stage.screen(80, 24);
    stage.key(KeyCode::Esc);
    assert_eq!(before, stage.screen(80, 24));
}

/// The card of a question comes and goes above the text.
#[test]
fn v4_the_text_stays_where_it_was_when_a_question_comes_or_goes() {
    let mut stage = with(tasks());
    let many = (0..80).map(|n| entry(&format!("m{n}"), EntryKind::Text, &format!("line {n}.")));
    stage.hear(News::Said(asks().id, Box::new(said(&asks(), many.collect()))));
    stage.screen(124, 38);
    stage.key(KeyCode::Enter).key(KeyCode::PageUp);
    let row = |screen: &str| screen.lines().position(|line| line.ends_with("line 60."));
    let before = stage.screen(124, 38);
    assert!(row(&before).is_some(), "{before}");
    stage.board(vec![TaskView { questions: vec![], ..asks() }]);
    let between = stage.screen(124, 38);
    assert_eq!(row(&before), row(&between), "{between}");
    stage.board(vec![asks()]);
    let after = stage.screen(124, 38);
    assert_eq!(row(&before), row(&after), "{after}");
}
