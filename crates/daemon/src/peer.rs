//! One connection: bytes become lines, lines become arrivals in the loop's inbox. Decides nothing
//! but whether a line is one, and sends away whoever does not speak our language.

use std::collections::VecDeque;
use std::fmt;

use legwork_protocol::line::{
    BadLine, FromDaemon, HostResult, Role, Splitter, ToDaemon, decode_to_daemon,
};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::timeout;

use crate::limits::{BAD_LINES_LOGGED, BAD_LINES_MAX, HELLO_MAX, READ_BYTES};
use crate::link::Unanswered;
use crate::log::Log;
use crate::origin::Origin;
use crate::outbox::Outbox;

/// Counts connections; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerId(pub u64);

impl fmt::Display for PeerId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "connection {}", self.0)
    }
}

/// What comes in from a connection.
#[derive(Debug)]
pub enum Arrival {
    /// Somebody said hello.
    Came(Newcomer),
    /// Somebody said hello in another version of the line format. Nothing more comes from it.
    Foreign {
        /// Their version.
        version: u32,
        /// How to answer.
        outbox: Outbox,
    },
    /// A line after that. Never a hello and never a result.
    Line(ToDaemon),
    /// The connection is over.
    Left {
        /// Why.
        why: String,
    },
}

/// Somebody who said hello.
#[derive(Debug)]
pub struct Newcomer {
    /// Its version.
    pub build: String,
    /// What it is.
    pub role: Role,
    /// How to answer.
    pub outbox: Outbox,
    /// Where results of host calls arrive.
    pub unanswered: Unanswered,
    /// Where it comes from.
    pub origin: Origin,
}

/// What every connection shares with the loop.
#[derive(Debug, Clone)]
pub struct Entrance {
    /// Bounded, and first come first served: a peer that floods waits behind the others.
    pub inbox: mpsc::Sender<(PeerId, Arrival)>,
    /// Set once, when the daemon ends: why.
    pub leaving: watch::Receiver<Option<String>>,
    /// The log.
    pub log: Log,
}

/// Serves one connection until either side ends it, and gives its seat back.
pub async fn serve(stream: UnixStream, id: PeerId, entrance: Entrance, seat: OwnedSemaphorePermit) {
    let origin = Origin::of(&stream).await;
    let (read, write) = stream.into_split();
    let peer = Peer {
        id,
        origin,
        outbox: Outbox::default(),
        unanswered: Unanswered::default(),
        lines: Lines::new(read),
        bad_lines: 0,
        entrance: entrance.clone(),
    };
    let outbox = peer.outbox.clone();
    let why = tokio::select! {
        why = peer.listen() => why,
        why = outbox.deliver(write) => why,
        never = say_bye(&outbox, entrance.leaving) => match never {},
    };
    // First, so that the loop, when it hears of it, finds the seat free.
    drop(seat);
    // Without the loop nobody is left to hear it.
    let _ = entrance.inbox.send((id, Arrival::Left { why })).await;
}

async fn say_bye(
    outbox: &Outbox,
    mut leaving: watch::Receiver<Option<String>>,
) -> std::convert::Infallible {
    let why = leaving.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
    outbox.bye(why.as_deref().unwrap_or("The legwork daemon ends."), true);
    std::future::pending().await
}

struct Peer {
    id: PeerId,
    origin: Origin,
    outbox: Outbox,
    unanswered: Unanswered,
    lines: Lines,
    bad_lines: u32,
    entrance: Entrance,
}

impl Peer {
    /// Passes on what comes in. Gives back why nothing more comes.
    async fn listen(mut self) -> String {
        let first = match timeout(HELLO_MAX, self.lines.next()).await {
            Ok(Ok(first)) => first,
            Ok(Err(why)) => return why,
            Err(_) => {
                let seconds = HELLO_MAX.as_secs();
                return self.send_away(&format!("There was no hello within {seconds} s.")).await;
            }
        };
        match first {
            Ok(ToDaemon::Hello { build, role, .. }) => {
                let (outbox, unanswered) = (self.outbox.clone(), self.unanswered.clone());
                let origin = self.origin.clone();
                let newcomer = Newcomer { build, role, outbox, unanswered, origin };
                self.pass_on(Arrival::Came(newcomer)).await;
            }
            Err(BadLine::OtherVersion { theirs }) => {
                let outbox = self.outbox.clone();
                self.pass_on(Arrival::Foreign { version: theirs, outbox }).await;
                return std::future::pending().await;
            }
            Err(bad) => return self.send_away(&format!("The first line is no hello: {bad}")).await,
            Ok(_) => return self.send_away("The first line must be a hello.").await,
        }
        loop {
            match self.lines.next().await {
                Ok(line) => self.hear(line).await,
                Err(why) => return why,
            }
            if self.bad_lines >= BAD_LINES_MAX {
                return self.send_away(&format!("There were {BAD_LINES_MAX} bad lines.")).await;
            }
        }
    }

    async fn hear(&mut self, line: Result<ToDaemon, BadLine>) {
        match line {
            Ok(ToDaemon::Result(result)) => self.settle(result),
            Ok(ToDaemon::Hello { .. }) => self.bad_line("a second hello", None),
            Ok(line) => self.pass_on(Arrival::Line(line)).await,
            Err(BadLine::NotALine { what, call }) => self.bad_line(&what, call),
            Err(bad) => self.bad_line(&bad.to_string(), None),
        }
    }

    fn settle(&self, result: HostResult) {
        if let Err(why) = &result.reply {
            self.entrance.log.peer(format_args!("{}: its host does not answer: {why}", self.id));
        }
        self.unanswered.settle(result);
    }

    fn bad_line(&mut self, what: &str, call: Option<u64>) {
        self.bad_lines += 1;
        if self.bad_lines <= BAD_LINES_LOGGED {
            self.entrance.log.peer(format_args!("{}: a bad line: {what}", self.id));
        }
        if let Some(id) = call {
            let text = format!("The call could not be understood: {what}");
            // A refusal is short.
            let _ = self.outbox.send(&FromDaemon::Answer { id, refused: true, text });
        }
    }

    async fn pass_on(&self, arrival: Arrival) {
        // Without the loop nobody is left to hear it.
        let _ = self.entrance.inbox.send((self.id, arrival)).await;
    }

    /// The last word; `serve` ends when it is delivered.
    async fn send_away(&self, why: &str) -> String {
        self.outbox.bye(why, false);
        std::future::pending().await
    }
}

/// The lines of a connection.
struct Lines {
    read: OwnedReadHalf,
    buffer: Vec<u8>,
    splitter: Splitter,
    /// Whole lines that have come in and not been looked at.
    ready: VecDeque<Result<Vec<u8>, BadLine>>,
}

impl Lines {
    fn new(read: OwnedReadHalf) -> Self {
        let (buffer, splitter) = (vec![0; READ_BYTES], Splitter::new());
        Self { read, buffer, splitter, ready: VecDeque::new() }
    }

    /// The next line, or why there is none.
    async fn next(&mut self) -> Result<Result<ToDaemon, BadLine>, String> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(line.and_then(|line| decode_to_daemon(&line)));
            }
            match self.read.read(&mut self.buffer).await {
                Ok(0) if self.splitter.is_inside_line() => {
                    return Err("it broke off in the middle of a line".to_owned());
                }
                Ok(0) => return Err("it closed the connection".to_owned()),
                Ok(read) => self.ready.extend(self.splitter.push(&self.buffer[..read])),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
