//! Hosts come and go. One that is away may be at work, so its runs wait; one whose process ended
//! is not, so what it left behind is read through another host of its place, and then ended or
//! asked to go on.

use legwork_protocol::limits::{
    CONTINUE_MAX, CUT_OFF_GRACE_MS, POLL_EVERY_MS, SURVEYS_UNASKED_MAX,
};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{HostId, Interrupted, Place, QuestionId, TaskId};

use crate::engine::Engine;
use crate::hosts::{Host, Presence};
use crate::runs::observe_action;
use crate::task::{Stage, Task};
use crate::text::words;
use crate::timers::Timer;
use crate::watch::pause_ms;
use crate::work::{Finding, HostError, RunState};

impl Engine {
    /// A host is there: everything that waited for it, or for any host of its place, goes on.
    pub(crate) fn host_came(&mut self, id: &HostId, place: &Place, lifetime: HostLifetime) {
        let host = self.hosts.known(id, place);
        host.presence = Presence::Here;
        host.lifetime = lifetime;
        host.polling = false;
        // What was asked while it was away was not heard.
        host.unasked = SURVEYS_UNASKED_MAX;
        host.came = self.now;
        host.away_since = None;
        let own = host.unfinished();
        let of = |presence: Presence| -> Vec<TaskId> {
            let hosts = self.hosts.at(place).filter(|(_, host)| host.presence == presence);
            hosts.flat_map(|(_, host)| host.unfinished()).collect()
        };
        let (cut_off, elsewhere) = (of(Presence::Gone), of(Presence::Away));
        for task in own.into_iter().chain(cut_off) {
            self.observe_at(task, self.now);
            self.tend_run(task);
        }
        // Those that are past their limit may be looked up through this host.
        for task in elsewhere {
            self.tend_run(task);
        }
        self.soon(Timer::Start(id.clone()));
        self.timers.set(Timer::Poll(id.clone()), self.now.plus(POLL_EVERY_MS));
        self.doubt_all(id, place);
        self.tend_place(place);
    }

    pub(crate) fn host_away(&mut self, id: &HostId) {
        if let Some(host) = self.hosts.get_mut(id)
            && host.presence == Presence::Here
        {
            host.presence = Presence::Away;
            host.away_since = Some(self.now);
            let doubted = host.doubted.clone();
            let waiting: Vec<TaskId> = host.queue.iter().map(|(_, task)| *task).collect();
            waiting.into_iter().for_each(|task| self.arm(task));
            self.timers.clear(&Timer::Poll(id.clone()));
            doubted.into_iter().for_each(|session| self.soon(Timer::Doubt(session)));
        }
    }

    /// The hosts that something is expected of. After a restart the shell finds out which of them
    /// have ended and says so.
    pub fn expected_hosts(&self) -> impl Iterator<Item = &HostId> {
        self.hosts.not_gone()
    }

    pub(crate) fn host_gone(&mut self, id: &HostId) {
        let Some(host) = self.hosts.get_mut(id) else { return };
        // A process that is killed closes its link first; that it ended is known a little later.
        let unseen_ms = match (host.presence, host.away_since) {
            (Presence::Here, _) => 0,
            (_, Some(since)) => self.now.since(since),
            (_, None) => u64::MAX,
        };
        let watched = unseen_ms <= 2 * POLL_EVERY_MS;
        host.presence = Presence::Gone;
        let doubted = std::mem::take(&mut host.doubted);
        let place = host.place.clone();
        let unfinished = host.unfinished();
        self.timers.clear(&Timer::Poll(id.clone()));
        for task in unfinished {
            if let Some(live) = self.tasks.live_mut(task) {
                live.watch.unwatched |= !watched;
            }
            self.tend_run(task);
        }
        self.hosts.drop_if_unused(id);
        doubted.into_iter().for_each(|session| self.soon(Timer::Doubt(session)));
        self.tend_place(&place);
    }

    /// A run whose host ended: if it had begun, what came of it is read elsewhere.
    pub(crate) fn tend_cut_off(&mut self, id: TaskId) {
        let now = self.now;
        let Some(live) = self.tasks.live_mut(id) else { return };
        if live.watch.cut_off.is_none() {
            live.watch.cut_off = Some(now);
            let own = live.watch.asked.as_ref() == Some(&live.task.run.host);
            live.watch.stale = own && live.watch.in_flight.is_some();
            live.watch.retry = None;
            // Nobody can answer what a host asked that has ended.
            let questions: Vec<QuestionId> = live.watch.questions.keys().cloned().collect();
            questions.iter().for_each(|question| self.question_closed(id, question));
            // Those from before a restart are not in the watch.
            self.withdraw_questions(id);
        }
        let Some(live) = self.tasks.live_mut(id) else { return };
        let since = live.watch.cut_off.unwrap_or(now);
        let unwatched = live.watch.unwatched;
        let due = live.watch.due.is_none_or(|due| due <= now);
        if live.watch.in_flight.is_some() || !due {
            return;
        }
        let elsewhere = self.host_for(id);
        let Some(live) = self.tasks.live(id) else { return };
        let look = match &live.task.stage {
            Stage::Prompting(message) | Stage::Working(message) => {
                observe_action(&live.task, message)
            }
            Stage::Queued | Stage::Opening | Stage::Finished(_) => None,
        };
        match (look, elsewhere) {
            (Some(look), Some(host)) => self.send_for(id, host, look),
            (None, Some(host)) => self.interrupted(id, Some(host)),
            (None, None) if self.settings.interrupted == Interrupted::Fail => {
                self.interrupted(id, None);
            }
            // Nobody saw how it ended, so it may be answered: that is worth waiting for, within its
            // limits.
            (_, None) if unwatched => {}
            (_, None) if now.since(since) >= CUT_OFF_GRACE_MS => self.interrupted(id, None),
            (_, None) => {}
        }
    }

