//! One connection to the daemon: the greeting, then lines in both directions.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use legwork_machine::process::{Effort, is_suspended};
use legwork_machine::{Folders, LineReader};
use legwork_protocol::limits::LINE_MAX_BYTES;
use legwork_protocol::line::{
    BadLine, FromDaemon, LINE_VERSION, Role, ToDaemon, check_size, decode_from_daemon, encode,
};

use crate::fault::Fault;
use crate::start::{Start, Tell, reach, starts_this_build};

/// The daemon greets at once. One that has not by now and does nothing hangs; whoever waits for
/// one that works is told.
const GREETING_SOON: Duration = Duration::from_secs(2);
/// The same for one that works, on a machine that is busy.
const GREETING: Duration = Duration::from_secs(10);
/// How often whoever waits for an answer looks whether the daemon was suspended.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Between two attempts to find a daemon that stays; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Some ten seconds altogether, in which a leaving one has written what it had to write.
const LEAVING_PAUSE: Duration = Duration::from_secs(6);
/// Some two seconds altogether, in which one that closes every connection may come to itself.
const BROKEN_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Link {
    lines: BufReader<UnixStream>,
    /// The daemon's hello as it came, for whoever passes it on.
    hello: Vec<u8>,
    /// The daemon's process, if it is one that we see.
    pid: Option<u32>,
}

impl Link {
    /// Connects and exchanges greetings. A daemon that is leaving is followed by another, which
    /// may be started by somebody else meanwhile.
    pub fn open(
        folders: &Folders,
        role: &Role,
        start: Start,
        tell: &mut Tell<'_>,
    ) -> Result<Self, Fault> {
        let mut pause = FIRST_PAUSE;
        loop {
            let (stream, pid) = reach(folders, start, tell)?;
            let starts = start != Start::Never && starts_this_build(folders);
            let most = match Self::greet(stream, pid, (role, starts), tell) {
                Err(Fault::Leaving) => LEAVING_PAUSE,
                // It may also have left between our knocking and our greeting.
                Err(Fault::Broken(_)) if pause < BROKEN_PAUSE => BROKEN_PAUSE,
                result => return result,
            };
            if pause >= most {
                return Err(Fault::Leaving);
            }
            thread::sleep(pause);
            pause *= 2;
        }
    }

    fn greet(
        stream: UnixStream,
        pid: Option<u32>,
        (role, starts): (&Role, bool),
        tell: &mut Tell<'_>,
    ) -> Result<Self, Fault> {
        let lines = BufReader::with_capacity(64 << 10, stream);
        let mut link = Self { lines, hello: Vec::new(), pid };
        let build = env!("CARGO_PKG_VERSION").to_owned();
        // A daemon that turns us away may have closed already; its reason can still be read.
        let role = role.clone();
        let sent = link.send(&ToDaemon::Hello { version: LINE_VERSION, build, role, starts });
        let heard = link.is_at_work(tell).and_then(|()| link.read_bytes(Some(GREETING)));
        let line = match (heard, sent) {
            (Ok(line), _) => line,
            (Err(_), Err(fault)) | (Err(fault), Ok(())) => return Err(fault),
        };
        match understand(&line)? {
            FromDaemon::Hello { .. } => Ok(Self { hello: line, ..link }),
            _ => {
                let what = "it did not begin with hello".to_owned();
                Err(Fault::Garbled(BadLine::NotALine { what }))
            }
        }
    }

    /// Waits for the first word of a daemon for as long as that ought to take. After that one that
    /// does nothing is given up, and whoever waits for one that works is told.
    fn is_at_work(&mut self, tell: &mut Tell<'_>) -> Result<(), Fault> {
        let effort = self.pid.map(Effort::so_far);
        if self.has_words(GREETING_SOON)? {
            return Ok(());
        }
        let fault = Fault::Silent { pid: self.pid, seconds: GREETING_SOON.as_secs() };
        match self.pid.zip(effort) {
            Some((pid, _)) if is_suspended(pid) => Err(Fault::Suspended { pid }),
            Some((pid, effort)) if !effort.has_grown(pid) => Err(fault),
            _ if tell(&fault).is_break() => Err(fault),
            _ => Ok(()),
        }
    }

