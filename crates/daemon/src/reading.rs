//! Conversations as they are read and followed. A reader asks for one page at a time: a task of its
//! own asks the host, waits for news if there are none, and gives what it found back to the loop.
//! So whoever reads slowly only asks less often, and whoever leaves takes the task along.

use std::sync::Arc;
use std::time::Duration;

use legwork_engine::{HostError, Journal};
use legwork_host::{Host, Page, page};
use legwork_protocol::api::transcript::{Entry, EntryKind, Position, Reading, Source, Transcript};
use legwork_protocol::api::view::TaskView;
use legwork_protocol::api::{Answer, Refusal};
use legwork_protocol::limits::TRANSCRIPT_WAIT_MAX_MS;
use legwork_protocol::line::FromDaemon;
use legwork_protocol::{Outcome, SessionId, TaskId};
use legwork_store::Prompts;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::calls::Number;
use crate::connection::Open;
use crate::daemon::Daemon;
use crate::limits::{READ_GATHER, READ_MAX, READS_AT_ONCE};

/// What came of reading for somebody.
#[derive(Debug)]
pub struct Read {
    number: Number,
    /// Whether the task was over before it was read, so that nothing can be missing.
    was_over: bool,
    /// Whether it had a session by then.
    had_begun: bool,
    reading: Reading,
    found: Result<Page, HostError>,
}

/// Where that goes, and how many are read at once.
#[derive(Debug, Clone)]
pub struct Reads {
    done: mpsc::UnboundedSender<Read>,
    at_once: Arc<Semaphore>,
}

impl Reads {
    pub fn new(done: mpsc::UnboundedSender<Read>) -> Self {
        Self { done, at_once: Arc::new(Semaphore::new(READS_AT_ONCE)) }
    }
}

/// Somebody for whom a conversation is being read. Dropped, it is not.
#[derive(Debug)]
pub struct Reader {
    pub task: TaskId,
    /// The task has changed, so that waiting for its conversation may be in vain.
    pub hurry: Arc<Notify>,
    job: AbortHandle,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.job.abort();
    }
}

/// A host that can be asked.
#[derive(Debug, Clone)]
pub struct Here {
    pub host: Arc<dyn Host>,
    /// Closed when it has left: what it was asked then has no answer.
    pub is_there: watch::Receiver<()>,
}

/// What to read, and for how long to wait for news.
struct Job {
    host: Option<(Here, SessionId)>,
    reading: Reading,
    until: Option<Instant>,
    hurry: Arc<Notify>,
    at_once: Arc<Semaphore>,
}

impl Daemon {
    pub(crate) fn read_transcript(
        &mut self,
        (connection, id): Number,
        name: &str,
        reading: Reading,
    ) -> Result<(), Refusal> {
        let task = self.task(name)?;
        let was_over = !task.status.is_unfinished();
        let had_begun = task.session.is_some();
        let world = self.shell.outside();
        let host = world.host_of(&task.host, &task.place).zip(task.session.clone());
        let wait = Duration::from_millis(reading.wait_ms.min(TRANSCRIPT_WAIT_MAX_MS));
        let hurry = Arc::new(Notify::new());
        let job = Job {
            host,
            reading: reading.clone(),
            until: (!was_over && !wait.is_zero()).then(|| Instant::now() + wait),
            hurry: hurry.clone(),
            at_once: world.reads.at_once.clone(),
        };
        let done = world.reads.done.clone();
        let job = tokio::spawn(async move {
            let found = job.run().await;
            // Without the loop nobody is left to hear it.
            let _ =
                done.send(Read { number: (connection, id), was_over, had_begun, reading, found });
        });
        let reader = Reader { task: task.id, hurry, job: job.abort_handle() };
        if let Some(peer) = world.peers.get_mut(&connection) {
            peer.open.insert(id, Open::Reading(reader));
        }
        Ok(())
    }

    /// A page is there, or its host cannot be asked: then the records say what they know.
    pub(crate) fn was_read(&mut self, read: Read) {
        let Read { number: (connection, id), .. } = read;
        let Some(peer) = self.shell.outside().peers.get_mut(&connection) else { return };
        let Some(Open::Reading(reader)) = peer.open.remove(&id) else { return };
        let answer = self.transcript(reader.task, read);
        let Some(peer) = self.shell.outside().peers.get(&connection) else { return };
        match answer {
            Ok(page) => {
                peer.send(id, &FromDaemon::Data { id, data: Answer::Transcript(page.into()) })
            }
            Err(refusal) => peer.refuse(id, refusal),
        }
    }

