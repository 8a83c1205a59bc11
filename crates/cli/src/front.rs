//! A front outside of its host: it does for an OpenCode server that is reached over HTTP what the
//! plugin does inside of one. Host calls of the daemon become requests, the server's event stream
//! becomes events. It has no sessions that call tools.

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use legwork_client::{Backoff, Client, Start, Wire};
use legwork_host::Request;
use legwork_machine::Folders;
use legwork_opencode::{DEFAULT_USER, Events, Heard, KIND, MISSED, Remote, Transport};
use legwork_protocol::ids::BadId;
use legwork_protocol::line::{
    FromDaemon, HostLifetime, HostReply, HostResult, Role, ToDaemon, check_size,
    decode_from_daemon, encode,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::fault::Fault;
use crate::identity::{self, Database};
use crate::screen::remark;

/// How long the next link waits for what was asked over the last one: a new link means that nothing
/// of it is still being done.
const DRAIN: Duration = Duration::from_secs(15);
/// Results that wait to be written; the rest wait where they are.
const RESULTS: usize = 64;

/// Whose sessions a server has. What it says itself proves nothing: any server can name any
/// project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    ItsOwn,
    /// Those of this user's OpenCode, as the person says.
    ThisUsers,
}

/// Connects the server at this address to the daemon, and again whenever the link ends.
pub fn run(url: &str, directory: Option<&str>, data: Data) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Fault::Input)?.block_on(async {
        let mut remote = Remote::at(url).map_err(|fault| Fault::Usage(fault.to_string()))?;
        if let Ok(password) = env::var("OPENCODE_SERVER_PASSWORD") {
            let user = env::var("OPENCODE_SERVER_USERNAME").ok();
            remote = remote.signed_in(user.as_deref().unwrap_or(DEFAULT_USER), &password);
        }
        if let Some(directory) = directory {
            remote = remote.in_directory(directory);
        }
        let role = introduce(&remote, url, data).await?;
        let mut backoff = Backoff::default();
        loop {
            let mut front = Front::new(remote.clone());
            let ended = front.serve(&role).await?;
            remark(format_args!("The link to the daemon ended ({ended}); it is opened again."));
            let _ = timeout(DRAIN, front.drain()).await;
            sleep(backoff.pause()).await;
        }
    })
}

async fn introduce(remote: &Remote, url: &str, data: Data) -> Result<Role, Fault> {
    let project = get(remote, "/project/current").await?;
    let paths = get(remote, "/path").await?;
    let directory = paths["directory"].as_str().unwrap_or_default();
    let refuse = |bad: BadId| Fault::Refused(bad.to_string());
    let host = identity::server(url, directory).map_err(refuse)?;
    let project = project["id"].as_str();
    let place = match data {
        Data::ItsOwn => identity::place_of_server(url, project, directory),
        Data::ThisUsers => identity::place(project, directory, &Database::of_this_user()),
    };
    let place = place.map_err(refuse)?;
    let (kind, lifetime) = (KIND.to_owned(), HostLifetime::Interactive);
    Ok(Role::Host { host, place, kind, lifetime, startup: None, plugin: None })
}

async fn get(remote: &Remote, path: &str) -> Result<Value, Fault> {
    let reply = remote.send(Request::get(path)).await;
    match reply.map_err(|silent| Fault::Refused(silent.to_string()))? {
        HostReply { status: 200, body } => Ok(body),
        HostReply { status: 401 | 403, .. } => Err(Fault::Refused(
            "OpenCode wants a password. Set OPENCODE_SERVER_PASSWORD, and \
             OPENCODE_SERVER_USERNAME if the user is another."
                .to_owned(),
        )),
        HostReply { status, .. } => Err(Fault::Refused(format!(
            "The server answered {status} to {path}, so it is no OpenCode that can be used here."
        ))),
    }
}

struct Front {
    remote: Remote,
    events: Option<Events>,
    asked: JoinSet<()>,
    calls: BTreeMap<u64, AbortHandle>,
    results: mpsc::Sender<HostResult>,
    ready: mpsc::Receiver<HostResult>,
}

