//! The sessions that ask: where a person last used each, and what becomes of its tasks when it is
//! deleted.

use std::collections::BTreeSet;

use legwork_protocol::limits::{CENSUS_MAX_SESSIONS, POLL_EVERY_MS};
use legwork_protocol::{HostId, Place, SessionId, TaskId};

use crate::debts::Creditor;
use crate::engine::{Engine, Errand};
use crate::hosts::Presence;
use crate::record::{Change, DebtEnd, Forget, NoticeId, Parent};
use crate::timers::Timer;
use crate::work::{Deed, Finding, HostError};

impl Engine {
    /// A session spoke, or a person wrote into it: it is told through this host from now on, and
    /// kept where that host keeps its sessions. (A project gets another id with its first commit.)
    pub(crate) fn heard_from(&mut self, host: &HostId, session: &SessionId) {
        let place = self.hosts.get(host).map(|host| host.place.clone());
        let Some(creditor) = self.debts.creditors.get_mut(session) else { return };
        let found_again = creditor.seen(host);
        let place = place.unwrap_or_else(|| creditor.parent.place.clone());
        let moved = creditor.parent.voice.as_ref() != Some(host) || creditor.parent.place != place;
        if moved {
            creditor.parent.voice = Some(host.clone());
            creditor.parent.place = place;
            let parent = creditor.parent.clone();
            self.save(Change::ParentKnown(parent));
        }
        if moved || found_again {
            self.soon(Timer::Gather(session.clone()));
            for letter in self.letters_to(session) {
                self.soon(Timer::Letter(letter));
            }
        }
    }

    /// Whether what this host tells of the session can be about it: sessions of two places have
    /// nothing to do with each other, though their ids be the same.
    pub(crate) fn shares_place(&self, host: &HostId, session: &SessionId) -> bool {
        let place = self.hosts.get(host).map(|host| &host.place);
        place.is_some_and(|place| self.may_be_of(session, place))
    }

    /// Whether a session may be one of this place: it is not known to be of another.
    pub fn may_be_of(&self, session: &SessionId, place: &Place) -> bool {
        let asks = self.debts.creditors.get(session).map(|creditor| &creditor.parent.place);
        let works = self.tasks.of_session(session).map(|task| &task.place);
        asks.into_iter().chain(works).all(|known| known == place)
    }

    /// The session asks for a run, so it is owed the end of it. Gives back its id, shared with
    /// everything else that names it.
    pub(crate) fn parent_known(
        &mut self,
        session: &SessionId,
        place: &Place,
        host: &HostId,
    ) -> SessionId {
        if let Some((known, _)) = self.debts.creditors.get_key_value(session) {
            return known.clone();
        }
        let parent =
            Parent { session: session.clone(), place: place.clone(), voice: Some(host.clone()) };
        self.save(Change::ParentKnown(parent.clone()));
        self.debts.creditors.insert(session.clone(), Creditor::new(parent));
        session.clone()
    }

    /// A session with neither tasks nor debts is a stranger again.
    pub(crate) fn forget_parent_if_idle(&mut self, session: &SessionId) {
        let Some(creditor) = self.debts.creditors.get(session) else { return };
        let owed = !creditor.owed.is_empty() || !creditor.letters.is_empty();
        if owed || self.tasks.counts(session) != (0, 0) || self.tasks.is_asker(session) {
            return;
        }
        self.debts.creditors.remove(session);
        self.save(Change::ParentForgotten { session: session.clone() });
    }

    /// An event says that the session was deleted: ask.
    pub(crate) fn deletion_announced(&mut self, host: &HostId, session: &SessionId) {
        if !self.shares_place(host, session) {
            return;
        }
        if let Some(live) = self.tasks.at_work_in(session).and_then(|id| self.tasks.live_mut(id)) {
            live.watch.deletion_announced = true;
        }
        self.stirred(session, None);
        if let Some(creditor) = self.debts.creditors.get_mut(session) {
            creditor.announced = true;
            // It may have come about in the meantime.
            creditor.unknown_to.remove(host);
            self.settle_doubt(session);
        }
    }