    /// Whether something can be read, now or soon. An end of the link is something.
    fn has_words(&mut self, soon: Duration) -> Result<bool, Fault> {
        self.lines.get_ref().set_read_timeout(Some(soon)).map_err(Fault::Broken)?;
        match self.lines.fill_buf() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(Fault::Broken(error)),
        }
    }

    pub fn send(&mut self, line: &ToDaemon) -> Result<(), Fault> {
        let bytes = encode(line);
        check_size(&bytes).map_err(Fault::TooLong)?;
        self.lines.get_mut().write_all(&bytes).map_err(Fault::Broken)
    }

    /// The next line, which is no bye; waits for it no longer than told. That a daemon was
    /// suspended meanwhile is said at once.
    pub fn read(&mut self, patience: Option<Duration>) -> Result<FromDaemon, Fault> {
        let began = Instant::now();
        while !self.has_words(LOOK_EVERY)? {
            if let Some(pid) = self.pid.filter(|pid| is_suspended(*pid)) {
                return Err(Fault::Suspended { pid });
            }
            if let Some(patience) = patience.filter(|patience| began.elapsed() >= *patience) {
                return Err(Fault::Silent { pid: self.pid, seconds: patience.as_secs() });
            }
        }
        understand(&self.read_bytes(patience)?)
    }

    fn read_bytes(&mut self, patience: Option<Duration>) -> Result<Vec<u8>, Fault> {
        let mut line = Vec::new();
        let deadline = patience.map(|patience| Instant::now() + patience);
        while line.last() != Some(&b'\n') {
            if line.len() > LINE_MAX_BYTES {
                let bad = BadLine::TooLong { max_bytes: LINE_MAX_BYTES, waiter: None };
                return Err(Fault::Garbled(bad));
            }
            // A timeout of zero would mean to wait for ever.
            let left = deadline.map(|end| {
                end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
            });
            self.lines.get_ref().set_read_timeout(left).map_err(Fault::Broken)?;
            let room = (LINE_MAX_BYTES + 2 - line.len()) as u64;
            match self.lines.by_ref().take(room).read_until(b'\n', &mut line) {
                Ok(0) => return Err(Fault::Broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let seconds = patience.unwrap_or_default().as_secs();
                    return Err(Fault::Silent { pid: self.pid, seconds });
                }
                Err(error) => return Err(Fault::Broken(error)),
            }
        }
        Ok(line)
    }

    pub fn into_parts(self) -> (UnixStream, Vec<u8>) {
        let mut read = self.hello;
        read.extend_from_slice(self.lines.buffer());
        (self.lines.into_inner(), read)
    }

    pub fn into_wire(self) -> Result<Wire, Fault> {
        let pid = self.pid;
        let (stream, read) = self.into_parts();
        stream.set_nonblocking(true).map_err(Fault::Broken)?;
        let stream = tokio::net::UnixStream::from_std(stream).map_err(Fault::Broken)?;
        let mut lines = LineReader::new(LINE_MAX_BYTES);
        lines.push(&read);
        Ok(Wire { stream, lines, pid })
    }
}

/// A connection for who reads and writes it in a runtime.
#[derive(Debug)]
pub struct Wire {
    pub stream: tokio::net::UnixStream,
    /// What was read so far, the daemon's hello first.
    pub lines: LineReader,
    /// The daemon's process, if it is one that we see.
    pub pid: Option<u32>,
}

pub(crate) fn understand(line: &[u8]) -> Result<FromDaemon, Fault> {
    match decode_from_daemon(line) {
        Ok(FromDaemon::Bye { leaving: true, .. }) => Err(Fault::Leaving),
        Ok(FromDaemon::Bye { why, leaving: false }) => Err(Fault::TurnedAway { why }),
        Err(bad @ BadLine::OtherVersion { .. }) => Err(Fault::TurnedAway { why: bad.to_string() }),
        line => line.map_err(Fault::Garbled),
    }
}
