//! What has happened, in a person's words: the difference between how a task was and how it is.

use std::collections::BTreeMap;

use legwork_protocol::api::board::BoardPage;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionView, TaskView, Waiting};
use legwork_protocol::{TaskId, Time};
use legwork_views::model::{Item, State, ask};

use crate::screen::{BOLD, DIM, paint};
use crate::views::figures;
use crate::words::{clock, duration};

/// Longer than any line that is written about a task.
const LINE_MAX_CHARS: usize = 1_000;

/// Tells of each task what is new since it was told of last.
#[derive(Debug, Default)]
pub struct Changes(BTreeMap<TaskId, Item>);

impl Changes {
    /// How things are when it begins, of which nothing is told.
    pub fn begin(first: &BoardPage) -> Self {
        Self(first.tasks.iter().map(|task| (task.id, Item::from(task.clone()))).collect())
    }

    /// What a page tells, a line each.
    pub fn lines(&mut self, page: &BoardPage) -> Vec<String> {
        let mut lines = Vec::new();
        for task in &page.tasks {
            let item = Item::from(task.clone());
            let before = self.0.insert(task.id, item.clone());
            let happened = happened(before.as_ref(), &item);
            lines.extend(happened.iter().map(|words| line(page.now, &item, words)));
        }
        for id in &page.gone {
            lines.extend(self.0.remove(id).map(|item| line(page.now, &item, "cleared")));
        }
        if page.whole {
            // What is not on it is old or gone, and of no interest.
            self.0.retain(|id, _| page.tasks.iter().any(|task| task.id == *id));
        }
        lines
    }
}

/// What it waits for while it works. How many are before it changes with every other task.
fn waits(item: &Item) -> Option<&str> {
    let mut waiting = item.task.waiting.iter();
    let waits = waiting.any(|waiting| !matches!(waiting, Waiting::Slot { .. }));
    (waits && item.row.state == State::Working).then_some(&item.row.line)
}

fn line(at: Time, item: &Item, words: &str) -> String {
    let words = plain(words, LINE_MAX_CHARS);
    let name = paint(BOLD, plain(&item.task.description, LINE_MAX_CHARS));
    let (time, id) = (paint(DIM, clock(at)), paint(DIM, item.task.id));
    format!("{time}  {} {name}: {words}  {id}", item.row.state.sign())
}

/// In words, in the order in which it must have happened.
fn happened(before: Option<&Item>, item: &Item) -> Vec<String> {
    let (task, mut words) = (&item.task, Vec::new());
    let is_new_run = before.is_some_and(|before| before.task.resumes != task.resumes);
    if before.is_none() {
        words.push(format!("launched for {} in {}", task.agent, item.row.project));
    } else if is_new_run {
        words.push(format!("has more to do, run {}", task.resumes));
    }
    let was = before.filter(|_| !is_new_run);
    for question in &task.questions {
        let is_it = |known: &QuestionView| known.id == question.id;
        if !was.is_some_and(|was| was.task.questions.iter().any(is_it)) {
            words.push(ask::in_short(question));
        }
    }
    let was_state = was.map(|was| was.row.state);
    if was_state != Some(item.row.state) {
        match item.row.state {
            State::Asks => {}
            State::Working if was_state == Some(State::Asks) => words.push("goes on".to_owned()),
            State::Working if was_state == Some(State::Queued) => words.push("begins".to_owned()),
            State::Working => {}
            State::Queued => words.push(State::Queued.word().to_owned()),
            over => words.push(ended(task, over)),
        }
    }
    let news = waits(item).filter(|waits| was.and_then(self::waits) != Some(*waits));
    words.extend(news.map(str::to_owned));
    words
}

fn ended(task: &TaskView, state: State) -> String {
    let word = state.word();
    let took = duration(task.elapsed_ms);
    if state == State::Completed {
        return format!("{word} after {took}, {}", figures(task));
    }
    let reason = task.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{word} after {took}{reason}")
}
