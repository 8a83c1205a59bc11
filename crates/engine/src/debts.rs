//! Notices that are owed: made with the end of a run, held while their time has not come,
//! withdrawn when they are not needed, and gathered into letters.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::ids::MessageUse;
use legwork_protocol::limits::{GATHER_MS, LETTER_MAX_NOTICES, RESEND_MS};
use legwork_protocol::{HostId, MessageId, Place, QuestionId, SessionId, TaskId, Time};

use crate::engine::Engine;
use crate::hosts::Presence;
use crate::letters::Sending;
use crate::record::{About, Change, Letter, Notice, NoticeId, Parent};
use crate::text::notices as texts;
use crate::timers::Timer;
use crate::work::Wake;

/// What is owed, and to whom.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    pub notices: BTreeMap<NoticeId, Notice>,
    pub letters: BTreeMap<MessageId, Sending>,
    pub creditors: BTreeMap<SessionId, Creditor>,
}

/// A session that asked for runs, and what it is owed.
#[derive(Debug)]
pub(crate) struct Creditor {
    pub parent: Parent,
    /// Notices that are in no letter yet.
    pub owed: BTreeSet<NoticeId>,
    /// Letters on their way.
    pub letters: BTreeSet<MessageId>,
    /// An undo is pending there: nothing is sent before this moment.
    pub held_until: Option<Time>,
    /// Hosts that have shown the session, or in which it was used.
    pub seen_by: BTreeSet<HostId>,
    /// Hosts that say that there is no such session. Nothing is sent through them.
    pub unknown_to: BTreeSet<HostId>,
    /// A host has announced that it was deleted.
    pub announced: bool,
}

