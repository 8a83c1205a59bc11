//! A run whose host ends under it. What came of it is read through another host of its place;
//! without an answer it fails, or another host is asked to go on with it.

use legwork_protocol::limits::CUT_OFF_GRACE_MS;
use legwork_protocol::{HostId, Interrupted, QuestionId, TaskId, Usage};

use super::observe::observe_action;
use super::task::Stage;
use super::volatile::{HostLoss, Request, Validity, pause_ms};
use crate::engine::Engine;
use crate::hosts::headless::{Folder, Start};
use crate::record::Settled;
use crate::tasks::Live;
use crate::text::words;
use crate::timers::Timer;
use crate::work::{Finding, HostError, RunState};

impl Engine {
    /// A run whose host ended: if it had begun, what came of it is read elsewhere.
    pub(super) fn tend_cut_off(&mut self, id: TaskId) {
        self.cut_off(id);
        let now = self.now;
        let elsewhere = self.host_for(id);
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        if !volatile.is_free(now) {
            return;
        }
        let patient = match volatile.loss {
            // Nobody saw how it ended, so it may be answered: that is worth waiting for, within its
            // limits.
            HostLoss::Unwatched { .. } => true,
            HostLoss::Watched { since } => now.since(since) < CUT_OFF_GRACE_MS,
            HostLoss::None => false,
        };
        match (observe_action(task), elsewhere) {
            (Some(look), Some(host)) => self.send_for(id, host, look),
            (None, Some(host)) => self.interrupted(id, Some(host)),
            (None, None) if self.settings.interrupted == Interrupted::Fail => {
                self.interrupted(id, None);
            }
            (_, None) if self.awaits_headless(id) || patient => {}
            (_, None) => self.interrupted(id, None),
        }
    }

    /// Takes in that the run's host has ended, once.
    fn cut_off(&mut self, id: TaskId) {
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        if volatile.host_ended() {
            return;
        }
        let since = self.now;
        let folder = Folder::of(task);
        let unseen = self.hosts.get(&task.run.host).is_some_and(|host| host.ended_unseen);
        if task.stage.holds_slot() {
            volatile.idle_since.get_or_insert(since);
        }
        volatile.loss =
            if unseen { HostLoss::Unwatched { since } } else { HostLoss::Watched { since } };
        if let Some(request) = &mut volatile.request
            && request.host == task.run.host
        {
            request.validity = Validity::Stale;
        }
        (volatile.retry, volatile.retry_since) = (None, None);
        // Nobody can answer what a host asked that has ended.
        let questions: Vec<QuestionId> = volatile.questions.keys().cloned().collect();
        for question in &questions {
            self.question_closed(id, question, Settled::HostEnded);
        }
        self.forget_gone_folder(&folder);
        // Those from before a restart are known by their notices only.
        self.withdraw_questions(id);
    }

    /// A run past its limit whose host is away: its answer may be there all the same, if the host
    /// ended where we cannot see it.
    pub(super) fn observe_elsewhere(&mut self, id: TaskId) {
        let Some(Live { task, volatile }) = self.tasks.live(id) else { return };
        if volatile.overdue.is_none() || volatile.due.is_none() || !volatile.is_free(self.now) {
            return;
        }
        if let (Some(host), Some(look)) = (self.host_for(id), observe_action(task)) {
            self.send_for(id, host, look);
        }
    }

    /// Another host than the run's knows only what is over: that it sees nobody at work means
    /// nothing, nor that it does not have the session.
    pub(super) fn observed_elsewhere(
        &mut self,
        id: TaskId,
        request: Request,
        found: Result<Finding, HostError>,
    ) {
        match found {
            Ok(Finding::Observed(observation)) if observation.state.is_end() => {
                self.observed(id, observation, request.validity);
            }
            Ok(_) | Err(HostError::Gone) => self.asked_in_vain(id, request.host),
            Err(_) => self.observe_at(id, self.now.plus(pause_ms(1))),
        }
    }

    pub(super) fn cut_off_answered(
        &mut self,
        id: TaskId,
        request: Request,
        found: Result<Finding, HostError>,
    ) {
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        let stale = request.validity == Validity::Stale;
        let began = task.stage.prompt().is_some();
        match found {
            Ok(Finding::Observed(observation)) if began => match observation.state {
                RunState::Answered { .. } | RunState::Failed { .. } => {
                    self.observed(id, observation, request.validity);
                }
                // It was asked before the host ended, and may have been answered after that.
                RunState::Busy | RunState::Still { .. } if stale => self.observe_at(id, self.now),
                RunState::Aborted { .. } | RunState::Busy | RunState::Still { .. } => {
                    let host = self.host_for(id);
                    self.interrupted(id, host);
                }
            },
            Err(HostError::Gone) if began && (stale || volatile.deletion_announced) => {
                self.deleted_under(id);
            }
            // A host that never had the session cannot tell whether it was deleted.
            Err(HostError::Gone) if began => self.asked_in_vain(id, request.host),
            // An answer to what was asked of the host before it ended tells nothing any more.
            Ok(_) | Err(_) => self.observe_at(id, self.now.plus(pause_ms(1))),
        }
    }

    /// The host knows nothing of the run, and is not asked again.
    fn asked_in_vain(&mut self, id: TaskId, host: HostId) {
        if let Some(live) = self.tasks.unfinished_mut(id) {
            live.volatile.unknown_to.insert(host);
            self.hosts.forget_gone(&mut live.volatile.unknown_to);
        }
    }

    /// Some host that may know a run whose own cannot be asked.
    fn host_for(&self, id: TaskId) -> Option<HostId> {
        let Live { task, volatile } = self.tasks.live(id)?;
        let folder = Folder::of(task);
        let mut here = self.hosts.here_in(&folder);
        here.find(|host| !volatile.unknown_to.contains(*host)).cloned()
    }

    /// The run was cut off with its host, unanswered.
    fn interrupted(&mut self, id: TaskId, elsewhere: Option<HostId>) {
        let Some(Live { task, .. }) = self.tasks.live(id) else { return };
        let goes_on = self.settings.interrupted == Interrupted::Continue && task.may_go_on();
        // Its folder is not there any more, whoever goes on with it.
        let is_lost = self.starts.get(&Folder::of(task)).is_some_and(Start::has_no_folder);
        let goes_on = goes_on && !is_lost;
        match elsewhere.filter(|_| goes_on) {
            Some(host) => self.go_on(id, host),
            None => self.fail(id, self.why_interrupted(id)),
        }
    }

    pub(super) fn why_interrupted(&self, id: TaskId) -> String {
        let Some(Live { task, .. }) = self.tasks.live(id) else { return String::new() };
        let failure = self.starts.get(&Folder::of(task)).and_then(Start::failure);
        words::interrupted(self.hosts.lifetime(&task.run.host), failure)
    }

    /// Puts the run into another host's queue, to be asked to go on.
    fn go_on(&mut self, id: TaskId, host: HostId) {
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        self.hosts.release(task);
        task.run.host = host.clone();
        // One that had only waited waits elsewhere.
        task.run.continued += u32::from(task.stage != Stage::Queued);
        volatile.loss = HostLoss::None;
        task.run.used_before = Usage { model: None, ..task.run.usage.clone() };
        self.advance(id, Stage::Queued);
        if let Some(live) = self.tasks.live(id) {
            self.hosts.enlist(&live.task);
        }
        self.soon(Timer::Start(host));
    }
}
