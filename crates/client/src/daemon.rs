//! The daemon for a program that asks many things at once. One link is shared by all requests: it
//! is opened when there is something to ask, and again when it breaks. What is open is then asked
//! again under the same key, so that nothing happens twice and whoever waits only waits longer.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legwork_machine::process::is_suspended;
use legwork_machine::{Folders, lock};
use legwork_protocol::CallKey;
use legwork_protocol::api::{Answer, Other, Refusal, Request};
use legwork_protocol::limits::LINE_MAX_BYTES;
use legwork_protocol::line::{BadLine, Context, FromDaemon, Role, ToDaemon, check_size, encode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep, timeout};

use crate::backoff::Backoff;
use crate::client::{Answered, BREAKS_MAX, Client, PATIENCE, new_key};
use crate::fault::Fault;
use crate::follow::Pages;
use crate::link::{Wire, understand};
use crate::start::Start;

/// How often it is looked whether a daemon that says nothing was suspended.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How a program holds the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    /// How long a link is kept on which nothing is asked.
    pub idle_max: Duration,
    /// Whether it hears of a daemon that is slow to come as soon as that is so. Else it waits until
    /// the daemon is there, or is given up.
    pub hears_soon: bool,
}

/// The way to the daemon. Clones are the same.
#[derive(Debug, Clone)]
pub struct Daemon {
    shared: Arc<Shared>,
    orders: UnboundedSender<Order>,
    /// Links that a request outlives.
    breaks: u32,
}

#[derive(Debug)]
struct Shared {
    last_id: AtomicU64,
    /// Of the daemon that was last reached.
    build: Arc<Mutex<String>>,
    /// Until something is asked.
    keeper: Mutex<Option<Keeper>>,
}

/// Why nothing came of a request.
#[derive(Debug, Clone)]
pub enum Trouble {
    Refused(Refusal),
    /// The daemon cannot be reached.
    Away(Arc<Fault>),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Away(Arc::new(fault))
    }
}

#[derive(Debug)]
enum Order {
    Ask(u64, Asked),
    Forget(u64),
}

/// A request that has no answer yet.
#[derive(Debug)]
struct Asked {
    line: Vec<u8>,
    breaks_left: u32,
    say: UnboundedSender<Heard>,
}

type Heard = Result<FromDaemon, Arc<Fault>>;

/// A request that somebody waits for. Dropped, it is called off.
struct Open {
    id: u64,
    orders: UnboundedSender<Order>,
    heard: UnboundedReceiver<Heard>,
}

impl Open {
    async fn next(&mut self) -> Result<FromDaemon, Trouble> {
        let heard = self.heard.recv().await;
        heard.unwrap_or_else(|| Err(Arc::new(Fault::NotRunning))).map_err(Trouble::Away)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Whoever would hear it has ended if it cannot be sent.
        let _ = self.orders.send(Order::Forget(self.id));
    }
}

impl Daemon {
    /// The daemon of these folders. Nothing is started before something is asked.
    pub fn new(folders: Folders, habits: Habits) -> Self {
        let (orders, taken) = mpsc::unbounded_channel();
        let build = Arc::default();
        let asked = BTreeMap::new();
        let keeper = Keeper { folders, habits, build: Arc::clone(&build), orders: taken, asked };
        let keeper = Mutex::new(Some(keeper));
        let shared = Shared { last_id: AtomicU64::new(0), build, keeper };
        Self { shared: Arc::new(shared), orders, breaks: BREAKS_MAX }
    }

    /// The same for somebody who wants to hear of each link that breaks, and asks again then.
    pub fn once(&self) -> Self {
        Self { breaks: 0, ..self.clone() }
    }

    /// The build of the daemon that was last reached.
    pub fn build(&self) -> String {
        lock(&self.shared.build).clone()
    }

