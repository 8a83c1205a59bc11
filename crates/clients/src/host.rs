//! The host itself: keeps sessions, and delivers what they are told.

use std::path::Path;
use std::sync::{Arc, Mutex};

use legwork_engine::record::{About, NoticeId};
use legwork_engine::work::{Part, Wake};
use legwork_engine::{Action, Finding, HostError, Serves};
use legwork_host::{BuiltIn, Host, HostFuture, Opening, Outside, Reader, unsupported};
use legwork_machine::process::is_alive;
use legwork_machine::{Folders, create_folder, lock};
use legwork_protocol::ids::run_name;
use legwork_protocol::line::{Context, Reach};
use legwork_protocol::{HostId, MessageId, Place, SessionId, TaskId};
use tokio::task::spawn_blocking;

use crate::claude::{self, Trace};
use crate::codex::{Thread, Trouble};
use crate::sessions::Sessions;
use crate::told::{State, Told};

/// The kind of this host, for people and in names. It is also its id: no process ends with it, so
/// the one of the next daemon is the same.
pub const KIND: &str = "clients";

/// The sessions of clients are told from those of hosts by how they begin.
const PREFIXES: [&str; 4] = ["claude_", "codex_", "goose_", "mcp_"];

type Found = Result<Finding, HostError>;

#[derive(Debug)]
struct Clients {
    id: HostId,
    place: Place,
    sessions: Mutex<Sessions>,
    told: Mutex<Told>,
    outside: OutsideOf,
}

/// What is needed of the daemon.
struct OutsideOf(Outside);

/// One message on its way.
#[derive(Clone, Copy)]
struct Outgoing<'a> {
    session: &'a SessionId,
    message: &'a MessageId,
    notices: &'a [NoticeId],
    text: &'a str,
}

/// Opens the host in these folders.
pub fn opening(folders: &Folders) -> Opening {
    let folder = folders.sessions.join(KIND);
    Box::new(move |outside| Ok(Arc::new(Clients::open(&folder, outside)?)))
}

impl Clients {
    fn open(folder: &Path, outside: Outside) -> std::io::Result<Self> {
        create_folder(folder)?;
        let (Ok(id), Ok(place)) = (KIND.parse(), format!("{KIND}/home").parse()) else {
            return Err(std::io::Error::other("this host has no usable name"));
        };
        Ok(Self {
            id,
            place,
            sessions: Mutex::new(Sessions::open(&folder.join("sessions"))?),
            told: Mutex::new(Told::open(&folder.join("told"))?),
            outside: OutsideOf(outside),
        })
    }

    async fn deliver(&self, outgoing: Outgoing<'_>, wake: Wake) -> Found {
        if !lock(&self.sessions).knows(outgoing.session) {
            return Err(HostError::Gone);
        }
        match lock(&self.told).state(outgoing.message) {
            Some(State::Written) => return Ok(Finding::Delivered),
            Some(State::Writing | State::Taken { .. }) | None => {}
        }
        let reach = lock(&self.sessions).reach(outgoing.session);
        match reach {
            // What is not to start a turn waits for the next one.
            Some(Reach::Claude { session, process, socket, home }) if wake == Wake::StartTurn => {
                self.to_claude(outgoing, (&session, &home), &process, &socket).await
            }
            Some(Reach::Codex { thread, home, program }) if wake == Wake::StartTurn => {
                let thread = Thread {
                    id: &thread,
                    home: Path::new(&home),
                    program: program.as_deref().map(Path::new),
                    detached: &self.outside.0.detached,
                };
                self.to_codex(outgoing, thread).await
            }
            _ => Ok(Finding::Pulled),
        }
    }

    async fn to_claude(
        &self,
        outgoing: Outgoing<'_>,
        (session, home): (&str, &str),
        process: &str,
        socket: &str,
    ) -> Found {
        // Its front may have died before it could say that the client had polled for the ends.
        let mut traces = vec![Trace::Ends(ends(outgoing.notices))];
        let before = lock(&self.told).state(outgoing.message);
        if before.is_some() {
            traces.push(Trace::Message(outgoing.message.to_string()));
        }
        let (home, session) = (home.to_owned(), session.to_owned());
        let look = move || claude::transcript_has(Path::new(&home), &session, &traces);
        match spawn_blocking(look).await {
            Ok(Ok(true)) => return self.written(outgoing),
            Ok(Ok(false)) => {}
            Ok(Err(_)) | Err(_) => return Err(HostError::Busy),
        }
        if !is_alive(process) {
            return Ok(Finding::Absent);
        }
        // A session that is at work reads it when it comes to it. One that went on in another
        // process has lost it.
        if before.is_some_and(|before| before == State::Taken { by: process.to_owned() }) {
            return Ok(Finding::Queued);
        }
        self.note(outgoing, State::Writing)?;
        // The last line is for the look: nothing else tells one message from another.
        let text = format!("{}\n\n(legwork, {})", outgoing.text, outgoing.message);
        match claude::write(socket, &text).await {
            Ok(()) => {
                self.note(outgoing, State::Taken { by: process.to_owned() })?;
                Ok(Finding::Queued)
            }
            Err(error) => {
                self.warn(&format!("the inbox of a Claude Code session: {error}"));
                Err(HostError::Unreachable)
            }
        }
    }

