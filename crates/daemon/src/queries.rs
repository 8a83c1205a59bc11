//! What a person's program asks beside the six tools. Reads only, except for what is put to the
//! engine like any other ask, and for `leave`.

use legwork_engine::{Caller, Journal};
use legwork_protocol::limits::RESULT_LINE_MAX_BYTES;
use legwork_protocol::line::{FromDaemon, Query, beginning};
use legwork_protocol::view::{DaemonView, News, ResultView, TaskView, TasksView};
use legwork_protocol::{Ask, MessageId, Refusal, Status};
use serde::Serialize;
use serde_json::Value;

use crate::connection::ConnectionId;
use crate::daemon::Daemon;
use crate::fault::chain;
use crate::version::BUILD;

type Found = Result<Value, Refusal>;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Daemon {
    pub(crate) fn query(&mut self, peer: ConnectionId, id: u64, query: Query) {
        let found = match query {
            Query::Reply { question, reply } => {
                return self.ask(peer, id, Caller::Person, Ask::Reply { question, reply });
            }
            Query::Forget { tasks } => {
                return self.ask(peer, id, Caller::Person, Ask::Forget { tasks });
            }
            Query::Watch => return self.watch(peer, id),
            Query::Leave => return self.leave(peer, id),
            Query::Tasks { status } => self.tasks(status),
            Query::Task { task } => self.task(&task).and_then(data),
            Query::Result { task, from } => self.result(&task, from),
            Query::Timeline { task } => self.timeline(&task),
            Query::Daemon => self.view().and_then(data),
            Query::Mail => data(self.built_in.mail()),
            Query::MailShown { messages } => return self.mail_shown(peer, id, &messages),
        };
        let Some(from) = self.shell.outside().guests.get(&peer) else { return };
        match found {
            Ok(data) => from.send(id, &FromDaemon::Data { id, data }),
            Err(refusal) => from.answer(id, true, refusal.text()),
        }
    }

    fn watch(&mut self, peer: ConnectionId, id: u64) {
        if let Some(from) = self.shell.outside().guests.get_mut(&peer) {
            from.watch(id);
        }
    }

    fn mail_shown(&mut self, peer: ConnectionId, id: u64, messages: &[MessageId]) {
        let shown = self.built_in.mail_shown(messages);
        let Some(from) = self.shell.outside().guests.get(&peer) else { return };
        match shown {
            Ok(()) => from.answer(id, false, "They will not be shown again.".to_owned()),
            Err(why) => from.answer(id, true, why),
        }
    }

    fn leave(&mut self, peer: ConnectionId, id: u64) {
        if let Some(from) = self.shell.outside().guests.get(&peer) {
            from.answer(id, false, "The daemon ends. What runs in hosts goes on.".to_owned());
        }
        self.leaving = Some("Somebody asked the legwork daemon to end.".to_owned());
    }

    fn read<T>(
        &mut self,
        read: impl FnOnce(&legwork_engine::Engine, legwork_protocol::Time) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let now = self.clock.now();
        self.shell.read(now, |engine| read(engine, now)).unwrap_or(Err(Refusal::CannotRead))
    }

    fn tasks(&mut self, status: Option<Status>) -> Found {
        let view = self.read(|engine, now| Ok(engine.views(status, now)))?;
        data(TasksView { set_aside: self.set_aside(), ..view })
    }

    /// Earlier records that could not be read.
    fn set_aside(&mut self) -> Vec<String> {
        let paths = self.shell.journal().journal().set_aside().iter();
        paths.map(|path| path.display().to_string()).collect()
    }

    fn task(&mut self, name: &str) -> Result<TaskView, Refusal> {
        self.read(|engine, now| engine.view(name, now))
    }

    fn result(&mut self, name: &str, from: u64) -> Found {
        let task = match self.task(name) {
            Err(Refusal::NotFound(name)) => return Err(self.forgotten(name)),
            found => found?,
        };
        let detail = self.shell.journal().detail(task.id, task.resumes);
        let whole = detail.map_err(|fault| self.cannot_read(&fault))?;
        // Somebody who asks for another place than the one that was named gets nothing.
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let rest = whole.as_deref().map(|whole| whole.get(from..).unwrap_or_default());
        let text = rest.map(|rest| beginning(rest, RESULT_LINE_MAX_BYTES));
        let is_cut = text.zip(rest).is_some_and(|(text, rest)| text.len() < rest.len());
        let next = text.filter(|_| is_cut).map(|text| (from + text.len()) as u64);
        data(ResultView { task, text: text.map(str::to_owned), next })
    }

    fn timeline(&mut self, name: &str) -> Found {
        let task = self.task(name)?.id;
        let lines = self.shell.journal().journal().timeline(task);
        let lines = lines.map_err(|fault| self.cannot_read(&fault))?.into_iter();
        let news = lines.map(|(at, run, line)| News { at, task, run, line });
        data(news.collect::<Vec<News>>())
    }

    /// What is to be said of a task that is not there: perhaps it was, and something is left.
    fn forgotten(&mut self, name: String) -> Refusal {
        let Ok(task) = name.parse() else { return Refusal::NotFound(name) };
        let now = self.clock.now();
        match self.shell.journal().journal().tombstone(task, now) {
            Ok(Some(left)) => Refusal::Forgotten {
                task,
                description: left.description,
                days_left: left.until.since(now) / DAY_MS,
                found: left.detail.unwrap_or_default(),
            },
            Ok(None) => Refusal::NotFound(name),
            Err(fault) => self.cannot_read(&fault),
        }
    }

    fn cannot_read(&mut self, fault: &legwork_store::Fault) -> Refusal {
        self.shell.outside().log.warn(chain(fault));
        Refusal::CannotRead
    }

    fn view(&mut self) -> Result<DaemonView, Refusal> {
        let tally = self.read(|engine, _| Ok(engine.tally()))?;
        Ok(DaemonView {
            pid: std::process::id(),
            build: BUILD.to_owned(),
            started: self.started,
            store: self.shell.journal().journal().path().display().to_string(),
            log: self.folders.log.display().to_string(),
            healthy: !self.shell.is_degraded(),
            unfinished: tally.unfinished,
            tasks: tally.tasks,
            at_work: self.built_in.at_work(),
            pending: tally.pending,
            hosts: self.shell.outside().host_views(),
            set_aside: self.set_aside(),
        })
    }
}

/// Views are plain values; one that cannot be written down would be a bug, and is not worth a
/// crash.
fn data(view: impl Serialize) -> Found {
    serde_json::to_value(view).map_err(|_| Refusal::CannotRead)
}
