//! The auditor sees every transaction and checks it against what was saved before: the transitions
//! of the lifecycle, one notice for each end, the order of the queue, the limits and the counts. It
//! trusts nothing but the changes themselves.

mod outbox;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use legwork_engine::Usage;
use legwork_engine::record::{About, Change, Delivery, DeliveryEnd, Forget, NoticeId, Target};
use legwork_engine::task::{Outcome, ResumedBy, Stage, StageName, Task};
use legwork_engine::text::words;
use legwork_protocol::{
    CallKey, HostId, MessageId, Place, SessionId, Settings, Status, TaskId, Time,
};

use crate::edges::{Edge, arrow};
use crate::figures::Figures;

/// What the auditor found wrong: which check, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub check: &'static str,
    pub what: String,
}

/// A task as the records have it.
#[derive(Debug, Clone)]
pub struct Row {
    pub task: Task,
}

/// What became of one run.
#[derive(Debug, Clone)]
pub struct RunFact {
    /// Who asked for it.
    pub asker: SessionId,
    /// The host that it began on.
    pub host: HostId,
    /// The daemon's life in which it was accepted.
    pub accepted_in: u32,
    pub ended: Option<Outcome>,
    /// Its result or reason.
    pub detail: String,
    /// What became of the notice of its end.
    pub notice: NoticeFact,
    pub ended_at: Time,
    /// Whether a host could be asked then.
    pub readable: bool,
    /// Whether somebody has read its end.
    pub read: bool,
    /// Whether its task was forgotten.
    pub forgotten: bool,
    /// In which life of the daemon.
    pub forgotten_in: u32,
    pub prompt: Arc<str>,
    /// Whether the host said that it has the prompt.
    pub taken: bool,
    /// How often it was asked to go on.
    pub continued: u32,
    /// What it used up.
    pub usage: Usage,
    /// The ids under which it was to be sent; more than one if it was asked to go on.
    pub prompts: Vec<MessageId>,
}

/// What became of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeFact {
    None,
    Pending,
    Told,
    /// It was not needed any more.
    Withdrawn,
    /// The delivery ended for another reason.
    Ended(DeliveryEnd),
}

/// The auditor's own books.
#[derive(Debug, Default)]
pub struct Audit {
    /// All tasks that are kept.
    pub rows: BTreeMap<TaskId, Row>,
    /// All runs that ever were accepted.
    pub runs: BTreeMap<(TaskId, u32), RunFact>,
    /// All deliveries that were ever made, by id, with what they tell.
    pub deliveries_ever: BTreeMap<MessageId, Delivery>,
    /// The daemon's life in which each was made.
    pub made_in: BTreeMap<MessageId, u32>,
    pub life: u32,
    pub deliveries: BTreeSet<MessageId>,
    /// Those that wait for their readers, or did.
    pub pulled: BTreeSet<MessageId>,
    /// Notices that were withdrawn from one of those.
    pub taken_out: BTreeSet<NoticeId>,
    /// Deliveries that count as told.
    pub told: BTreeSet<MessageId>,
    /// Notices that are pending.
    pub pending: BTreeSet<NoticeId>,
    /// Stops that are pending.
    pub stops: BTreeMap<TaskId, Target>,
    /// Calls that runs came of, with the task.
    pub keys: BTreeMap<CallKey, TaskId>,
    /// Sessions known as parents.
    pub parents: BTreeSet<SessionId>,
    /// Sessions that were forgotten while a run that they asked for went on.
    pub abandoned: BTreeSet<SessionId>,
    /// Tasks that were forgotten because their parent was deleted, with the parent's session and
    /// their own.
    pub deleted_with: Vec<(TaskId, SessionId, Option<SessionId>)>,
    /// Who is to be told each notice.
    pub pending_for: BTreeMap<NoticeId, SessionId>,
    /// The host that each pending stop is for.
    pub stop_hosts: BTreeMap<TaskId, HostId>,
    /// The places of the hosts that are connected.
    pub places_here: BTreeSet<Place>,
    /// Slots per host; 0 for no limit.
    pub max_running: u32,
    pub(crate) figures: Figures,
    /// The transitions that were taken.
    pub edges: BTreeSet<Edge>,
    pub found: Vec<Broken>,
}

impl Audit {
    /// An auditor who knows how many may run at once, and what runs may cost.
    pub fn new(settings: &Settings) -> Self {
        let figures = Figures::within(settings);
        Self { max_running: settings.max_running, figures, ..Self::default() }
    }

    pub fn broken(&mut self, check: &'static str, what: String) {
        self.found.push(Broken { check, what });
    }

