//! All tasks, and the indexes that find them. Unfinished and finished tasks live apart, so that a
//! running task costs the same however many finished ones are kept; those are small (`kept.rs`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use legwork_protocol::{CallKey, Place, SessionId, Status, TaskId, Time};

use crate::kept::KeptTasks;
use crate::quick::{Quick, fnv};
use crate::run::Volatile;
use crate::task::Task;

#[derive(Debug)]
pub(crate) struct Live {
    pub task: Task,
    pub volatile: Volatile,
}

impl Live {
    /// How long nobody has worked on the run since it began.
    pub fn paused_ms(&self, now: Time) -> u64 {
        let idle = self.volatile.idle_since.map_or(0, |since| now.since(since));
        self.task.run.paused_ms + idle
    }
}

/// A part of a listing that goes from the newest task to the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Only what is older than the task with this number.
    pub before: Option<u64>,
    pub most: usize,
}

impl Part {
    pub const ALL: Self = Self { before: None, most: usize::MAX };

    pub fn newest(most: usize) -> Self {
        Self { before: None, most }
    }

    fn of(self, seqs: &BTreeSet<u64>) -> impl Iterator<Item = u64> {
        let end = self.before.map_or(Bound::Unbounded, Bound::Excluded);
        seqs.range((Bound::Unbounded, end)).rev().take(self.most).copied()
    }
}

#[derive(Debug, Default)]
struct Family {
    /// By `seq`.
    members: BTreeSet<u64>,
    unfinished: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    live: BTreeMap<TaskId, Live>,
    pub kept: KeptTasks,
    /// Sessions of unfinished tasks: every hint asks for one.
    live_sessions: BTreeMap<Quick<SessionId>, TaskId>,
    /// Sessions of finished tasks, by a hash of each.
    kept_sessions: BTreeSet<(u64, TaskId)>,
    by_seq: BTreeMap<u64, TaskId>,
    /// By a hash of each key.
    by_key: BTreeSet<(u64, TaskId)>,
    /// Calls of earlier runs, of tasks that were resumed: one that is sent again late is known too.
    earlier_calls: BTreeMap<TaskId, Vec<CallKey>>,
    families: BTreeMap<Quick<SessionId>, Family>,
    under_root: BTreeMap<Quick<SessionId>, usize>,
    /// Unfinished runs by the session that asked for them.
    asked: BTreeMap<Quick<SessionId>, usize>,
    shelves: BTreeMap<(Place, Status), BTreeSet<u64>>,
    next_order: u64,
}

impl Tasks {
    pub fn live(&self, id: TaskId) -> Option<&Live> {
        self.live.get(&id)
    }

    pub fn live_mut(&mut self, id: TaskId) -> Option<&mut Live> {
        self.live.get_mut(&id)
    }

    /// Like `live_mut`, but asserts in tests that the task is unfinished.
    pub fn unfinished_mut(&mut self, id: TaskId) -> Option<&mut Live> {
        let live = self.live.get_mut(&id);
        debug_assert!(live.is_some(), "{id} is not unfinished");
        live
    }

