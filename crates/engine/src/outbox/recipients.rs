//! The sessions that ask for runs and are told of their ends, each through the host in which a
//! person last used it.

use std::collections::BTreeSet;

use legwork_protocol::limits::{COLLECT_LEASE_MS, ERROR_SETTLES_MS};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{HostId, MessageId, Place, SessionId, Time};

use crate::engine::Engine;
use crate::hosts::Presence;
use crate::record::{About, Change, NoticeId, Parent};
use crate::timers::Timer;

/// A session that asked for runs, and what it is still to be told.
#[derive(Debug)]
pub(crate) struct Recipient {
    pub parent: Parent,
    /// Notices that are in no delivery yet.
    pub pending: BTreeSet<NoticeId>,
    pub deliveries: BTreeSet<MessageId>,
    /// An undo is pending there, or it has just come back and may poll: nothing is sent before this
    /// moment.
    pub held_until: Option<Time>,
    /// A turn there failed or was aborted, and what is sent before this moment may be lost.
    pub settles_until: Option<Time>,
    /// It is at work: no question goes there before this moment, unless with something else.
    pub questions_held_until: Option<Time>,
    /// Nobody is there who could be told: nothing is sent before the session speaks.
    pub absent: bool,
    /// Hosts that have shown the session, or in which it was used.
    pub seen_by: BTreeSet<HostId>,
    /// Hosts that say that there is no such session. Nothing is sent through them.
    pub unknown_to: BTreeSet<HostId>,
    pub announced: bool,
    /// Since when a window shows it in which nobody has written yet.
    pub shown_since: Option<Time>,
    /// It was told a result without a turn that is cleared since, and is to have one.
    pub owed: bool,
    /// What happened there since this moment is undone, and the person knows what works on.
    pub undone_since: Option<Time>,
}