    /// A transaction was committed.
    pub fn committed(&mut self, at: Time, changes: &[Change]) {
        self.edges.extend(changes.iter().filter_map(Edge::of));
        for change in changes {
            self.figures.apply(at, change);
            self.apply(change);
        }
        self.check_ends(changes);
        self.check_trees(changes);
        self.check_places();
        if let Some(what) = self.figures.wrong() {
            self.broken("the budget", what);
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Launched { task, .. } => {
                self.check_asker(task);
                self.begun(task, None);
            }
            Change::Resumed { task, from, by } => self.resumed(task, *from, *by),
            Change::Moved { task, from } => self.moved(task, *from),
            Change::Ended { task, from, detail } => self.ended(task, *from, detail),
            Change::Used { task, usage, .. } => {
                if let Some(row) = self.rows.get_mut(task) {
                    row.task.run.usage = usage.clone();
                }
            }
            Change::Retrieved { task, .. } => self.read(*task),
            Change::Asked { .. }
            | Change::LaunchUndone { .. }
            | Change::Answered { .. }
            | Change::LedgerKept { .. }
            | Change::LedgerForgotten { .. } => {}
            Change::Forgotten { task, why } => {
                if *why == Forget::ParentDeleted
                    && let Some(row) = self.rows.get(task)
                {
                    let sessions = (row.task.parent.clone(), row.task.session.clone());
                    self.deleted_with.push((*task, sessions.0, sessions.1));
                }
                self.forgotten(*task);
            }
            Change::Cleared { tasks } => tasks.iter().for_each(|task| self.forgotten(*task)),
            Change::Enqueued(notice) => {
                self.pending.insert(notice.id);
                self.pending_for.insert(notice.id, notice.to.clone());
                if notice.id.about == About::End {
                    self.set_notice(notice.id, NoticeFact::Pending);
                }
            }
            Change::Withdrawn(id) => self.withdrawn(*id),
            Change::DeliveryCreated(delivery) => {
                self.check_counts(delivery);
                self.deliveries.insert(delivery.id.clone());
                self.made_in.insert(delivery.id.clone(), self.life);
                self.deliveries_ever.insert(delivery.id.clone(), delivery.clone());
            }
            Change::DeliveryWithdrawn { delivery: id, .. } => {
                self.deliveries.remove(id);
            }
            Change::DeliveryPulled { delivery, .. } => {
                self.pulled.insert(delivery.clone());
            }
            Change::DeliveryDone { delivery, end, .. } => self.delivery_done(delivery, *end),
            Change::StopRequested(stop) => {
                self.stops.insert(stop.task, stop.target.clone());
                self.stop_hosts.insert(stop.task, stop.host.clone());
            }
            Change::StopDone { task } => {
                self.stops.remove(task);
            }
            Change::ParentKnown(parent) => {
                self.parents.insert(parent.session.clone());
            }
            Change::ParentForgotten { session } => {
                self.parents.remove(session);
                let waits = |row: &&Row| !row.task.is_finished() && row.task.run.asker == *session;
                if self.rows.values().find(waits).is_some() {
                    self.abandoned.insert(session.clone());
                }
            }
        }
    }

    /// Somebody has read how the task's last run ended.
    fn read(&mut self, task: TaskId) {
        let number = self.rows.get(&task).map(|row| (task, row.task.run.number));
        if let Some(run) = number.and_then(|number| self.runs.get_mut(&number)) {
            run.read = true;
        }
    }

    /// A session may go on with what is completed, a person with whatever is over; and what a
    /// person has done, the session that launched it hears of.
    fn resumed(&mut self, task: &Task, from: StageName, by: ResumedBy) {
        let is_over =
            matches!(from, StageName::Completed | StageName::Failed | StageName::Cancelled);
        if !is_over || by == ResumedBy::Session && from != StageName::Completed {
            self.broken("arrows", format!("{} is resumed by a {by:?} from {from:?}", task.id));
        }
        match by {
            ResumedBy::Session => self.check_asker(task),
            ResumedBy::Person if task.run.asker != task.parent => {
                self.broken("a person's resume is its parent's", task.id.to_string());
            }
            ResumedBy::Person => {}
        }
        if self.stops.contains_key(&task.id) {
            self.broken("nothing stops a new run", format!("{} is still stopped", task.id));
        }
        self.begun(task, Some(from));
    }

    fn check_asker(&mut self, task: &Task) {
        let asker = self
            .rows
            .values()
            .map(|row| &row.task)
            .find(|helper| helper.session.as_ref() == Some(&task.run.asker));
        let ended = asker.and_then(Task::outcome).filter(|outcome| *outcome != Outcome::Completed);
        if ended.is_some() {
            self.broken("the ended ask nothing", format!("{} came of one", task.id));
        }
    }

    fn begun(&mut self, task: &Task, from: Option<StageName>) {
        if self.keys.insert(task.run.key.clone(), task.id).is_some() {
            self.broken("one run a call", format!("{} begins two runs", task.run.key));
        }
        let before = self.rows.get(&task.id).map(|row| row.task.stage.name());
        if before != from {
            self.broken("arrows", format!("{} begins a run from {before:?}", task.id));
        }
        let fact = RunFact {
            asker: task.run.asker.clone(),
            host: task.run.host.clone(),
            accepted_in: self.life,
            ended: None,
            ended_at: Time::default(),
            readable: false,
            detail: String::new(),
            notice: NoticeFact::None,
            read: false,
            forgotten: false,
            forgotten_in: 0,
            prompt: task.run.prompt.clone().unwrap_or_default(),
            taken: false,
            continued: 0,
            usage: Usage::default(),
            prompts: Vec::new(),
        };
        if self.runs.insert((task.id, task.run.number), fact).is_some() {
            self.broken("arrows", format!("{} begins run {} twice", task.id, task.run.number));
        }
        self.rows.insert(task.id, Row { task: task.clone() });
    }

