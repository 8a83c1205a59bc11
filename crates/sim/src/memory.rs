//! The journal of the simulated world: the store's guards on plain maps, quick enough for a
//! million histories and as easily copied as a daemon is killed.
//!
//! It refuses what the store refuses and reads back what the store reads back; one suite of tests
//! holds both to that. Faults are not its concern: whoever wants a full disk puts it in front.

mod outbox;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use legwork_engine::Usage;
use legwork_engine::record::{
    About, Change, Delivery, Journal, Ledger, Notice, NoticeId, Parent, Saved, Stop,
};
use legwork_engine::task::{ResumedBy, StageName, Task};
use legwork_protocol::{CallKey, Currency, MessageId, SessionId, TaskId, Time};

/// A change that does not follow from what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impossible(pub String);

impl fmt::Display for Impossible {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a change that cannot be: {}", self.0)
    }
}

impl std::error::Error for Impossible {}

/// The records of a simulated daemon.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    tasks: BTreeMap<TaskId, Task>,
    details: BTreeMap<(TaskId, u32), Arc<str>>,
    notices: BTreeMap<NoticeId, Kept>,
    deliveries: BTreeMap<MessageId, Delivery>,
    stops: BTreeMap<TaskId, Stop>,
    parents: BTreeMap<SessionId, Parent>,
    ledgers: BTreeMap<(SessionId, Currency), Ledger>,
    earlier_calls: BTreeMap<(TaskId, u32), CallKey>,
    /// Earlier records were set aside.
    pub incomplete: bool,
    undo: Vec<Undo>,
}

/// A notice and its state. It stays while its task is there, so that it cannot be enqueued twice.
#[derive(Debug, Clone)]
struct Kept {
    notice: Notice,
    state: NoticeState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoticeState {
    Pending,
    Over,
}

/// What an entry was before the present save.
#[derive(Debug, Clone)]
enum Undo {
    Task(TaskId, Option<Box<Task>>),
    Detail((TaskId, u32), Option<Arc<str>>),
    Notice(NoticeId, Option<Box<Kept>>),
    Delivery(MessageId, Option<Delivery>),
    Stop(TaskId, Option<Stop>),
    Parent(SessionId, Option<Parent>),
    Ledger((SessionId, Currency), Option<Ledger>),
    EarlierCall((TaskId, u32), Option<CallKey>),
}

impl Journal for Memory {
    type Fault = Impossible;

    fn save(&mut self, _at: Time, changes: &[Change]) -> Result<(), Impossible> {
        for change in changes {
            if let Err(why) = self.apply(change) {
                self.roll_back();
                return Err(why);
            }
        }
        self.undo.clear();
        Ok(())
    }

    fn detail(&mut self, task: TaskId, run: u32) -> Result<Option<String>, Impossible> {
        Ok(self.details.get(&(task, run)).map(|detail| detail.as_ref().to_owned()))
    }

    fn load(&mut self) -> Result<Saved, Impossible> {
        let mut tasks: Vec<Task> = self.tasks.values().cloned().collect();
        tasks.sort_by_key(|task| (task.seq, task.id));
        let pending = self.notices.values().filter(|kept| kept.state == NoticeState::Pending);
        Ok(Saved {
            tasks,
            notices: pending.map(|kept| kept.notice.clone()).collect(),
            deliveries: self.deliveries.values().cloned().collect(),
            stops: self.stops.values().cloned().collect(),
            parents: self.parents.values().cloned().collect(),
            ledgers: self.ledgers.values().cloned().collect(),
            earlier_calls: self
                .earlier_calls
                .iter()
                .map(|((task, _), key)| (*task, key.clone()))
                .collect(),
            incomplete: self.incomplete,
        })
    }

    fn probe(&mut self) -> Result<(), Impossible> {
        Ok(())
    }
}

impl Memory {
    fn apply(&mut self, change: &Change) -> Result<(), Impossible> {
        match change {
            Change::Launched { task, .. } => self.launched(task),
            Change::Resumed { task, from, by } => self.resumed(task, *from, *by),
            Change::Moved { task, from } => self.moved(task, *from),
            Change::Ended { task, from, detail } => self.ended(task, *from, detail),
            Change::Used { task, run, tool_calls, usage } => {
                self.used(*task, *run, *tool_calls, usage)
            }
            Change::Asked { .. } | Change::Answered { .. } | Change::LaunchUndone { .. } => Ok(()),
            Change::LedgerKept { ledger, .. } => {
                let key = (ledger.root.clone(), ledger.currency);
                self.put_ledger(key, Some(ledger.clone()));
                Ok(())
            }
            Change::LedgerForgotten { root } => self.ledger_forgotten(root),
            Change::Retrieved { task, at } => self.retrieved(*task, *at),
            Change::Forgotten { task, .. } => self.forgotten(*task),
            Change::Cleared { tasks } => tasks.iter().try_for_each(|task| self.forgotten(*task)),
            Change::Enqueued(notice) => self.pending(notice),
            Change::Withdrawn(id) => self.withdrawn(*id),
            Change::DeliveryCreated(delivery) => self.delivery_created(delivery),
            Change::DeliveryWithdrawn { delivery, .. } => self.delivery_over(delivery, None),
            Change::DeliveryPulled { delivery, .. } => self.delivery_pulled(delivery),
            Change::DeliveryDone { delivery, end, .. } => self.delivery_over(delivery, Some(*end)),
            Change::StopRequested(stop) => self.stop_requested(stop),
            Change::StopDone { task } => self.stop_done(*task),
            Change::ParentKnown(parent) => {
                self.put_parent(&parent.session, Some(parent.clone()));
                Ok(())
            }
            Change::ParentForgotten { session } => self.parent_forgotten(session),
        }
    }