    async fn to_codex(&self, outgoing: Outgoing<'_>, thread: Thread<'_>) -> Found {
        let may_be_there = self.may_be_written(outgoing.message);
        self.note(outgoing, State::Writing)?;
        match thread.queue(outgoing.message.as_str(), outgoing.text, may_be_there).await {
            Ok(()) => self.written(outgoing),
            Err(Trouble::NoThread) => Err(HostError::Gone),
            Err(Trouble::Failed(why)) => {
                self.warn(&format!("the queue of a Codex thread: {why}"));
                Err(HostError::Unreachable)
            }
        }
    }

    fn may_be_written(&self, message: &MessageId) -> bool {
        lock(&self.told).state(message) == Some(State::Writing)
    }

    fn written(&self, outgoing: Outgoing<'_>) -> Found {
        self.note(outgoing, State::Written)?;
        Ok(Finding::Delivered)
    }

    fn note(&self, outgoing: Outgoing<'_>, state: State) -> Result<(), HostError> {
        // A question says nothing of an end.
        let ends = outgoing.notices.iter().filter(|id| id.about == About::End);
        let ends: Vec<(TaskId, u32)> = ends.map(|id| (id.task, id.run)).collect();
        let noted = lock(&self.told).note(outgoing.message, state, &ends);
        noted.map_err(|error| self.full(&error))
    }

    fn full(&self, error: &std::io::Error) -> HostError {
        self.warn(&format!("what a client was told cannot be kept: {error}"));
        HostError::Busy
    }

    fn warn(&self, what: &str) {
        (self.outside.0.warn)(what);
    }

    async fn perform(&self, action: &Action) -> Found {
        match action {
            Action::CheckAgent { .. } => Ok(Finding::NoSuchAgent { known: Vec::new() }),
            // A session is never deleted: its client may come back with it at any time.
            Action::FindMissing { .. } => Ok(Finding::Missing { sessions: Vec::new() }),
            Action::Poll { .. } => Ok(Finding::Polled { busy: Vec::new(), questions: Vec::new() }),
            Action::Deliver { session, message, notices, parts, wake, .. } => {
                let text = text_of(parts);
                self.deliver(Outgoing { session, message, notices, text: &text }, *wake).await
            }
            Action::Probe { .. }
            | Action::Open { .. }
            | Action::Prompt { .. }
            | Action::Observe { .. }
            | Action::Stop { .. }
            | Action::Answer { .. } => Err(unsupported(KIND)),
        }
    }
}

/// The runs whose ends these are; none if there is more to tell than ends.
fn ends(notices: &[NoticeId]) -> Vec<String> {
    let end = |id: &NoticeId| (id.about == About::End).then(|| run_name(id.task, id.run));
    notices.iter().map(end).collect::<Option<_>>().unwrap_or_default()
}

/// All of it, for the model.
fn text_of(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    texts.join("\n\n")
}

impl Host for Clients {
    fn perform<'a>(&'a self, action: &'a Action) -> HostFuture<'a, Found> {
        Box::pin(Self::perform(self, action))
    }

    fn serves(&self) -> Serves {
        Serves::Nobody
    }
}

impl BuiltIn for Clients {
    fn id(&self) -> &HostId {
        &self.id
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn kind(&self) -> &'static str {
        KIND
    }

    fn keeps(&self, context: &Context) -> Result<bool, String> {
        if self.reader(&context.session).is_none() {
            return Ok(false);
        }
        if !Path::new(&context.directory).is_absolute() {
            return Err("A client's directory must be an absolute path.".to_owned());
        }
        let reach = context.client.as_ref().and_then(|client| client.reach.as_ref());
        let kept = lock(&self.sessions).keep(&context.session, reach);
        kept.map_err(|error| format!("legwork cannot keep the client's session: {error}"))?;
        Ok(true)
    }

    fn takes_over(&self, session: &SessionId, task: TaskId) -> Result<(), String> {
        let kept = lock(&self.sessions).take_over(session, task);
        kept.map_err(|error| format!("legwork cannot keep whose task it is: {error}"))
    }

    fn taken_over(&self, session: &SessionId) -> Vec<TaskId> {
        let sessions = lock(&self.sessions);
        sessions.taken_over(session).into_iter().flatten().copied().collect()
    }

    fn forget(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        let forgotten = lock(&self.told)
            .forget(tasks)
            .and_then(|()| lock(&self.sessions).forget(&tasks.iter().copied().collect()));
        match forgotten {
            Ok(()) => tasks.to_vec(),
            Err(error) => {
                self.warn(&format!("what was told of forgotten tasks cannot be removed: {error}"));
                Vec::new()
            }
        }
    }

    fn reader(&self, session: &SessionId) -> Option<Reader> {
        PREFIXES.iter().any(|prefix| session.as_str().starts_with(prefix)).then_some(Reader::Model)
    }
}

impl std::fmt::Debug for OutsideOf {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Outside")
    }
}
