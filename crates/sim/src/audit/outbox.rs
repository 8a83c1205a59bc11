//! What becomes of notices and deliveries.

use legwork_engine::record::{About, Delivery, DeliveryEnd, NoticeId};
use legwork_engine::text::notices;
use legwork_protocol::MessageId;

use super::{Audit, NoticeFact};

impl Audit {
    pub(super) fn withdrawn(&mut self, id: NoticeId) {
        self.pending.remove(&id);
        self.set_notice(id, NoticeFact::Withdrawn);
        if self.open_with(&id).is_some() {
            self.taken_out.insert(id);
            self.drop_empty();
        }
    }

    /// The delivery that carries the notice now.
    fn open_with(&self, id: &NoticeId) -> Option<&MessageId> {
        self.deliveries.iter().find(|delivery| {
            let delivery = self.deliveries_ever.get(*delivery);
            delivery.is_some_and(|delivery| delivery.notices.contains(id))
        })
    }

    /// Whether the notice waits for its reader.
    pub fn is_pulled(&self, id: &NoticeId) -> bool {
        self.open_with(id).is_some_and(|delivery| self.pulled.contains(delivery))
    }

    /// Deliveries that have nothing left to tell are dropped.
    pub(super) fn drop_empty(&mut self) {
        let empty: Vec<MessageId> = self
            .deliveries
            .iter()
            .filter(|delivery| {
                let delivery = self.deliveries_ever.get(*delivery);
                delivery.is_some_and(|delivery| {
                    delivery.notices.iter().all(|notice| !self.pending.contains(notice))
                })
            })
            .cloned()
            .collect();
        for delivery in empty {
            self.deliveries.remove(&delivery);
        }
    }

    pub(super) fn delivery_done(&mut self, id: &MessageId, end: DeliveryEnd) {
        self.deliveries.remove(id);
        let notices = self.deliveries_ever.get(id).map(|delivery| delivery.notices.clone());
        let left = notices.into_iter().flatten().filter(|it| !self.taken_out.contains(it));
        for notice in left.collect::<Vec<_>>() {
            self.pending.remove(&notice);
            let fact = if end == DeliveryEnd::Delivered {
                NoticeFact::Told
            } else {
                NoticeFact::Ended(end)
            };
            self.set_notice(notice, fact);
        }
        if end == DeliveryEnd::Delivered {
            self.told.insert(id.clone());
        }
    }

    pub(super) fn set_notice(&mut self, id: NoticeId, fact: NoticeFact) {
        if id.about != About::End {
            return;
        }
        let Some(run) = self.runs.get_mut(&(id.task, id.run)) else { return };
        if run.notice == NoticeFact::Told && fact != NoticeFact::Told {
            let what = format!("{} run {} was told, and is now {fact:?}", id.task, id.run);
            return self.broken("one notice", what);
        }
        run.notice = fact;
    }

    pub(super) fn check_counts(&mut self, delivery: &Delivery) {
        let of_parent = || self.rows.values().filter(|row| row.task.parent == delivery.to);
        let finished = of_parent().filter(|row| row.task.is_finished()).count();
        let truth = notices::counts(finished, of_parent().count() - finished);
        if delivery.counts != truth {
            let what = format!("{} says {:?}, true is {truth:?}", delivery.id, delivery.counts);
            self.broken("counts", what);
        }
    }
}
