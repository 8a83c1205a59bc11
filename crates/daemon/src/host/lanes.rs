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
    only_reads: bool,
    /// Nothing once the unit is overdue.
    due: Option<Instant>,
}

/// A unit that nobody waits for any longer.
#[derive(Debug, PartialEq, Eq)]
pub struct Overdue {
    pub work: WorkId,
    /// It is under way and only reads: what it does is of no interest any more, and its lane is
    /// free. One that may still change something has its lane until it comes back: what is asked
    /// later must not take effect earlier.
    pub is_given_up: bool,
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
        let only_reads = only_reads(&work.action);
        self.taken.insert(lane, UnderWay { work: work.id, only_reads, due });
        Some(work)
    }

    /// A unit has come back; whether somebody still waits for what it found.
    pub fn came_back(&mut self, work: WorkId) -> bool {
        let lane = self.taken.iter().find(|(_, unit)| unit.work == work);
        let Some(lane) = lane.map(|(lane, _)| lane.clone()) else { return false };
        self.taken.remove(&lane).is_some_and(|unit| unit.due.is_some())
    }

    pub fn first_due(&self) -> Option<Instant> {
        let waiting = self.waiting.front().map(|unit| unit.due);
        self.taken.values().filter_map(|unit| unit.due).chain(waiting).min()
    }

    pub fn overdue(&mut self, now: Instant) -> Vec<Overdue> {
        let mut overdue = Vec::new();
        while let Some(unit) = self.waiting.pop_front_if(|unit| unit.due <= now) {
            overdue.push(Overdue { work: unit.work.id, is_given_up: false });
        }
        for unit in self.taken.values_mut() {
            if unit.due.take_if(|due| *due <= now).is_some() {
                overdue.push(Overdue { work: unit.work, is_given_up: unit.only_reads });
            }
        }
        self.taken.retain(|_, unit| unit.due.is_some() || !unit.only_reads);
        overdue
    }
}

fn only_reads(action: &Action) -> bool {
    matches!(
        action,
        Action::CheckAgent { .. }
            | Action::Probe { .. }
            | Action::FindMissing { .. }
            | Action::Observe { .. }
            | Action::Poll { .. }
    )
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
    fn a_unit_that_waits_too_long_is_never_done() {
        let (mut lanes, start) = (Lanes::default(), Instant::now());
        give(&mut lanes, 1, stop("a"), start);
        give(&mut lanes, 2, stop("a"), start);
        assert_eq!(begun(&mut lanes, start), [1]);
        let late = start + UNIT_MAX;
        let expected = [2, 1].map(|id| Overdue { work: WorkId(id), is_given_up: false });
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