    /// Calls a tool for a session.
    pub async fn call(
        &self,
        key: CallKey,
        (tool, arguments): (&str, Value),
        context: &Context,
        mut progress: impl FnMut(String),
    ) -> Result<Answered, Trouble> {
        let (tool, context) = (tool.to_owned(), Some(context.clone()));
        let mut open = self.ask(|id| ToDaemon::Call { id, key, tool, arguments, context })?;
        loop {
            match open.next().await? {
                FromDaemon::Answer { text, .. } => return Ok(Answered { refused: false, text }),
                FromDaemon::Refused { text, .. } => return Ok(Answered { refused: true, text }),
                FromDaemon::Progress { text, .. } => progress(text),
                _ => return Err(Fault::Unfitting(Other).into()),
            }
        }
    }

    /// Asks as the person whose programs we are.
    pub async fn request<T: TryFrom<Answer>>(
        &self,
        request: impl Into<Request>,
    ) -> Result<T, Trouble> {
        self.request_for(None, None, request).await
    }

    /// Asks in the name of a session, perhaps as part of a call that has a key already.
    pub async fn request_for<T: TryFrom<Answer>>(
        &self,
        session: Option<&Context>,
        key: Option<CallKey>,
        request: impl Into<Request>,
    ) -> Result<T, Trouble> {
        let (key, context) = (key.unwrap_or_else(new_key), session.cloned());
        let request = request.into();
        let mut open = self.ask(|id| ToDaemon::Request { id, key, request, context })?;
        loop {
            match open.next().await? {
                FromDaemon::Data { data, .. } => {
                    return data.try_into().map_err(|_| Fault::Unfitting(Other).into());
                }
                FromDaemon::Refused { refusal, .. } => return Err(Trouble::Refused(refusal)),
                FromDaemon::Progress { .. } => {}
                _ => return Err(Fault::Unfitting(Other).into()),
            }
        }
    }

    /// Asks for the next page of what is followed.
    pub async fn next<P: Pages>(&self, pages: &mut P) -> Result<P::Page, Trouble> {
        let page = self.request(pages.request()).await;
        match &page {
            Ok(page) => pages.go_on(page),
            Err(_) => pages.lose(),
        }
        page
    }

    fn ask(&self, line: impl FnOnce(u64) -> ToDaemon) -> Result<Open, Trouble> {
        let id = self.shared.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let line = encode(&line(id));
        check_size(&line).map_err(|bad| Trouble::Refused(Refusal::BadRequest(bad.to_string())))?;
        if let Some(keeper) = lock(&self.shared.keeper).take() {
            tokio::spawn(keeper.keep());
        }
        let (say, heard) = mpsc::unbounded_channel();
        // If the keeper has ended, `heard` is closed, which is an answer.
        let _ = self.orders.send(Order::Ask(id, Asked { line, breaks_left: self.breaks, say }));
        Ok(Open { id, orders: self.orders.clone(), heard })
    }
}

/// Has the link, and what is asked over it, by its number.
#[derive(Debug)]
struct Keeper {
    folders: Folders,
    habits: Habits,
    build: Arc<Mutex<String>>,
    orders: UnboundedReceiver<Order>,
    asked: BTreeMap<u64, Asked>,
}

impl Keeper {
    /// Keeps a link for as long as there is something to ask.
    async fn keep(mut self) {
        let mut backoff = Backoff::default();
        loop {
            while let Ok(order) = self.orders.try_recv() {
                self.take(order);
            }
            if self.asked.is_empty() {
                let Some(order) = self.orders.recv().await else { return };
                self.take(order);
                continue;
            }
            let wire = match self.connect().await {
                Ok(wire) => wire,
                Err(fault) => {
                    self.fail(fault, false);
                    sleep(backoff.pause()).await;
                    continue;
                }
            };
            backoff.reset();
            if let Err(fault) = self.serve(wire).await {
                let is_broken = matches!(fault, Fault::Leaving | Fault::Broken(_));
                self.fail(fault, is_broken);
            }
        }
    }

