//! Gathering: notices that are due at about the same time go out in one delivery.

use legwork_protocol::ids::MessageUse;
use legwork_protocol::limits::{DELIVERY_MAX_NOTICES, GATHER_MS, RESEND_MS};
use legwork_protocol::{MessageId, SessionId, Time};

use super::deliver::Attempt;
use super::route::Route;
use crate::engine::Engine;
use crate::record::{About, Change, Delivery, Notice, NoticeId};
use crate::text::notices as texts;
use crate::timers::Timer;
use crate::work::Wake;

impl Engine {
    /// Sends the session its pending notices, if their time has come.
    pub(crate) fn tend_outbox(&mut self, to: &SessionId) {
        let Some(recipient) = self.outbox.recipients.get(to) else { return };
        if recipient.pending.is_empty() {
            return self.forget_parent_if_idle(to);
        }
        if recipient.absent {
            return;
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
        let held = recipient.held_until.max(recipient.settles_until);
        if let Some(until) = held.filter(|until| *until > self.now) {
            return self.timers.set(Timer::Gather(to.clone()), until);
        }
        let (_, unfinished) = self.tasks.counts(to);
        let wakes = unfinished == 0 && recipient.wakes_for_nothing_else();
        if wakes && route.wake != Wake::StartTurn {
            return self.turn_begins(to);
        }
        let ready: Vec<&Notice> = recipient
            .pending
            .iter()
            .filter(|id| id.about != About::Unread || wakes)
            .filter(|id| !self.collects.is_leased(id.task, id.run))
            // A question is never held: the answer may be what the parent waits for.
            .filter(|id| id.about != About::End || !self.holds_notice(to, id.task))
            .filter_map(|id| self.outbox.notices.get(id))
            .collect();
        let only_questions = ready.iter().all(|notice| notice.id.about != About::End);
        let held = recipient.questions_held_until.filter(|until| *until > self.now);
        if let Some(until) = held.filter(|_| only_questions) {
            return self.timers.set(Timer::Gather(to.clone()), until);
        }
        let Some(oldest) = ready.iter().map(|notice| notice.made).min() else { return };
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
            About::Unread => MessageUse::Unread,
        };
        let id = MessageId::make(self.now, first.task, first.run, about);
        let (finished, unfinished) = self.tasks.counts(to);
        let counts = texts::counts(finished, unfinished);
        let delivery = Delivery { id: id.clone(), to: to.clone(), notices, counts };
        self.save(Change::DeliveryCreated(delivery.clone()));
        self.outbox.carry(Attempt::new(delivery));
        self.send_delivery(&id, route);
    }
}
