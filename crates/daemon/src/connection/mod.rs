//! One connection: bytes become lines, lines become arrivals in the loop's inbox. Checks that lines
//! are well formed, and disconnects whoever does not speak the protocol.

pub mod accept;
mod origin;
mod peer;
mod send_queue;
mod silent;
mod socket;

use std::fmt;
use std::sync::Arc;

use legwork_host::Unanswered;
use legwork_machine::{LineReader, TooLong};
use legwork_protocol::Refusal;
use legwork_protocol::limits::LINE_MAX_BYTES;
use legwork_protocol::line::{
    BadLine, FromDaemon, HostResult, Role, ToDaemon, Waiter, decode_to_daemon, waiter_of,
};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::{
    BAD_LINES_LOGGED, BAD_LINES_MAX, CONNECTIONS_MAX, HELLO_MAX, LONG_LINE_BYTES, LONG_LINE_MAX,
    LONG_LINES_AT_ONCE,
};
use crate::log::Log;

use self::silent::{Silent, Waiting};

pub use origin::{Origin, Standing};
pub use peer::{Open, Peer};
pub use send_queue::SendQueue;
pub use socket::{Bound, bind_one};

/// The number of a connection; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "connection {}", self.0)
    }
}

/// What comes in from a connection.
#[derive(Debug)]
pub enum Arrival {
    Came(Hello),
    /// Somebody said hello in another version of the line format. Nothing more comes from it.
    Foreign {
        version: u32,
        send_queue: SendQueue,
    },
    /// A line after that. Never a hello and never a result.
    Line(ToDaemon),
    Left {
        why: String,
    },
}

#[derive(Debug)]
pub struct Hello {
    pub build: String,
    pub role: Role,
    /// Whether it starts the next daemon if this one ends.
    pub starts: bool,
    pub send_queue: SendQueue,
    /// Where results of host calls arrive.
    pub unanswered: Unanswered,
    pub origin: Origin,
}

/// What every connection shares with the loop.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Bounded, and first come first served: a connection that floods waits behind the others.
    pub inbox: mpsc::Sender<(ConnectionId, Arrival)>,
    /// Set once, when the daemon ends: why.
    pub leaving: watch::Receiver<Option<String>>,
    /// Those that have not said hello.
    pub silent: Silent,
    /// Permits to read a long line.
    pub long_lines: Arc<Semaphore>,
    pub log: Log,
}

impl Shared {
    pub fn new(
        inbox: mpsc::Sender<(ConnectionId, Arrival)>,
        leaving: watch::Receiver<Option<String>>,
        log: Log,
    ) -> Self {
        let long_lines = Arc::new(Semaphore::new(LONG_LINES_AT_ONCE));
        Self { inbox, leaving, silent: Silent::default(), long_lines, log }
    }
}

/// Serves one connection until either side ends it, and returns its permit.
async fn serve(
    stream: UnixStream,
    id: ConnectionId,
    shared: Shared,
    permit: OwnedSemaphorePermit,
    silent: Waiting,
) {
    let origin = Origin::of(&stream).await;
    let (read, write) = stream.into_split();
    let connection = Connection {
        id,
        origin,
        send_queue: SendQueue::default(),
        unanswered: Unanswered::default(),
        lines: Lines::new(read, shared.long_lines.clone()),
        bad_lines: 0,
        shared: shared.clone(),
    };
    let send_queue = connection.send_queue.clone();
    let why = tokio::select! {
        why = connection.listen(silent) => why,
        why = send_queue.deliver(write) => why,
        never = say_bye(&send_queue, shared.leaving) => match never {},
    };
    // First, so that the loop, when it hears of it, finds the permit free.
    drop(permit);
    // Without the loop nobody is left to hear it.
    let _ = shared.inbox.send((id, Arrival::Left { why })).await;
}

async fn say_bye(
    send_queue: &SendQueue,
    mut leaving: watch::Receiver<Option<String>>,
) -> std::convert::Infallible {
    let why = leaving.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
    send_queue.bye(why.as_deref().unwrap_or("The legwork daemon ends."), true);
    std::future::pending().await
}

struct Connection {
    id: ConnectionId,
    origin: Origin,
    send_queue: SendQueue,
    unanswered: Unanswered,
    lines: Lines,
    bad_lines: u32,
    shared: Shared,
}

