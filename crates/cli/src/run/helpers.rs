//! The helpers of one `legwork run`: how far each is, how that looks on a terminal, and how it all
//! ended.

use std::time::Duration;

use legwork_protocol::api::Refusal;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionView, ResultView, TaskView};
use legwork_protocol::{Status, TaskId, Time};
use legwork_views::model::Item;
use serde::Serialize;

use super::launch::{LaunchSpec, Launched};
use crate::exit::Exit;
use crate::progress::elapsed;
use crate::screen::{DIM, LIVE, paint};
use crate::sentences;
use crate::table::{Cell, fit, table_within};
use crate::views::activity_style;

/// No line of a terminal is longer.
const LINE_MAX_CHARS: usize = 500;
/// The columns that are cut on a narrow screen, each down to a width: the description, then what is
/// done, so that the command that answers is whole for as long as possible.
const YIELDING: [(usize, usize); 4] = [(2, 20), (3, 29), (2, 8), (3, 8)];

/// How many columns of the table a screen has room for.
fn columns_shown(columns: usize) -> usize {
    match columns {
        0..32 => 2,
        32..72 => 4,
        _ => 5,
    }
}

/// The helpers, in the order of their prompts.
#[derive(Debug, Default)]
pub struct Helpers {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    description: String,
    since: Time,
    state: State,
}

#[derive(Debug)]
enum State {
    Launching,
    Refused(Refusal),
    AtWork(Box<Item>),
    Ended(ResultView),
    Gone(TaskView, Refusal),
}

#[derive(Debug, Serialize)]
pub struct RunReport<'a> {
    task: Option<&'a TaskView>,
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a Refusal>,
}

impl Helpers {
    pub fn new(specs: &[LaunchSpec], now: Time) -> Self {
        let member = |spec: &LaunchSpec| Member {
            description: spec.description.clone(),
            since: now,
            state: State::Launching,
        };
        Self { members: specs.iter().map(member).collect() }
    }

    /// Whether a reader must be told which result is whose.
    pub fn is_several(&self) -> bool {
        self.members.len() > 1
    }

    pub fn description(&self, number: usize) -> &str {
        &self.members[number].description
    }

    pub fn launched(&mut self, number: usize, launched: Launched) {
        let member = &mut self.members[number];
        member.state = match launched {
            Ok(task) => State::AtWork(Box::new(Item::from(task))),
            Err(why) => State::Refused(why),
        };
    }

    /// A helper is still at work. Gives back the questions that it did not have before.
    pub fn seen(&mut self, item: &Item) -> Vec<QuestionView> {
        let Some(member) = self.member(item.task.id) else { return Vec::new() };
        let State::AtWork(before) = &mut member.state else { return Vec::new() };
        let is_new = |question: &&QuestionView| !before.task.questions.contains(question);
        let news = item.task.questions.iter().filter(is_new).cloned().collect();
        **before = item.clone();
        news
    }

    pub fn ended(&mut self, result: ResultView) {
        if let Some(member) = self.member(result.task.id) {
            member.state = State::Ended(result);
        }
    }

    /// A task was forgotten under way.
    pub fn gone(&mut self, id: TaskId, why: Refusal) {
        if let Some(member) = self.member(id)
            && let State::AtWork(item) = &member.state
        {
            member.state = State::Gone(item.task.clone(), why);
        }
    }