    /// A host is there again: sessions that it had may have been deleted unheard meanwhile. It is
    /// not asked about others. A process with another database than we think would know none of
    /// them, and all of their tasks would be forgotten.
    pub(crate) fn doubt_all(&mut self, host: &HostId, place: &Place) {
        let creditors = self.debts.creditors.iter_mut();
        let here = creditors.filter(|(_, creditor)| creditor.parent.place == *place);
        let doubted = here.filter_map(|(session, creditor)| {
            creditor.unknown_to.remove(host);
            let ask = creditor.announced || creditor.seen_by.contains(host);
            ask.then(|| session.clone())
        });
        let doubted = doubted.collect();
        self.doubt(host, doubted);
    }

    /// Concludes that the session was deleted, or asks whoever could know better. A deletion is
    /// what a host says that had the session, and that no other contradicts: neither one of the
    /// place that is here, nor one that is away and had it too.
    pub(crate) fn settle_doubt(&mut self, session: &SessionId) {
        let Some(creditor) = self.debts.creditors.get(session) else { return };
        if !creditor.in_doubt() {
            return;
        }
        let here = self.hosts.all_here_at(&creditor.parent.place);
        let had_it = creditor.seen_by.iter();
        let may_know: BTreeSet<HostId> = had_it
            .filter(|host| self.hosts.presence(host) != Presence::Gone)
            .chain(here)
            .filter(|host| !creditor.unknown_to.contains(*host))
            .cloned()
            .collect();
        if may_know.is_empty() && !creditor.unknown_to.is_empty() {
            return self.parent_gone(session);
        }
        for host in may_know {
            self.doubt(&host, vec![session.clone()]);
        }
    }

    /// The host says that there is no such session.
    pub(crate) fn unknown_to(&mut self, host: &HostId, session: &SessionId) {
        if let Some(creditor) = self.debts.creditors.get_mut(session) {
            creditor.unknown_to.insert(host.clone());
            self.settle_doubt(session);
        }
    }

    fn doubt(&mut self, id: &HostId, sessions: Vec<SessionId>) {
        let Some(host) = self.hosts.get_mut(id).filter(|_| !sessions.is_empty()) else { return };
        host.doubted.extend(sessions);
        if host.presence == Presence::Here {
            self.soon(Timer::Census(id.clone()));
        }
    }

    /// Asks which of the doubted sessions are gone, all with one question.
    pub(crate) fn census(&mut self, id: &HostId) {
        let Some(host) = self.hosts.get_mut(id) else { return };
        if host.presence != Presence::Here || host.doubted.is_empty() {
            return;
        }
        let mut sessions = std::mem::take(&mut host.doubted);
        if let Some(rest) = sessions.iter().nth(CENSUS_MAX_SESSIONS).cloned() {
            host.doubted = sessions.split_off(&rest);
        }
        let sessions: Vec<SessionId> = sessions.into_iter().collect();
        let deed = Deed::Census { sessions: sessions.clone() };
        self.work(id.clone(), deed, Errand::Census(id.clone(), sessions));
    }

    pub(crate) fn census_taken(
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
                    } else if let Some(creditor) = self.debts.creditors.get_mut(session) {
                        creditor.seen(id);
                    }
                }
                self.soon(Timer::Census(id.clone()));
            }
            Ok(_) | Err(_) if self.hosts.presence(id) == Presence::Here => {
                if let Some(host) = self.hosts.get_mut(id) {
                    host.doubted.extend(asked);
                    self.timers.set(Timer::Census(id.clone()), self.now.plus(POLL_EVERY_MS));
                }
            }
            Ok(_) | Err(_) => {
                if let Some(host) = self.hosts.get_mut(id) {
                    host.doubted.extend(asked.iter().cloned());
                }
                asked.iter().for_each(|session| self.settle_doubt(session));
            }
        }
    }

    /// The session does not exist any more: its tasks and theirs are stopped and forgotten, and
    /// what it was owed is owed to nobody.
    pub(crate) fn parent_gone(&mut self, session: &SessionId) {
        self.end_parent(session, Forget::ParentDeleted);
    }

    fn end_parent(&mut self, session: &SessionId, why: Forget) {
        self.forget_family(session, why);
        let Some(creditor) = self.debts.creditors.get(session) else { return };
        let letters: Vec<_> = creditor.letters.iter().cloned().collect();
        let owed: Vec<NoticeId> = creditor.owed.iter().copied().collect();
        for notice in owed {
            self.withdraw(notice);
        }
        for letter in letters {
            self.end_letter(&letter, DebtEnd::ParentGone);
        }
        // A run that it asked for may go on under another parent, and has nobody to tell then.
        if self.debts.creditors.remove(session).is_some() {
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
