//! The list: which tasks are in it, which one is chosen, which lines are on the screen. The chosen
//! task stays chosen whatever happens around it.

use crate::model::grouping::{Heading, Section, sections};
use crate::model::{Group, Item};
use legwork_protocol::view::{TaskView, TasksView};
use legwork_protocol::{TaskId, Time};

use super::{Focus, Model};

/// What stands above a group, and how many of its tasks are in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    pub heading: Heading,
    pub shown: usize,
    pub asking: usize,
}

impl From<&Section<'_>> for Title {
    fn from(section: &Section<'_>) -> Self {
        let shown = section.items.len();
        Self { heading: section.heading.clone(), shown, asking: section.asking() }
    }
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListLine {
    Blank,
    Title(Title),
    /// The first line of a task, or its only one.
    Task(TaskId),
    /// Its second line: what it asks or does.
    Doing(TaskId),
}

/// What is looked for.
#[derive(Debug, Default)]
pub struct Filter {
    pub text: String,
    /// Older tasks that have it, from the daemon.
    pub found: Vec<Item>,
    /// How many there are in all, if the daemon has said so.
    pub total: Option<usize>,
    /// When it was last typed, until it is asked for.
    typed: Option<Time>,
}

impl Filter {
    pub fn set(&mut self, text: &str, now: Time) {
        if self.text != text {
            *self = Self { text: text.to_owned(), typed: Some(now), ..Self::default() };
        }
    }

    pub fn is_on(&self) -> bool {
        !self.text.trim().is_empty()
    }

    pub fn is_due(&self) -> bool {
        self.typed.is_some() && self.is_on()
    }

    /// The text to ask the daemon for, once it is typed.
    pub fn due(&mut self, now: Time, after_ms: u64) -> Option<String> {
        self.typed.filter(|typed| self.is_on() && now.since(*typed) >= after_ms)?;
        self.typed = None;
        Some(self.text.trim().to_owned())
    }

    fn has(&self, task: &TaskView) -> bool {
        let wanted = self.text.trim().to_lowercase();
        let id = task.id.to_string();
        let texts = [&task.description, &task.agent, &task.directory, &id];
        !self.is_on() || texts.iter().any(|text| text.to_lowercase().contains(&wanted))
    }
}

impl Model {
    /// The tasks that are shown, the newest launch first.
    fn shown(&self) -> Vec<&Item> {
        let all = self.board.items().chain(&self.filter.found);
        let mut shown: Vec<&Item> = all.filter(|item| self.filter.has(&item.task)).collect();
        shown.sort_by_key(|item| std::cmp::Reverse(item.task.seq));
        shown
    }

    pub(super) fn list_lines(&self) -> Vec<ListLine> {
        let mut lines = Vec::new();
        for section in sections(self.shown(), self.grouping) {
            if !lines.is_empty() {
                lines.push(ListLine::Blank);
            }
            lines.push(ListLine::Title(Title::from(&section)));
            for item in section.items {
                let id = item.task.id;
                lines.push(ListLine::Task(id));
                if !self.timeline && item.row.group != Group::Finished {
                    lines.push(ListLine::Doing(id));
                }
            }
        }
        lines
    }

    fn order(&self) -> Vec<TaskId> {
        let task = |line: &ListLine| match line {
            ListLine::Task(id) => Some(*id),
            _ => None,
        };
        self.rows.iter().filter_map(task).collect()
    }

    pub(super) fn select(&mut self, task: Option<TaskId>) {
        if self.selected != task {
            (self.selected, self.selected_at) = (task, self.now);
        }
    }

    /// Chooses the task so many places further.
    pub(super) fn step(&mut self, by: isize) {
        let order = self.order();
        let at = order.iter().position(|id| Some(*id) == self.selected).unwrap_or(0);
        let to = at.saturating_add_signed(by).min(order.len().saturating_sub(1));
        self.select(order.get(to).copied());
        self.meant = self.selected;
        self.stepped_at = self.now;
    }

    /// Who answers one after the other in the list has the next one chosen in the place of the one
    /// that asks nothing any more.
    pub(super) fn go_on_to_the_next_question(&mut self) {
        let asks = |id: TaskId| self.item_of(id).is_some_and(|item| item.row.group == Group::Asks);
        let Some(answered) = self.answered.filter(|id| !asks(*id)) else { return };
        let order = self.order();
        let next = self.neighbours.iter().copied().find(|id| order.contains(id) && asks(*id));
        let is_here = self.selected == Some(answered) && self.focus == Focus::List;
        self.answered = None;
        if is_here && let Some(next) = next {
            self.select(Some(next));
            self.meant = self.selected;
        }
    }

    /// One that is not in the list any more hands over to the one in whose place it was.
    pub(super) fn keep_selection(&mut self) {
        let order = self.order();
        let is_there = |id: &TaskId| order.contains(id);
        if let Some(meant) = self.meant.filter(is_there) {
            return self.select(Some(meant));
        }
        if self.selected.as_ref().is_some_and(is_there) {
            return;
        }
        let next = self.neighbours.iter().find(|id| order.contains(id)).copied();
        self.select(next.or(order.first().copied()));
        if self.selected.is_none() {
            self.focus = Focus::List;
        }
    }

    /// Remembers who stands below the chosen task, and above it.
    pub(super) fn note_neighbours(&mut self) {
        let order = self.order();
        let Some(at) = order.iter().position(|id| Some(*id) == self.selected) else { return };
        let below = order[at + 1..].iter().take(NEIGHBOURS);
        let above = order[..at].iter().rev().take(NEIGHBOURS);
        self.neighbours = below.chain(above).copied().collect();
    }

    /// Moves the list so that the chosen task is on the screen, with its title if that fits.
    pub(super) fn keep_in_sight(&mut self) {
        let high = usize::from(self.layout.list.height.saturating_sub(self.covered()));
        if high == 0 {
            return;
        }
        let is_it =
            |line: &ListLine| matches!(line, ListLine::Task(id) if Some(*id) == self.selected);
        let Some(at) = self.rows.iter().position(is_it) else {
            self.top = 0;
            return;
        };
        let below = matches!(self.rows.get(at + 1), Some(ListLine::Doing(_)));
        let last = at + usize::from(below);
        let first =
            if at > 0 && matches!(self.rows[at - 1], ListLine::Title(_)) { at - 1 } else { at };
        if last >= self.top + high {
            self.top = (last + 1).saturating_sub(high);
        }
        if first < self.top {
            self.top = first;
        }
        self.top = self.top.min(self.rows.len().saturating_sub(high)).min(at);
    }

    pub(super) fn hear_found(&mut self, text: &str, found: Result<TasksView, String>) {
        if self.filter.text.trim() != text {
            return;
        }
        match found {
            Ok(found) => {
                self.filter.total = Some(found.total);
                let unknown = found.tasks.into_iter().map(Item::from);
                self.filter.found =
                    unknown.filter(|item| self.board.item(item.task.id).is_none()).collect();
            }
            Err(why) => self.say(&why, true),
        }
    }
}

/// Tasks around the chosen one that are remembered: one of them is chosen when it goes.
const NEIGHBOURS: usize = 50;
