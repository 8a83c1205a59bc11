//! The way to the daemon: finding it, and asking it one thing after the other. What nobody waits
//! for any more is dropped, and its connection with it, so that only open tabs hold the daemon.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use legwork_client::{Client, Fault, Holder, Start, holder, new_key};
use legwork_machine::process::is_suspended;
use legwork_machine::{Folders, LineReader};
use legwork_protocol::CallKey;
use legwork_protocol::api::{Answer, Other, Refusal, Request};
use legwork_protocol::limits::LINE_MAX_BYTES;
use legwork_protocol::line::{
    BadLine, Context, FromDaemon, Role, ToDaemon, check_size, decode_from_daemon, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout};

use crate::page::limits::SILENCE_MAX;

/// How often it is looked whether a daemon that says nothing was suspended.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Why nothing came of a request.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Daemon(#[from] Fault),
    #[error("{}", words(.0))]
    Refused(Refusal),
}

fn words(refusal: &Refusal) -> String {
    match refusal {
        // The only thing that we ask and that could not be understood is something new.
        Refusal::BadRequest(_) => "The legwork daemon is of an older version than this page. \
             `legwork daemon stop` ends it, and the next one is as new as the page; tasks are kept."
            .to_owned(),
        other => crate::model::sentences::refusal(other),
    }
}

/// A connection to the daemon.
#[derive(Debug)]
pub struct Link {
    stream: UnixStream,
    lines: LineReader,
    pid: Option<u32>,
    last_id: u64,
    /// The daemon's build.
    pub build: String,
}

impl Link {
    /// Finds the daemon, and starts it if it is not there.
    pub async fn open(folders: &Folders) -> Result<Self, Fault> {
        let folders = folders.clone();
        let opened = tokio::task::spawn_blocking(move || {
            // Whoever waits is told, and it is tried again.
            let give_up = &mut |_: &Fault| ControlFlow::Break(());
            let client = Client::connect_telling(&folders, Role::Client, Start::IfNeeded, give_up)?;
            let pid = match holder(&folders.store) {
                Ok(Holder::Daemon(Some(record))) => Some(record.pid),
                _ => None,
            };
            Ok::<_, Fault>((client.into_parts(), pid))
        });
        let ((stream, read), pid) = opened.await.map_err(|_| Fault::NotRunning)??;
        stream.set_read_timeout(None).map_err(Fault::Broken)?;
        stream.set_nonblocking(true).map_err(Fault::Broken)?;
        let stream = UnixStream::from_std(stream).map_err(Fault::Broken)?;
        let mut lines = LineReader::new(LINE_MAX_BYTES);
        lines.push(&read);
        let mut link = Self { stream, lines, pid, last_id: 0, build: String::new() };
        if let FromDaemon::Hello { build, .. } = link.read().await? {
            link.build = build;
        }
        Ok(link)
    }

    /// Asks as the person.
    pub async fn ask<T: TryFrom<Answer>>(
        &mut self,
        request: impl Into<Request>,
    ) -> Result<T, Trouble> {
        self.ask_with(Asked::of(None, request)).await
    }

    async fn ask_with<T: TryFrom<Answer>>(&mut self, asked: Asked) -> Result<T, Trouble> {
        let Asked { request, key, context } = asked;
        self.last_id += 1;
        let asked = self.last_id;
        let line = ToDaemon::Request { id: asked, key, request, context };
        let bytes = encode(&line);
        check_size(&bytes).map_err(Fault::TooLong)?;
        let written = timeout(SILENCE_MAX, self.stream.write_all(&bytes)).await;
        written.map_err(|_| self.silent())?.map_err(Fault::Broken)?;
        loop {
            match self.read().await? {
                FromDaemon::Data { id, data } if id == asked => {
                    return data.try_into().map_err(|_| Fault::Unfitting(Other).into());
                }
                FromDaemon::Refused { id, refusal, .. } if id == asked => {
                    return Err(Trouble::Refused(refusal));
                }
                // Signs of life.
                _ => {}
            }
        }
    }

    async fn read(&mut self) -> Result<FromDaemon, Fault> {
        let deadline = Instant::now() + SILENCE_MAX;
        loop {
            if let Some(line) = self.lines.pop() {
                let too_long = |_| BadLine::TooLong { max_bytes: LINE_MAX_BYTES, waiter: None };
                let line = line.map_err(too_long).map_err(Fault::Garbled)?;
                return match decode_from_daemon(&line).map_err(Fault::Garbled)? {
                    FromDaemon::Bye { leaving: true, .. } => Err(Fault::Leaving),
                    FromDaemon::Bye { why, .. } => Err(Fault::TurnedAway { why }),
                    line => Ok(line),
                };
            }
            match timeout(LOOK_EVERY, self.stream.read(self.lines.space())).await {
                Ok(Ok(0)) => return Err(Fault::Broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(Ok(count)) => self.lines.filled(count),
                Ok(Err(error)) => return Err(Fault::Broken(error)),
                Err(_) => self.check_life(deadline)?,
            }
        }
    }

    fn check_life(&self, deadline: Instant) -> Result<(), Fault> {
        match self.pid {
            Some(pid) if is_suspended(pid) => Err(Fault::Suspended { pid }),
            _ if Instant::now() >= deadline => Err(self.silent()),
            _ => Ok(()),
        }
    }

    fn silent(&self) -> Fault {
        Fault::Silent { pid: self.pid, seconds: SILENCE_MAX.as_secs() }
    }
}

/// Something that is asked, perhaps again: the same key makes it the same.
#[derive(Clone)]
struct Asked {
    request: Request,
    key: CallKey,
    /// The session that asks; nothing for the person.
    context: Option<Context>,
}

impl Asked {
    fn of(context: Option<Context>, request: impl Into<Request>) -> Self {
        Self { request: request.into(), key: new_key(), context }
    }
}

/// Asks one thing over a connection of its own. A connection that breaks is opened once more: what
/// is sent again has the same key, so nothing happens twice.
pub async fn ask<T: TryFrom<Answer>>(
    folders: &Folders,
    request: impl Into<Request>,
) -> Result<T, Trouble> {
    ask_once_more(folders, Asked::of(None, request)).await
}

/// The same for a session.
pub async fn ask_as<T: TryFrom<Answer>>(
    folders: &Folders,
    session: Context,
    request: impl Into<Request>,
) -> Result<T, Trouble> {
    ask_once_more(folders, Asked::of(Some(session), request)).await
}

async fn ask_once_more<T: TryFrom<Answer>>(folders: &Folders, asked: Asked) -> Result<T, Trouble> {
    let answered = Link::open(folders).await?.ask_with(asked.clone()).await;
    match answered {
        Err(Trouble::Daemon(Fault::Leaving | Fault::Broken(_))) => {
            Link::open(folders).await?.ask_with(asked).await
        }
        answered => answered,
    }
}