    fn launched(&mut self, task: &Task) -> Result<(), Impossible> {
        guard(task.run.number == 0 && !task.is_finished(), || {
            format!("launch of {}: it has to begin with an unfinished run 0", task.id)
        })?;
        guard(!self.tasks.contains_key(&task.id), || {
            format!("launch of {}: there is a task with this id", task.id)
        })?;
        self.put_task(task.id, Some(task.clone()));
        Ok(())
    }

    fn resumed(&mut self, task: &Task, from: StageName, by: ResumedBy) -> Result<(), Impossible> {
        let before = self.tasks.get(&task.id);
        let earlier = before.map(|before| before.run.key.clone());
        let follows = before.is_some_and(|before| {
            before.stage.name() == from
                && by.may_resume(from)
                && before.run.number.checked_add(1) == Some(task.run.number)
        });
        guard(follows && !task.is_finished(), || {
            let (id, run) = (task.id, task.run.number);
            format!("resume of {id} as run {run}: it is not at that end at the run before")
        })?;
        self.put_task(task.id, Some(task.clone()));
        self.put_earlier_call((task.id, task.run.number - 1), earlier);
        Ok(())
    }

    fn moved(&mut self, task: &Task, from: StageName) -> Result<(), Impossible> {
        guard(!task.is_finished(), || bad_move(task, from))?;
        self.go(task, from)
    }

    fn ended(&mut self, task: &Task, from: StageName, detail: &str) -> Result<(), Impossible> {
        guard(task.is_finished(), || bad_move(task, from))?;
        self.go(task, from)?;
        self.put_detail((task.id, task.run.number), Some(detail.into()));
        Ok(())
    }

    /// A run keeps the prompt that it began with, and neither that nor its questions are needed
    /// once it is over.
    fn go(&mut self, task: &Task, from: StageName) -> Result<(), Impossible> {
        let before = self.tasks.get(&task.id).filter(|before| {
            before.stage.name() == from
                && before.run.number == task.run.number
                && from.may_become(task.stage.name())
        });
        let before = before.ok_or_else(|| Impossible(bad_move(task, from)))?;
        let mut now = task.clone();
        if now.is_finished() {
            now.run.prompt = None;
            now.run.asked.ids = Vec::new();
        } else {
            now.run.prompt = before.run.prompt.clone();
        }
        self.put_task(task.id, Some(now));
        Ok(())
    }

    fn used(
        &mut self,
        task: TaskId,
        run: u32,
        tool_calls: u32,
        usage: &Usage,
    ) -> Result<(), Impossible> {
        let under_way = |task: &&Task| !task.is_finished() && task.run.number == run;
        let Some(mut now) = self.tasks.get(&task).filter(under_way).cloned() else {
            return refuse(|| format!("usage of {task}: its run {run} is not under way"));
        };
        (now.run.tool_calls, now.run.usage) = (tool_calls, usage.clone());
        self.put_task(task, Some(now));
        Ok(())
    }

    fn ledger_forgotten(&mut self, root: &SessionId) -> Result<(), Impossible> {
        let own = self.ledgers.keys().filter(|(of, _)| of == root).cloned().collect::<Vec<_>>();
        guard(!own.is_empty(), || format!("forgetting of the ledger of {root}: there is none"))?;
        for key in own {
            self.put_ledger(key, None);
        }
        Ok(())
    }

    fn retrieved(&mut self, task: TaskId, at: Time) -> Result<(), Impossible> {
        let Some(mut now) = self.tasks.get(&task).cloned() else {
            return refuse(|| format!("reading of {task}: there is no such task"));
        };
        now.retrieved = Some(at);
        self.put_task(task, Some(now));
        Ok(())
    }

