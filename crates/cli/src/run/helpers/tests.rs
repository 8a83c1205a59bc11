//! How helpers look on a terminal, and how it all ends.

use anstream::adapter::strip_str;
use legwork_protocol::api::Ask;
use legwork_protocol::view::Waiting;
use legwork_views::model::example;
use unicode_width::UnicodeWidthStr;

use super::*;

const NOW: Time = Time(13_000);

fn specs(count: usize) -> Vec<LaunchSpec> {
    let spec = |number| LaunchSpec { description: format!("Task {number}"), ask: Ask::Clear };
    (0..count).map(spec).collect()
}

/// At work for twelve seconds.
fn task(number: u64) -> TaskView {
    let description = format!("Task {number}");
    TaskView { description, elapsed_ms: 12_000, ..example::task(number) }
}

fn ended(number: u64, status: Status) -> ResultView {
    let task = TaskView { status, ..task(number) };
    ResultView { task, offset: 0, text: None, next: None }
}

fn lines(helpers: &Helpers, columns: usize, rows: usize) -> Vec<String> {
    let lines = helpers.lines('*', NOW, (columns, rows), |_| false);
    lines.iter().map(|line| strip_str(line).to_string()).collect()
}

#[test]
fn each_helper_has_a_line_until_it_is_over() {
    let mut helpers = Helpers::new(&specs(3), NOW);
    helpers.launched(0, Ok(task(0)));
    helpers.launched(2, Err(Refusal::NotASession));
    let expected = ["*    12s  Task 0  read      bg_00000000", "*     0s  Task 1  starting  "];
    assert_eq!(lines(&helpers, 79, 20), expected);
    assert_eq!(lines(&helpers, 60, 20)[0], "*    12s  Task 0  read");
    assert!(!helpers.is_over());

    helpers.launched(1, Ok(task(1)));
    helpers.ended(ended(0, Status::Completed));
    assert_eq!(helpers.at_work(), [TaskId::from_number(1)]);
    helpers.gone(TaskId::from_number(1), Refusal::NotFound("x".to_owned()));
    assert!(helpers.is_over() && lines(&helpers, 79, 20).is_empty());
}

#[test]
fn how_to_answer_a_question_is_seen_on_a_narrow_terminal() {
    let mut helpers = Helpers::new(&specs(1), NOW);
    helpers.launched(0, Ok(task(7)));
    let questions = vec![example::permission("run `rm -rf target`\nnow")];
    let asking = Item::from(TaskView { questions, ..task(7) });
    assert_eq!(helpers.seen(&asking).len(), 1);
    assert_eq!(helpers.seen(&asking).len(), 0, "it is news once");
    let line = &lines(&helpers, 79, 20)[0];
    assert!(line.contains("→ legwork answer bg_00000007"), "{line}");
    let here = &helpers.lines('*', NOW, (79, 20), |_| true)[0];
    assert!(here.contains("asks you") && !here.contains("legwork answer"), "{here}");
}

#[test]
fn lines_fit_whatever_the_size_of_the_terminal() {
    let mut helpers = Helpers::new(&specs(30), NOW);
    for number in 0..30 {
        let why = "日本 long ".repeat(40);
        let waiting = vec![Waiting::Provider { attempt: 1, in_ms: 1, why }];
        helpers.launched(number, Ok(TaskView { waiting, ..task(number as u64) }));
    }
    for columns in [19, 20, 40, 79, 200] {
        for rows in [3, 10, 29, 30, 50] {
            let lines = lines(&helpers, columns, rows);
            assert!(lines.len() <= rows, "{columns} {rows}");
            let is_wide = lines.iter().find(|line| line.width() > columns);
            assert_eq!(is_wide, None, "{columns}");
            let rest = 30 - (rows - 1).min(30);
            let is_cut = lines.last().unwrap().contains(&format!("and {rest} more"));
            assert_eq!(is_cut, rows < 30 && columns > 15, "{lines:?}");
        }
    }
}

#[test]
fn the_exit_is_the_worst_of_all() {
    let exit = |ends: &[Option<Status>]| {
        let mut helpers = Helpers::new(&specs(ends.len()), NOW);
        for (number, end) in ends.iter().enumerate() {
            let Some(status) = end else {
                helpers.launched(number, Err(Refusal::NotASession));
                continue;
            };
            helpers.launched(number, Ok(task(number as u64)));
            helpers.ended(ended(number as u64, *status));
        }
        helpers.exit()
    };
    use Status::{Cancelled, Completed, Error};
    assert_eq!(exit(&[Some(Completed), Some(Completed)]), Exit::Done);
    assert_eq!(exit(&[Some(Completed), Some(Cancelled)]), Exit::TaskCancelled);
    assert_eq!(exit(&[Some(Error), Some(Cancelled)]), Exit::TaskError);
    assert_eq!(exit(&[Some(Error), None]), Exit::Refused);
}

#[test]
fn headlines_say_how_it_ended_on_one_line() {
    let said = |status| headline(&ended(0, status).task);
    assert_eq!(said(Status::Completed), "✓ Task 0 (12s, bg_00000000)");
    assert_eq!(said(Status::Cancelled), "✗ Task 0 (12s, cancelled, bg_00000000)");
    let broken =
        TaskView { description: "a\nb\u{1b}[2J".to_owned(), ..ended(0, Status::Error).task };
    assert_eq!(headline(&broken), "✗ a b [2J (12s, bg_00000000)");
}
