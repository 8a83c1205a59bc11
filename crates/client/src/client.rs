//! Asking the daemon: typed requests, a model's tool calls, and what happens from now on.

use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use legwork_machine::{Folders, since_epoch};
use legwork_protocol::CallKey;
use legwork_protocol::api::view::{DaemonView, News};
use legwork_protocol::api::{Answer, Other, Refusal, Request};
use legwork_protocol::line::{Context, FromDaemon, Role, ToDaemon};
use serde_json::Value;

use crate::backoff::Backoff;
use crate::fault::Fault;
use crate::follow::Pages;
use crate::link::{Link, Wire};
use crate::record::{Holder, Record, holder};
use crate::start::Start;

/// The longest silence of a daemon that we wait for: it gives signs of life every 10 s.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Links that one question outlives, if it may outlive several: one that ends every daemon that
/// hears it must not do so for ever.
pub(crate) const BREAKS_MAX: u32 = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Whether it was not done; the text then says why.
    pub refused: bool,
    pub text: String,
}

#[derive(Debug)]
pub struct Client {
    folders: Folders,
    role: Role,
    start: Start,
    link: Link,
    last_id: u64,
    persist: Option<Duration>,
}

impl Client {
    /// Connects to the daemon, starting it if that is allowed.
    pub fn connect(folders: &Folders, role: Role, start: Start) -> Result<Self, Fault> {
        Self::connect_telling(folders, role, start, &mut |_| ControlFlow::Continue(()))
    }

    /// The same for somebody who wants to hear what it waits for, if that takes long, and says
    /// whether to go on.
    pub fn connect_telling(
        folders: &Folders,
        role: Role,
        start: Start,
        tell: &mut dyn FnMut(&Fault) -> ControlFlow<()>,
    ) -> Result<Self, Fault> {
        let link = Link::open(folders, &role, start, tell)?;
        Ok(Self { folders: folders.clone(), role, start, link, last_id: 0, persist: None })
    }

    /// The same for somebody who deals with a daemon that is slow to come: it is a fault at once.
    pub fn connect_soon(folders: &Folders, start: Start) -> Result<Self, Fault> {
        Self::connect_telling(folders, Role::Client, start, &mut |_| ControlFlow::Break(()))
    }

    /// From now on a question outlives its link again and again, and a daemon that cannot be
    /// reached is tried for so long each time; otherwise once.
    pub fn persist(self, at_most: Duration) -> Self {
        Self { persist: Some(at_most), ..self }
    }

