//! The order of one host's work: first in, first out within a lane. Lanes run side by side, up to a
//! limit.
//!
//! Decides what may start and what is overdue. Has no clock and no effects.

use std::collections::{BTreeMap, VecDeque};

use legwork_engine::work::Lane;
use legwork_engine::{Action, Work, WorkId};
use tokio::time::Instant;

use crate::limits::{AT_ONCE, UNIT_MAX};

#[derive(Debug, Default)]
pub struct Lanes {
    /// In the order in which they were given.
    waiting: VecDeque<Waiting>,
    taken: BTreeMap<Lane, UnderWay>,
}

#[derive(Debug)]
struct Waiting {
    work: Work,
    lane: Lane,
    due: Instant,
}

#[derive(Debug)]
struct UnderWay {
    work: WorkId,
    changes: Changes,
    /// Nothing once the unit is overdue.
    due: Option<Instant>,
}

/// Whether a unit changes something in the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changes {
    Nothing,
    Something,
}

/// A unit that nobody waits for any longer.
#[derive(Debug, PartialEq, Eq)]
pub enum Overdue {
    /// It never began and never will.
    Waiting(WorkId),
    /// It reads only: what it does is of no interest any more, and its lane is free.
    Reading(WorkId),
    /// It may still change something, so its lane is taken until it comes back: what is asked later
    /// must not take effect earlier.
    Changing(WorkId),
}

impl Overdue {
    pub fn work(&self) -> WorkId {
        match self {
            Self::Waiting(work) | Self::Reading(work) | Self::Changing(work) => *work,
        }
    }
}

impl Lanes {
    pub fn give(&mut self, work: Work, now: Instant) {
        let lane = work.action.lane();
        self.waiting.push_back(Waiting { work, lane, due: now + UNIT_MAX });
    }

    /// The next unit that may begin; its lane is taken from now on.
    pub fn begin(&mut self, now: Instant) -> Option<Work> {
        // Overdue ones do not count, else a few that hang would stop all others.
        if self.taken.values().filter(|unit| unit.due.is_some()).count() >= AT_ONCE {
            return None;
        }
        let free = self.waiting.iter().position(|unit| !self.taken.contains_key(&unit.lane))?;
        let Waiting { work, lane, .. } = self.waiting.remove(free)?;
        let due = Some(now + UNIT_MAX);
        self.taken.insert(lane, UnderWay { work: work.id, changes: changes(&work.action), due });
        Some(work)
    }

    /// A unit has come back; whether somebody still waits for what it found.
    pub fn came_back(&mut self, work: WorkId) -> bool {
        let lane = self.taken.iter().find(|(_, unit)| unit.work == work);
        let Some(lane) = lane.map(|(lane, _)| lane.clone()) else { return false };
        self.taken.remove(&lane).is_some_and(|unit| unit.due.is_some())
    }

    /// When the first unit will be overdue.
    pub fn first_due(&self) -> Option<Instant> {
        let waiting = self.waiting.front().map(|unit| unit.due);
        self.taken.values().filter_map(|unit| unit.due).chain(waiting).min()
    }

    /// The units that have become overdue.
    pub fn overdue(&mut self, now: Instant) -> Vec<Overdue> {
        let mut overdue = Vec::new();
        while let Some(unit) = self.waiting.pop_front_if(|unit| unit.due <= now) {
            overdue.push(Overdue::Waiting(unit.work.id));
        }
        for unit in self.taken.values_mut() {
            if unit.due.is_some_and(|due| due <= now) {
                unit.due = None;
                overdue.push(match unit.changes {
                    Changes::Nothing => Overdue::Reading(unit.work),
                    Changes::Something => Overdue::Changing(unit.work),
                });
            }
        }
        self.taken.retain(|_, unit| unit.due.is_some() || unit.changes == Changes::Something);
        overdue
    }
}

fn changes(action: &Action) -> Changes {
    match action {
        Action::CheckAgent { .. }
        | Action::Probe { .. }
        | Action::FindMissing { .. }
        | Action::Observe { .. }
        | Action::Poll { .. } => Changes::Nothing,
        Action::Open { .. }
        | Action::Prompt { .. }
        | Action::Deliver { .. }
        | Action::Stop { .. }
        | Action::Answer { .. } => Changes::Something,
    }
}

#[cfg(test)]
mod tests {
    use legwork_engine::record::Target;
    use legwork_engine::work::Scope;
    use legwork_protocol::TaskId;

    use super::*;

