//! Deliveries that nobody can put into their sessions: a terminal that waits for its shell, a
//! client whose model nobody can wake. They stay in the outbox until somebody asks for them. What
//! they say is formed for each reader anew, so that what was settled meanwhile is not in it.

use std::collections::BTreeMap;

use legwork_protocol::api::Answer;
use legwork_protocol::limits::COLLECT_LEASE_MS;
use legwork_protocol::{MessageId, SessionId, TaskId, Time};

use super::Outbox;
use crate::engine::{Answered, Engine};
use crate::record::{About, Change, Delivery, DeliveryEnd, Notice, NoticeId};
use crate::text::notices as texts;
use crate::timers::Timer;
use crate::work::Part;

/// A delivery for whoever reads it.
#[derive(Debug)]
pub struct Unread {
    pub message: MessageId,
    pub session: SessionId,
    /// When the newest of its notices was made.
    pub at: Time,
    pub notices: Vec<NoticeId>,
    pub parts: Vec<Part>,
}

impl Unread {
    /// The tasks that it is about.
    pub fn tasks(&self) -> Vec<TaskId> {
        self.notices.iter().map(|id| id.task).collect()
    }
}

impl Outbox {
    /// The notices of this delivery wait for its reader.
    pub fn pull(&mut self, delivery: &Delivery) {
        for id in &delivery.notices {
            let Some(mut notice) = self.take(*id) else { continue };
            notice.delivery = Some(delivery.id.clone());
            self.pulled.insert(*id, notice);
        }
    }

    fn of_delivery(&self, id: &MessageId) -> Vec<NoticeId> {
        let its = self.pulled.values().filter(|notice| notice.delivery.as_ref() == Some(id));
        its.map(|notice| notice.id).collect()
    }
}

impl Engine {
    /// What waits for the readers of these sessions, as it is now, the oldest first. What a session
    /// collects is left to that.
    pub fn unread(&self, wanted: impl Fn(&SessionId) -> bool) -> Vec<Unread> {
        let mut deliveries: BTreeMap<&MessageId, Vec<&Notice>> = BTreeMap::new();
        for notice in self.outbox.pulled.values().filter(|notice| wanted(&notice.to)) {
            if let Some(delivery) = &notice.delivery {
                deliveries.entry(delivery).or_default().push(notice);
            }
        }
        let is_collected = |notice: &&Notice| {
            let NoticeId { task, run, about } = notice.id;
            about == About::End && self.collects.is_collected(task, run)
        };
        let left = deliveries.into_iter().filter(|(_, notices)| !notices.iter().any(is_collected));
        let mut unread: Vec<Unread> =
            left.filter_map(|(id, notices)| self.unread_delivery(id, notices)).collect();
        unread.sort_by_key(|unread| unread.at);
        unread
    }

    fn unread_delivery(&self, id: &MessageId, mut notices: Vec<&Notice>) -> Option<Unread> {
        notices.sort_unstable_by_key(|notice| (notice.made, notice.id));
        let (to, at) = notices.last().map(|newest| (newest.to.clone(), newest.made))?;
        let (finished, unfinished) = self.tasks.counts(&to);
        let delivery = Delivery {
            id: id.clone(),
            to,
            notices: notices.iter().map(|notice| notice.id).collect(),
            counts: texts::counts(finished, unfinished),
        };
        let keys: Vec<_> =
            notices.iter().map(|it| self.tasks.key_of(it.id.task, it.id.run)).collect();
        let told: Vec<_> =
            notices.into_iter().zip(&keys).map(|(notice, key)| (notice, key.as_ref())).collect();
        let parts = texts::parts(&delivery, &told, self.settings.max_result_chars);
        let Delivery { id: message, to: session, notices, .. } = delivery;
        Some(Unread { message, session, at, notices, parts })
    }

    /// A reader was given these and is about to show them.
    pub(crate) fn read(&mut self, messages: Vec<MessageId>) {
        let now = self.now;
        self.outbox.read.retain(|_, at| now.since(*at) < COLLECT_LEASE_MS);
        self.outbox.read.extend(messages.into_iter().map(|message| (message, now)));
    }

    /// Whether a reader has the notice and may not have shown it yet.
    pub(crate) fn is_being_read(&self, id: &NoticeId) -> bool {
        let delivery = self.outbox.pulled.get(id).and_then(|notice| notice.delivery.as_ref());
        let read = delivery.and_then(|delivery| self.outbox.read.get(delivery));
        read.is_some_and(|at| self.now.since(*at) < COLLECT_LEASE_MS)
    }

    /// Readers have shown these. Only a delivery that waits for its reader ends so.
    pub(crate) fn mail_shown(&mut self, messages: Vec<MessageId>) -> Answered {
        for delivery in messages {
            self.outbox.read.remove(&delivery);
            let notices = self.outbox.of_delivery(&delivery);
            if notices.is_empty() {
                continue;
            }
            for id in &notices {
                if let Some(notice) = self.outbox.pulled.remove(id) {
                    self.soon(Timer::Gather(notice.to));
                }
                self.collected_task_changed(id.task);
            }
            let end = DeliveryEnd::Delivered;
            self.save(Change::DeliveryDone { delivery, notices, end });
        }
        Ok(Some(Answer::Done))
    }
}
