//! Collecting: a client that polls for the end of a run, as MCP clients do for their tasks, is told
//! by the answer to its poll. While it polls, the run's notices are held: each end is told one way.
//!
//! Not saved: whoever collects asks again after a restart, and until then what was unfinished or
//! untold waits as long as a lease lasts.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::api::Answer;
use legwork_protocol::limits::{COLLECT_LEASE_MS, COLLECT_WAIT_MAX_MS};
use legwork_protocol::{CallId, HostId, QuestionId, Refusal, SessionId, TaskId};

use crate::engine::{Answered, Engine};
use crate::input::Caller;
use crate::record::{About, NoticeId};
use crate::task::Task;
use crate::timers::Timer;

/// Who collects which run.
#[derive(Debug, Default)]
pub(crate) struct Collects {
    /// By task first: every end and question asks for those of one task.
    open: BTreeMap<(TaskId, CallId), Collect>,
    tasks: BTreeMap<CallId, TaskId>,
    leases: BTreeMap<(TaskId, u32), Lease>,
}

#[derive(Debug)]
pub(crate) struct Collect {
    run: u32,
    /// The questions that the client knows.
    questions: Vec<QuestionId>,
}

/// A run that nobody but who collects it is told of.
#[derive(Debug, Default)]
struct Lease {
    /// Polls that are open. One that nobody polls for lasts a while.
    open: u32,
    /// The sessions that collect it. Another than the asker may: a client can go on with its tasks
    /// under another id.
    by: BTreeSet<SessionId>,
}

impl Collects {
    /// Whether somebody collects the run, or did a moment ago.
    pub fn is_leased(&self, task: TaskId, run: u32) -> bool {
        self.leases.contains_key(&(task, run))
    }

    /// Whether sessions collect the run. Who only waits for its end is given it by a reader.
    pub fn is_collected(&self, task: TaskId, run: u32) -> bool {
        self.leases.get(&(task, run)).is_some_and(|lease| !lease.by.is_empty())
    }

    fn is_collected_by(&self, task: TaskId, run: u32, session: &SessionId) -> bool {
        self.leases.get(&(task, run)).is_some_and(|lease| lease.by.contains(session))
    }

    fn of(&self, task: TaskId) -> impl Iterator<Item = (CallId, &Collect)> {
        let of_task = self.open.range((task, CallId(0))..=(task, CallId(u64::MAX)));
        of_task.map(|((_, call), collect)| (*call, collect))
    }

    fn insert(&mut self, call: CallId, task: TaskId, collect: Collect) {
        self.leases.entry((task, collect.run)).or_default().open += 1;
        self.tasks.insert(call, task);
        self.open.insert((task, call), collect);
    }

    fn remove(&mut self, call: CallId) -> Option<(TaskId, Collect)> {
        let task = self.tasks.remove(&call)?;
        Some((task, self.open.remove(&(task, call))?))
    }

    fn runs_of(&self, task: TaskId) -> Vec<u32> {
        let leases = self.leases.range((task, 0)..=(task, u32::MAX));
        leases.map(|((_, run), _)| *run).collect()
    }
}

impl Engine {
    pub(crate) fn collect(
        &mut self,
        call: CallId,
        caller: &Caller,
        (name, run): (&str, u32),
        questions: Vec<QuestionId>,
        wait_ms: u64,
    ) -> Answered {
        let task = self.find(caller, name)?;
        let id = task.id;
        if run > task.run.number {
            return Err(Refusal::NotFound(name.to_owned()));
        }
        let over = self.can_be_collected(&task, run) || self.asks_other_than(&task, &questions);
        self.lease(id, run, caller.session());
        if over || wait_ms == 0 {
            return Ok(self.collected(id, run));
        }
        self.collects.insert(call, id, Collect { run, questions });
        let wait_ms = wait_ms.min(COLLECT_WAIT_MAX_MS);
        self.timers.set(Timer::Collect(call), self.now.plus(wait_ms));
        Ok(None)
    }

    /// Nobody but who collects the run is told of it for a while.
    pub(crate) fn lease(&mut self, task: TaskId, run: u32, by: Option<&SessionId>) {
        let lease = self.collects.leases.entry((task, run)).or_default();
        if let Some(by) = by.filter(|by| !lease.by.contains(*by)) {
            lease.by.insert(by.clone());
        }
        self.timers.set(Timer::Lease(task, run), self.now.plus(COLLECT_LEASE_MS));
    }

