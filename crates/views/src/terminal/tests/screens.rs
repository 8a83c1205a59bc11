//! What every important state looks like, at three sizes.

use legwork_protocol::Status;
use legwork_protocol::view::{ResultView, TaskView};
use ratatui::crossterm::event::KeyCode;

use super::stage::{Stage, asks, finished, log, page, question, tasks};
use crate::terminal::model::News;

const WIDE: (u16, u16) = (124, 38);
const NARROW: (u16, u16) = (80, 24);
const SMALL: (u16, u16) = (60, 20);

macro_rules! seen {
    ($stage:expr, $size:expr) => {
        insta::assert_snapshot!($stage.screen($size.0, $size.1))
    };
}

#[test]
fn v4_a_wide_screen_has_the_list_and_the_task() {
    seen!(Stage::new(), WIDE);
}

/// The narrowest with two halves.
#[test]
fn v4_no_tab_and_no_title_is_cut_where_the_halves_are_narrowest() {
    let mut stage = Stage::new();
    let screen = stage.screen(100, 30);
    for whole in ["1 Conversation", "2 Result", "3 Why is it not done?", "last 30 min"] {
        assert!(screen.contains(whole), "{whole}\n{screen}");
    }
    let screen = stage.key(KeyCode::Enter).screen(40, 24);
    for whole in ["1 Conversation", "2 Result", "3 Why?"] {
        assert!(screen.contains(whole), "{whole}\n{screen}");
    }
}

/// The bar has a name above it, in its column.
#[test]
fn v4_the_bar_in_a_row_says_what_time_it_shows() {
    let mut stage = Stage::new();
    let screen = stage.screen(124, 38);
    let column = |has: &str| {
        let line = screen.lines().find(|line| line.contains(has)).unwrap();
        line[..line.find(has).unwrap()].chars().count()
    };
    let first = |row: &str| {
        let line = screen.lines().find(|line| line.contains(row)).unwrap();
        line.chars().position(|c| c == '·').unwrap()
    };
    assert_eq!(column("last 30 min"), first("Benchmark"), "{screen}");
    assert_eq!(column("last 30 min"), first("may it leave"), "{screen}");
    let screen = stage.keys("-").screen(124, 38);
    assert!(screen.contains("last 2 h"), "{screen}");
}

/// Each of two programs has its slots: no sum of what is at work stands against those of one.
#[test]
fn v4_two_figures_on_the_screen_do_not_disagree() {
    let screen = Stage::new().screen(124, 38);
    assert!(!screen.contains("5 of 16"), "{screen}");
    assert!(screen.contains("● 3 working") && screen.contains("? 2 ask you"), "{screen}");
    assert!(screen.contains("Queued, 16 slots on each host"), "{screen}");
}

#[test]
fn v4_tasks_are_grouped_by_project_or_agent() {
    let mut stage = Stage::new();
    let done = finished(1, "Summarise the open issues about streaming", Status::Completed, 60_000);
    let elsewhere =
        TaskView { directory: "/nowhere/kestrel".to_owned(), agent: "explore".to_owned(), ..done };
    stage.board(vec![elsewhere]);
    let titles = |stage: &mut Stage| -> Vec<String> {
        let screen = stage.screen(80, 40);
        let is_title = |line: &&str| !line.starts_with("  ") && line.contains(", ");
        let titles = screen.lines().skip(2).filter(is_title);
        titles.filter_map(|line| line.split("  ").next()).map(str::to_owned).collect()
    };
    stage.keys("b");
    assert_eq!(titles(&mut stage), [" shopfront, 8, asks you 2", " kestrel, 1"]);
    assert!(stage.screen(80, 40).contains("Grouped by project."));
    stage.keys("b");
    assert_eq!(titles(&mut stage), [" general, 8, asks you 2", " explore, 1"]);
    stage.keys("b");
    assert!(stage.screen(80, 40).contains(" Asks you"));
}

#[test]
fn v4_what_failed_shows_the_key_that_tries_it_again() {
    let mut stage = Stage::empty();
    let failed = finished(1, "Benchmark the tokenizer", Status::Error, 60_000);
    let done = finished(2, "Summarise the open issues", Status::Completed, 90_000);
    stage.hear(News::Board(Box::new(page(true, vec![failed, done]))));
    assert!(!stage.screen(80, 24).contains("R retry"));
    let screen = stage.keys("j").screen(80, 24);
    assert!(screen.contains("R retry  c go on"), "{screen}");
}

