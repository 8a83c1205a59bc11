//! The tasks as a view has them: it takes in the pages of the daemon's board and keeps the tasks in
//! groups. Within a group the newest launch is first, whatever happens: no row moves because
//! something is written in it.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::api::board::{BoardPage, Counts};
use legwork_protocol::view::TaskView;
use legwork_protocol::{TaskId, Time};
use serde::Serialize;

use crate::model::limits::FINISHED_MAX;
use crate::model::row::{Group, Row, row};

/// A task and its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    pub task: TaskView,
    pub row: Row,
}

impl From<TaskView> for Item {
    fn from(task: TaskView) -> Self {
        Self { row: row(&task), task }
    }
}

/// What a page has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Whether all was told anew.
    pub whole: bool,
    /// Tasks that are new or another than before, in the order of their launches.
    pub changed: Vec<TaskId>,
    /// Tasks that are not there any more, or are not shown.
    pub gone: Vec<TaskId>,
}

#[derive(Debug, Clone, Default)]
pub struct Board {
    items: BTreeMap<TaskId, Item>,
    /// Newest launch first in each group.
    groups: [BTreeSet<(std::cmp::Reverse<u64>, TaskId)>; 4],
    counts: Counts,
    as_of: Option<Time>,
    healthy: bool,
    incomplete: bool,
}

impl Board {
    pub fn apply(&mut self, page: BoardPage) -> Applied {
        let BoardPage { whole, tasks, gone, counts, now, healthy, incomplete, .. } = page;
        let mut applied = Applied { whole, ..Applied::default() };
        let gone = if whole {
            let there: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
            self.items.keys().filter(|id| !there.contains(id)).copied().collect()
        } else {
            gone
        };
        applied.gone = gone.into_iter().filter(|id| self.remove(*id).is_some()).collect();
        for task in tasks {
            let id = task.id;
            let before = self.remove(id);
            let item = Item::from(task);
            if before.as_ref() != Some(&item) {
                applied.changed.push(id);
            }
            self.insert(item);
        }
        for old in self.too_many() {
            self.remove(old);
            applied.changed.retain(|id| *id != old);
            applied.gone.push(old);
        }
        (self.counts, self.as_of) = (counts, Some(now));
        (self.healthy, self.incomplete) = (healthy, incomplete);
        applied
    }

    pub fn item(&self, task: TaskId) -> Option<&Item> {
        self.items.get(&task)
    }

    /// The tasks of a group, the newest launch first.
    pub fn group(&self, group: Group) -> impl DoubleEndedIterator<Item = &Item> {
        self.groups[group as usize].iter().filter_map(|(_, id)| self.items.get(id))
    }

    /// All tasks, group by group.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        Group::ALL.into_iter().flat_map(|group| self.group(group))
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many tasks there are of each kind, those included that are not shown.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// When the last page was made, by the daemon's clock; nothing before the first.
    pub fn as_of(&self) -> Option<Time> {
        self.as_of
    }

    /// Whether the daemon can save its records.
    pub fn is_healthy(&self) -> bool {
        self.healthy || self.as_of.is_none()
    }

    /// Whether earlier records could not be read.
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    fn insert(&mut self, item: Item) {
        let place = (std::cmp::Reverse(item.task.seq), item.task.id);
        self.groups[item.row.group as usize].insert(place);
        self.items.insert(item.task.id, item);
    }

    fn remove(&mut self, task: TaskId) -> Option<Item> {
        let item = self.items.remove(&task)?;
        let place = (std::cmp::Reverse(item.task.seq), task);
        self.groups[item.row.group as usize].remove(&place);
        Some(item)
    }

    /// The oldest finished tasks beyond those that are kept.
    fn too_many(&self) -> Vec<TaskId> {
        let finished = &self.groups[Group::Finished as usize];
        finished.iter().skip(FINISHED_MAX).map(|(_, id)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Outcome;
    use legwork_protocol::api::board::BoardPosition;

    use super::*;
    use crate::model::example::{finished, permission, task};

    fn page(whole: bool, tasks: Vec<TaskView>, gone: Vec<TaskId>) -> BoardPage {
        BoardPage {
            whole,
            tasks,
            gone,
            counts: Counts::default(),
            now: Time(7),
            next: BoardPosition { board: 1, revision: 2 },
            healthy: true,
            incomplete: false,
        }
    }

    fn shown(board: &Board, group: Group) -> Vec<u64> {
        board.group(group).map(|item| item.task.seq).collect()
    }

    #[test]
    fn v1_pages_change_what_they_name_and_nothing_else() {
        let mut board = Board::default();
        let applied = board.apply(page(true, vec![task(1), task(2)], vec![]));
        assert_eq!(applied.changed.len(), 2);
        let same = board.apply(page(false, vec![task(2)], vec![]));
        assert_eq!(same, Applied::default());
        let applied = board.apply(page(false, vec![], vec![TaskId::from_number(1)]));
        assert_eq!(applied.gone, [TaskId::from_number(1)]);
        assert_eq!(shown(&board, Group::Working), [2]);
        let unknown = board.apply(page(false, vec![], vec![TaskId::from_number(1)]));
        assert_eq!(unknown, Applied::default());
    }

    #[test]
    fn v1_a_whole_page_is_all_there_is() {
        let mut board = Board::default();
        board.apply(page(true, vec![task(1), task(2)], vec![]));
        let applied = board.apply(page(true, vec![task(2), task(3)], vec![]));
        assert_eq!(applied.gone, [TaskId::from_number(1)]);
        assert_eq!(applied.changed, [TaskId::from_number(3)]);
        assert_eq!(shown(&board, Group::Working), [3, 2]);
    }

    #[test]
    fn v2_rows_stand_in_the_order_of_launch_whatever_happens_to_them() {
        let mut board = Board::default();
        board.apply(page(true, (1..=4).map(task).collect(), vec![]));
        assert_eq!(shown(&board, Group::Working), [4, 3, 2, 1]);
        let busy = TaskView { doing: Some("other".to_owned()), ..task(2) };
        board.apply(page(false, vec![busy], vec![]));
        assert_eq!(shown(&board, Group::Working), [4, 3, 2, 1]);
        let asks = |number| TaskView { questions: vec![permission("x")], ..task(number) };
        board.apply(page(false, vec![asks(1), asks(3)], vec![]));
        assert_eq!(
            (shown(&board, Group::Asks), shown(&board, Group::Working)),
            (vec![3, 1], vec![4, 2])
        );
        board.apply(page(false, vec![task(1)], vec![]));
        assert_eq!(
            (shown(&board, Group::Asks), shown(&board, Group::Working)),
            (vec![3], vec![4, 2, 1])
        );
        let all: Vec<u64> = board.items().map(|item| item.task.seq).collect();
        assert_eq!(all, [3, 4, 2, 1]);
    }

    #[test]
    fn v2_of_finished_tasks_the_newest_are_kept() {
        let mut board = Board::default();
        let count = FINISHED_MAX as u64 + 3;
        let done = (1..=count).map(|number| finished(number, Outcome::Completed));
        let applied = board.apply(page(true, done.chain([task(count + 1)]).collect(), vec![]));
        assert_eq!(applied.gone, [3, 2, 1].map(TaskId::from_number));
        assert_eq!(applied.changed.len(), FINISHED_MAX + 1);
        assert_eq!(shown(&board, Group::Finished).last(), Some(&4));
        assert_eq!(shown(&board, Group::Working), [count + 1]);
    }
}
