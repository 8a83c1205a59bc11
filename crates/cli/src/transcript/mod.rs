//! The conversation of a task: read page by page, followed, and told to a person.

mod teller;

use legwork_client::{Client, Conversation};
use legwork_protocol::TaskId;
use legwork_protocol::api::transcript::{Reading, Source, Transcript};
use legwork_protocol::limits::TRANSCRIPT_WAIT_MAX_MS;
use legwork_views::model::entry::missing;

use crate::asking::connect_for_long;
use crate::fault::Fault;
use crate::screen::{DIM, paint, remark};

pub use teller::{Depth, Teller};

/// The pages of a conversation, one after the other.
pub struct Pages {
    client: Client,
    conversation: Conversation,
}

impl Pages {
    /// Over a link of its own: a daemon that dies meanwhile is followed by another, which goes on
    /// where this one was.
    pub fn of(task: TaskId, reading: Reading) -> Result<Self, Fault> {
        let conversation = Conversation { reading, ..Conversation::new(task, 0) };
        Ok(Self { client: connect_for_long()?, conversation })
    }

    pub fn next(&mut self) -> Result<Transcript, Fault> {
        self.client.next(&mut self.conversation)?.map_err(Fault::Denied)
    }

    /// From now on a page waits for something new.
    pub fn wait(&mut self) {
        self.conversation.wait_ms = TRANSCRIPT_WAIT_MAX_MS;
        self.conversation.reading.wait_ms = TRANSCRIPT_WAIT_MAX_MS;
    }
}

/// Says, once each time, that a conversation cannot be read, and that it can be again.
#[derive(Default)]
pub struct Absence(Option<Source>);

impl Absence {
    pub fn see(&mut self, page: &Transcript) {
        let before = self.0.replace(page.source);
        if before == Some(page.source) {
            return;
        }
        if before == Some(Source::HostAway) && page.source == Source::Host {
            remark(paint(DIM, "It can be read again."));
        } else if let Some(why) = missing(page.source, &page.task) {
            remark(paint(DIM, why));
        }
    }
}
