//! Notices that are pending: made with the end of a run, held while their time has not come,
//! withdrawn when they are not needed, and gathered into deliveries.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::ids::MessageUse;
use legwork_protocol::limits::{DELIVERY_MAX_NOTICES, GATHER_MS, RESEND_MS};
use legwork_protocol::view::QuestionView;
use legwork_protocol::{HostId, MessageId, Place, SessionId, TaskId, Time};

use crate::deliveries::Attempt;
use crate::engine::Engine;
use crate::hosts::Presence;
use crate::record::{About, Change, Delivery, Notice, NoticeId, Parent};
use crate::text::notices as texts;
use crate::timers::Timer;
use crate::work::Wake;

/// What is pending, and to whom.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub notices: BTreeMap<NoticeId, Notice>,
    pub deliveries: BTreeMap<MessageId, Attempt>,
    pub recipients: BTreeMap<SessionId, Recipient>,
}

/// A session that asked for runs, and what it is pending.
#[derive(Debug)]
pub(crate) struct Recipient {
    pub parent: Parent,
    /// Notices that are in no delivery yet.
    pub pending: BTreeSet<NoticeId>,
    /// Deliveries on their way.
    pub deliveries: BTreeSet<MessageId>,
    /// An undo is pending there: nothing is sent before this moment.
    pub held_until: Option<Time>,
    /// Hosts that have shown the session, or in which it was used.
    pub seen_by: BTreeSet<HostId>,
    /// Hosts that say that there is no such session. Nothing is sent through them.
    pub unknown_to: BTreeSet<HostId>,
    /// A host has announced that it was deleted.
    pub announced: bool,
}

impl Recipient {
    pub fn new(parent: Parent) -> Self {
        let seen_by = parent.active_host.iter().cloned().collect();
        Self {
            parent,
            pending: BTreeSet::new(),
            deliveries: BTreeSet::new(),
            held_until: None,
            seen_by,
            unknown_to: BTreeSet::new(),
            announced: false,
        }
    }

    /// The host has the session. Says whether that is news.
    pub fn seen(&mut self, host: &HostId) -> bool {
        self.announced = false;
        let denied = self.unknown_to.remove(host);
        if !self.seen_by.contains(host) {
            self.seen_by.insert(host.clone());
        }
        denied
    }

    /// Whether somebody who had the session may have it no more.
    pub fn in_doubt(&self) -> bool {
        self.announced || self.seen_by.intersection(&self.unknown_to).next().is_some()
    }
}

/// Through whom a session is told, and how.
pub(crate) struct Route {
    pub host: HostId,
    pub wake: Wake,
}

impl Engine {
    /// The end of the run is pending to whoever asked for it.
    pub(crate) fn enqueue_end(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(id) else { return };
        let to = task.run.asker.clone();
        let headline = texts::end_headline(task);
        let notice = NoticeId { task: id, run: task.run.number, about: About::End };
        self.enqueue(notice, to, headline);
    }

    pub(crate) fn enqueue_question(&mut self, id: TaskId, number: u32, question: &QuestionView) {
        let Some(task) = self.tasks.get(id) else { return };
        let to = task.run.asker.clone();
        let headline = texts::question_headline(task, question);
        let about = About::Question(number);
        self.enqueue(NoticeId { task: id, run: task.run.number, about }, to, headline);
    }

    fn enqueue(&mut self, id: NoticeId, to: SessionId, headline: String) {
        // A session that was deleted is pending nothing.
        let Some(recipient) = self.outbox.recipients.get_mut(&to) else { return };
        recipient.pending.insert(id);
        let notice = Notice { id, to: to.clone(), headline, made: self.now, delivery: None };
        self.save(Change::Enqueued(notice.clone()));
        self.outbox.notices.insert(id, notice);
        self.soon(Timer::Gather(to));
    }

    /// The session has read what the notice would tell.
    pub(crate) fn withdraw_end(&mut self, id: TaskId, run: u32, reader: &SessionId) {
        let notice = NoticeId { task: id, run, about: About::End };
        if self.outbox.notices.get(&notice).is_some_and(|notice| notice.to == *reader) {
            self.withdraw(notice);
        }
    }

    pub(crate) fn withdraw_question(&mut self, id: TaskId, number: u32) {
        if let Some(task) = self.tasks.get(id) {
            let about = About::Question(number);
            self.withdraw(NoticeId { task: id, run: task.run.number, about });
        }
    }

    /// A finished run asks nothing any more.
    pub(crate) fn withdraw_questions(&mut self, id: TaskId) {
        for notice in self.notices_of(id) {
            if notice.about != About::End {
                self.withdraw(notice);
            }
        }
    }

    /// Takes back a notice, unless it may be on its way.
    pub(crate) fn withdraw(&mut self, id: NoticeId) {
        let Some(notice) = self.outbox.notices.get(&id) else { return };
        if let Some(delivery) = notice.delivery.clone() {
            return self.unwanted(&delivery, id);
        }
        let to = notice.to.clone();
        self.outbox.notices.remove(&id);
        if let Some(recipient) = self.outbox.recipients.get_mut(&to) {
            recipient.pending.remove(&id);
        }
        self.save(Change::Withdrawn(id));
        self.soon(Timer::Gather(to));
    }

    pub(crate) fn notices_of(&self, id: TaskId) -> Vec<NoticeId> {
        let first = NoticeId { task: id, run: 0, about: About::End };
        let all = self.outbox.notices.range(first..);
        all.map(|(notice, _)| *notice).take_while(|notice| notice.task == id).collect()
    }

