//! How helpers look on a terminal, and how it all ends.

use anstream::adapter::strip_str;
use legwork_protocol::api::Ask;
use serde_json::{Value, json};

use super::*;

fn specs(count: usize) -> Vec<LaunchSpec> {
    let spec = |number| LaunchSpec { description: format!("Task {number}"), ask: Ask::Clear };
    (0..count).map(spec).collect()
}

fn task(number: u64, change: Value) -> TaskView {
    let mut view = json!({
        "id": TaskId::from_number(number), "status": "running", "stage": "working",
        "description": format!("Task {number}"), "agent": "rehearsal", "parent": "term_1",
        "session": "acp_1", "place": "p", "host": "h", "resumes": 0, "created": 1, "started": 1,
        "ended": null, "elapsed_ms": 12_000, "tool_calls": 1, "last_tools": ["read"],
        "quiet_ms": 3_000, "tokens": null, "cost_micros": null, "waiting": [], "questions": [],
        "notice_pending": false,
    });
    for (name, value) in change.as_object().unwrap() {
        view[name] = value.clone();
    }
    serde_json::from_value(view).unwrap()
}

fn lines(helpers: &Helpers, now: Instant, columns: usize, rows: usize) -> Vec<String> {
    let lines = helpers.lines('*', now, (columns, rows), |_| false);
    lines.iter().map(|line| strip_str(line).to_string()).collect()
}

#[test]
fn each_helper_has_a_line_until_it_is_over() {
    let now = Instant::now();
    let mut helpers = Helpers::new(&specs(3), now);
    helpers.launched(0, Ok(task(0, json!({}))));
    helpers.launched(2, Err(Refusal::NotASession));
    helpers.seen(task(0, json!({})), now);
    let expected = ["*    12s  Task 0  read, 3s ago  bg_00000000", "*     0s  Task 1  starting"];
    assert_eq!(lines(&helpers, now, 79, 20), expected);
    assert!(!helpers.is_over());

    helpers.launched(1, Ok(task(1, json!({}))));
    helpers.ended(ResultView {
        task: task(0, json!({ "status": "completed" })),
        offset: 0,
        text: None,
        next: None,
    });
    assert_eq!(helpers.at_work(), [TaskId::from_number(1)]);
    helpers.gone(TaskId::from_number(1), Refusal::NotFound("x".to_owned()));
    assert!(helpers.is_over() && lines(&helpers, now, 79, 20).is_empty());
}

#[test]
fn how_to_answer_a_question_is_seen_on_a_narrow_terminal() {
    let now = Instant::now();
    let mut helpers = Helpers::new(&specs(1), now);
    helpers.launched(0, Ok(task(7, json!({}))));
    let asked = json!([{
        "id": "per_1", "kind": "permission", "subject": "run `rm -rf target`\nnow",
        "options": [], "since": 1,
    }]);
    let asking = task(7, json!({ "questions": asked, "waiting": [] }));
    assert_eq!(helpers.seen(asking.clone(), now).len(), 1);
    assert_eq!(helpers.seen(asking, now).len(), 0, "it is news once");
    let line = &lines(&helpers, now, 79, 20)[0];
    assert!(line.contains("→ legwork answer bg_00000007"), "{line}");
    let here = &helpers.lines('*', now, (79, 20), |_| true)[0];
    assert!(here.contains("asks you") && !here.contains("legwork answer"), "{here}");
}

#[test]
fn lines_fit_whatever_the_size_of_the_terminal() {
    let now = Instant::now();
    let mut helpers = Helpers::new(&specs(30), now);
    for number in 0..30 {
        let long = "日本 long ".repeat(40);
        let retry = json!({ "for": "provider", "attempt": 1, "in_ms": 1, "why": long });
        helpers.launched(number, Ok(task(number as u64, json!({ "waiting": [retry] }))));
    }
    for columns in [19, 20, 40, 79, 200] {
        for rows in [3, 10, 29, 30, 50] {
            let lines = lines(&helpers, now, columns, rows);
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
    let exit = |ends: &[&str]| {
        let mut helpers = Helpers::new(&specs(ends.len()), Instant::now());
        for (number, end) in ends.iter().enumerate() {
            if *end == "refused" {
                helpers.launched(number, Err(Refusal::NotASession));
                continue;
            }
            let task = task(number as u64, json!({ "status": end }));
            helpers.launched(number, Ok(task.clone()));
            helpers.ended(ResultView { task, offset: 0, text: None, next: None });
        }
        helpers.exit()
    };
    assert_eq!(exit(&["completed", "completed"]), Exit::Done);
    assert_eq!(exit(&["completed", "cancelled"]), Exit::TaskCancelled);
    assert_eq!(exit(&["error", "cancelled"]), Exit::TaskError);
    assert_eq!(exit(&["error", "refused"]), Exit::Refused);
}

#[test]
fn headlines_say_how_it_ended_on_one_line() {
    let said = |change| headline(&task(0, change));
    assert_eq!(said(json!({ "status": "completed" })), "✓ Task 0 (12s, bg_00000000)");
    assert_eq!(said(json!({ "status": "cancelled" })), "✗ Task 0 (12s, cancelled, bg_00000000)");
    let broken = json!({ "status": "error", "description": "a\nb\u{1b}[2J" });
    assert_eq!(said(broken), "✗ a b [2J (12s, bg_00000000)");
}
