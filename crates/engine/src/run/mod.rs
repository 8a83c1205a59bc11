//! The life of a run, in the order in which it happens:
//!
//! | file | what |
//! |---|---|
//! | `task.rs` | what is saved: the task, its run, its stages |
//! | `launch.rs`, `resume.rs` | how a run is accepted |
//! | `queue.rs` | how it waits for a slot of its host |
//! | `start.rs` | how its session is opened and its prompt handed over |
//! | `observe.rs`, `poll.rs`, `questions.rs` | how we learn what it does, and how it ends |
//! | `limits.rs`, `budget.rs` | how long it may take, and what it may cost |
//! | `provider.rs` | the time in which it waits for its provider, which counts for neither |
//! | `interrupted.rs` | what becomes of it when its host ends first |
//! | `finish.rs`, `stop.rs` | its end, and a session that must not go on |
//!
//! Ordinary running, another try, polling and recovery all come through [`Engine::tend_run`], which
//! looks at the record and not at how it got there. What is known and not saved is in
//! `volatile.rs`.

pub(crate) mod budget;
pub(crate) mod finish;
pub(crate) mod interrupted;
pub(crate) mod launch;
mod limits;
mod observe;
mod poll;
mod provider;
pub(crate) mod questions;
mod queue;
pub(crate) mod resume;
mod start;
pub(crate) mod stop;
pub mod task;
mod undone;
pub(crate) mod volatile;

use legwork_protocol::limits::{CUT_OFF_GRACE_MS, LIMIT_GRACE_MS};
use legwork_protocol::{HostId, TaskId, Time};

use crate::engine::{Engine, Purpose};
use crate::hosts::Presence;
use crate::record::Change;
use crate::tasks::Live;
use crate::timers::Timer;
use crate::work::{Action, Finding, HostError, Tried, WorkId};
use task::Stage;
pub use volatile::Volatile;
use volatile::{Handover, HostLoss, Request, Rerun, Validity};

impl Engine {
    /// Does whatever the run needs now, and sees to it that it is tended again in time.
    pub(crate) fn tend_run(&mut self, id: TaskId) {
        let Some(live) = self.tasks.live(id) else { return };
        let host = live.task.run.host.clone();
        if self.over_limit(id) {
            return;
        }
        match self.hosts.presence(&host) {
            Presence::Here => self.next_step(id, &host),
            Presence::Away => self.observe_elsewhere(id),
            Presence::Gone => self.tend_cut_off(id),
        }
        self.arm(id);
    }

    fn next_step(&mut self, id: TaskId, host: &HostId) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        // A host that is there has not ended, whatever was said of it.
        volatile.loss = HostLoss::None;
        if task.stage.holds_slot() && volatile.retry.is_none() {
            volatile.idle_since = None;
        }
        if task.stage == Stage::Queued {
            return self.soon(Timer::Start(host.clone()));
        }
        // A working run is looked at when there is a reason to, not all the time.
        if !volatile.is_free(now)
            || matches!(task.stage, Stage::Working(_)) && volatile.due.is_none()
        {
            return;
        }
        let action = match &task.stage {
            Stage::Opening => Some(start::open_action(task, volatile, self.settings.max_depth)),
            Stage::Prompting(message) => {
                start::prompt_action(task, message, volatile.handover.tried())
            }
            Stage::Working(message) if volatile.rerun == Rerun::Due => {
                start::prompt_action(task, message, Tried::Unanswered)
            }
            Stage::Working(_) => observe::observe_action(task),
            Stage::Queued | Stage::Finished(_) => None,
        };
        if let Some(action) = action {
            self.send_for(id, host.clone(), action);
        }
    }

    fn send_for(&mut self, id: TaskId, host: HostId, action: Action) {
        let Some(run) = self.tasks.unfinished_mut(id).map(|live| live.task.run.number) else {
            return;
        };
        let work = self.work(host.clone(), action, Purpose::Run(id, run));
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        volatile.request = Some(Request { work, host, validity: Validity::Current });
        volatile.due = None;
        match (&task.stage, volatile.handover) {
            (Stage::Opening, _) => volatile.open = Tried::Perhaps,
            (Stage::Prompting(_), Handover::Untried) => volatile.handover = Handover::Tried,
            (Stage::Working(_), _) if volatile.rerun == Rerun::Due => volatile.rerun = Rerun::Done,
            _ => {}
        }
    }

    pub(crate) fn run_answered(
        &mut self,
        id: TaskId,
        run: u32,
        work: WorkId,
        found: Result<Finding, HostError>,
    ) {
        let Some(Live { task, volatile }) = self.tasks.live_mut(id) else { return };
        // Run and work ids are fencing tokens: an answer to an earlier request counts for nothing.
        let own = |request: &mut Request| request.work == work && task.run.number == run;
        let Some(request) = volatile.request.take_if(own) else { return };
        if volatile.host_ended() {
            self.cut_off_answered(id, request, found);
        } else if request.host != task.run.host {
            self.observed_elsewhere(id, request, found);
        } else if matches!(task.stage, Stage::Working(_)) {
            self.look_answered(id, request.validity, found);
        } else {
            self.start_answered(id, found);
        }
        self.tend_run(id);
    }

    /// The run is to be looked at again at this moment, at the latest.
    pub(crate) fn observe_at(&mut self, id: TaskId, at: Time) {
        if let Some(live) = self.tasks.live_mut(id) {
            live.volatile.due_by(at);
        }
    }

    /// Sets the run's timer to the first moment at which it may need something.
    pub(crate) fn arm(&mut self, id: TaskId) {
        let Some(live) = self.tasks.live(id) else { return };
        let Live { task, volatile } = live;
        let next_try = match self.hosts.presence(&task.run.host) {
            _ if volatile.request.is_some() => None,
            // Another host is asked only if the run is past its limit.
            Presence::Away if volatile.overdue.is_none() => None,
            Presence::Here | Presence::Gone | Presence::Away => volatile.due,
        };
        let grace = match volatile.loss {
            HostLoss::Watched { since } => Some(since.plus(CUT_OFF_GRACE_MS)),
            HostLoss::None | HostLoss::Unwatched { .. } => None,
        };
        let headless = self.headless_due(id);
        let last_word = volatile.overdue.map(|since| since.plus(LIMIT_GRACE_MS));
        let moments = [next_try, grace, headless, self.limit_of(live), last_word];
        match moments.into_iter().flatten().filter(|at| *at > self.now).min() {
            Some(at) => self.timers.set(Timer::Run(id), at),
            None => self.timers.clear(&Timer::Run(id)),
        }
    }

    /// The run is further on: its record says so before anybody acts on it.
    pub(crate) fn advance(&mut self, id: TaskId, stage: Stage) {
        let Some(live) = self.tasks.unfinished_mut(id) else { return };
        let from = live.task.stage.name();
        debug_assert!(from.may_become(stage.name()), "{id}: {from:?} to {stage:?}");
        live.task.stage = stage;
        live.volatile.fresh_stage();
        let task = live.task.clone();
        self.save(Change::Moved { task, from });
    }
}