    /// The sessions of a host that only has askers may have collected runs before the daemon was
    /// started: they are given the time to ask again.
    pub(crate) fn lease_all_of(&mut self, host: &HostId) {
        let is_of = |to: &SessionId| {
            let recipient = self.outbox.recipients.get(to);
            recipient.is_some_and(|one| one.parent.active_host.as_ref() == Some(host))
        };
        let pending = self.outbox.notices.values().filter(|notice| is_of(&notice.to));
        let pending = pending.map(|notice| (notice.id.task, notice.id.run));
        let unfinished = self.tasks.unfinished().map(|live| &live.task);
        let unfinished = unfinished.filter(|task| is_of(&task.run.asker));
        let unfinished = unfinished.map(|task| (task.id, task.run.number));
        for (task, run) in pending.chain(unfinished).collect::<Vec<_>>() {
            self.lease(task, run, None);
        }
    }

    /// Whether the end of the run is there to be collected. While a delivery carries it or a reader
    /// has it, it may be told that way: who polls waits for what comes of that.
    fn can_be_collected(&self, task: &Task, run: u32) -> bool {
        let end = NoticeId { task: task.id, run, about: About::End };
        has_ended(task, run) && !self.outbox.is_carried(&end) && !self.is_being_read(&end)
    }

    fn asks_other_than(&self, task: &Task, known: &[QuestionId]) -> bool {
        let asked = self.view_of(task, self.now).questions;
        asked.len() != known.len() || asked.iter().any(|question| !known.contains(&question.id))
    }

    fn collected(&self, id: TaskId, run: u32) -> Option<Answer> {
        let task = self.tasks.get(id)?;
        let ended = self.can_be_collected(&task, run);
        Some(Answer::Collected { task: Box::new(self.view_of(&task, self.now)), run, ended })
    }

    /// Something about the task changed that those who collect it may want to know.
    pub(crate) fn collected_task_changed(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(id) else { return };
        let changed = self.collects.of(id).filter(|(_, collect)| {
            self.can_be_collected(&task, collect.run)
                || self.asks_other_than(&task, &collect.questions)
        });
        for call in changed.map(|(call, _)| call).collect::<Vec<_>>() {
            self.soon(Timer::Collect(call));
        }
    }

    /// The time of a poll is up, or there is something to tell.
    pub(crate) fn collect_over(&mut self, call: CallId) {
        let Some((task, run)) = self.stop_collecting(call) else { return };
        match self.collected(task, run) {
            Some(answer) => self.answer(call, answer),
            None => self.refuse(vec![call], &Refusal::NotFound(task.to_string())),
        }
    }

    /// The poll is over. The lease goes on for a while, from now on.
    pub(crate) fn stop_collecting(&mut self, call: CallId) -> Option<(TaskId, u32)> {
        let (task, Collect { run, .. }) = self.collects.remove(call)?;
        self.timers.clear(&Timer::Collect(call));
        if let Some(lease) = self.collects.leases.get_mut(&(task, run)) {
            lease.open = lease.open.saturating_sub(1);
            self.lease(task, run, None);
        }
        Some((task, run))
    }

    /// Who collected the run has not come back: it is told otherwise.
    pub(crate) fn lease_over(&mut self, task: TaskId, run: u32) {
        if self.collects.leases.get(&(task, run)).is_none_or(|lease| lease.open > 0) {
            return;
        }
        self.collects.leases.remove(&(task, run));
        for recipient in self.outbox.recipients_of(task, run) {
            self.soon(Timer::Gather(recipient));
        }
    }

    /// The client has the end of the run. Only who asked for the run or collects it can know that:
    /// the word of another session would silence the notices of its neighbours.
    pub(crate) fn handed_over(&mut self, caller: &Caller, name: &str, run: u32) -> Answered {
        let task = self.find(caller, name)?;
        if !has_ended(&task, run) {
            return Err(Refusal::BadRequest("That run has not ended.".to_owned()));
        }
        let id = task.id;
        let recipients = self.outbox.recipients_of(id, run);
        if let Some(session) = caller.session()
            && !self.collects.is_collected_by(id, run, session)
            && recipients.iter().any(|recipient| recipient != session)
        {
            let why = "Only the session that asked for a run, or collects it, is handed its end.";
            return Err(Refusal::BadRequest(why.to_owned()));
        }
        self.withdraw_run(id, run);
        // The client has a turn for it.
        recipients.iter().for_each(|recipient| self.turn_begins(recipient));
        Ok(Some(Answer::Done))
    }

    /// The task is forgotten: whoever collects it is told so.
    pub(crate) fn forget_collects(&mut self, id: TaskId) {
        for call in self.collects.of(id).map(|(call, _)| call).collect::<Vec<_>>() {
            self.soon(Timer::Collect(call));
        }
        for run in self.collects.runs_of(id) {
            self.collects.leases.remove(&(id, run));
            self.timers.clear(&Timer::Lease(id, run));
        }
    }

    /// How many runs somebody collects, or did a moment ago, and how many polls are open.
    pub fn collected_runs(&self) -> (usize, usize) {
        (self.collects.leases.len(), self.collects.open.len())
    }
}

fn has_ended(task: &Task, run: u32) -> bool {
    run < task.run.number || task.is_finished()
}