    pub fn get(&self, id: TaskId) -> Option<Cow<'_, Task>> {
        match self.live.get(&id) {
            Some(live) => Some(Cow::Borrowed(&live.task)),
            None => self.kept.get(id).map(Cow::Owned),
        }
    }

    /// Somebody reads the result of a finished task. Says whether nobody did before.
    pub fn retrieve(&mut self, id: TaskId, now: Time) -> bool {
        self.kept.retrieve(id, now)
    }

    pub fn next_seq(&self) -> u64 {
        self.by_seq.last_key_value().map_or(1, |(seq, _)| seq + 1)
    }

    /// The next number in the order of the queues.
    pub fn next_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    /// Numbers up to this one are taken.
    pub fn order_seen(&mut self, order: u64) {
        self.next_order = self.next_order.max(order);
    }

    pub fn numbers(&self) -> (usize, usize) {
        (self.kept.len(), self.live.len())
    }

    pub fn unfinished(&self) -> impl Iterator<Item = &Live> {
        self.live.values()
    }

    pub fn at_work_in(&self, session: &SessionId) -> Option<TaskId> {
        self.live_sessions.get(&session.into()).copied()
    }

    pub fn of_session(&self, session: &SessionId) -> Option<Cow<'_, Task>> {
        let live = self.live_sessions.get(&Quick::from(session)).copied();
        let is_its = |id: &TaskId| self.kept.session(*id) == Some(session.as_str());
        let kept = || with_hash(&self.kept_sessions, session).find(is_its);
        self.get(live.or_else(kept)?)
    }

    /// The task of which this call asked for a run.
    pub fn by_key(&self, key: &CallKey) -> Option<Cow<'_, Task>> {
        let last = |id: &TaskId| match self.live.get(id) {
            Some(live) => Some(live.task.run.key.as_str()),
            None => self.kept.key(*id),
        };
        let is_its = |id: &TaskId| {
            let earlier = self.earlier_calls.get(id);
            last(id) == Some(key.as_str()) || earlier.is_some_and(|earlier| earlier.contains(key))
        };
        self.get(with_hash(&self.by_key, key).find(is_its)?)
    }

    /// Whether a run that the session asked for is unfinished.
    pub fn is_asker(&self, session: &SessionId) -> bool {
        self.asked.contains_key(&session.into())
    }

    pub fn under_root(&self, root: &SessionId) -> usize {
        self.under_root.get(&root.into()).copied().unwrap_or(0)
    }

    /// The tasks that the session launched, newest first.
    pub fn family(&self, parent: &SessionId) -> impl Iterator<Item = Cow<'_, Task>> {
        self.members(parent, Part::ALL)
    }

    /// The same from here on.
    pub fn members(&self, parent: &SessionId, part: Part) -> impl Iterator<Item = Cow<'_, Task>> {
        let family = self.families.get(&parent.into()).into_iter();
        family.flat_map(move |family| part.of(&family.members)).filter_map(|seq| self.at(seq))
    }

    /// How many of the session's tasks are finished, and how many are not.
    pub fn counts(&self, parent: &SessionId) -> (usize, usize) {
        self.families
            .get(&parent.into())
            .map_or((0, 0), |family| (family.members.len() - family.unfinished, family.unfinished))
    }

    /// Tasks of a realm, or of all realms, newest first from here on, and how many there are
    /// altogether; only those with a status that is wanted.
    pub fn shelf(
        &self,
        realm: Option<&Place>,
        is_wanted: impl Fn(Status) -> bool,
        part: Part,
    ) -> (Vec<Cow<'_, Task>>, usize) {
        let wanted = self.shelves.iter().filter(|((at, status), _)| {
            realm.is_none_or(|realm| realm == at) && is_wanted(*status)
        });
        let (mut newest, mut total) = (Vec::new(), 0);
        for (_, seqs) in wanted {
            newest.extend(part.of(seqs));
            total += seqs.len();
        }
        newest.sort_unstable_by(|a: &u64, b| b.cmp(a));
        newest.truncate(part.most);
        (newest.into_iter().filter_map(|seq| self.at(seq)).collect(), total)
    }

    fn at(&self, seq: u64) -> Option<Cow<'_, Task>> {
        self.get(*self.by_seq.get(&seq)?)
    }

    pub fn insert(&mut self, task: Task, volatile: Volatile) {
        debug_assert!(self.get(task.id).is_none(), "{} is there", task.id);
        self.by_seq.insert(task.seq, task.id);
        *self.under_root.entry((&task.root).into()).or_default() += 1;
        self.families.entry((&task.parent).into()).or_default().members.insert(task.seq);
        self.put(task, volatile);
    }

    /// Gives back the volatile state of one that was unfinished.
    pub fn remove(&mut self, id: TaskId) -> Option<Volatile> {
        let (task, volatile) = self.take(id)?;
        self.by_key.remove(&(hash(&task.run.key), id));
        for key in self.earlier_calls.remove(&id).into_iter().flatten() {
            self.by_key.remove(&(hash(&key), id));
        }
        self.by_seq.remove(&task.seq);
        uncount(&mut self.under_root, &task.root);
        if let Some(family) = self.families.get_mut(&Quick::from(&task.parent)) {
            family.members.remove(&task.seq);
            if family.members.is_empty() {
                self.families.remove(&Quick::from(&task.parent));
            }
        }
        volatile
    }

    /// An earlier run of the task came of this call.
    pub fn remember_call(&mut self, id: TaskId, key: CallKey) {
        self.by_key.insert((hash(&key), id));
        self.earlier_calls.entry(id).or_default().push(key);
    }

    pub fn key_of(&self, id: TaskId, run: u32) -> Option<CallKey> {
        let task = self.get(id)?;
        if task.run.number == run {
            return Some(task.run.key.clone());
        }
        self.earlier_calls.get(&id)?.get(run as usize).cloned()
    }

    pub fn set_session(&mut self, id: TaskId, session: SessionId) {
        if let Some(live) = self.live.get_mut(&id) {
            if let Some(before) = live.task.session.replace(session.clone()) {
                self.live_sessions.remove(&Quick::from(&before));
            }
            self.live_sessions.insert((&session).into(), id);
        }
    }

    /// A run ends or begins: takes the task out of the indexes, changes it, and puts it back on the
    /// side where it then belongs. Gives back the volatile state of one that is finished now.
    pub fn change(&mut self, id: TaskId, change: impl FnOnce(&mut Task)) -> Option<Volatile> {
        let (mut task, volatile) = self.take(id)?;
        change(&mut task);
        let was = volatile.filter(|_| task.is_finished());
        let volatile = Volatile::new(task.run.started);
        self.put(task, volatile);
        was
    }

    fn take(&mut self, id: TaskId) -> Option<(Task, Option<Volatile>)> {
        let (task, volatile) = match self.live.remove(&id) {
            Some(live) => (live.task, Some(live.volatile)),
            None => (self.kept.remove(id)?, None),
        };
        self.unindex(&task);
        Some((task, volatile))
    }

    fn put(&mut self, task: Task, volatile: Volatile) {
        self.index(&task);
        if task.is_finished() {
            self.kept.insert(&task);
        } else {
            self.live.insert(task.id, Live { task, volatile });
        }
    }

    fn index(&mut self, task: &Task) {
        self.by_key.insert((hash(&task.run.key), task.id));
        let shelf = (task.realm.clone(), task.status());
        self.shelves.entry(shelf).or_default().insert(task.seq);
        let finished = task.is_finished();
        if let Some(session) = &task.session {
            if finished {
                self.kept_sessions.insert((hash(session), task.id));
            } else {
                self.live_sessions.insert(session.into(), task.id);
            }
        }
        if !finished {
            self.families.entry((&task.parent).into()).or_default().unfinished += 1;
            *self.asked.entry((&task.run.asker).into()).or_default() += 1;
        }
    }

    fn unindex(&mut self, task: &Task) {
        let shelf = (task.realm.clone(), task.status());
        if let Some(seqs) = self.shelves.get_mut(&shelf) {
            seqs.remove(&task.seq);
            if seqs.is_empty() {
                self.shelves.remove(&shelf);
            }
        }
        let finished = task.is_finished();
        if let Some(session) = &task.session {
            if finished {
                self.kept_sessions.remove(&(hash(session), task.id));
            } else {
                self.live_sessions.remove(&Quick::from(session));
            }
        }
        if !finished {
            if let Some(family) = self.families.get_mut(&Quick::from(&task.parent)) {
                family.unfinished -= 1;
            }
            uncount(&mut self.asked, &task.run.asker);
        }
    }
}

fn hash(text: &impl AsRef<str>) -> u64 {
    fnv(text.as_ref().bytes())
}

/// The tasks that may have this text: few others have its hash.
fn with_hash(
    set: &BTreeSet<(u64, TaskId)>,
    text: &impl AsRef<str>,
) -> impl Iterator<Item = TaskId> {
    let hash = hash(text);
    let first = (hash, TaskId::from_number(0));
    set.range(first..).map_while(move |(other, id)| (*other == hash).then_some(*id))
}

fn uncount(counts: &mut BTreeMap<Quick<SessionId>, usize>, session: &SessionId) {
    let session = Quick::from(session);
    if let Some(count) = counts.get_mut(&session) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&session);
        }
    }
}