#[test]
fn v4_what_is_over_says_when_it_ended() {
    let mut stage = Stage::empty();
    let done = finished(1, "Summarise the open issues", Status::Completed, 60_000);
    stage.hear(News::Board(Box::new(page(true, vec![done]))));
    let screen = stage.screen(124, 38);
    let row = screen.lines().find(|line| line.contains("✓ Summarise")).unwrap();
    assert!(row.contains(" 14:06  ·"), "{screen}");
    assert!(screen.contains("ended 14:06:23"), "{screen}");
}

#[test]
fn v4_a_narrow_screen_has_the_list() {
    seen!(Stage::new(), NARROW);
}

#[test]
fn v4_a_narrow_screen_has_the_task_after_enter() {
    seen!(Stage::new().key(KeyCode::Enter), NARROW);
}

#[test]
fn v4_sixty_columns_are_enough_for_the_list() {
    seen!(Stage::new(), SMALL);
}

#[test]
fn v4_sixty_columns_are_enough_for_the_task() {
    seen!(Stage::new().key(KeyCode::Enter), SMALL);
}

#[test]
fn v4_why_it_is_not_done_is_a_sentence_and_the_decisions() {
    let mut stage = Stage::new();
    stage.keys("3");
    stage.hear(News::Log(asks().id, Ok(log(&asks()))));
    seen!(stage, WIDE);
}

#[test]
fn v4_a_result_is_markdown_as_lines() {
    let mut stage = Stage::empty();
    let done = finished(1, "Summarise the open issues", Status::Completed, 60_000);
    stage.hear(News::Board(Box::new(page(true, vec![done.clone()]))));
    stage.keys("2");
    let text = "# Findings\n\nThere are **two** kinds:\n\n1. those that stream\n2. those that do \
        not\n\n| kind | many |\n|---|---|\n| first | 12 |\n\n```\ncargo test\n```\n";
    let result = ResultView { task: done.clone(), offset: 0, text: Some(text.into()), next: None };
    stage.hear(News::Result(done.id, Box::new(Ok(result))));
    seen!(stage, NARROW);
}

#[test]
fn v4_a_question_has_its_options() {
    let mut stage = Stage::empty();
    let mut task = asks();
    task.questions = vec![question()];
    stage.hear(News::Board(Box::new(page(true, vec![task]))));
    seen!(stage.key(KeyCode::Enter), NARROW);
}

#[test]
fn v4_always_asks_and_shows_what_it_would_allow() {
    // So high that the frame cuts no time of day, which is another one in other time zones.
    seen!(Stage::new().keys("w"), (124, 30));
}

#[test]
fn v4_clearing_asks_and_names_the_number() {
    seen!(Stage::new().keys("C"), NARROW);
}

#[test]
fn v4_all_keys_are_shown() {
    seen!(Stage::new().keys("?"), NARROW);
}

#[test]
fn v4_the_timeline_has_the_whole_width() {
    seen!(Stage::new().keys("g"), WIDE);
}

#[test]
fn v4_finding_filters_while_one_types() {
    seen!(Stage::new().keys("/read"), NARROW);
}

#[test]
fn v4_a_found_filter_says_so() {
    seen!(Stage::new().keys("/the").key(KeyCode::Enter), SMALL);
}

#[test]
fn v4_going_on_is_typed_on_one_line() {
    let mut stage = Stage::new();
    stage.key(KeyCode::End);
    seen!(stage.keys("cnow fix what you found"), NARROW);
}

#[test]
fn v4_with_no_tasks_it_says_what_to_do() {
    let mut stage = Stage::empty();
    let mut empty = page(true, vec![]);
    empty.counts = Default::default();
    stage.hear(News::Board(Box::new(empty)));
    seen!(stage, NARROW);
}

#[test]
fn v8_before_the_first_page_it_says_that_it_connects() {
    seen!(Stage::empty(), SMALL);
}

#[test]
fn v8_a_daemon_that_is_away_leaves_what_was_there_with_its_time() {
    let mut stage = Stage::new();
    stage.hear(News::Away("The link to the legwork daemon broke.".to_owned()));
    seen!(stage, NARROW);
}

#[test]
fn v8_an_old_daemon_is_said_to_be_one_and_what_to_do() {
    let mut stage = Stage::empty();
    let why = "The daemon is of an older legwork and does not know this view. `legwork daemon \
        stop` ends it; tasks are kept.";
    stage.hear(News::Away(why.to_owned()));
    seen!(stage, SMALL);
}

#[test]
fn v4_records_that_cannot_be_saved_are_said() {
    let mut stage = Stage::empty();
    let mut sick = page(true, tasks());
    sick.healthy = false;
    stage.hear(News::Board(Box::new(sick)));
    seen!(stage, SMALL);
}
