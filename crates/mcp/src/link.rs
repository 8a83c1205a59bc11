//! The link to the daemon, shared by all requests. It is opened when there is something to ask, and
//! again when it breaks: what is open is then asked again under the same key, so that nothing
//! happens twice and whoever waits only waits longer.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use legwork_client::{Client, Fault, Start, new_key};
use legwork_machine::{Folders, LineReader};
use legwork_protocol::CallKey;
use legwork_protocol::api::{Answer, Refusal, Request};
use legwork_protocol::line::{
    Context, FromDaemon, Role, ToDaemon, check_size, decode_from_daemon, encode,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep, timeout_at};

use crate::limits::{IDLE_MAX, RETRY, SILENCE_MAX};

/// The way to the daemon. Clones are the same.
#[derive(Debug, Clone)]
pub struct Daemon {
    orders: UnboundedSender<Order>,
    last: Arc<AtomicU64>,
}

/// Why nothing came of a request.
#[derive(Debug)]
pub enum Trouble {
    Refused(Refusal),
    /// The daemon cannot be reached; why, in words.
    Away(String),
}

/// What a tool answered.
#[derive(Debug)]
pub struct Said {
    pub refused: bool,
    pub text: String,
}

#[derive(Debug)]
enum Order {
    Ask { id: u64, line: Box<ToDaemon>, heard: UnboundedSender<Heard> },
    Forget { id: u64 },
}

#[derive(Debug)]
enum Heard {
    Progress(String),
    Text(String),
    Data(Box<Answer>),
    Refused(Refusal, String),
    /// It cannot be reached at the moment, and is tried on.
    Away(String),
}

/// A question that is open. Dropped, nobody waits for its answer.
struct Open {
    id: u64,
    orders: UnboundedSender<Order>,
    heard: UnboundedReceiver<Heard>,
}

impl Drop for Open {
    fn drop(&mut self) {
        // Whoever would hear it has ended if it cannot be sent.
        let _ = self.orders.send(Order::Forget { id: self.id });
    }
}

impl Daemon {
    /// The daemon of these folders. Nothing is started before something is asked.
    pub fn new(folders: Folders) -> Self {
        let (orders, taken) = mpsc::unbounded_channel();
        tokio::spawn(keep(folders, taken));
        Self { orders, last: Arc::default() }
    }

    /// Calls a tool for a session.
    pub async fn call(
        &self,
        key: CallKey,
        (tool, arguments): (&str, Value),
        context: &Context,
        mut progress: impl FnMut(String),
    ) -> Result<Said, Trouble> {
        let (tool, context) = (tool.to_owned(), Some(context.clone()));
        let mut open = self.ask(|id| ToDaemon::Call { id, key, tool, arguments, context });
        loop {
            match open.heard.recv().await {
                Some(Heard::Text(text)) => return Ok(Said { refused: false, text }),
                Some(Heard::Refused(_, text)) => return Ok(Said { refused: true, text }),
                Some(Heard::Progress(text)) => progress(text),
                Some(Heard::Away(why)) => return Err(Trouble::Away(why)),
                Some(Heard::Data(_)) | None => return Err(unfitting()),
            }
        }
    }

    /// Asks something; in the name of a session, or of the person whose programs we are.
    pub async fn request<T: TryFrom<Answer>>(
        &self,
        key: Option<CallKey>,
        context: Option<&Context>,
        request: impl Into<Request>,
    ) -> Result<T, Trouble> {
        let (key, context) = (key.unwrap_or_else(new_key), context.cloned());
        let request = request.into();
        let mut open = self.ask(|id| ToDaemon::Request { id, key, request, context });
        loop {
            match open.heard.recv().await {
                Some(Heard::Data(data)) => return (*data).try_into().map_err(|_| unfitting()),
                Some(Heard::Refused(refusal, _)) => return Err(Trouble::Refused(refusal)),
                Some(Heard::Progress(_)) => {}
                Some(Heard::Away(why)) => return Err(Trouble::Away(why)),
                Some(Heard::Text(_)) | None => return Err(unfitting()),
            }
        }
    }

    fn ask(&self, line: impl FnOnce(u64) -> ToDaemon) -> Open {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (say, heard) = mpsc::unbounded_channel();
        // If the keeper has ended, `heard` is closed, which is an answer.
        let _ = self.orders.send(Order::Ask { id, line: Box::new(line(id)), heard: say });
        Open { id, orders: self.orders.clone(), heard }
    }
}

fn unfitting() -> Trouble {
    Trouble::Away("The legwork daemon answered something else than it was asked.".to_owned())
}

/// What is open, by its number.
type Asked = BTreeMap<u64, (Box<ToDaemon>, UnboundedSender<Heard>)>;

