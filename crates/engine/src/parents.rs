//! The sessions that ask: where a person last used each, and what becomes of its tasks when it is
//! deleted.

use legwork_protocol::limits::{CENSUS_MAX_SESSIONS, POLL_EVERY_MS};
use legwork_protocol::{HostId, Place, SessionId, TaskId};

use crate::debts::Creditor;
use crate::engine::{Engine, Errand};
use crate::hosts::Presence;
use crate::record::{Change, DebtEnd, NoticeId, Parent};
use crate::timers::Timer;
use crate::work::{Deed, Finding, HostError};

impl Engine {
    /// A session spoke, or a person wrote into it: it is told through this host from now on.
    pub(crate) fn heard_from(&mut self, host: &HostId, session: &SessionId) {
        let Some(creditor) = self.debts.creditors.get_mut(session) else { return };
        if creditor.parent.voice.as_ref() != Some(host) {
            creditor.parent.voice = Some(host.clone());
            let parent = creditor.parent.clone();
            self.save(Change::ParentKnown(parent));
            self.soon(Timer::Gather(session.clone()));
            for letter in self.letters_to(session) {
                self.soon(Timer::Letter(letter));
            }
        }
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
    pub(crate) fn perhaps_deleted(&mut self, session: &SessionId) {
        self.stirred(session, None);
        let Some(creditor) = self.debts.creditors.get(session) else { return };
        let place = &creditor.parent.place;
        let voice = creditor.parent.voice.as_ref();
        let here = voice.filter(|host| self.hosts.presence(host) == Presence::Here);
        if let Some(host) = here.or_else(|| self.hosts.here_at(place)).cloned() {
            self.doubt(&host, vec![session.clone()]);
        }
    }

    /// A host is there again: sessions may have been deleted unheard meanwhile.
    pub(crate) fn doubt_all(&mut self, host: &HostId, place: &Place) {
        let parents = self.debts.creditors.values().map(|creditor| &creditor.parent);
        let here = parents.filter(|parent| parent.place == *place);
        self.doubt(host, here.map(|parent| parent.session.clone()).collect());
    }

    fn doubt(&mut self, id: &HostId, sessions: Vec<SessionId>) {
        let Some(host) = self.hosts.get_mut(id).filter(|_| !sessions.is_empty()) else { return };
        host.doubted.extend(sessions);
        self.soon(Timer::Census(id.clone()));
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
                for session in sessions.iter().filter(|session| asked.contains(session)) {
                    self.parent_gone(session);
                }
                self.soon(Timer::Census(id.clone()));
            }
            Ok(_) | Err(_) if self.hosts.presence(id) == Presence::Gone => {
                asked.iter().for_each(|session| self.perhaps_deleted(session));
            }
            Ok(_) | Err(_) => {
                if let Some(host) = self.hosts.get_mut(id) {
                    host.doubted.extend(asked);
                    self.timers.set(Timer::Census(id.clone()), self.now.plus(POLL_EVERY_MS));
                }
            }
        }
    }

    /// The session does not exist any more: its tasks and theirs are stopped and forgotten, and
    /// what it was owed is owed to nobody.
    pub(crate) fn parent_gone(&mut self, session: &SessionId) {
        self.forget_family(session);
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
    pub(crate) fn forget_family(&mut self, session: &SessionId) -> (usize, usize) {
        let members: Vec<(TaskId, bool, Option<SessionId>)> = self
            .tasks
            .family(session)
            .map(|task| (task.id, task.is_finished(), task.session.clone()))
            .collect();
        let unfinished = members.iter().filter(|(_, finished, _)| !finished).count();
        for (id, _, child) in &members {
            if let Some(child) = child {
                self.parent_gone(child);
            }
            self.forget(*id);
        }
        (members.len(), unfinished)
    }
}
