//! Paying what is pending. A delivery is sent until the host shows it in the session: a host may
//! say that it took a message and store nothing, and a lost answer proves nothing either way. It
//! always goes under the same id, so sending it again is harmless.

use legwork_protocol::limits::{DELIVERY_CONFIRM_MS, DELIVERY_MAX_REFUSALS, POLL_EVERY_MS};
use legwork_protocol::{HostId, MessageId, SessionId};

use crate::engine::{Engine, Purpose};
use crate::outbox::{Recipient, Route};
use crate::record::{About, Change, Delivery, DeliveryEnd, NoticeId};
use crate::text::notices as texts;
use crate::timers::Timer;
use crate::watch::pause_ms;
use crate::work::{Action, Finding, HostError, Tried, Wake};

/// A delivery on its way.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub delivery: Delivery,
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

impl Attempt {
    pub fn new(delivery: Delivery) -> Self {
        Self {
            delivery,
            sent: false,
            attempted: false,
            under_way: false,
            failures: 0,
            refusals: 0,
            unwanted: Vec::new(),
        }
    }

    /// A delivery of before a restart: nobody knows how far it came.
    pub fn restored(delivery: Delivery) -> Self {
        Self { attempted: true, ..Self::new(delivery) }
    }
}

impl Engine {
    /// While one delivery has not left, what comes to be pending waits for the next.
    pub(crate) fn delivery_is_unsent(&self, recipient: &Recipient) -> bool {
        recipient
            .deliveries
            .iter()
            .any(|id| self.outbox.deliveries.get(id).is_some_and(|attempt| !attempt.sent))
    }

    pub(crate) fn tend_delivery(&mut self, id: &MessageId) {
        let Some(attempt) = self.outbox.deliveries.get(id) else { return };
        if attempt.under_way {
            return;
        }
        let to = attempt.delivery.to.clone();
        if let Some(route) = self.route(&to) {
            self.send_delivery(id, route);
        }
    }

    pub(crate) fn send_delivery(&mut self, id: &MessageId, route: Route) {
        let max_chars = self.settings.max_result_chars;
        let Some(attempt) = self.outbox.deliveries.get_mut(id) else { return };
        attempt.under_way = true;
        let delivery = &attempt.delivery;
        let notices = delivery.notices.iter().filter_map(|id| self.outbox.notices.get(id));
        let notices: Vec<_> = notices
            .map(|notice| (notice, self.tasks.key_of(notice.id.task, notice.id.run)))
            .collect();
        // A question is for the person; the model can do nothing about it, so no turn is paid for.
        let worth_a_turn = notices.iter().any(|(notice, _)| notice.id.about == About::End);
        let wake = if worth_a_turn { route.wake } else { Wake::StayIdle };
        let parts = texts::parts(delivery, &notices, max_chars);
        let tried = if attempt.attempted { Tried::Perhaps } else { Tried::Never };
        let (session, message) = (delivery.to.clone(), id.clone());
        let action = Action::Deliver { tried, session, message, parts, wake };
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
        attempt.under_way = false;
        let to = attempt.delivery.to.clone();
        let pause = match found {
            Ok(Finding::Delivered) => return self.shown(host, id),
            Ok(Finding::UndoPending) if !attempt.attempted => return self.hold_delivery(id),
            Ok(Finding::UndoPending) => POLL_EVERY_MS,
            Err(HostError::Gone) => return self.nowhere(host, id),
            Ok(_) => {
                attempt.attempted = true;
                attempt.sent = true;
                attempt.refusals += 1;
                DELIVERY_CONFIRM_MS.max(pause_ms(attempt.refusals))
            }
            Err(HostError::Rejected { .. }) => {
                attempt.refusals += 1;
                if !attempt.attempted && !attempt.unwanted.is_empty() {
                    return self.dissolve(id);
                }
                pause_ms(attempt.refusals)
            }
            Err(HostError::Unreachable | HostError::Busy) => {
                attempt.attempted = true;
                attempt.failures += 1;
                pause_ms(attempt.failures)
            }
        };
        if attempt.refusals > DELIVERY_MAX_REFUSALS {
            return self.end_delivery(id, DeliveryEnd::Refused);
        }
        self.timers.set(Timer::Delivery(id.clone()), self.now.plus(pause));
        self.soon(Timer::Gather(to));
    }