impl Front {
    fn new(remote: Remote) -> Self {
        let (results, ready) = mpsc::channel(RESULTS);
        let (asked, calls) = (JoinSet::new(), BTreeMap::new());
        Self { remote, events: None, asked, calls, results, ready }
    }

    /// One link, to its end; says why it ended.
    async fn serve(&mut self, role: &Role) -> Result<String, Fault> {
        let client = Client::connect(&Folders::from_env()?, role.clone(), Start::IfNeeded)?;
        remark("Connected to the daemon. Ctrl-C ends.");
        let Wire { stream, mut lines, .. } = client.into_wire()?;
        let (mut from, mut to) = stream.into_split();
        loop {
            while let Some(line) = lines.pop() {
                // A line that is too long is not understood, and so nothing to do.
                if let Ok(line) = line
                    && let Some(why) = self.hear(&line)
                {
                    return Ok(why);
                }
            }
            let written = tokio::select! {
                read = from.read(lines.space()) => match read {
                    Ok(0) => return Ok("the daemon ended".to_owned()),
                    Err(error) => return Ok(error.to_string()),
                    Ok(count) => {
                        lines.filled(count);
                        Ok(())
                    }
                },
                Some(result) = self.ready.recv() => to.write_all(&line_of(result)).await,
                heard = next(&mut self.events) => to.write_all(&encode(&event_of(heard))).await,
            };
            if let Err(error) = written {
                return Ok(error.to_string());
            }
        }
    }

    /// A line of the daemon. Says why if it was the last one.
    fn hear(&mut self, line: &[u8]) -> Option<String> {
        match decode_from_daemon(line) {
            Ok(FromDaemon::HostCall { id, method, path, query, body }) => {
                self.ask(id, Request { method, path, query, body });
            }
            Ok(FromDaemon::Drop { id }) => {
                if let Some(call) = self.calls.remove(&id) {
                    call.abort();
                }
            }
            Ok(FromDaemon::Want { events }) => match &mut self.events {
                Some(open) => open.want(events),
                None => self.events = Some(Events::new(self.remote.clone(), events)),
            },
            Ok(FromDaemon::Bye { why, .. }) => return Some(why),
            // Nobody called anything here, and what is not understood is nothing to do.
            Ok(_) | Err(_) => {}
        }
        None
    }

    fn ask(&mut self, id: u64, request: Request) {
        while self.asked.try_join_next().is_some() {}
        self.calls.retain(|_, call| !call.is_finished());
        let (remote, results) = (self.remote.clone(), self.results.clone());
        let call = self.asked.spawn(async move {
            let reply = remote.send(request).await.map_err(|silent| silent.to_string());
            // The link may have ended meanwhile.
            let _ = results.send(HostResult { id, reply }).await;
        });
        self.calls.insert(id, call);
    }

    /// Waits for what is still being asked; its results are nobody's.
    async fn drain(&mut self) {
        self.ready.close();
        while self.asked.join_next().await.is_some() {}
    }
}

async fn next(events: &mut Option<Events>) -> Heard {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// What is missed while the stream is closed the daemon looks up by itself, once it knows.
fn event_of(heard: Heard) -> ToDaemon {
    let missed = || ToDaemon::Event { name: MISSED.to_owned(), properties: Value::Null };
    match heard {
        Heard::Event { name, properties } => ToDaemon::Event { name, properties },
        Heard::Opened => missed(),
        Heard::Closed { why } => {
            remark(format_args!("OpenCode's events: {why}; trying again."));
            missed()
        }
    }
}

fn line_of(result: HostResult) -> Vec<u8> {
    let id = result.id;
    let line = encode(&ToDaemon::Result(result));
    match check_size(&line) {
        Ok(()) => line,
        Err(bad) => encode(&ToDaemon::Result(HostResult { id, reply: Err(bad.to_string()) })),
    }
}
