//! The helpers of one `legwork run`: how far each is, how that looks on a terminal, and how it all
//! ended.

use std::time::{Duration, Instant};

use legwork_protocol::api::Refusal;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionView, ResultView, TaskView};
use legwork_protocol::{Status, TaskId};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::launch::{LaunchSpec, Launched};
use crate::exit::Exit;
use crate::progress::elapsed;
use crate::screen::{DIM, LIVE, paint};
use crate::sentences;
use crate::table::fit;
use crate::views::{activity, activity_style};

/// No line of a terminal is longer.
const LINE_MAX_CHARS: usize = 500;
/// With less room nothing is said beside the time.
const LEAST_WIDTH: usize = 10;
/// With less room the words need it more than the id does.
const ROOM_FOR_ID: usize = 60;

/// The helpers, in the order of their prompts.
#[derive(Debug)]
pub struct Helpers {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    description: String,
    since: Instant,
    state: State,
}

#[derive(Debug)]
enum State {
    Launching,
    Refused(Refusal),
    AtWork(TaskView),
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
    pub fn new(specs: &[LaunchSpec], now: Instant) -> Self {
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
            Ok(task) => State::AtWork(task),
            Err(why) => State::Refused(why),
        };
    }

    /// A helper is still at work. Gives back the questions that it did not have before.
    pub fn seen(&mut self, task: TaskView, now: Instant) -> Vec<QuestionView> {
        let Some(member) = self.member(task.id) else { return Vec::new() };
        let State::AtWork(before) = &member.state else { return Vec::new() };
        let is_new = |question: &&QuestionView| !before.questions.contains(question);
        let news = task.questions.iter().filter(is_new).cloned().collect();
        member.since = now.checked_sub(Duration::from_millis(task.elapsed_ms)).unwrap_or(now);
        member.state = State::AtWork(task);
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
            && let State::AtWork(task) = &member.state
        {
            member.state = State::Gone(task.clone(), why);
        }
    }

    fn member(&mut self, id: TaskId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.task().is_some_and(|task| task.id == id))
    }

    pub fn at_work(&self) -> Vec<TaskId> {
        let at_work = |member: &Member| match &member.state {
            State::AtWork(task) => Some(task.id),
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

    /// A line for each that is not over, within the terminal.
    /// Says of each that asks something whether that is asked here (`is_here`).
    pub fn lines(
        &self,
        turn: char,
        now: Instant,
        (columns, rows): (usize, usize),
        is_here: impl Fn(TaskId) -> bool,
    ) -> Vec<String> {
        let open: Vec<&Member> = self.members.iter().filter(|member| member.is_open()).collect();
        let shown = if open.len() > rows { rows.saturating_sub(1) } else { open.len() };
        let mut lines: Vec<String> = open
            .iter()
            .take(shown)
            .map(|member| member.line(turn, now, columns, &is_here))
            .collect();
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
            State::AtWork(task) | State::Gone(task, _) => Some(task),
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

    fn line(
        &self,
        turn: char,
        now: Instant,
        columns: usize,
        is_here: impl Fn(TaskId) -> bool,
    ) -> String {
        let (doing, style, id) = match self.task() {
            None => ("starting".to_owned(), DIM, String::new()),
            Some(task) => {
                (doing(task, is_here(task.id)), activity_style(task), task.id.to_string())
            }
        };
        let time = elapsed(now.duration_since(self.since));
        let first = fit(&format!("{time:>6}"), columns.saturating_sub(2));
        let mut line = format!("{} {first}", paint(LIVE, turn));
        let mut room = columns.saturating_sub(first.width() + 4);
        if room < LEAST_WIDTH {
            return line;
        }
        // The id comes last, and only where there is room for words too.
        let is_wide = room >= ROOM_FOR_ID && !id.is_empty();
        if is_wide {
            room -= id.width() + 2;
        }
        let what = fit(&plain(&self.description, LINE_MAX_CHARS), room / 2);
        let doing = fit(&plain(&doing, LINE_MAX_CHARS), room - what.width() - 2);
        line.push_str(&format!("  {what}  {}", paint(style, &doing)));
        if is_wide {
            line.push_str(&format!("  {}", paint(DIM, id)));
        }
        line
    }
}

/// What a helper does; if it asks a person something that is not asked here, how to answer.
fn doing(task: &TaskView, is_here: bool) -> String {
    match task.questions.first() {
        Some(_) if is_here => "asks you".to_owned(),
        Some(_) => format!("→ legwork answer {}", task.id),
        None => activity(task),
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
