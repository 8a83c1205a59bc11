//! One connection to the daemon: the greeting, then lines in both directions.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use legwork_machine::Folders;
use legwork_protocol::limits::LINE_MAX_BYTES;
use legwork_protocol::line::{
    BadLine, FromDaemon, LINE_VERSION, Role, ToDaemon, check_size, decode_from_daemon, encode,
};

use crate::fault::Fault;
use crate::start::{Start, reach};

/// The daemon greets at once; one that does not is stopped or hangs.
const GREETING: Duration = Duration::from_secs(10);
/// Between two attempts to find a daemon that stays; doubles. Some ten seconds altogether, in which
/// a leaving one has written what it had to write.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_secs(6);

#[derive(Debug)]
pub(crate) struct Link {
    lines: BufReader<UnixStream>,
    /// The daemon's hello as it came, for whoever passes it on.
    hello: Vec<u8>,
}

impl Link {
    /// Connects and exchanges greetings. A daemon that is leaving is followed by another, which
    /// may be started by somebody else meanwhile.
    pub fn open(folders: &Folders, role: &Role, start: Start) -> Result<Self, Fault> {
        let mut pause = FIRST_PAUSE;
        loop {
            match Self::greet(reach(folders, start)?, role) {
                // It may also have left between our knocking and our greeting.
                Err(Fault::Leaving | Fault::Broken(_)) if pause < LAST_PAUSE => {
                    thread::sleep(pause);
                    pause *= 2;
                }
                result => return result,
            }
        }
    }

    fn greet(stream: UnixStream, role: &Role) -> Result<Self, Fault> {
        let lines = BufReader::with_capacity(64 << 10, stream);
        let mut link = Self { lines, hello: Vec::new() };
        let build = env!("CARGO_PKG_VERSION").to_owned();
        // A daemon that turns us away may have closed already; its reason can still be read.
        let sent = link.send(&ToDaemon::Hello { version: LINE_VERSION, build, role: role.clone() });
        let line = match (link.read_bytes(Some(GREETING)), sent) {
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

    pub fn send(&mut self, line: &ToDaemon) -> Result<(), Fault> {
        let bytes = encode(line);
        check_size(&bytes).map_err(Fault::TooLong)?;
        self.lines.get_mut().write_all(&bytes).map_err(Fault::Broken)
    }

    /// The next line, which is no bye; waits for it no longer than told.
    pub fn read(&mut self, patience: Option<Duration>) -> Result<FromDaemon, Fault> {
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
                    return Err(Fault::Silent { seconds });
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
}

fn understand(line: &[u8]) -> Result<FromDaemon, Fault> {
    match decode_from_daemon(line) {
        Ok(FromDaemon::Bye { leaving: true, .. }) => Err(Fault::Leaving),
        Ok(FromDaemon::Bye { why, leaving: false }) => Err(Fault::TurnedAway { why }),
        Err(bad @ BadLine::OtherVersion { .. }) => Err(Fault::TurnedAway { why: bad.to_string() }),
        line => line.map_err(Fault::Garbled),
    }
}