    fn stop(session: &str) -> Action {
        let target = Target::Session(session.parse().unwrap());
        Action::Stop { task: TaskId::from_number(1), target }
    }

    fn poll() -> Action {
        Action::Poll { scope: Scope::Busy }
    }

    fn probe(session: &str) -> Action {
        Action::Probe { session: session.parse().unwrap() }
    }

    fn give(lanes: &mut Lanes, id: u64, action: Action, now: Instant) {
        lanes.give(Work { id: WorkId(id), host: "h".parse().unwrap(), action }, now);
    }

    fn begun(lanes: &mut Lanes, now: Instant) -> Vec<u64> {
        std::iter::from_fn(|| lanes.begin(now)).map(|work| work.id.0).collect()
    }

    #[test]
    fn a_lane_keeps_its_order_and_others_go_on() {
        let (mut lanes, now) = (Lanes::default(), Instant::now());
        for (id, action) in [(1, stop("a")), (2, probe("a")), (3, poll()), (4, probe("b"))] {
            give(&mut lanes, id, action, now);
        }
        assert_eq!(begun(&mut lanes, now), [1, 3, 4]);
        assert!(lanes.came_back(WorkId(3)));
        assert!(begun(&mut lanes, now).is_empty());
        assert!(lanes.came_back(WorkId(1)));
        assert_eq!(begun(&mut lanes, now), [2]);
    }

    #[test]
    fn only_so_many_are_under_way_at_once() {
        let (mut lanes, now) = (Lanes::default(), Instant::now());
        for id in 0..40 {
            give(&mut lanes, id, probe(&format!("s{id}")), now);
        }
        assert_eq!(begun(&mut lanes, now).len(), AT_ONCE);
        assert!(lanes.came_back(WorkId(7)));
        assert_eq!(begun(&mut lanes, now), [AT_ONCE as u64]);
    }

    #[test]
    fn a_unit_that_hangs_keeps_its_lane_if_it_may_still_change_something() {
        let (mut lanes, start) = (Lanes::default(), Instant::now());
        give(&mut lanes, 1, stop("a"), start);
        assert_eq!(begun(&mut lanes, start), [1]);
        let late = start + UNIT_MAX;
        give(&mut lanes, 2, probe("a"), late);
        assert_eq!(lanes.overdue(late), [Overdue::Changing(WorkId(1))]);
        assert!(begun(&mut lanes, late).is_empty());
        assert_eq!(lanes.first_due(), Some(late + UNIT_MAX));
        assert!(!lanes.came_back(WorkId(1)), "it has its answer");
        assert_eq!(begun(&mut lanes, late), [2]);
    }

    #[test]
    fn a_unit_that_only_reads_gives_its_lane_up() {
        let (mut lanes, start) = (Lanes::default(), Instant::now());
        give(&mut lanes, 1, probe("a"), start);
        give(&mut lanes, 2, stop("a"), start + UNIT_MAX / 2);
        assert_eq!(begun(&mut lanes, start), [1]);
        let late = start + UNIT_MAX;
        assert_eq!(lanes.overdue(late), [Overdue::Reading(WorkId(1))]);
        assert_eq!(begun(&mut lanes, late), [2]);
        assert!(!lanes.came_back(WorkId(1)));
    }

    #[test]
    fn a_unit_that_waits_too_long_is_never_done() {
        let (mut lanes, start) = (Lanes::default(), Instant::now());
        give(&mut lanes, 1, stop("a"), start);
        give(&mut lanes, 2, stop("a"), start);
        assert_eq!(begun(&mut lanes, start), [1]);
        let late = start + UNIT_MAX;
        let expected = [Overdue::Waiting(WorkId(2)), Overdue::Changing(WorkId(1))];
        assert_eq!(lanes.overdue(late), expected);
        assert!(!lanes.came_back(WorkId(1)));
        assert!(begun(&mut lanes, late).is_empty());
    }

    #[test]
    fn units_that_hang_do_not_stop_the_host() {
        let (mut lanes, start) = (Lanes::default(), Instant::now());
        for id in 0..AT_ONCE as u64 {
            give(&mut lanes, id, stop(&format!("s{id}")), start);
        }
        assert_eq!(begun(&mut lanes, start).len(), AT_ONCE);
        let late = start + UNIT_MAX;
        assert_eq!(lanes.overdue(late).len(), AT_ONCE);
        give(&mut lanes, 99, probe("other"), late);
        assert_eq!(begun(&mut lanes, late), [99]);
    }
}