impl Connection {
    /// Passes lines on to the loop until there are no more, and says why.
    async fn listen(mut self, silent: Waiting) -> String {
        let first = tokio::select! {
            first = timeout(HELLO_MAX, self.lines.next()) => first,
            () = silent.cut() => {
                return self.send_away("Too many connections say nothing.").await;
            }
        };
        drop(silent);
        let first = match first {
            Ok(Ok(first)) => first,
            Ok(Err(why)) => return why,
            Err(_) => {
                let seconds = HELLO_MAX.as_secs();
                return self.send_away(&format!("There was no hello within {seconds} s.")).await;
            }
        };
        match first {
            Ok(ToDaemon::Hello { build, role, starts, .. }) => {
                let (send_queue, unanswered) = (self.send_queue.clone(), self.unanswered.clone());
                let origin = self.origin.clone();
                let hello = Hello { build, role, starts, send_queue, unanswered, origin };
                self.pass_on(Arrival::Came(hello)).await;
            }
            Err((BadLine::OtherVersion { theirs }, _)) => {
                let send_queue = self.send_queue.clone();
                self.pass_on(Arrival::Foreign { version: theirs, send_queue }).await;
                return std::future::pending().await;
            }
            Err((bad, _)) => {
                return self.send_away(&format!("The first line is no hello: {bad}")).await;
            }
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

    async fn hear(&mut self, line: Read) {
        match line {
            Ok(ToDaemon::Result(result)) => self.settle(result),
            Ok(ToDaemon::Hello { .. }) => self.bad_line("a second hello", None),
            Ok(line) => self.pass_on(Arrival::Line(line)).await,
            Err((BadLine::NotALine { what }, waiter)) => self.bad_line(&what, waiter),
            Err((bad, waiter)) => self.bad_line(&bad.to_string(), waiter),
        }
    }

    fn settle(&self, result: HostResult) {
        if let Err(why) = &result.reply {
            self.shared.log.peer(format_args!("{}: its host does not answer: {why}", self.id));
        }
        self.unanswered.settle(result);
    }

    /// Whoever waits for an answer to it is told, so that nobody waits for ever.
    fn bad_line(&mut self, what: &str, waiter: Option<Waiter>) {
        self.bad_lines += 1;
        if self.bad_lines <= BAD_LINES_LOGGED {
            self.shared.log.peer(format_args!("{}: a bad line: {what}", self.id));
        }
        match waiter {
            Some(Waiter::Call(id)) => {
                let why = format!("The call could not be understood: {what}");
                // A refusal is short.
                let _ = self.send_queue.send(&FromDaemon::refused(id, Refusal::BadRequest(why)));
            }
            Some(Waiter::HostCall(id)) => {
                let reply = Err(format!("its answer could not be read: {what}"));
                self.unanswered.settle(HostResult { id, reply });
            }
            None => {}
        }
    }

    async fn pass_on(&self, arrival: Arrival) {
        // Without the loop nobody is left to hear it.
        let _ = self.shared.inbox.send((self.id, arrival)).await;
    }

    /// Says bye; `serve` ends when that is written.
    async fn send_away(&self, why: &str) -> String {
        self.send_queue.bye(why, false);
        std::future::pending().await
    }
}

/// A line as it was read, or what is wrong with it and who waits for an answer to it.
type Read = Result<ToDaemon, (BadLine, Option<Waiter>)>;

struct Lines {
    read: OwnedReadHalf,
    lines: LineReader,
    long_lines: Arc<Semaphore>,
    /// The permit to read a long line, and when it expires.
    turn: Option<(OwnedSemaphorePermit, Instant)>,
}

impl Lines {
    fn new(read: OwnedReadHalf, long_lines: Arc<Semaphore>) -> Self {
        Self { read, lines: LineReader::new(LINE_MAX_BYTES), long_lines, turn: None }
    }

    /// The next line, or why there is none.
    async fn next(&mut self) -> Result<Read, String> {
        loop {
            if let Some(line) = self.lines.pop() {
                return Ok(read(line));
            }
            let read = match self.take_turn().await? {
                Some(until) => timeout_at(until, self.read.read(self.lines.space())).await,
                None => Ok(self.read.read(self.lines.space()).await),
            };
            let Ok(read) = read else {
                let seconds = LONG_LINE_MAX.as_secs();
                return Err(format!("a long line did not come in within {seconds} s"));
            };
            match read {
                Ok(0) if self.lines.is_inside_line() => {
                    return Err("it broke off in the middle of a line".to_owned());
                }
                Ok(0) => return Err("it closed the connection".to_owned()),
                Ok(read) => self.lines.filled(read),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Waits for a permit if the line that is coming in is a long one. Returns when it expires.
    async fn take_turn(&mut self) -> Result<Option<Instant>, String> {
        if self.lines.held() <= LONG_LINE_BYTES {
            self.turn = None;
            return Ok(None);
        }
        if self.turn.is_none() {
            // As many turns as there can be connections take less time than this.
            let wait = LONG_LINE_MAX * (CONNECTIONS_MAX / LONG_LINES_AT_ONCE) as u32;
            let turn = timeout(wait, self.long_lines.clone().acquire_owned()).await;
            let Ok(Ok(turn)) = turn else { return Err("its long line had no turn".to_owned()) };
            self.turn = Some((turn, Instant::now() + LONG_LINE_MAX));
        }
        Ok(self.turn.as_ref().map(|(_, until)| *until))
    }
}

fn read(line: Result<Vec<u8>, TooLong>) -> Read {
    match line {
        Ok(line) => decode_to_daemon(&line).map_err(|bad| (bad, waiter_of(&line))),
        Err(TooLong { max_bytes, begin }) => {
            let waiter = waiter_of(&begin);
            Err((BadLine::TooLong { max_bytes, waiter }, waiter))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_an_overlong_call_still_says_who_waits_for_its_answer() {
        let mut lines = LineReader::new(40);
        lines.push(br#"{"type":"call","id":7,"key":""#);
        lines.push(&[b'x'; 40]);
        let waiter = Some(Waiter::Call(7));
        let bad = BadLine::TooLong { max_bytes: 40, waiter };
        assert_eq!(read(lines.pop().unwrap()), Err((bad, waiter)));
    }
}