    /// The task is forgotten: so are its notices, in deliveries too.
    pub(crate) fn forget_notices(&mut self, id: TaskId) {
        for notice in self.notices_of(id) {
            let Some(notice) = self.outbox.notices.remove(&notice) else { continue };
            if let Some(recipient) = self.outbox.recipients.get_mut(&notice.to) {
                recipient.pending.remove(&notice.id);
            }
            let Some(delivery) = notice.delivery else { continue };
            let Some(attempt) = self.outbox.deliveries.get_mut(&delivery) else { continue };
            attempt.delivery.notices.retain(|held| *held != notice.id);
            if attempt.delivery.notices.is_empty() {
                self.drop_delivery(&delivery);
            }
        }
    }

    /// Sends what is pending to the session, if its time has come.
    pub(crate) fn tend_outbox(&mut self, to: &SessionId) {
        let Some(recipient) = self.outbox.recipients.get(to) else { return };
        if recipient.pending.is_empty() {
            return self.forget_parent_if_idle(to);
        }
        if self.delivery_is_unsent(recipient) {
            return;
        }
        let Some(route) = self.route(to) else { return };
        let came = self.hosts.get(&route.host).map_or(self.now, |host| host.came);
        let resent = came.plus(RESEND_MS);
        if self.now < resent {
            return self.timers.set(Timer::Gather(to.clone()), resent);
        }
        if let Some(until) = recipient.held_until.filter(|until| *until > self.now) {
            return self.timers.set(Timer::Gather(to.clone()), until);
        }
        let ready: Vec<&Notice> = recipient
            .pending
            .iter()
            // A question is never held: the answer may be what the parent waits for.
            .filter(|id| id.about != About::End || !self.waits.holds(to, id.task))
            .filter_map(|id| self.outbox.notices.get(id))
            .collect();
        let Some(oldest) = ready.iter().map(|notice| notice.made).min() else { return };
        let (_, unfinished) = self.tasks.counts(to);
        let gathered = oldest.plus(GATHER_MS);
        if unfinished > 0 && self.now < gathered {
            return self.timers.set(Timer::Gather(to.clone()), gathered);
        }
        let mut ready: Vec<(Time, NoticeId)> =
            ready.iter().map(|notice| (notice.made, notice.id)).collect();
        ready.sort_unstable();
        ready.truncate(DELIVERY_MAX_NOTICES);
        self.create_delivery(to, ready.into_iter().map(|(_, id)| id).collect(), route);
    }

    fn create_delivery(&mut self, to: &SessionId, notices: Vec<NoticeId>, route: Route) {
        let Some(first) = notices.first() else { return };
        let about = match first.about {
            About::End => MessageUse::End,
            About::Question(number) => MessageUse::Question(number),
        };
        let id = MessageId::make(self.now, first.task, first.run, about);
        for notice in &notices {
            if let Some(notice) = self.outbox.notices.get_mut(notice) {
                notice.delivery = Some(id.clone());
            }
        }
        let Some(recipient) = self.outbox.recipients.get_mut(to) else { return };
        recipient.pending.retain(|pending| !notices.contains(pending));
        recipient.deliveries.insert(id.clone());
        recipient.held_until = None;
        let (finished, unfinished) = self.tasks.counts(to);
        let counts = texts::counts(finished, unfinished);
        let delivery = Delivery { id: id.clone(), to: to.clone(), notices, counts };
        self.save(Change::DeliveryCreated(delivery.clone()));
        self.outbox.deliveries.insert(id.clone(), Attempt::new(delivery));
        self.send_delivery(&id, route);
    }

    /// The host that a session is told through: the one that a person last used it in, while that
    /// is there or may come back; else any of its place that may know it, without starting a turn.
    pub(crate) fn route(&self, to: &SessionId) -> Option<Route> {
        let Recipient { parent, unknown_to, .. } = self.outbox.recipients.get(to)?;
        // A helper is told where it works; elsewhere a second turn would start in its session.
        let helper = self.tasks.at_work_in(to).and_then(|id| self.tasks.live(id));
        let active_host = helper.map(|live| &live.task.run.host).or(parent.active_host.as_ref());
        let active_host = active_host.filter(|host| !unknown_to.contains(*host));
        match active_host.map_or(Presence::Gone, |host| self.hosts.presence(host)) {
            Presence::Here => {
                let wake = if self.may_wake(to) { Wake::StartTurn } else { Wake::StayIdle };
                active_host.map(|host| Route { host: host.clone(), wake })
            }
            Presence::Away => None,
            Presence::Gone => {
                let mut here = self.hosts.all_here_at(&parent.place);
                let host = here.find(|host| !unknown_to.contains(*host))?.clone();
                Some(Route { host, wake: Wake::StayIdle })
            }
        }
    }

    /// A helper that is at work reads its messages anyway, and nobody reads the turns of one that
    /// is finished.
    fn may_wake(&self, to: &SessionId) -> bool {
        self.settings.start_turns && self.tasks.of_session(to).is_none()
    }

    /// The deliveries that are on their way to a session.
    pub(crate) fn deliveries_to(&self, session: &SessionId) -> Vec<MessageId> {
        let recipient = self.outbox.recipients.get(session).into_iter();
        recipient.flat_map(|recipient| recipient.deliveries.iter().cloned()).collect()
    }

    /// Everything that is pending at a place is looked at again.
    pub(crate) fn tend_place(&mut self, place: &Place) {
        let pending: Vec<SessionId> = self
            .outbox
            .recipients
            .iter()
            .filter(|(_, recipient)| recipient.parent.place == *place)
            .filter(|(_, recipient)| {
                !recipient.pending.is_empty() || !recipient.deliveries.is_empty()
            })
            .map(|(session, _)| session.clone())
            .collect();
        for session in pending {
            for delivery in self.deliveries_to(&session) {
                self.soon(Timer::Delivery(delivery));
            }
            self.soon(Timer::Gather(session));
        }
        self.tend_stops(place);
    }
}
