//! The transactional outbox: what sessions are to be told, and how each is told once.
//!
//! | file | what |
//! |---|---|
//! | `notices.rs` | a notice is enqueued with what it tells of, and withdrawn if not needed |
//! | `gather.rs` | notices whose time has come go out in one delivery |
//! | `route.rs` | the host that a session is told through |
//! | `deliver.rs` | a delivery is sent until the host shows it |
//! | `pulled.rs` | a delivery that nobody can send is kept until its reader was shown it |
//! | `recipients.rs` | the sessions that are told |
//! | `deletion.rs` | how we know that one of them was deleted, and what becomes of its tasks |

mod deletion;
pub(crate) mod deliver;
mod gather;
mod notices;
pub mod pulled;
pub(crate) mod recipients;
mod route;

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::{MessageId, SessionId, TaskId, Time};

use crate::record::{About, Delivery, Notice, NoticeId};
use deliver::Attempt;
use recipients::Recipient;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Those that are on their way, or will be.
    pub notices: BTreeMap<NoticeId, Notice>,
    /// Those whose delivery waits for its reader.
    pub pulled: BTreeMap<NoticeId, Notice>,
    /// When readers were given pulled deliveries, as long as they may be showing them.
    pub read: BTreeMap<MessageId, Time>,
    pub deliveries: BTreeMap<MessageId, Attempt>,
    pub recipients: BTreeMap<SessionId, Recipient>,
}

impl Outbox {
    /// Takes in a notice; one that no delivery carries yet is pending.
    pub fn put(&mut self, notice: Notice) {
        let pending = notice.delivery.is_none();
        if let Some(recipient) = self.recipients.get_mut(&notice.to).filter(|_| pending) {
            recipient.pending.insert(notice.id);
        }
        self.notices.insert(notice.id, notice);
    }

    fn take(&mut self, id: NoticeId) -> Option<Notice> {
        let notice = self.notices.remove(&id)?;
        if let Some(recipient) = self.recipients.get_mut(&notice.to) {
            recipient.pending.remove(&id);
        }
        Some(notice)
    }

    /// Whoever is to be told something about the run.
    pub fn recipients_of(&self, task: TaskId, run: u32) -> BTreeSet<SessionId> {
        let notices = self.of_task(task).into_iter().filter(|id| id.run == run);
        notices.filter_map(|id| Some(self.get(&id)?.to.clone())).collect()
    }

    fn get(&self, id: &NoticeId) -> Option<&Notice> {
        self.notices.get(id).or_else(|| self.pulled.get(id))
    }

    /// Whether the notice is in a delivery.
    pub fn is_carried(&self, id: &NoticeId) -> bool {
        self.notices.get(id).is_some_and(|notice| notice.delivery.is_some())
    }

    fn of_task(&self, task: TaskId) -> Vec<NoticeId> {
        let its = |all: &BTreeMap<NoticeId, Notice>| {
            let from_it = all.range(NoticeId { task, run: 0, about: About::End }..);
            from_it.map(|(id, _)| *id).take_while(|id| id.task == task).collect::<Vec<_>>()
        };
        [its(&self.notices), its(&self.pulled)].concat()
    }

    /// A delivery carries its notices from now on.
    pub fn carry(&mut self, attempt: Attempt) {
        let Delivery { id, to, notices, .. } = &attempt.delivery;
        for notice in notices {
            if let Some(notice) = self.notices.get_mut(notice) {
                notice.delivery = Some(id.clone());
            }
        }
        if let Some(recipient) = self.recipients.get_mut(to) {
            recipient.pending.retain(|pending| !notices.contains(pending));
            recipient.deliveries.insert(id.clone());
            recipient.held_until = None;
        }
        self.deliveries.insert(id.clone(), attempt);
    }

    /// A delivery does not carry its notices any more.
    fn uncarry(&mut self, id: &MessageId) -> Option<Attempt> {
        let attempt = self.deliveries.remove(id)?;
        if let Some(recipient) = self.recipients.get_mut(&attempt.delivery.to) {
            recipient.deliveries.remove(id);
        }
        for notice in &attempt.delivery.notices {
            if let Some(mut notice) = self.notices.remove(notice) {
                notice.delivery = None;
                self.put(notice);
            }
        }
        Some(attempt)
    }

    /// A delivery that cannot but be on its way.
    fn attempt_mut(&mut self, id: &MessageId) -> Option<&mut Attempt> {
        let attempt = self.deliveries.get_mut(id);
        debug_assert!(attempt.is_some(), "{id} is not on its way");
        attempt
    }
}