    fn forgotten(&mut self, task: TaskId) -> Result<(), Impossible> {
        guard(self.tasks.contains_key(&task), || {
            format!("forgetting of {task}: there is no such task")
        })?;
        self.put_task(task, None);
        let details = self.details.range((task, 0)..=(task, u32::MAX));
        for key in details.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.put_detail(key, None);
        }
        let earlier = self.earlier_calls.range((task, 0)..=(task, u32::MAX));
        for key in earlier.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.put_earlier_call(key, None);
        }
        let first = NoticeId { task, run: 0, about: About::End };
        let last = NoticeId { task, run: u32::MAX, about: About::Question(u32::MAX) };
        let notices = self.notices.range(first..=last);
        for id in notices.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.take_from_delivery(id);
            self.put_notice(id, None);
        }
        Ok(())
    }

    fn stop_requested(&mut self, stop: &Stop) -> Result<(), Impossible> {
        guard(!self.stops.contains_key(&stop.task), || {
            format!("stop of {}: one is pending", stop.task)
        })?;
        self.put_stop(stop.task, Some(stop.clone()));
        Ok(())
    }

    fn stop_done(&mut self, task: TaskId) -> Result<(), Impossible> {
        guard(self.stops.contains_key(&task), || {
            format!("end of the stop of {task}: none is pending")
        })?;
        self.put_stop(task, None);
        Ok(())
    }

    fn parent_forgotten(&mut self, session: &SessionId) -> Result<(), Impossible> {
        guard(self.parents.contains_key(session), || {
            format!("forgetting of parent {session}: it is not known")
        })?;
        self.put_parent(session, None);
        Ok(())
    }
}

// Every change to a map goes through one of these, so that it can be undone.
impl Memory {
    fn put_task(&mut self, key: TaskId, value: Option<Task>) {
        let before = set(&mut self.tasks, key, value);
        self.undo.push(Undo::Task(key, before.map(Box::new)));
    }

    fn put_detail(&mut self, key: (TaskId, u32), value: Option<Arc<str>>) {
        let before = set(&mut self.details, key, value);
        self.undo.push(Undo::Detail(key, before));
    }

    fn put_notice(&mut self, key: NoticeId, value: Option<Kept>) {
        let before = set(&mut self.notices, key, value);
        self.undo.push(Undo::Notice(key, before.map(Box::new)));
    }

    fn put_delivery(&mut self, key: &MessageId, value: Option<Delivery>) {
        let before = set(&mut self.deliveries, key.clone(), value);
        self.undo.push(Undo::Delivery(key.clone(), before));
    }

    fn put_stop(&mut self, key: TaskId, value: Option<Stop>) {
        let before = set(&mut self.stops, key, value);
        self.undo.push(Undo::Stop(key, before));
    }

    fn put_parent(&mut self, key: &SessionId, value: Option<Parent>) {
        let before = set(&mut self.parents, key.clone(), value);
        self.undo.push(Undo::Parent(key.clone(), before));
    }

    fn put_ledger(&mut self, key: (SessionId, Currency), value: Option<Ledger>) {
        let before = set(&mut self.ledgers, key.clone(), value);
        self.undo.push(Undo::Ledger(key, before));
    }

    fn put_earlier_call(&mut self, key: (TaskId, u32), value: Option<CallKey>) {
        let before = set(&mut self.earlier_calls, key, value);
        self.undo.push(Undo::EarlierCall(key, before));
    }

    fn roll_back(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Task(key, before) => {
                    set(&mut self.tasks, key, before.map(|task| *task));
                }
                Undo::Detail(key, before) => {
                    set(&mut self.details, key, before);
                }
                Undo::EarlierCall(key, before) => {
                    set(&mut self.earlier_calls, key, before);
                }
                Undo::Notice(key, before) => {
                    set(&mut self.notices, key, before.map(|kept| *kept));
                }
                Undo::Delivery(key, before) => {
                    set(&mut self.deliveries, key, before);
                }
                Undo::Stop(key, before) => {
                    set(&mut self.stops, key, before);
                }
                Undo::Ledger(key, before) => {
                    set(&mut self.ledgers, key, before);
                }
                Undo::Parent(key, before) => {
                    set(&mut self.parents, key, before);
                }
            }
        }
    }
}

/// What was there before.
fn set<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}

fn bad_move(task: &Task, from: StageName) -> String {
    let (id, run) = (task.id, task.run.number);
    let (from, to) = (from.as_str(), task.stage.name().as_str());
    format!("{id} run {run} from {from} to {to}: there is no such step, or it is not there")
}

fn guard(holds: bool, what: impl FnOnce() -> String) -> Result<(), Impossible> {
    if holds { Ok(()) } else { refuse(what) }
}

fn refuse(what: impl FnOnce() -> String) -> Result<(), Impossible> {
    Err(Impossible(what()))
}
