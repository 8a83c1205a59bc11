//! What changes, read page by page: each page names the position from which the next one goes on.

use std::thread;

use legwork_machine::Folders;
use legwork_protocol::api::board::{BoardPage, Glance};
use legwork_protocol::api::transcript::{Reading, Transcript};
use legwork_protocol::api::{Answer, Refusal, Request};

use crate::backoff::Backoff;
use crate::client::Client;
use crate::fault::Fault;
use crate::start::Start;

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

/// A conversation that is read on.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub task: String,
    pub reading: Reading,
    /// How long a page waits for something new, once all that is there was read.
    pub wait_ms: u64,
}

impl Conversation {
    /// All of it, from its beginning.
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

/// Reads pages for ever, over one link after another. What goes wrong is said, and after a pause it
/// is tried again. A daemon that was there once is started again only while its records are there.
#[derive(Debug)]
pub struct Follower<P> {
    folders: Folders,
    start: Start,
    pages: P,
    client: Option<Client>,
    backoff: Backoff,
    has_failed: bool,
}

impl<P: Pages> Follower<P> {
    pub fn new(folders: Folders, start: Start, pages: P) -> Self {
        let (client, backoff) = (None, Backoff::default());
        Self { folders, start, pages, client, backoff, has_failed: false }
    }

    pub fn pausing(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    fn read(&mut self) -> Result<Result<P::Page, Refusal>, Fault> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => Client::connect_soon(&self.folders, self.start)?,
        };
        let page = client.next(&mut self.pages)?;
        self.start = self.start.again();
        self.client = page.is_ok().then_some(client);
        Ok(page)
    }
}

impl<P: Pages> Iterator for Follower<P> {
    type Item = Result<Result<P::Page, Refusal>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            thread::sleep(self.backoff.pause());
        }
        let page = self.read();
        self.has_failed = !matches!(page, Ok(Ok(_)));
        if !self.has_failed {
            self.backoff.reset();
        }
        Some(page)
    }
}
