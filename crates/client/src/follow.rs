//! What changes, read page by page: each page names the position from which the next one goes on.

use legwork_protocol::api::board::{BoardPage, Glance};
use legwork_protocol::api::transcript::{Reading, Transcript};
use legwork_protocol::api::{Answer, Request};

/// A question that is asked again and again.
pub trait Pages {
    type Page: TryFrom<Answer>;

    fn request(&self) -> Request;

    /// This page came, so the next one has what is new behind it.
    fn go_on(&mut self, page: &Self::Page);

    /// The daemon could not be asked.
    fn lose(&mut self) {}
}

impl Pages for Glance {
    type Page = BoardPage;

    fn request(&self) -> Request {
        Request::Board(self.clone())
    }

    fn go_on(&mut self, page: &BoardPage) {
        self.after = Some(page.next);
    }

    /// Whoever was told of the trouble gets the whole board next.
    fn lose(&mut self) {
        self.after = None;
    }
}

/// A conversation that is followed.
#[derive(Debug, Clone)]
pub struct Conversation {
    task: String,
    reading: Reading,
    wait_ms: u64,
}

impl Conversation {
    /// What there is of it comes at once; then each page waits for something new for so long.
    pub fn new(task: impl ToString, wait_ms: u64) -> Self {
        Self { task: task.to_string(), reading: Reading::default(), wait_ms }
    }
}

impl Pages for Conversation {
    type Page = Transcript;

    fn request(&self) -> Request {
        Request::Transcript { task: self.task.clone(), reading: self.reading.clone() }
    }

    fn go_on(&mut self, page: &Transcript) {
        self.reading.after = Some(page.next.clone());
        self.reading.wait_ms = if page.more { 0 } else { self.wait_ms };
    }
}