/// Keeps a link for as long as there is something to ask.
async fn keep(folders: Folders, mut orders: UnboundedReceiver<Order>) {
    let mut asked = Asked::new();
    loop {
        while asked.is_empty() {
            match orders.recv().await {
                Some(order) => drop(take(&mut asked, order)),
                None => return,
            }
        }
        let why = match connect(&folders).await {
            Ok(link) => match serve(link, &mut asked, &mut orders).await {
                Ended::Idle => continue,
                Ended::Over => return,
                Ended::Broken => None,
                Ended::TurnedAway(why) => Some(why),
            },
            Err(fault) => Some(fault.to_string()),
        };
        let Some(why) = why else { continue };
        for (_, heard) in asked.values() {
            let _ = heard.send(Heard::Away(why.clone()));
        }
        // Who gives up says so meanwhile.
        let retry = Instant::now() + RETRY;
        while let Ok(order) = timeout_at(retry, orders.recv()).await {
            match order {
                Some(order) => drop(take(&mut asked, order)),
                None => return,
            }
        }
    }
}

struct Link {
    stream: UnixStream,
    lines: LineReader,
}

enum Ended {
    /// Nothing is asked.
    Idle,
    /// Nobody asks any more.
    Over,
    Broken,
    TurnedAway(String),
}

async fn connect(folders: &Folders) -> Result<Link, Fault> {
    let folders = folders.clone();
    let connected = tokio::task::spawn_blocking(move || {
        Client::connect(&folders, Role::Client, Start::IfNeeded).map(Client::into_parts)
    });
    let (stream, read) = connected.await.map_err(|_| Fault::NotRunning)??;
    stream.set_read_timeout(None).map_err(Fault::Broken)?;
    stream.set_nonblocking(true).map_err(Fault::Broken)?;
    let stream = UnixStream::from_std(stream).map_err(Fault::Broken)?;
    let mut lines = LineReader::new(legwork_protocol::limits::LINE_MAX_BYTES);
    lines.push(&read);
    Ok(Link { stream, lines })
}

/// Serves one link to its end.
async fn serve(mut link: Link, asked: &mut Asked, orders: &mut UnboundedReceiver<Order>) -> Ended {
    for (line, heard) in asked.values() {
        if send(&mut link.stream, line, heard).await.is_err() {
            return Ended::Broken;
        }
    }
    let mut last = Instant::now();
    loop {
        while let Some(line) = link.lines.pop() {
            last = Instant::now();
            if let Some(ended) = line.ok().and_then(|line| hear(asked, &line)) {
                return ended;
            }
        }
        let patience = if asked.is_empty() { IDLE_MAX } else { SILENCE_MAX };
        tokio::select! {
            read = link.stream.read(link.lines.space()) => match read {
                Ok(0) | Err(_) => return Ended::Broken,
                Ok(count) => link.lines.filled(count),
            },
            order = orders.recv() => {
                let Some(order) = order else { return Ended::Over };
                // A link that was idle is not silent.
                if asked.is_empty() {
                    last = Instant::now();
                }
                let written = match take(asked, order) {
                    Taken::Asked(id) => match asked.get(&id) {
                        Some((line, heard)) => send(&mut link.stream, line, heard).await,
                        None => Ok(()),
                    },
                    Taken::Forgot(id) => {
                        link.stream.write_all(&encode(&ToDaemon::Cancel { id })).await
                    }
                    Taken::Nothing => Ok(()),
                };
                if written.is_err() {
                    return Ended::Broken;
                }
            }
            () = sleep(patience.saturating_sub(last.elapsed())) => {
                return if asked.is_empty() { Ended::Idle } else { Ended::Broken };
            }
        }
    }
}

enum Taken {
    Asked(u64),
    Forgot(u64),
    Nothing,
}

fn take(asked: &mut Asked, order: Order) -> Taken {
    match order {
        Order::Ask { id, line, heard } => {
            asked.insert(id, (line, heard));
            Taken::Asked(id)
        }
        Order::Forget { id } if asked.remove(&id).is_some() => Taken::Forgot(id),
        Order::Forget { .. } => Taken::Nothing,
    }
}

async fn send(
    stream: &mut UnixStream,
    line: &ToDaemon,
    heard: &UnboundedSender<Heard>,
) -> io::Result<()> {
    let line = encode(line);
    match check_size(&line) {
        Ok(()) => stream.write_all(&line).await,
        Err(bad) => {
            let refusal = Refusal::BadRequest(bad.to_string());
            let text = refusal.text();
            // Nobody may wait for it any more.
            let _ = heard.send(Heard::Refused(refusal, text));
            Ok(())
        }
    }
}

/// A line of the daemon; says how the link ended if it was its last.
fn hear(asked: &mut Asked, line: &[u8]) -> Option<Ended> {
    let (id, heard) = match decode_from_daemon(line) {
        Ok(FromDaemon::Answer { id, text, .. }) => (id, Heard::Text(text)),
        Ok(FromDaemon::Data { id, data }) => (id, Heard::Data(Box::new(data))),
        Ok(FromDaemon::Refused { id, refusal, text }) => (id, Heard::Refused(refusal, text)),
        Ok(FromDaemon::Progress { id, text, .. }) => {
            if let Some((_, open)) = asked.get(&id) {
                let _ = open.send(Heard::Progress(text));
            }
            return None;
        }
        Ok(FromDaemon::Bye { leaving: true, .. }) => return Some(Ended::Broken),
        Ok(FromDaemon::Bye { why, .. }) => return Some(Ended::TurnedAway(why)),
        // What is not understood is not for us.
        Ok(_) | Err(_) => return None,
    };
    if let Some((_, open)) = asked.remove(&id) {
        let _ = open.send(heard);
    }
    None
}