    /// The host shows the delivery in the session.
    fn shown(&mut self, host: &HostId, id: &MessageId) {
        let to = self.outbox.deliveries.get(id).map(|attempt| &attempt.delivery.to);
        if let Some(recipient) = to.and_then(|to| self.outbox.recipients.get_mut(to)) {
            recipient.seen(host);
        }
        self.end_delivery(id, DeliveryEnd::Delivered);
    }

    /// The host does not have the session. It may have been deleted; or the host is not one of its
    /// place, whatever it says, and the delivery waits for another.
    fn nowhere(&mut self, host: &HostId, id: &MessageId) {
        let Some(to) = self.outbox.deliveries.get(id).map(|attempt| attempt.delivery.to.clone())
        else {
            return;
        };
        self.unknown_to(host, &to);
        if self.route(&to).is_some() {
            self.soon(Timer::Delivery(id.clone()));
        }
    }

    /// The delivery was not sent because of a pending undo: it waits.
    fn hold_delivery(&mut self, id: &MessageId) {
        let Some(to) = self.outbox.deliveries.get(id).map(|attempt| attempt.delivery.to.clone())
        else {
            return;
        };
        self.dissolve(id);
        if let Some(recipient) = self.outbox.recipients.get_mut(&to) {
            recipient.held_until = Some(self.now.plus(POLL_EVERY_MS));
        }
    }

    /// A notice in a delivery is not needed any more. A delivery that the host would not take has
    /// not gone out; of one that is under way we shall see.
    pub(crate) fn unwanted(&mut self, id: &MessageId, notice: NoticeId) {
        if let Some(attempt) = self.outbox.deliveries.get_mut(id) {
            attempt.unwanted.push(notice);
        }
        if self
            .outbox
            .deliveries
            .get(id)
            .is_some_and(|attempt| !attempt.attempted && !attempt.under_way)
        {
            self.dissolve(id);
        }
    }

    /// A delivery that was certainly not sent: its notices are pending as before, so that they can
    /// be withdrawn, or gathered with others.
    fn dissolve(&mut self, id: &MessageId) {
        let Some(attempt) = self.drop_delivery(id) else { return };
        let Delivery { to, notices, .. } = attempt.delivery;
        self.save(Change::DeliveryWithdrawn { delivery: id.clone(), notices: notices.clone() });
        for notice in &notices {
            if let Some(notice) = self.outbox.notices.get_mut(notice) {
                notice.delivery = None;
            }
        }
        if let Some(recipient) = self.outbox.recipients.get_mut(&to) {
            recipient.pending.extend(notices);
        }
        for notice in attempt.unwanted {
            self.withdraw(notice);
        }
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

    pub(crate) fn end_delivery(&mut self, id: &MessageId, end: DeliveryEnd) {
        let Some(attempt) = self.drop_delivery(id) else { return };
        let notices = attempt.delivery.notices.clone();
        self.save(Change::DeliveryDone { delivery: id.clone(), notices, end });
        for notice in &attempt.delivery.notices {
            self.outbox.notices.remove(notice);
        }
        self.soon(Timer::Gather(attempt.delivery.to.clone()));
    }

    pub(crate) fn drop_delivery(&mut self, id: &MessageId) -> Option<Attempt> {
        let attempt = self.outbox.deliveries.remove(id)?;
        self.timers.clear(&Timer::Delivery(id.clone()));
        if let Some(recipient) = self.outbox.recipients.get_mut(&attempt.delivery.to) {
            recipient.deliveries.remove(id);
        }
        Some(attempt)
    }
}
