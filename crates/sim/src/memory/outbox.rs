//! Notices and the deliveries that carry them.

use legwork_engine::record::{Delivery, DeliveryEnd, Notice, NoticeId};
use legwork_protocol::MessageId;

use super::{Impossible, Kept, Memory, NoticeState, guard, refuse};

impl Memory {
    /// A delivery that has nothing left to tell is dropped.
    pub(super) fn take_from_delivery(&mut self, id: NoticeId) {
        let delivery = self.notices.get(&id).and_then(|kept| kept.notice.delivery.clone());
        let Some(mut delivery) =
            delivery.and_then(|delivery| self.deliveries.get(&delivery).cloned())
        else {
            return;
        };
        delivery.notices.retain(|other| *other != id);
        let key = delivery.id.clone();
        self.put_delivery(&key, (!delivery.notices.is_empty()).then_some(delivery));
    }

    pub(super) fn pending(&mut self, notice: &Notice) -> Result<(), Impossible> {
        let id = notice.id;
        let new = self.tasks.contains_key(&id.task) && !self.notices.contains_key(&id);
        guard(new && notice.delivery.is_none(), || {
            format!("{id:?}: it was pending before, is in a delivery, or its task is not there")
        })?;
        self.put_notice(id, Some(Kept { notice: notice.clone(), state: NoticeState::Pending }));
        Ok(())
    }

    pub(super) fn withdrawn(&mut self, id: NoticeId) -> Result<(), Impossible> {
        let carried = self.notices.get(&id).and_then(|kept| kept.notice.delivery.clone());
        let delivery = carried.and_then(|delivery| self.deliveries.get(&delivery));
        if delivery.is_some_and(Delivery::is_pulled) {
            self.take_from_delivery(id);
            let taken = self.notices.get(&id).cloned().map(|mut kept| {
                kept.notice.delivery = None;
                kept
            });
            self.put_notice(id, taken);
        }
        let mut kept = self.free_notice(id)?;
        kept.state = NoticeState::Over;
        self.put_notice(id, Some(kept));
        Ok(())
    }

    /// A notice that is pending and in no delivery.
    fn free_notice(&self, id: NoticeId) -> Result<Kept, Impossible> {
        let kept = self.notices.get(&id);
        kept.filter(|kept| kept.state == NoticeState::Pending && kept.notice.delivery.is_none())
            .cloned()
            .ok_or_else(|| Impossible(format!("{id:?}: it is not pending, or in a delivery")))
    }

    pub(super) fn delivery_created(&mut self, delivery: &Delivery) -> Result<(), Impossible> {
        guard(!delivery.notices.is_empty() && !self.deliveries.contains_key(&delivery.id), || {
            format!("delivery {}: it tells nothing, or exists already", delivery.id)
        })?;
        for id in &delivery.notices {
            let mut kept = self.free_notice(*id)?;
            kept.notice.delivery = Some(delivery.id.clone());
            self.put_notice(*id, Some(kept));
        }
        self.put_delivery(&delivery.id, Some(delivery.clone()));
        Ok(())
    }

    pub(super) fn delivery_pulled(&mut self, id: &MessageId) -> Result<(), Impossible> {
        let Some(mut delivery) = self.deliveries.get(id).cloned() else {
            return refuse(|| format!("delivery {id}: there is no such delivery"));
        };
        delivery.counts.clear();
        self.put_delivery(id, Some(delivery));
        Ok(())
    }

    /// Without an end its notices are pending as before.
    pub(super) fn delivery_over(
        &mut self,
        id: &MessageId,
        end: Option<DeliveryEnd>,
    ) -> Result<(), Impossible> {
        let Some(delivery) = self.deliveries.get(id).cloned() else {
            return refuse(|| format!("end of delivery {id}: there is no such delivery"));
        };
        self.put_delivery(id, None);
        for id in delivery.notices {
            if let Some(mut kept) = self.notices.get(&id).cloned() {
                kept.notice.delivery = None;
                kept.state = end.map_or(NoticeState::Pending, |_| NoticeState::Over);
                self.put_notice(id, Some(kept));
            }
        }
        Ok(())
    }
}