    fn transcript(
        &mut self,
        id: TaskId,
        Read { was_over, had_begun, reading, found, .. }: Read,
    ) -> Result<Transcript, Refusal> {
        let task = self.task(&id.to_string())?;
        let source = match &found {
            Ok(_) => Source::Host,
            Err(HostError::Gone) => Source::Gone,
            // It may have begun while somebody waited for that.
            Err(_) if !had_begun => Source::NotBegun,
            Err(_) => Source::HostAway,
        };
        let found = match (found, &reading.after) {
            (Ok(page), _) => page,
            // Whoever has a part of the conversation would read the same again in other words.
            (Err(_), Some(next)) if !is_of_records(next) => {
                Page { next: next.clone(), ..Page::default() }
            }
            (Err(_), _) => page(self.recorded(&task)?, &reading),
        };
        let over = was_over && !task.status.is_unfinished() && !found.more;
        let Page { entries, next, more, restarted } = found;
        Ok(Transcript { task, source, entries, next, more, over, restarted })
    }

    /// What the records have of a conversation: what was asked, and what came of it.
    fn recorded(&mut self, task: &TaskView) -> Result<Vec<Entry>, Refusal> {
        let runs = self.runs_of(task, Prompts::With)?;
        let mut entries = Vec::new();
        for run in runs {
            let entry = |what: &str, kind, text: String| Entry {
                key: format!("{RECORDS}{}/{what}", run.run),
                run: run.run,
                kind,
                text: text.into(),
                ..Entry::default()
            };
            let prompt = entry("prompt", EntryKind::Prompt, run.prompt.clone());
            entries.push(Entry { at: Some(run.started), ..prompt });
            let Some(ended) = run.ended else { continue };
            let detail = self.shell.journal().detail(task.id, run.run);
            let detail = detail.map_err(|fault| self.cannot_read(&fault))?.unwrap_or_default();
            let is_result = run.outcome == Some(Outcome::Completed);
            let kind = if is_result { EntryKind::Text } else { EntryKind::Error };
            entries.push(Entry { at: Some(ended), ..entry("end", kind, detail) });
        }
        Ok(entries)
    }
}

/// How the keys of entries begin that the records have.
const RECORDS: &str = "records/";

fn is_of_records(position: &Position) -> bool {
    position.settled.as_ref().is_none_or(|key| key.starts_with(RECORDS))
}

impl Job {
    async fn run(self) -> Result<Page, HostError> {
        let Some((here, session)) = &self.host else {
            if self.reading.after.is_some() {
                self.wait(std::future::pending()).await;
            }
            return Err(HostError::Unreachable);
        };
        let mut changes = self.until.and_then(|_| here.host.follow(session));
        loop {
            if let Some(changes) = &mut changes {
                changes.mark_unchanged();
            }
            let page = self.read(here, session).await?;
            if page.has_news() {
                return Ok(page);
            }
            let changed = async {
                match &mut changes {
                    // The host has forgotten that somebody follows: it may be gone.
                    Some(changes) => drop(changes.changed().await),
                    None => std::future::pending().await,
                }
                sleep(READ_GATHER).await;
            };
            match self.wait(changed).await {
                Woken::Change => {}
                Woken::Task => return self.read(here, session).await,
                Woken::Time => return Ok(page),
            }
        }
    }

    async fn read(&self, here: &Here, session: &SessionId) -> Result<Page, HostError> {
        // Nobody closes it.
        let _permit = self.at_once.acquire().await;
        let from = self.reading.after.as_ref().and_then(|after| after.settled.as_deref());
        let from = from.filter(|key| !key.starts_with(RECORDS));
        let mut is_there = here.is_there.clone();
        let entries = tokio::select! {
            entries = timeout(READ_MAX, here.host.conversation(session, from)) => entries,
            _ = is_there.changed() => return Err(HostError::Unreachable),
        };
        Ok(page(entries.map_err(|_| HostError::Unreachable)??, &self.reading))
    }

    async fn wait(&self, changed: impl Future<Output = ()>) -> Woken {
        let Some(until) = self.until else { return Woken::Time };
        tokio::select! {
            () = changed => Woken::Change,
            () = self.hurry.notified() => Woken::Task,
            () = sleep_until(until) => Woken::Time,
        }
    }
}

/// What ended a wait.
enum Woken {
    Change,
    Task,
    Time,
}
