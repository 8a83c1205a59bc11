//! What has happened, in a person's words: the difference between how a task was and how it is.

use std::collections::BTreeMap;

use legwork_protocol::api::board::BoardPage;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{TaskView, Waiting};
use legwork_protocol::{QuestionId, TaskId, Time};
use legwork_views::model::{Item, State, ask};

use crate::screen::{BOLD, DIM, paint};
use crate::views::figures;
use crate::words::{clock, duration};

/// Longer than any line that is written about a task.
const LINE_MAX_CHARS: usize = 1_000;

/// What was told of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    description: String,
    state: State,
    resumes: u32,
    questions: Vec<QuestionId>,
    waits: Option<String>,
}

/// Tells of each task what is new.
#[derive(Debug, Default)]
pub struct Changes(BTreeMap<TaskId, Known>);

impl Changes {
    /// How things are when it begins, of which nothing is told.
    pub fn begin(first: &BoardPage) -> Self {
        let known = first.tasks.iter().map(|task| (task.id, known(&item(task))));
        Self(known.collect())
    }

    /// What a page tells, a line each.
    pub fn lines(&mut self, page: &BoardPage) -> Vec<String> {
        let mut lines = Vec::new();
        for task in &page.tasks {
            let item = item(task);
            let now = known(&item);
            let before = self.0.insert(task.id, now.clone());
            for words in happened(before.as_ref(), &now, &item) {
                lines.push(line(page.now, &now, task.id, &words));
            }
        }
        for id in &page.gone {
            if let Some(known) = self.0.remove(id) {
                lines.push(line(page.now, &known, *id, "cleared"));
            }
        }
        if page.whole {
            // What is not on it is old or gone, and of no interest.
            self.0.retain(|id, _| page.tasks.iter().any(|task| task.id == *id));
        }
        lines
    }
}

fn item(task: &TaskView) -> Item {
    Item::from(task.clone())
}

fn known(item: &Item) -> Known {
    let task = &item.task;
    // How many are before it changes with every other task.
    let waits = task.waiting.iter().any(|waiting| !matches!(waiting, Waiting::Slot { .. }));
    Known {
        description: task.description.clone(),
        state: item.row.state,
        resumes: task.resumes,
        questions: task.questions.iter().map(|question| question.id.clone()).collect(),
        waits: (waits && item.row.state == State::Working).then(|| item.row.line.clone()),
    }
}

fn line(at: Time, known: &Known, id: TaskId, words: &str) -> String {
    let words = plain(words, LINE_MAX_CHARS);
    let (time, name) =
        (paint(DIM, clock(at)), paint(BOLD, plain(&known.description, LINE_MAX_CHARS)));
    format!("{time}  {} {name}: {words}  {}", known.state.sign(), paint(DIM, id))
}

/// In words, in the order in which it must have happened.
fn happened(before: Option<&Known>, now: &Known, item: &Item) -> Vec<String> {
    let (task, mut words) = (&item.task, Vec::new());
    let is_new_run = before.is_some_and(|before| before.resumes != now.resumes);
    if before.is_none() {
        words.push(format!("launched for {} in {}", task.agent, item.row.project));
    } else if is_new_run {
        words.push(format!("has more to do, run {}", now.resumes + 1));
    }
    let was = before.filter(|_| !is_new_run);
    for question in &task.questions {
        if was.is_none_or(|was| !was.questions.contains(&question.id)) {
            words.push(ask::in_short(question));
        }
    }
    let was_state = was.map(|was| was.state);
    if was_state != Some(now.state) {
        match now.state {
            State::Asks => {}
            State::Working if was_state == Some(State::Asks) => words.push("goes on".to_owned()),
            State::Working if was_state == Some(State::Queued) => words.push("begins".to_owned()),
            State::Working => {}
            State::Queued => words.push(State::Queued.word().to_owned()),
            over => words.push(ended(task, over)),
        }
    }
    match (&now.waits, was.and_then(|was| was.waits.as_ref())) {
        (Some(waits), earlier) if earlier != Some(waits) => words.push(waits.clone()),
        _ => {}
    }
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
