//! Every five seconds each host is asked which of its sessions are at work, all with one question:
//! events get lost.

use std::collections::BTreeMap;

use legwork_protocol::limits::{POLL_EVERY_MS, POLLS_UNASKED_MAX, QUIET_MS};
use legwork_protocol::{HostId, SessionId, TaskId, Time};

use super::task::Stage;
use super::volatile::Stillness;
use crate::engine::{Engine, Purpose};
use crate::hosts::{Host, Presence};
use crate::tasks::Live;
use crate::timers::Timer;
use crate::work::{Action, Finding, HostError, Question, Retry, Scope};

impl Engine {
    pub(crate) fn poll(&mut self, id: &HostId) {
        let Some(host) = self.hosts.get(id) else { return };
        if host.presence != Presence::Here || host.polling.is_some() || host.running.is_empty() {
            return;
        }
        let scope = self.scope_for(host);
        let Some(host) = self.hosts.get_mut(id) else { return };
        host.polling = Some(self.now);
        self.work(id.clone(), Action::Poll { scope }, Purpose::Poll(id.clone(), scope));
    }

    /// A helper that waits for a person is silent. One that shows what it does is asked for its
    /// questions now and then all the same: it may do several things at once.
    fn scope_for(&self, host: &Host) -> Scope {
        let now = self.now;
        let waits = |Live { volatile, .. }: &Live| {
            !volatile.questions.is_empty() || now.since(volatile.activity.since) >= QUIET_MS
        };
        let some = host.running.iter().filter_map(|id| self.tasks.live(*id)).any(waits);
        if some || host.unasked >= POLLS_UNASKED_MAX { Scope::Questions } else { Scope::Busy }
    }

    /// A run of this host is at work, so the host is polled from now on.
    pub(super) fn poll_host_of(&mut self, id: TaskId) {
        let Some(host) = self.tasks.live(id).map(|live| live.task.run.host.clone()) else { return };
        let polling = self.hosts.get(&host).is_some_and(|host| host.polling.is_some());
        let timer = Timer::Poll(host);
        if !polling && !self.timers.is_set(&timer) {
            self.timers.set(timer, self.now.plus(POLL_EVERY_MS));
        }
    }

    pub(crate) fn polled(&mut self, id: &HostId, scope: Scope, found: Result<Finding, HostError>) {
        let Some(host) = self.hosts.get_mut(id) else { return };
        // What was asked over an earlier link settles nothing.
        let began = host.polling.take().unwrap_or_default();
        let working: Vec<TaskId> = host.running.iter().copied().collect();
        if !working.is_empty() {
            self.timers.set(Timer::Poll(id.clone()), self.now.plus(POLL_EVERY_MS));
        }
        let Ok(Finding::Polled { busy, questions }) = found else { return };
        let busy: BTreeMap<SessionId, Option<Retry>> = busy.into_iter().collect();
        let asked = scope == Scope::Questions;
        host.unasked = if asked { 0 } else { host.unasked.saturating_add(1) };
        let mut open: BTreeMap<SessionId, Vec<Question>> = BTreeMap::new();
        for (session, question) in questions {
            open.entry(session).or_default().push(question);
        }
        for task in working {
            self.apply_poll(task, &busy, asked.then_some(&open), began);
        }
    }

    fn apply_poll(
        &mut self,
        id: TaskId,
        busy: &BTreeMap<SessionId, Option<Retry>>,
        questions: Option<&BTreeMap<SessionId, Vec<Question>>>,
        began: Time,
    ) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.live_mut(id) else { return };
        let (Stage::Working(_), Some(session)) = (&task.stage, &task.session) else { return };
        match busy.get(session) {
            Some(_) if volatile.due.is_none() && volatile.request.is_none() => {
                volatile.stillness = Stillness::default();
            }
            Some(_) => {}
            None => volatile.due = Some(now),
        }
        let retry = busy.get(session).and_then(Option::as_ref).map(Retry::on_one_line);
        let open = questions.map(|all| all.get(session).map(Vec::as_slice).unwrap_or_default());
        self.provider_told(id, retry);
        if let Some(open) = open {
            self.apply_questions(id, open, began);
        }
        self.tend_run(id);
    }
}
