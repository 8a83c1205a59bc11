//! Paying what is owed. A letter is sent until the host shows it in the session: a host may say
//! that it took a message and store nothing, and a lost answer proves nothing either way. It always
//! goes under the same id, so sending it again is harmless.

use legwork_protocol::limits::{POLL_EVERY_MS, TELL_CONFIRM_MS, TELL_MAX_REFUSALS};
use legwork_protocol::{HostId, MessageId, SessionId};

use crate::debts::{Creditor, Route};
use crate::engine::{Engine, Errand};
use crate::record::{About, Change, DebtEnd, Letter, NoticeId};
use crate::text::notices as texts;
use crate::timers::Timer;
use crate::watch::pause_ms;
use crate::work::{Deed, Finding, HostError, Tried, Wake};

/// A letter on its way.
#[derive(Debug)]
pub(crate) struct Sending {
    pub letter: Letter,
    /// The host said that it took it; not yet seen there.
    sent: bool,
    /// It may have reached the host.
    attempted: bool,
    under_way: bool,
    /// Sendings without an answer.
    failures: u32,
    /// Refusals, and sendings after which it was not there.
    refusals: u32,
    /// Notices that are not needed any more, should it turn out that it was not sent.
    unwanted: Vec<NoticeId>,
}

impl Sending {
    pub fn new(letter: Letter) -> Self {
        Self {
            letter,
            sent: false,
            attempted: false,
            under_way: false,
            failures: 0,
            refusals: 0,
            unwanted: Vec::new(),
        }
    }

    /// A letter of before a restart: nobody knows how far it came.
    pub fn restored(letter: Letter) -> Self {
        Self { attempted: true, ..Self::new(letter) }
    }
}

impl Engine {
    /// While one letter has not left, what comes to be owed waits for the next.
    pub(crate) fn letter_is_unsent(&self, creditor: &Creditor) -> bool {
        creditor
            .letters
            .iter()
            .any(|id| self.debts.letters.get(id).is_some_and(|sending| !sending.sent))
    }

    pub(crate) fn tend_letter(&mut self, id: &MessageId) {
        let Some(sending) = self.debts.letters.get(id) else { return };
        if sending.under_way {
            return;
        }
        let to = sending.letter.to.clone();
        if let Some(route) = self.route(&to) {
            self.send_letter(id, route);
        }
    }

    pub(crate) fn send_letter(&mut self, id: &MessageId, route: Route) {
        let max_chars = self.settings.max_result_chars;
        let Some(sending) = self.debts.letters.get_mut(id) else { return };
        sending.under_way = true;
        let letter = &sending.letter;
        let notices = letter.notices.iter().filter_map(|id| self.debts.notices.get(id));
        let notices: Vec<_> = notices
            .map(|notice| (notice, self.tasks.key_of(notice.id.task, notice.id.run)))
            .collect();
        // A question is for the person; the model can do nothing about it, so no turn is paid for.
        let worth_a_turn = notices.iter().any(|(notice, _)| notice.id.about == About::End);
        let wake = if worth_a_turn { route.wake } else { Wake::StayIdle };
        let parts = texts::parts(letter, &notices, max_chars);
        let tried = if sending.attempted { Tried::Perhaps } else { Tried::Never };
        let (session, message) = (letter.to.clone(), id.clone());
        let deed = Deed::Tell { tried, session, message, parts, wake };
        self.timers.clear(&Timer::Letter(id.clone()));
        self.work(route.host.clone(), deed, Errand::Letter(route.host, id.clone()));
    }

    pub(crate) fn letter_answered(
        &mut self,
        host: &HostId,
        id: &MessageId,
        found: Result<Finding, HostError>,
    ) {
        let Some(sending) = self.debts.letters.get_mut(id) else { return };
        sending.under_way = false;
        let to = sending.letter.to.clone();
        let pause = match found {
            Ok(Finding::Told) => return self.shown(host, id),
            Ok(Finding::UndoPending) if !sending.attempted => return self.hold_letter(id),
            Ok(Finding::UndoPending) => POLL_EVERY_MS,
            Err(HostError::Gone) => return self.nowhere(host, id),
            Ok(_) => {
                sending.attempted = true;
                sending.sent = true;
                sending.refusals += 1;
                TELL_CONFIRM_MS.max(pause_ms(sending.refusals))
            }
            Err(HostError::Rejected { .. }) => {
                sending.refusals += 1;
                if !sending.attempted && !sending.unwanted.is_empty() {
                    return self.dissolve(id);
                }
                pause_ms(sending.refusals)
            }
            Err(HostError::Unreachable | HostError::Busy) => {
                sending.attempted = true;
                sending.failures += 1;
                pause_ms(sending.failures)
            }
        };
        if sending.refusals > TELL_MAX_REFUSALS {
            return self.end_letter(id, DebtEnd::Refused);
        }
        self.timers.set(Timer::Letter(id.clone()), self.now.plus(pause));
        self.soon(Timer::Gather(to));
    }