    fn member(&mut self, id: TaskId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.task().is_some_and(|task| task.id == id))
    }

    pub fn at_work(&self) -> Vec<TaskId> {
        let at_work = |member: &Member| match &member.state {
            State::AtWork(item) => Some(item.task.id),
            _ => None,
        };
        self.members.iter().filter_map(at_work).collect()
    }

    pub fn launching(&self) -> usize {
        self.members.iter().filter(|member| matches!(member.state, State::Launching)).count()
    }

    pub fn is_over(&self) -> bool {
        self.launching() == 0 && self.at_work().is_empty()
    }

    /// How it ended: one that came to nothing counts more than how the others ended.
    pub fn exit(&self) -> Exit {
        let is_nothing = |state: &State| matches!(state, State::Refused(_) | State::Gone(..));
        if self.members.iter().any(|member| is_nothing(&member.state)) {
            return Exit::Refused;
        }
        Exit::of_tasks(self.members.iter().filter_map(Member::task))
    }

    pub fn reports(&self) -> Vec<RunReport<'_>> {
        self.members.iter().map(Member::report).collect()
    }

    /// A line for each that is not over, within the terminal. `is_here` knows of each that asks
    /// something whether that is asked here.
    pub fn lines(
        &self,
        turn: char,
        now: Time,
        (columns, rows): (usize, usize),
        is_here: impl Fn(TaskId) -> bool,
    ) -> Vec<String> {
        let open: Vec<&Member> = self.members.iter().filter(|member| member.is_open()).collect();
        let shown = if open.len() > rows { rows.saturating_sub(1) } else { open.len() };
        let mut cells: Vec<Vec<Cell>> =
            open.iter().take(shown).map(|member| member.cells(turn, now, &is_here)).collect();
        cells.iter_mut().for_each(|row| row.truncate(columns_shown(columns)));
        let mut lines = table_within(&cells, Some(columns), &YIELDING);
        if shown < open.len() {
            let more = format!("  … and {} more", open.len() - shown);
            lines.push(paint(DIM, fit(&more, columns)));
        }
        lines
    }
}

impl Member {
    fn task(&self) -> Option<&TaskView> {
        match &self.state {
            State::Launching | State::Refused(_) => None,
            State::AtWork(item) => Some(&item.task),
            State::Gone(task, _) => Some(task),
            State::Ended(result) => Some(&result.task),
        }
    }

    fn report(&self) -> RunReport<'_> {
        let (text, refusal) = match &self.state {
            State::Ended(result) => (result.text.as_deref(), None),
            State::Refused(why) | State::Gone(_, why) => (None, Some(why)),
            State::Launching | State::AtWork(_) => (None, None),
        };
        RunReport { task: self.task(), text, refused: refusal.map(sentences::refusal), refusal }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Launching | State::AtWork(_))
    }

    fn cells(&self, turn: char, now: Time, is_here: impl Fn(TaskId) -> bool) -> Vec<Cell> {
        let task = self.task();
        let doing = match &self.state {
            State::AtWork(item) => doing(item, is_here(item.task.id)),
            _ => "starting".to_owned(),
        };
        let since = task.map_or(self.since, |task| task.started);
        let time = elapsed(Duration::from_millis(now.since(since)));
        vec![
            Cell::new(turn.to_string()).styled(LIVE),
            Cell::new(format!("{time:>5}")),
            Cell::new(&self.description),
            Cell::new(doing).styled(task.map_or(DIM, activity_style)),
            Cell::new(task.map(|task| task.id.to_string()).unwrap_or_default()).styled(DIM),
        ]
    }
}

/// What a helper does; if it asks a person something that is not asked here, how to answer.
fn doing(item: &Item, is_here: bool) -> String {
    match item.task.questions.first() {
        Some(_) if is_here => item.row.state.word().to_owned(),
        Some(_) => format!("→ legwork answer {}", item.task.id),
        None => item.row.line.clone(),
    }
}

/// How a run ended, on one line.
pub fn headline(task: &TaskView) -> String {
    let mark = match task.status {
        Status::Completed => "✓",
        Status::Error | Status::Cancelled => "✗",
        Status::Running | Status::Resumed => "·",
    };
    let time = crate::words::duration(task.elapsed_ms);
    let cancelled = if task.status == Status::Cancelled { ", cancelled" } else { "" };
    let what = plain(&task.description, LINE_MAX_CHARS);
    format!("{mark} {what} ({time}{cancelled}, {})", task.id)
}

#[cfg(test)]
mod tests;
