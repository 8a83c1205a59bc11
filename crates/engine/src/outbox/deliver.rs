//! Deliveries. One is sent until the host shows it in the session: a host may say that it took a
//! message and store nothing, and a lost answer proves nothing either way. It always goes under the
//! same id, so sending it again is harmless.

use legwork_protocol::limits::{
    DELIVERY_CONFIRM_MS, DELIVERY_MAX_REFUSALS, POLL_EVERY_MS, QUESTION_RETRY_MS,
};
use legwork_protocol::{HostId, MessageId, SessionId};

use super::recipients::Recipient;
use super::route::Route;
use crate::engine::{Engine, Purpose};
use crate::record::{About, Change, Delivery, DeliveryEnd, NoticeId};
use crate::run::volatile::pause_ms;
use crate::text::notices as texts;
use crate::timers::Timer;
use crate::work::{Action, Finding, HostError, Tried, Wake};

/// So many looks show that a message which is there starts no turn by itself.
const UNANSWERED_LOOKS: u32 = 2;

#[derive(Debug)]
pub(crate) struct Attempt {
    pub delivery: Delivery,
    reached: Reached,
    in_flight: bool,
    /// Times that it was sent and not answered.
    failures: u32,
    /// Refusals, and times that it was accepted and then not there.
    refusals: u32,
    /// Notices that are not needed any more, should it turn out that it was not sent.
    unwanted: Vec<NoticeId>,
    /// How it was sent last.
    wake: Wake,
    /// It may be there without having started the turn that it is to have.
    owes_turn: bool,
    /// Looks that found it there, and nobody who answers it.
    unanswered: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    No,
    Perhaps,
    /// The host said that it took it; not yet seen there.
    Accepted,
}

enum Verdict {
    /// The host shows it in the session.
    Shown,
    NoSession,
    /// It was not sent, because of this; else because some of it is not needed any more.
    NotSent(Option<Obstacle>),
    Refused,
    /// Nobody can send it: it waits for its reader.
    Pulled,
    /// It is to be sent again, or looked for, after so long.
    Again {
        ms: u64,
    },
}

enum Obstacle {
    UndoPending,
    /// The session is at work, and this is no message for its model.
    AtWork,
    /// The program that has the session does not run.
    Absent,
}

impl Attempt {
    pub fn new(delivery: Delivery) -> Self {
        Self {
            delivery,
            reached: Reached::No,
            in_flight: false,
            failures: 0,
            refusals: 0,
            unwanted: Vec::new(),
            wake: Wake::StayIdle,
            owes_turn: false,
            unanswered: 0,
        }
    }

    /// A delivery of before a restart: nobody knows how far it came.
    pub fn restored(delivery: Delivery) -> Self {
        Self { reached: Reached::Perhaps, owes_turn: true, ..Self::new(delivery) }
    }

    fn tried(&self) -> Tried {
        match self.reached {
            Reached::No => Tried::Never,
            _ if self.unanswered == UNANSWERED_LOOKS => Tried::Unanswered,
            Reached::Perhaps | Reached::Accepted => Tried::Perhaps,
        }
    }

    fn answered(&mut self, found: Result<Finding, HostError>) -> Verdict {
        self.in_flight = false;
        // Only what is sent now starts a turn.
        self.owes_turn &= self.wake != Wake::StartTurn || found != Ok(Finding::Done);
        let ms = match found {
            Ok(Finding::Delivered) => return Verdict::Shown,
            // Another look shows whether its turn was only late; and it is given one once.
            Ok(Finding::Unanswered) if self.unanswered < UNANSWERED_LOOKS => {
                self.reached = Reached::Accepted;
                self.unanswered += 1;
                if self.unanswered == UNANSWERED_LOOKS { 0 } else { DELIVERY_CONFIRM_MS }
            }
            Ok(Finding::Unanswered) => return Verdict::Shown,
            Ok(Finding::Pulled) => return Verdict::Pulled,
            Ok(Finding::UndoPending) if self.reached == Reached::No => {
                return Verdict::NotSent(Some(Obstacle::UndoPending));
            }
            Ok(Finding::AtWork) if self.reached == Reached::No => {
                return Verdict::NotSent(Some(Obstacle::AtWork));
            }
            // The host has looked: it is not there, and nobody is who could take it.
            Ok(Finding::Absent) => return Verdict::NotSent(Some(Obstacle::Absent)),
            Ok(Finding::UndoPending) => POLL_EVERY_MS,
            Ok(Finding::Queued) => {
                let first = self.reached != Reached::Accepted;
                self.reached = Reached::Accepted;
                if first { DELIVERY_CONFIRM_MS } else { POLL_EVERY_MS }
            }
            Err(HostError::Gone) => return Verdict::NoSession,
            Ok(_) => {
                self.reached = Reached::Accepted;
                // Its turn was started for it, which is done once.
                self.unanswered += u32::from(self.unanswered == UNANSWERED_LOOKS);
                self.refusals += 1;
                DELIVERY_CONFIRM_MS.max(pause_ms(self.refusals))
            }
            Err(HostError::Rejected { .. }) => {
                self.refusals += 1;
                if self.reached == Reached::No && !self.unwanted.is_empty() {
                    return Verdict::NotSent(None);
                }
                pause_ms(self.refusals)
            }
            Err(HostError::Unreachable | HostError::Busy) => {
                self.reached = self.reached.max(Reached::Perhaps);
                self.failures += 1;
                pause_ms(self.failures)
            }
        };
        if self.refusals > DELIVERY_MAX_REFUSALS { Verdict::Refused } else { Verdict::Again { ms } }
    }
}

