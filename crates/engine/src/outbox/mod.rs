//! The transactional outbox: what sessions are to be told, and how each is told once.
//!
//! | file | what |
//! |---|---|
//! | `notices.rs` | a notice is enqueued with what it tells of, and withdrawn if not needed |
//! | `gather.rs` | notices whose time has come go out in one delivery |
//! | `route.rs` | the host that a session is told through |
//! | `deliver.rs` | a delivery is sent until the host shows it |
//! | `recipients.rs` | the sessions that are told |
//! | `deletion.rs` | how we know that one of them was deleted, and what becomes of its tasks |

mod deletion;
pub(crate) mod deliver;
mod gather;
mod notices;
pub(crate) mod recipients;
mod route;

use std::collections::BTreeMap;

use legwork_protocol::{MessageId, SessionId};

use crate::record::{Notice, NoticeId};
use deliver::Attempt;
use recipients::Recipient;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub notices: BTreeMap<NoticeId, Notice>,
    pub deliveries: BTreeMap<MessageId, Attempt>,
    pub recipients: BTreeMap<SessionId, Recipient>,
}

impl Outbox {
    /// A delivery that cannot but be on its way.
    fn attempt_mut(&mut self, id: &MessageId) -> Option<&mut Attempt> {
        let attempt = self.deliveries.get_mut(id);
        debug_assert!(attempt.is_some(), "{id} is not on its way");
        attempt
    }

    /// The recipient of a delivery on its way, unless that was deleted.
    fn recipient_of(&mut self, id: &MessageId) -> Option<&mut Recipient> {
        let to = &self.deliveries.get(id)?.delivery.to;
        self.recipients.get_mut(to)
    }
}