impl Creditor {
    pub fn new(parent: Parent) -> Self {
        let seen_by = parent.voice.iter().cloned().collect();
        Self {
            parent,
            owed: BTreeSet::new(),
            letters: BTreeSet::new(),
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
    /// The end of the run is owed to whoever asked for it.
    pub(crate) fn owe_end(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(id) else { return };
        let to = task.run.asker.clone();
        let headline = texts::end_headline(task);
        let notice = NoticeId { task: id, run: task.run.number, about: About::End };
        self.owe(notice, to, headline);
    }

    pub(crate) fn owe_question(
        &mut self,
        id: TaskId,
        number: u32,
        question: &QuestionId,
        text: &str,
    ) {
        let Some(task) = self.tasks.get(id) else { return };
        let to = task.run.asker.clone();
        let headline = texts::question_headline(task, question, text);
        let about = About::Question(number);
        self.owe(NoticeId { task: id, run: task.run.number, about }, to, headline);
    }

    fn owe(&mut self, id: NoticeId, to: SessionId, headline: String) {
        // A session that was deleted is owed nothing.
        let Some(creditor) = self.debts.creditors.get_mut(&to) else { return };
        creditor.owed.insert(id);
        let notice = Notice { id, to: to.clone(), headline, made: self.now, letter: None };
        self.save(Change::Owed(notice.clone()));
        self.debts.notices.insert(id, notice);
        self.soon(Timer::Gather(to));
    }

    /// The session has read what the notice would tell.
    pub(crate) fn withdraw_end(&mut self, id: TaskId, run: u32, reader: &SessionId) {
        let notice = NoticeId { task: id, run, about: About::End };
        if self.debts.notices.get(&notice).is_some_and(|notice| notice.to == *reader) {
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
        let Some(notice) = self.debts.notices.get(&id) else { return };
        if let Some(letter) = notice.letter.clone() {
            return self.unwanted(&letter, id);
        }
        let to = notice.to.clone();
        self.debts.notices.remove(&id);
        if let Some(creditor) = self.debts.creditors.get_mut(&to) {
            creditor.owed.remove(&id);
        }
        self.save(Change::Withdrawn(id));
        self.soon(Timer::Gather(to));
    }

    pub(crate) fn notices_of(&self, id: TaskId) -> Vec<NoticeId> {
        let first = NoticeId { task: id, run: 0, about: About::End };
        let all = self.debts.notices.range(first..);
        all.map(|(notice, _)| *notice).take_while(|notice| notice.task == id).collect()
    }

    /// The task is forgotten: so are its notices, in letters too.
    pub(crate) fn forget_notices(&mut self, id: TaskId) {
        for notice in self.notices_of(id) {
            let Some(notice) = self.debts.notices.remove(&notice) else { continue };
            if let Some(creditor) = self.debts.creditors.get_mut(&notice.to) {
                creditor.owed.remove(&notice.id);
            }
            let Some(letter) = notice.letter else { continue };
            let Some(sending) = self.debts.letters.get_mut(&letter) else { continue };
            sending.letter.notices.retain(|held| *held != notice.id);
            if sending.letter.notices.is_empty() {
                self.drop_letter(&letter);
            }
        }
    }

    /// Sends what is owed to the session, if its time has come.
    pub(crate) fn tend_debts(&mut self, to: &SessionId) {
        let Some(creditor) = self.debts.creditors.get(to) else { return };
        if creditor.owed.is_empty() {
            return self.forget_parent_if_idle(to);
        }
        if self.letter_is_unsent(creditor) {
            return;
        }
        let Some(route) = self.route(to) else { return };
        let came = self.hosts.get(&route.host).map_or(self.now, |host| host.came);
        let resent = came.plus(RESEND_MS);
        if self.now < resent {
            return self.timers.set(Timer::Gather(to.clone()), resent);
        }
        if let Some(until) = creditor.held_until.filter(|until| *until > self.now) {
            return self.timers.set(Timer::Gather(to.clone()), until);
        }
        let ready: Vec<&Notice> = creditor
            .owed
            .iter()
            // A question is never held: the answer may be what the parent waits for.
            .filter(|id| id.about != About::End || !self.waits.holds(to, id.task))
            .filter_map(|id| self.debts.notices.get(id))
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
        ready.truncate(LETTER_MAX_NOTICES);
        self.write_letter(to, ready.into_iter().map(|(_, id)| id).collect(), route);
    }

    fn write_letter(&mut self, to: &SessionId, notices: Vec<NoticeId>, route: Route) {
        let Some(first) = notices.first() else { return };
        let about = match first.about {
            About::End => MessageUse::End,
            About::Question(number) => MessageUse::Question(number),
        };
        let id = MessageId::make(self.now, first.task, first.run, about);
        for notice in &notices {
            if let Some(notice) = self.debts.notices.get_mut(notice) {
                notice.letter = Some(id.clone());
            }
        }
        let Some(creditor) = self.debts.creditors.get_mut(to) else { return };
        creditor.owed.retain(|owed| !notices.contains(owed));
        creditor.letters.insert(id.clone());
        creditor.held_until = None;
        let (finished, unfinished) = self.tasks.counts(to);
        let counts = texts::counts(finished, unfinished);
        let letter = Letter { id: id.clone(), to: to.clone(), notices, counts };
        self.save(Change::LetterMade(letter.clone()));
        self.debts.letters.insert(id.clone(), Sending::new(letter));
        self.send_letter(&id, route);
    }

    /// The host that a session is told through: the one that a person last used it in, while that
    /// is there or may come back; else any of its place that may know it, without starting a turn.
    pub(crate) fn route(&self, to: &SessionId) -> Option<Route> {
        let Creditor { parent, unknown_to, .. } = self.debts.creditors.get(to)?;
        // A helper is told where it works; elsewhere a second turn would start in its session.
        let helper = self.tasks.at_work_in(to).and_then(|id| self.tasks.live(id));
        let voice = helper.map(|live| &live.task.run.host).or(parent.voice.as_ref());
        let voice = voice.filter(|host| !unknown_to.contains(*host));
        match voice.map_or(Presence::Gone, |host| self.hosts.presence(host)) {
            Presence::Here => {
                let wake = if self.may_wake(to) { Wake::StartTurn } else { Wake::StayIdle };
                voice.map(|host| Route { host: host.clone(), wake })
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

    /// The letters that are on their way to a session.
    pub(crate) fn letters_to(&self, session: &SessionId) -> Vec<MessageId> {
        let creditor = self.debts.creditors.get(session).into_iter();
        creditor.flat_map(|creditor| creditor.letters.iter().cloned()).collect()
    }

    /// Everything that is owed at a place is looked at again.
    pub(crate) fn tend_place(&mut self, place: &Place) {
        let owed: Vec<SessionId> = self
            .debts
            .creditors
            .iter()
            .filter(|(_, creditor)| creditor.parent.place == *place)
            .filter(|(_, creditor)| !creditor.owed.is_empty() || !creditor.letters.is_empty())
            .map(|(session, _)| session.clone())
            .collect();
        for session in owed {
            for letter in self.letters_to(&session) {
                self.soon(Timer::Letter(letter));
            }
            self.soon(Timer::Gather(session));
        }
        self.tend_stops(place);
    }
}