impl Engine {
    /// While one delivery has not left, further notices wait for the next.
    pub(super) fn delivery_is_unsent(&self, recipient: &Recipient) -> bool {
        let attempts = recipient.deliveries.iter().filter_map(|id| self.outbox.deliveries.get(id));
        attempts.into_iter().any(|attempt| attempt.reached != Reached::Accepted)
    }

    pub(crate) fn tend_delivery(&mut self, id: &MessageId) {
        let Some(attempt) = self.outbox.deliveries.get(id) else { return };
        if let Some(route) = self.route(&attempt.delivery.to).filter(|_| !attempt.in_flight) {
            self.send_delivery(id, route);
        }
    }

    pub(super) fn send_delivery(&mut self, id: &MessageId, route: Route) {
        let max_chars = self.settings.max_result_chars;
        let Some(attempt) = self.outbox.deliveries.get(id) else { return };
        let delivery = &attempt.delivery;
        // What only waits for the last one is to have a turn; what waits in the history is not.
        let for_turn = route.wake == Wake::StartTurn
            && self.may_wait_for_last(delivery)
            && !self.is_from_before_it_was_shown(delivery);
        let notices = delivery.notices.iter().filter_map(|id| self.outbox.notices.get(id));
        let notices: Vec<_> = notices
            .map(|notice| (notice, self.tasks.key_of(notice.id.task, notice.id.run)))
            .collect();
        let wake = match self.wake(&route, delivery) {
            // A resend must first check whether the message arrived, so it may not be skipped
            // because the session is busy.
            Wake::WhenIdle if attempt.reached != Reached::No => Wake::StayIdle,
            wake => wake,
        };
        let told: Vec<_> = notices.iter().map(|(notice, key)| (*notice, key.as_ref())).collect();
        let parts = texts::parts(delivery, &told, max_chars);
        let tried = attempt.tried();
        let (session, message) = (delivery.to.clone(), id.clone());
        let notices = notices.iter().map(|(notice, _)| notice.id).collect();
        let action = Action::Deliver { tried, session, message, notices, parts, wake };
        if let Some(attempt) = self.outbox.attempt_mut(id) {
            attempt.in_flight = true;
            attempt.wake = wake;
            attempt.owes_turn = for_turn && (attempt.owes_turn || wake == Wake::StayIdle);
        }
        self.timers.clear(&Timer::Delivery(id.clone()));
        self.work(route.host.clone(), action, Purpose::Delivery(route.host, id.clone()));
    }