    /// Whoever waits is told. What outlives links is only asked again if one broke.
    fn fail(&mut self, fault: Fault, is_broken: bool) {
        let fault = Arc::new(fault);
        self.asked.retain(|_, asked| {
            if is_broken && asked.breaks_left > 0 {
                asked.breaks_left -= 1;
                return true;
            }
            // Nobody may wait for it any more.
            let _ = asked.say.send(Err(fault.clone()));
            false
        });
    }

    async fn connect(&self) -> Result<Wire, Fault> {
        let (folders, hears_soon) = (self.folders.clone(), self.habits.hears_soon);
        let connecting = tokio::task::spawn_blocking(move || {
            if hears_soon {
                Client::connect_soon(&folders, Start::IfNeeded)
            } else {
                Client::connect(&folders, Role::Client, Start::IfNeeded)
            }
        });
        connecting.await.map_err(|_| Fault::NotRunning)??.into_wire()
    }

    /// Serves one link until it breaks, or nothing was asked for a while.
    async fn serve(&mut self, wire: Wire) -> Result<(), Fault> {
        let Wire { mut stream, mut lines, pid } = wire;
        for asked in self.asked.values() {
            send(&mut stream, &asked.line, pid).await?;
        }
        let mut heard = Instant::now();
        loop {
            while let Some(line) = lines.pop() {
                let too_long = |_| BadLine::TooLong { max_bytes: LINE_MAX_BYTES, waiter: None };
                self.hear(&line.map_err(too_long).map_err(Fault::Garbled)?)?;
                heard = Instant::now();
            }
            let is_idle = self.asked.is_empty();
            let patience = if is_idle { self.habits.idle_max } else { LOOK_EVERY };
            tokio::select! {
                read = stream.read(lines.space()) => match read.map_err(Fault::Broken)? {
                    0 => return Err(Fault::Broken(io::ErrorKind::UnexpectedEof.into())),
                    count => lines.filled(count),
                },
                order = self.orders.recv() => {
                    let Some(order) = order else { return Ok(()) };
                    // A link that was idle is not silent.
                    if is_idle {
                        heard = Instant::now();
                    }
                    if let Some(line) = self.take(order) {
                        send(&mut stream, &line, pid).await?;
                    }
                }
                () = sleep(patience) => match pid {
                    _ if is_idle => return Ok(()),
                    Some(pid) if is_suspended(pid) => return Err(Fault::Suspended { pid }),
                    _ if heard.elapsed() >= PATIENCE => return Err(silent(pid)),
                    _ => {}
                }
            }
        }
    }

    /// What has to be said to a daemon because of this order.
    fn take(&mut self, order: Order) -> Option<Vec<u8>> {
        match order {
            Order::Ask(id, asked) => {
                let line = asked.line.clone();
                self.asked.insert(id, asked);
                Some(line)
            }
            Order::Forget(id) => self.asked.remove(&id).map(|_| encode(&ToDaemon::Cancel { id })),
        }
    }

    fn hear(&mut self, line: &[u8]) -> Result<(), Fault> {
        let line = understand(line)?;
        match &line {
            FromDaemon::Hello { build, .. } => lock(&self.build).clone_from(build),
            FromDaemon::Progress { id, .. } => {
                if let Some(asked) = self.asked.get(id) {
                    let _ = asked.say.send(Ok(line));
                }
            }
            FromDaemon::Answer { id, .. }
            | FromDaemon::Data { id, .. }
            | FromDaemon::Refused { id, .. } => {
                if let Some(asked) = self.asked.remove(id) {
                    let _ = asked.say.send(Ok(line));
                }
            }
            // What was not asked for is not for us.
            _ => {}
        }
        Ok(())
    }
}

async fn send(stream: &mut UnixStream, line: &[u8], pid: Option<u32>) -> Result<(), Fault> {
    let written = timeout(PATIENCE, stream.write_all(line)).await;
    written.map_err(|_| silent(pid))?.map_err(Fault::Broken)
}

fn silent(pid: Option<u32>) -> Fault {
    Fault::Silent { pid, seconds: PATIENCE.as_secs() }
}