    /// Calls a tool as a person, or for a session that the daemon keeps for this program, and waits
    /// for the answer.
    pub fn call(
        &mut self,
        session: Option<&Context>,
        tool: &str,
        arguments: Value,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Answered, Fault> {
        let key = new_key();
        let line = |id| ToDaemon::Call {
            id,
            key: key.clone(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            context: session.cloned(),
        };
        match self.exchange(&line, progress)? {
            Heard::Text(text) => Ok(Answered { refused: false, text }),
            Heard::Refused(_, text) => Ok(Answered { refused: true, text }),
            Heard::Data(_) => Err(Fault::Unfitting(Other)),
        }
    }

    /// Asks as a person. What comes of it, or why nothing does.
    pub fn request<T: TryFrom<Answer>>(
        &mut self,
        request: impl Into<Request>,
    ) -> Result<Result<T, Refusal>, Fault> {
        self.request_for(None, request)
    }

    /// The same, for a session that the daemon keeps for this program.
    pub fn request_for<T: TryFrom<Answer>>(
        &mut self,
        session: Option<&Context>,
        request: impl Into<Request>,
    ) -> Result<Result<T, Refusal>, Fault> {
        let request = request.into();
        let key = new_key();
        let line = |id| ToDaemon::Request {
            id,
            key: key.clone(),
            request: request.clone(),
            context: session.cloned(),
        };
        match self.exchange(&line, &mut |_| {})? {
            Heard::Data(data) => data.try_into().map(Ok).map_err(|_| Fault::Unfitting(Other)),
            Heard::Refused(refusal, _) => Ok(Err(refusal)),
            Heard::Text(_) => Err(Fault::Unfitting(Other)),
        }
    }

    /// Asks for the next page of what is followed.
    pub fn next<P: Pages>(&mut self, pages: &mut P) -> Result<Result<P::Page, Refusal>, Fault> {
        let page = self.request(pages.request());
        match &page {
            Ok(Ok(page)) => pages.go_on(page),
            _ => pages.lose(),
        }
        page
    }

    /// What happens from now on. Ends with the link.
    pub fn follow(mut self) -> Result<Following, Fault> {
        let id = self.send(Request::Follow)?;
        Ok(Following { link: self.link, id })
    }

    /// Tells the daemon to end, and waits until its process has.
    pub fn leave(mut self) -> Result<(), Fault> {
        let daemon = self.request::<DaemonView>(Request::Status)?;
        let daemon = daemon.map_err(|why| Fault::TurnedAway { why: why.text() })?;
        let record = match holder(&self.folders.store)? {
            Holder::Daemon(Some(record)) => record,
            // Of a legwork that wrote none.
            Holder::Daemon(None) | Holder::Nobody => Record::of_process(daemon.pid, "", 0),
        };
        self.send(Request::Shutdown)?;
        // Its answer, its bye or the end of the link: each is followed by its end.
        match self.link.read(Some(PATIENCE)) {
            Ok(FromDaemon::Refused { text, .. }) => return Err(Fault::TurnedAway { why: text }),
            Ok(_) | Err(Fault::Leaving | Fault::Broken(_)) => {}
            Err(fault) => return Err(fault),
        }
        record.wait_for_end(&self.folders.store)
    }

    fn send(&mut self, request: Request) -> Result<u64, Fault> {
        let (id, key) = (self.new_id(), new_key());
        self.link.send(&ToDaemon::Request { id, key, request, context: None })?;
        Ok(id)
    }

    /// The connection, and what was read from it so far, the daemon's hello first.
    pub fn into_parts(self) -> (UnixStream, Vec<u8>) {
        self.link.into_parts()
    }

    /// The same for who reads and writes it in a runtime.
    pub fn into_wire(self) -> Result<Wire, Fault> {
        self.link.into_wire()
    }

    /// Sends a line and waits for its answer; if the link breaks, again over a new one. What is
    /// sent again has the same key, so nothing happens twice.
    fn exchange(
        &mut self,
        line: &dyn Fn(u64) -> ToDaemon,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Heard, Fault> {
        let mut breaks_left = if self.persist.is_some() { BREAKS_MAX } else { 1 };
        loop {
            match self.try_exchange(line, progress) {
                Err(Fault::Leaving | Fault::Broken(_)) if breaks_left > 0 => breaks_left -= 1,
                result => return result,
            }
            self.open_again()?;
        }
    }

    fn open_again(&mut self) -> Result<(), Fault> {
        let deadline = Instant::now() + self.persist.unwrap_or_default();
        let mut backoff = Backoff::default();
        loop {
            let start = self.start.again();
            match Link::open(&self.folders, &self.role, start, &mut |_| ControlFlow::Continue(())) {
                Ok(link) => {
                    self.link = link;
                    return Ok(());
                }
                // Another version will not go away by itself.
                Err(fault @ Fault::TurnedAway { .. }) => return Err(fault),
                Err(fault) if Instant::now() >= deadline => return Err(fault),
                Err(_) => thread::sleep(backoff.pause()),
            }
        }
    }

    fn try_exchange(
        &mut self,
        line: &dyn Fn(u64) -> ToDaemon,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Heard, Fault> {
        let asked = self.new_id();
        self.link.send(&line(asked))?;
        loop {
            match self.link.read(Some(PATIENCE))? {
                FromDaemon::Answer { id, text, .. } if id == asked => return Ok(Heard::Text(text)),
                FromDaemon::Data { id, data } if id == asked => return Ok(Heard::Data(data)),
                FromDaemon::Refused { id, refusal, text } if id == asked => {
                    return Ok(Heard::Refused(refusal, text));
                }
                FromDaemon::Progress { id, text, .. } if id == asked => progress(&text),
                // Of an earlier question that nobody waits for.
                _ => {}
            }
        }
    }

    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// A key that no other call has: this process, this moment, this call. One program may have several
/// clients that call at the same moment.
pub fn new_key() -> CallKey {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let (pid, call) = (std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
    let key = format!("person-{pid}-{:x}-{call}", since_epoch().as_nanos());
    CallKey::try_from(key).unwrap_or_else(|_| unreachable!("digits make a key"))
}

enum Heard {
    Text(String),
    Data(Answer),
    Refused(Refusal, String),
}

#[derive(Debug)]
pub struct Following {
    link: Link,
    id: u64,
}

impl Iterator for Following {
    type Item = Result<News, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.link.read(None) {
                Ok(FromDaemon::News { id, news }) if id == self.id => return Some(Ok(news)),
                Ok(FromDaemon::Refused { id, text, .. }) if id == self.id => {
                    return Some(Err(Fault::TurnedAway { why: text }));
                }
                Ok(_) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
    }
}