    fn moved(&mut self, task: &Task, from: StageName) {
        let next = task.stage.name();
        if from == StageName::Queued && next != StageName::Queued {
            self.check_queue(task);
        }
        if !arrow(from, next) {
            self.broken("arrows", format!("{} moves from {from:?} to {next:?}", task.id));
        }
        if let Some(run) = self.runs.get_mut(&(task.id, task.run.number)) {
            run.continued = task.run.continued;
            run.taken |= next == StageName::Working;
            if let Stage::Prompting(message) = &task.stage
                && !run.prompts.contains(message)
            {
                run.prompts.push(message.clone());
            }
        }
        self.rows.insert(task.id, Row { task: task.clone() });
    }

    fn ended(&mut self, task: &Task, from: StageName, detail: &str) {
        if !arrow(from, task.stage.name()) {
            self.broken("arrows", format!("{} ends as {:?} from {from:?}", task.id, task.stage));
        }
        if let Some(run) = self.runs.get_mut(&(task.id, task.run.number)) {
            run.ended = task.outcome();
            run.usage = task.run.usage.clone();
            run.ended_at = task.run.ended.unwrap_or_default();
            run.readable = self.places_here.contains(&task.place);
            detail.clone_into(&mut run.detail);
        }
        self.rows.insert(task.id, Row { task: task.clone() });
    }

    fn forgotten(&mut self, id: TaskId) {
        // What is forgotten may be asked for again, by the same call too.
        self.rows.remove(&id);
        self.keys.retain(|_, task| *task != id);
        for (_, run) in self.runs.range_mut((id, 0)..=(id, u32::MAX)) {
            run.forgotten = true;
            run.forgotten_in = self.life;
        }
        self.pending.retain(|notice| notice.task != id);
        self.drop_empty();
    }

    /// An end and the notice of it are saved together, unless nobody is to be told.
    fn check_ends(&mut self, changes: &[Change]) {
        for change in changes {
            let Change::Ended { task, detail, .. } = change else { continue };
            let pending = changes.iter().any(|change| match change {
                Change::Enqueued(notice) => {
                    notice.id.task == task.id
                        && notice.id.run == task.run.number
                        && notice.id.about == About::End
                        && notice.to == task.run.asker
                }
                _ => false,
            });
            let with_asker =
                *detail == words::CANCELLED_WITH_PARENT && task.run.asker == task.parent;
            let silent = *detail == words::CANCELLED_BY_PARENT || with_asker;
            let nobody = !self.parents.contains(&task.run.asker)
                && !changes.iter().any(|change| {
                    matches!(change, Change::ParentForgotten { session }
                        if *session == task.run.asker)
                });
            if !pending && !silent && !nobody {
                let what = format!("{} run {} ends untold", task.id, task.run.number);
                self.broken("end and notice together", what);
            }
            if pending && silent {
                let what = format!("{} run {} tells who ended it", task.id, task.run.number);
                self.broken("end and notice together", what);
            }
        }
    }

    /// First in, first out, for each host.
    fn check_queue(&mut self, task: &Task) {
        let ahead = self.rows.values().map(|row| &row.task).find(|other| {
            other.stage == Stage::Queued
                && other.run.host == task.run.host
                && other.run.order < task.run.order
        });
        if let Some(ahead) = ahead {
            let what = format!("{} leaves the queue before {}", task.id, ahead.id);
            self.broken("queue order", what);
        }
    }

    fn check_places(&mut self) {
        if self.max_running == 0 {
            return;
        }
        let mut running: BTreeMap<&HostId, u32> = BTreeMap::new();
        for Row { task } in self.rows.values() {
            if task.stage.holds_slot() {
                *running.entry(&task.run.host).or_default() += 1;
            }
        }
        let over = running.into_iter().find(|(_, count)| *count > self.max_running);
        if let Some(what) = over.map(|(host, count)| format!("{count} run at once on {host}")) {
            self.broken("places", what);
        }
    }

    /// What anybody should see now: every task with its status.
    pub fn view(&self) -> BTreeMap<TaskId, Status> {
        self.rows.values().map(|row| (row.task.id, row.task.status())).collect()
    }

    /// Whether nothing is unfinished, pending or to be stopped.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty()
            && self.deliveries.is_empty()
            && self.stops.is_empty()
            && self.rows.values().all(|row| row.task.is_finished())
    }

    /// The same auditor with empty books: what was found stays found.
    pub fn begun_anew(&mut self) -> Self {
        let (found, edges) = (mem::take(&mut self.found), mem::take(&mut self.edges));
        let (max_running, figures) = (self.max_running, self.figures.begun_anew());
        Self { max_running, life: self.life, figures, edges, found, ..Self::default() }
    }
}
