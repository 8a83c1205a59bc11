//! Sessions that are deleted. A deletion is what a host says that had the session, and that no
//! other contradicts; then the tasks of the session are stopped and forgotten.

use std::collections::BTreeSet;

use legwork_protocol::limits::{FIND_MISSING_MAX_SESSIONS, POLL_EVERY_MS};
use legwork_protocol::{HostId, Place, SessionId, TaskId};

use crate::engine::{Engine, Purpose};
use crate::hosts::Presence;
use crate::record::{Change, DeliveryEnd, Forget, NoticeId};
use crate::timers::Timer;
use crate::work::{Action, Finding, HostError};

impl Engine {
    /// An event says that the session was deleted: ask.
    pub(crate) fn deletion_announced(&mut self, host: &HostId, session: &SessionId) {
        if !self.shares_place(host, session) {
            return;
        }
        if let Some(live) = self.tasks.at_work_in(session).and_then(|id| self.tasks.live_mut(id)) {
            live.volatile.deletion_announced = true;
        }
        self.changed(session, None);
        if let Some(recipient) = self.outbox.recipients.get_mut(session) {
            recipient.announced = true;
            // It may have come about in the meantime.
            recipient.unknown_to.remove(host);
            self.settle_doubt(session);
        }
    }

    /// A host is there again: sessions that it had may have been deleted unheard meanwhile. It is
    /// not asked about others. A process with another database than we think would know none of
    /// them, and all of their tasks would be forgotten.
    pub(crate) fn doubt_all(&mut self, host: &HostId, place: &Place) {
        let recipients = self.outbox.recipients.iter_mut();
        let here = recipients.filter(|(_, recipient)| recipient.parent.place == *place);
        let doubted = here.filter_map(|(session, recipient)| {
            self.hosts.forget_gone(&mut recipient.seen_by);
            self.hosts.forget_gone(&mut recipient.unknown_to);
            recipient.unknown_to.remove(host);
            let ask = recipient.announced || recipient.seen_by.contains(host);
            ask.then(|| session.clone())
        });
        let doubted = doubted.collect();
        self.doubt(host, doubted);
    }

    /// Concludes that the session was deleted, or asks whoever could know better. A deletion is
    /// what a host says that had the session, and that no other contradicts: neither one of the
    /// place that is here, nor one that is away and had it too.
    pub(crate) fn settle_doubt(&mut self, session: &SessionId) {
        let Some(recipient) = self.outbox.recipients.get(session) else { return };
        if !recipient.in_doubt() {
            return;
        }
        let here = self.hosts.here_at(&recipient.parent.place);
        let had_it = recipient.seen_by.iter();
        let may_know: BTreeSet<HostId> = had_it
            .filter(|host| self.hosts.presence(host) != Presence::Gone)
            .chain(here)
            .filter(|host| !recipient.unknown_to.contains(*host))
            .cloned()
            .collect();
        if may_know.is_empty() && !recipient.unknown_to.is_empty() {
            return self.end_parent(session, Forget::ParentDeleted);
        }
        for host in may_know {
            self.doubt(&host, vec![session.clone()]);
        }
    }

    pub(crate) fn unknown_to(&mut self, host: &HostId, session: &SessionId) {
        if let Some(recipient) = self.outbox.recipients.get_mut(session) {
            recipient.unknown_to.insert(host.clone());
            self.settle_doubt(session);
        }
    }

    fn doubt(&mut self, id: &HostId, sessions: Vec<SessionId>) {
        let Some(host) = self.hosts.get_mut(id).filter(|_| !sessions.is_empty()) else { return };
        host.doubted.extend(sessions);
        if host.presence == Presence::Here {
            self.soon(Timer::FindMissing(id.clone()));
        }
    }

    /// Asks which of the doubted sessions are gone, all with one question.
    pub(crate) fn find_missing(&mut self, id: &HostId) {
        let Some(host) = self.hosts.get_mut(id) else { return };
        if host.presence != Presence::Here || host.doubted.is_empty() {
            return;
        }
        let mut sessions = std::mem::take(&mut host.doubted);
        if let Some(rest) = sessions.iter().nth(FIND_MISSING_MAX_SESSIONS).cloned() {
            host.doubted = sessions.split_off(&rest);
        }
        let sessions: Vec<SessionId> = sessions.into_iter().collect();
        let action = Action::FindMissing { sessions: sessions.clone() };
        self.work(id.clone(), action, Purpose::FindMissing(id.clone(), sessions));
    }

    pub(crate) fn missing_found(
        &mut self,
        id: &HostId,
        asked: Vec<SessionId>,
        found: Result<Finding, HostError>,
    ) {
        // Only a host that says so deletes anything; one that cannot be reached says nothing.
        match found {
            Ok(Finding::Missing { sessions }) => {
                for session in &asked {
                    if sessions.contains(session) {
                        self.unknown_to(id, session);
                    } else if let Some(recipient) = self.outbox.recipients.get_mut(session) {
                        recipient.seen(id);
                    }
                }
                self.soon(Timer::FindMissing(id.clone()));
            }
            Ok(_) | Err(_) => {
                if let Some(host) = self.hosts.get_mut(id) {
                    host.doubted.extend(asked.iter().cloned());
                }
                if self.hosts.presence(id) == Presence::Here {
                    self.timers.set(Timer::FindMissing(id.clone()), self.now.plus(POLL_EVERY_MS));
                } else {
                    asked.iter().for_each(|session| self.settle_doubt(session));
                }
            }
        }
    }

    /// The session is gone, or cleared: its tasks and theirs are stopped and forgotten, and nobody
    /// is told of them.
    fn end_parent(&mut self, session: &SessionId, why: Forget) {
        self.forget_family(session, why);
        if why == Forget::ParentDeleted {
            self.forget_ledgers(session);
        }
        let Some(recipient) = self.outbox.recipients.get(session) else { return };
        let deliveries: Vec<_> = recipient.deliveries.iter().cloned().collect();
        let pulled = self.outbox.pulled.values().filter(|notice| notice.to == *session);
        let pending = recipient.pending.iter().copied().chain(pulled.map(|notice| notice.id));
        let pending: Vec<NoticeId> = pending.collect();
        for notice in pending {
            self.withdraw(notice);
        }
        for delivery in deliveries {
            self.end_delivery(&delivery, DeliveryEnd::ParentGone);
        }
        // A run that it asked for may go on under another parent, and has nobody to tell then.
        if self.outbox.recipients.remove(session).is_some() {
            self.save(Change::ParentForgotten { session: session.clone() });
        }
    }

    /// Forgets the tasks of a session, and the tasks of their sessions. Says how many there were
    /// directly under it, and how many of those were unfinished.
    pub(crate) fn forget_family(&mut self, session: &SessionId, why: Forget) -> (usize, usize) {
        let members: Vec<(TaskId, bool, Option<SessionId>)> = self
            .tasks
            .family(session)
            .map(|task| (task.id, task.is_finished(), task.session.clone()))
            .collect();
        let unfinished = members.iter().filter(|(_, finished, _)| !finished).count();
        for (id, _, child) in &members {
            if let Some(child) = child {
                self.end_parent(child, why);
            }
            self.forget(*id, why);
        }
        (members.len(), unfinished)
    }
}