    pub(crate) fn delivery_answered(
        &mut self,
        host: &HostId,
        id: &MessageId,
        found: Result<Finding, HostError>,
    ) {
        let Some(attempt) = self.outbox.deliveries.get_mut(id) else { return };
        let to = attempt.delivery.to.clone();
        match attempt.answered(found) {
            verdict @ (Verdict::Shown | Verdict::Pulled) => {
                let (owes_turn, wake) = (attempt.owes_turn, attempt.wake);
                let told = attempt.delivery.notices.clone();
                if let Some(recipient) = self.outbox.recipients.get_mut(&to) {
                    recipient.seen(host);
                }
                if matches!(verdict, Verdict::Pulled) {
                    self.await_reader(id);
                } else {
                    self.end_delivery(id, DeliveryEnd::Delivered);
                }
                if owes_turn {
                    self.owe_turn(&to, &told);
                } else if wake == Wake::StartTurn {
                    self.turn_begins(&to);
                }
            }
            // It may have been deleted; or the host is not one of its place, whatever it says, and
            // the delivery waits for another.
            Verdict::NoSession => {
                self.unknown_to(host, &to);
                if self.route(&to).is_some() {
                    self.soon(Timer::Delivery(id.clone()));
                }
            }
            Verdict::NotSent(obstacle) => {
                self.dissolve(id);
                let Some(recipient) = self.outbox.recipients.get_mut(&to) else { return };
                match obstacle {
                    Some(Obstacle::UndoPending) => {
                        recipient.held_until = Some(self.now.plus(POLL_EVERY_MS));
                    }
                    Some(Obstacle::AtWork) => {
                        recipient.questions_held_until = Some(self.now.plus(QUESTION_RETRY_MS));
                    }
                    Some(Obstacle::Absent) => recipient.absent = true,
                    None => {}
                }
            }
            Verdict::Refused => self.end_delivery(id, DeliveryEnd::Refused),
            Verdict::Again { ms } => {
                self.timers.set(Timer::Delivery(id.clone()), self.now.plus(ms));
                self.soon(Timer::Gather(to));
            }
        }
    }

    /// A notice in a delivery is not needed any more. A delivery that the host would not take has
    /// not gone out; of one that is in flight we shall see.
    pub(super) fn unwanted(&mut self, id: &MessageId, notice: NoticeId) {
        let Some(attempt) = self.outbox.attempt_mut(id) else { return };
        attempt.unwanted.push(notice);
        if attempt.reached == Reached::No && !attempt.in_flight {
            self.dissolve(id);
        }
    }

    /// A delivery that was certainly not sent: its notices are pending as before, so that they can
    /// be withdrawn, or gathered with others.
    fn dissolve(&mut self, id: &MessageId) {
        let Some(Attempt { delivery, unwanted, .. }) = self.drop_delivery(id) else { return };
        let Delivery { to, notices, .. } = delivery;
        self.save(Change::DeliveryWithdrawn { delivery: id.clone(), notices: notices.clone() });
        for notice in unwanted {
            self.withdraw(notice);
        }
        notices.iter().for_each(|notice| self.collected_task_changed(notice.task));
        self.soon(Timer::Gather(to));
    }

    /// The session changed, so an undo that was pending there may not be any more.
    pub(crate) fn undo_may_be_over(&mut self, session: &SessionId) {
        if let Some(recipient) = self.outbox.recipients.get_mut(session)
            && recipient.held_until.take().is_some()
        {
            self.soon(Timer::Gather(session.clone()));
        }
    }

    pub(super) fn end_delivery(&mut self, id: &MessageId, end: DeliveryEnd) {
        let Some(Attempt { delivery, .. }) = self.drop_delivery(id) else { return };
        let Delivery { to, notices, .. } = delivery;
        for notice in &notices {
            self.outbox.take(*notice);
            self.collected_task_changed(notice.task);
        }
        let told: Vec<_> = notices.iter().map(|notice| notice.task).collect();
        self.save(Change::DeliveryDone { delivery: id.clone(), notices, end });
        told.into_iter().for_each(|task| self.leave_if_told(task));
        self.soon(Timer::Gather(to));
    }

    /// Nobody can put the delivery into its session: it is kept until somebody asks for it. Who
    /// cannot be woken is not told that there is something to read.
    fn await_reader(&mut self, id: &MessageId) {
        let Some(attempt) = self.outbox.deliveries.get(id) else { return };
        if attempt.delivery.notices.iter().all(|notice| notice.about == About::Unread) {
            return self.dissolve(id);
        }
        let Some(Attempt { delivery, unwanted, .. }) = self.drop_delivery(id) else { return };
        let notices = delivery.notices.clone();
        self.save(Change::DeliveryPulled { delivery: id.clone(), notices });
        self.outbox.pull(&delivery);
        unwanted.into_iter().for_each(|notice| self.withdraw(notice));
        for notice in delivery.notices {
            self.collected_task_changed(notice.task);
            self.leave_if_told(notice.task);
        }
        self.soon(Timer::Gather(delivery.to));
    }

    pub(super) fn drop_delivery(&mut self, id: &MessageId) -> Option<Attempt> {
        self.timers.clear(&Timer::Delivery(id.clone()));
        self.outbox.uncarry(id)
    }
}