impl Recipient {
    pub fn new(parent: Parent) -> Self {
        let seen_by = parent.active_host.iter().cloned().collect();
        Self {
            parent,
            pending: BTreeSet::new(),
            deliveries: BTreeSet::new(),
            held_until: None,
            settles_until: None,
            questions_held_until: None,
            absent: false,
            seen_by,
            unknown_to: BTreeSet::new(),
            announced: false,
            shown_since: None,
            owed: false,
            undone_since: None,
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

    /// Whether it is to have a turn for what it was told before, and no end gives it one.
    pub fn wakes_for_nothing_else(&self) -> bool {
        let mut unread = self.pending.iter().peekable();
        unread.peek().is_some()
            && unread.all(|id| id.about == About::Unread)
            && self.deliveries.is_empty()
    }

    pub fn waits(&self) -> bool {
        !self.pending.is_empty() || !self.deliveries.is_empty()
    }

    /// Whether somebody who had the session may have it no more.
    pub fn in_doubt(&self) -> bool {
        self.announced || self.seen_by.intersection(&self.unknown_to).next().is_some()
    }
}

impl Engine {
    /// A session spoke, or a person wrote into it: it is told through this host from now on, and
    /// kept where that host keeps its sessions. (A project gets another id with its first commit.)
    pub(crate) fn heard_from(&mut self, host: &HostId, session: &SessionId) {
        let place = self.hosts.get(host).map(|host| host.place.clone());
        let Some(recipient) = self.outbox.recipients.get_mut(session) else { return };
        recipient.shown_since = None;
        let was_absent = std::mem::take(&mut recipient.absent);
        if was_absent {
            // It gets the time to poll for all of its runs before it is told of any of them
            // another way.
            recipient.held_until = Some(self.now.plus(COLLECT_LEASE_MS));
        }
        let found_again = recipient.seen(host);
        let place = place.unwrap_or_else(|| recipient.parent.place.clone());
        let moved =
            recipient.parent.active_host.as_ref() != Some(host) || recipient.parent.place != place;
        if moved {
            recipient.parent.active_host = Some(host.clone());
            recipient.parent.place = place;
            let parent = recipient.parent.clone();
            self.save(Change::ParentKnown(parent));
        }
        if moved || found_again || was_absent {
            self.tend_recipient(session);
        }
    }

    /// A turn of the session failed or was aborted.
    pub(crate) fn settles(&mut self, session: &SessionId) {
        if let Some(recipient) = self.outbox.recipients.get_mut(session) {
            recipient.settles_until = Some(self.now.plus(ERROR_SETTLES_MS));
        }
    }

    /// A window shows this session, or none.
    pub(crate) fn shown(&mut self, host: &HostId, session: Option<SessionId>) {
        let now = self.now;
        let Some(window) = self.hosts.get_mut(host) else { return };
        if window.shows.as_ref().map(|(shown, _)| shown) != session.as_ref() {
            window.shows = session.map(|session| (session, now));
        }
        if let Some((session, since)) = window.shows.clone() {
            self.shown_since(host, &session, since);
        }
    }

    /// A window of the place has ended. Sessions that were used in it are shown in others.
    pub(crate) fn shown_elsewhere(&mut self, place: &Place) {
        let windows = self.hosts.at(place).filter(|(_, host)| host.presence != Presence::Gone);
        let mut showing: Vec<_> = windows
            .filter_map(|(id, host)| Some((host.presence, id.clone(), host.shows.clone()?)))
            .collect();
        showing.sort_by_key(|(presence, ..)| *presence != Presence::Here);
        for (_, host, (session, since)) in showing {
            let recipient = self.outbox.recipients.get(&session);
            if recipient.is_some_and(|recipient| !recipient.in_doubt()) {
                self.shown_since(&host, &session, since);
            }
        }
    }

    /// The session counts as used in the window that shows it, but for what ended before. A window
    /// that it was used in is told as long as it is there, or may be, because a turn in another one
    /// would be a second one at the same time.
    fn shown_since(&mut self, host: &HostId, session: &SessionId, since: Time) {
        if !self.shares_place(host, session) {
            return;
        }
        let Some(recipient) = self.outbox.recipients.get(session) else { return };
        let is_used = recipient.parent.active_host.as_ref().is_some_and(|last| {
            let is_window = self.hosts.lifetime(last) != HostLifetime::Headless;
            last == host || is_window && self.hosts.presence(last) != Presence::Gone
        });
        if is_used {
            return;
        }
        self.heard_from(host, session);
        if let Some(recipient) = self.outbox.recipients.get_mut(session) {
            recipient.shown_since = Some(since);
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
        let asks = self.outbox.recipients.get(session).map(|recipient| &recipient.parent.place);
        let works = self.tasks.of_session(session);
        asks.is_none_or(|asks| asks == place) && works.is_none_or(|task| task.place == *place)
    }

    /// The session asks for a run, so it will be told of its end. Gives back its id, shared with
    /// everything else that names it.
    pub(crate) fn parent_known(
        &mut self,
        session: &SessionId,
        place: &Place,
        host: &HostId,
    ) -> SessionId {
        if let Some((known, _)) = self.outbox.recipients.get_key_value(session) {
            return known.clone();
        }
        let parent = Parent {
            session: session.clone(),
            place: place.clone(),
            active_host: Some(host.clone()),
        };
        self.save(Change::ParentKnown(parent.clone()));
        self.outbox.recipients.insert(session.clone(), Recipient::new(parent));
        session.clone()
    }

    /// A session without tasks that has been told everything is a stranger again.
    pub(crate) fn forget_parent_if_idle(&mut self, session: &SessionId) {
        let Some(recipient) = self.outbox.recipients.get(session) else { return };
        let pending = recipient.waits();
        if pending || self.tasks.counts(session) != (0, 0) || self.tasks.is_asker(session) {
            return;
        }
        // A run of somebody else's task may have told it something.
        if self.outbox.pulled.values().any(|notice| notice.to == *session) {
            return;
        }
        self.outbox.recipients.remove(session);
        self.save(Change::ParentForgotten { session: session.clone() });
    }

    /// Every recipient of the place that is still to be told something is tended again.
    pub(crate) fn tend_recipients(&mut self, place: &Place) {
        let there = self.outbox.recipients.values().filter(|it| it.parent.place == *place);
        let waiting = there.filter(|recipient| recipient.waits());
        for session in waiting.map(|it| it.parent.session.clone()).collect::<Vec<_>>() {
            self.tend_recipient(&session);
        }
    }

    fn tend_recipient(&mut self, session: &SessionId) {
        let recipient = self.outbox.recipients.get(session).into_iter();
        let deliveries = recipient.flat_map(|it| it.deliveries.iter().cloned());
        for delivery in deliveries.collect::<Vec<_>>() {
            self.soon(Timer::Delivery(delivery));
        }
        self.soon(Timer::Gather(session.clone()));
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Settings;
    use legwork_protocol::limits::HOSTS_MAX_REMEMBERED;

    use super::*;
    use crate::input::Serves;

    #[test]
    fn g3_hosts_that_ended_are_remembered_up_to_a_bound() {
        let mut engine = Engine::new(Settings::default());
        let place: Place = "place".parse().unwrap();
        let session: SessionId = "ses_parent".parse().unwrap();
        let window = |number: u32| -> HostId { format!("window-{number}").parse().unwrap() };
        let come = |engine: &mut Engine, host: &HostId| {
            engine.host_came(host, &place, HostLifetime::Interactive, Serves::OwnPlace);
        };
        let stays = window(0);
        come(&mut engine, &stays);
        engine.parent_known(&session, &place, &stays);
        for number in 1..200 {
            let (user, stranger) = (window(2 * number), window(2 * number + 1));
            come(&mut engine, &user);
            engine.heard_from(&user, &session);
            come(&mut engine, &stranger);
            engine.unknown_to(&stranger, &session);
            engine.host_gone(&user);
            engine.host_gone(&stranger);
        }
        let recipient = &engine.outbox.recipients[&session];
        assert!(recipient.seen_by.len() <= HOSTS_MAX_REMEMBERED + 1, "{recipient:?}");
        assert!(recipient.unknown_to.len() <= HOSTS_MAX_REMEMBERED + 1, "{recipient:?}");
        assert!(recipient.seen_by.contains(&stays), "one that is here is remembered");
    }
}
