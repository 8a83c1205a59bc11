//! The conversation of a task: read page by page, followed, and told to a person.

mod teller;

use legwork_client::{Client, Conversation};
use legwork_protocol::TaskId;
use legwork_protocol::api::transcript::{Reading, Source, Transcript};
use legwork_protocol::limits::TRANSCRIPT_WAIT_MAX_MS;
use legwork_protocol::view::TaskView;

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
        match (page.source, before) {
            (Source::Host, Some(Source::HostAway)) => remark(paint(DIM, "It can be read again.")),
            (Source::Host, _) => {}
            (away, _) => remark(paint(DIM, why(away, &page.task))),
        }
    }
}

/// What is shown instead, and what to do.
const KEPT: &str = " This is what legwork keeps: what it was asked and what came of it. Open \
                    OpenCode there and ask again for the rest.";

/// Why there is no more than what was asked and what came of it.
fn why(source: Source, task: &TaskView) -> String {
    let waits = task.status.is_unfinished();
    match source {
        Source::Host => String::new(),
        Source::NotBegun if waits => "Its conversation has not begun yet.".to_owned(),
        Source::NotBegun => "It has no conversation: it never began.".to_owned(),
        Source::Gone => {
            "Its conversation is not there any more. This is what legwork keeps: what it \
                         was asked and what came of it."
                .to_owned()
        }
        Source::HostAway => format!(
            "Its conversation cannot be read at the moment, because no OpenCode of {} is \
             connected.{}",
            task.directory,
            if waits { "" } else { KEPT }
        ),
    }
}