    /// The host shows the letter in the session.
    fn shown(&mut self, host: &HostId, id: &MessageId) {
        let to = self.debts.letters.get(id).map(|sending| &sending.letter.to);
        if let Some(creditor) = to.and_then(|to| self.debts.creditors.get_mut(to)) {
            creditor.seen(host);
        }
        self.end_letter(id, DebtEnd::Told);
    }

    /// The host does not have the session. It may have been deleted; or the host is not one of its
    /// place, whatever it says, and the letter waits for another.
    fn nowhere(&mut self, host: &HostId, id: &MessageId) {
        let Some(to) = self.debts.letters.get(id).map(|sending| sending.letter.to.clone()) else {
            return;
        };
        self.unknown_to(host, &to);
        if self.route(&to).is_some() {
            self.soon(Timer::Letter(id.clone()));
        }
    }

    /// The letter was not sent because of a pending undo: it waits.
    fn hold_letter(&mut self, id: &MessageId) {
        let Some(to) = self.debts.letters.get(id).map(|sending| sending.letter.to.clone()) else {
            return;
        };
        self.dissolve(id);
        if let Some(creditor) = self.debts.creditors.get_mut(&to) {
            creditor.held_until = Some(self.now.plus(POLL_EVERY_MS));
        }
    }

    /// A notice in a letter is not needed any more. A letter that the host would not take has not
    /// gone out; of one that is under way we shall see.
    pub(crate) fn unwanted(&mut self, id: &MessageId, notice: NoticeId) {
        if let Some(sending) = self.debts.letters.get_mut(id) {
            sending.unwanted.push(notice);
        }
        if self
            .debts
            .letters
            .get(id)
            .is_some_and(|sending| !sending.attempted && !sending.under_way)
        {
            self.dissolve(id);
        }
    }

    /// A letter that was certainly not sent: its notices are owed as before, so that they can be
    /// withdrawn, or gathered with others.
    fn dissolve(&mut self, id: &MessageId) {
        let Some(sending) = self.drop_letter(id) else { return };
        let Letter { to, notices, .. } = sending.letter;
        self.save(Change::LetterDissolved { letter: id.clone(), notices: notices.clone() });
        for notice in &notices {
            if let Some(notice) = self.debts.notices.get_mut(notice) {
                notice.letter = None;
            }
        }
        if let Some(creditor) = self.debts.creditors.get_mut(&to) {
            creditor.owed.extend(notices);
        }
        for notice in sending.unwanted {
            self.withdraw(notice);
        }
        self.soon(Timer::Gather(to));
    }

    /// The session changed, so an undo that was pending there may not be any more.
    pub(crate) fn undo_may_be_over(&mut self, session: &SessionId) {
        if let Some(creditor) = self.debts.creditors.get_mut(session)
            && creditor.held_until.take().is_some()
        {
            self.soon(Timer::Gather(session.clone()));
        }
    }

    pub(crate) fn end_letter(&mut self, id: &MessageId, end: DebtEnd) {
        let Some(sending) = self.drop_letter(id) else { return };
        let notices = sending.letter.notices.clone();
        self.save(Change::LetterDone { letter: id.clone(), notices, end });
        for notice in &sending.letter.notices {
            self.debts.notices.remove(notice);
        }
        self.soon(Timer::Gather(sending.letter.to.clone()));
    }

    pub(crate) fn drop_letter(&mut self, id: &MessageId) -> Option<Sending> {
        let sending = self.debts.letters.remove(id)?;
        self.timers.clear(&Timer::Letter(id.clone()));
        if let Some(creditor) = self.debts.creditors.get_mut(&sending.letter.to) {
            creditor.letters.remove(id);
        }
        Some(sending)
    }
}