    /// A run past its limit whose host is away: its answer may be there all the same, if the host
    /// ended where we cannot see it.
    pub(crate) fn observe_elsewhere(&mut self, id: TaskId) {
        let Some(live) = self.tasks.live(id) else { return };
        let due = live.watch.due.is_some_and(|due| due <= self.now);
        if live.watch.overdue.is_none() || live.watch.in_flight.is_some() || !due {
            return;
        }
        let (Stage::Prompting(message) | Stage::Working(message)) = &live.task.stage else {
            return;
        };
        if let (Some(host), Some(look)) = (self.host_for(id), observe_action(&live.task, message)) {
            self.send_for(id, host, look);
        }
    }

    /// Another host than the run's knows only what is over: that it sees nobody at work means
    /// nothing, nor that it does not have the session.
    pub(crate) fn observed_elsewhere(&mut self, id: TaskId, found: Result<Finding, HostError>) {
        match found {
            Ok(Finding::Observed(observation))
                if matches!(
                    observation.state,
                    RunState::Answered { .. } | RunState::Failed { .. }
                ) =>
            {
                self.observed(id, observation);
            }
            Ok(_) | Err(HostError::Gone) => {
                if let Some(live) = self.tasks.live_mut(id) {
                    live.watch.asked_in_vain();
                }
            }
            Err(_) => self.observe_at(id, self.now.plus(pause_ms(1))),
        }
        self.tend_run(id);
    }

    pub(crate) fn cut_off_answered(&mut self, id: TaskId, found: Result<Finding, HostError>) {
        let Some(live) = self.tasks.live_mut(id) else { return };
        let stale = std::mem::take(&mut live.watch.stale);
        let began = matches!(live.task.stage, Stage::Prompting(_) | Stage::Working(_));
        match found {
            Ok(Finding::Observed(observation)) if began => match observation.state {
                RunState::Answered { .. } | RunState::Failed { .. } => {
                    self.observed(id, observation)
                }
                // It was asked before the host ended, and may have been answered after that.
                RunState::Busy | RunState::Still { .. } if stale => self.observe_at(id, self.now),
                RunState::Aborted { .. } | RunState::Busy | RunState::Still { .. } => {
                    let host = self.host_for(id);
                    self.interrupted(id, host);
                }
            },
            Err(HostError::Gone) if began && (stale || live.watch.deletion_announced) => {
                self.deleted_under(id);
            }
            // A host that never had the session cannot tell whether it was deleted.
            Err(HostError::Gone) if began => live.watch.asked_in_vain(),
            // An answer to what was asked of the host before it ended tells nothing any more.
            Ok(_) | Err(_) => self.observe_at(id, self.now.plus(pause_ms(1))),
        }
        self.tend_run(id);
    }

    /// Some host that may know a run whose own has ended.
    fn host_for(&self, id: TaskId) -> Option<HostId> {
        let live = self.tasks.live(id)?;
        let mut here = self.hosts.all_here_at(&live.task.place);
        here.find(|host| !live.watch.unknown_to.contains(*host)).cloned()
    }

    /// The run was cut off with its host, unanswered.
    fn interrupted(&mut self, id: TaskId, elsewhere: Option<HostId>) {
        let Some(live) = self.tasks.live(id) else { return };
        let lifetime = self.hosts.lifetime(&live.task.run.host);
        let goes_on = self.settings.interrupted == Interrupted::Continue
            && live.task.run.continued < CONTINUE_MAX;
        match elsewhere.filter(|_| goes_on) {
            Some(host) => self.go_on(id, host),
            None => self.fail(id, words::interrupted(lifetime).to_owned()),
        }
    }

    /// Puts the run into another host's queue, to be asked to go on.
    fn go_on(&mut self, id: TaskId, host: HostId) {
        let Some(live) = self.tasks.live_mut(id) else { return };
        self.hosts.release(&live.task);
        let begun = live.task.stage != Stage::Queued;
        live.task.run.host = host.clone();
        // One that had only waited waits elsewhere.
        live.task.run.continued += u32::from(begun);
        live.watch.cut_off = None;
        live.watch.unwatched = false;
        self.advance(id, Stage::Queued);
        if let Some(live) = self.tasks.live(id) {
            self.hosts.enlist(&live.task);
        }
        self.soon(Timer::Start(host));
    }

    pub(crate) fn may_start(&self, host: &HostId) -> bool {
        self.hosts.get(host).is_some_and(|host: &Host| {
            host.presence == Presence::Here
                && host.queue.is_empty()
                && host.has_room(self.settings.max_running)
        })
    }

    /// How many wait before a task that waits.
    pub(crate) fn ahead(&self, task: &Task) -> Option<usize> {
        (task.stage == Stage::Queued).then(|| {
            self.hosts.get(&task.run.host).map_or(0, |host| host.ahead_of(task.run.order, task.id))
        })
    }
}
