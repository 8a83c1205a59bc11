//! What the daemon answers without the engine's decision: it reads what is known and kept.

use std::collections::BTreeSet;

use legwork_engine::text::notices;
use legwork_engine::work::Shown;
use legwork_engine::{Hint, Input, Journal, Unread};
use legwork_host::Reader;
use legwork_protocol::api::refusal::cut;
use legwork_protocol::api::view::{DaemonView, EndView, Mail, News, RunView, TaskView};
use legwork_protocol::api::{Answer, Ask, Refusal, Request};
use legwork_protocol::line::{Context, FromDaemon};
use legwork_protocol::{CallKey, SessionId};
use legwork_store::Prompts;

use crate::calls::{Number, fence};
use crate::connection::Open;
use crate::daemon::Daemon;
use crate::fault::chain;
use crate::feed;
use crate::host::tell_agents;
use crate::limits::{PROMPT_CUT_CHARS, RUNS_MAX_BYTES};
use crate::version::BUILD;
use crate::world::Form;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Daemon {
    /// Answers a request, or puts it to the engine, which does.
    pub(crate) fn request(
        &mut self,
        (connection, id): Number,
        from: (CallKey, Option<Context>),
        request: Request,
    ) -> Result<(), Refusal> {
        let standing = self.peer_standing(connection);
        let Some(peer) = self.shell.outside().peers.get_mut(&connection) else { return Ok(()) };
        if peer.host.is_some() && !matches!(request, Request::Ask(_)) {
            return Err(Refusal::BadRequest("A host does not ask this.".to_owned()));
        }
        if let Some(refusal) = standing.refuses(&request) {
            return Err(refusal);
        }
        let data = match request {
            Request::Ask(ask) => {
                ask.check()?;
                let forgets = matches!(ask, Ask::Forget { .. } | Ask::ForgetFinished { .. });
                self.ask((connection, id), from, ask, Form::Values)?;
                if forgets {
                    self.remove_last_traces();
                }
                return Ok(());
            }
            Request::Follow => {
                peer.open.insert(id, Open::Follow(None));
                return Ok(());
            }
            Request::Transcript { task, reading } => {
                return self.read_transcript((connection, id), &task, reading);
            }
            Request::Board(glance) => return self.look_at_board((connection, id), glance),
            Request::Show { task } => Answer::Task(Box::new(self.task_with_runs(&task)?)),
            Request::Runs { task } => Answer::Runs(self.runs(&task)?),
            Request::Log { task } => Answer::Log(self.timeline(&task)?),
            Request::Cost { by, since } => {
                let under_way = self.read(|engine, now| {
                    let board = engine.board(&BTreeSet::new(), now);
                    Ok(board.into_iter().map(|task| (task.id, task.tool_calls)).collect())
                })?;
                let costs = self.store().costs(by, since, &under_way);
                Answer::Costs(Box::new(costs.map_err(|fault| self.cannot_read(&fault))?))
            }
            Request::Ended { task, run } => Answer::Ended(Box::new(self.ended(&task, run)?)),
            Request::Agents => {
                tokio::spawn(tell_agents(self.built_in.clone(), peer.send_queue.clone(), id));
                return Ok(());
            }
            Request::Status => Answer::Status(Box::new(self.view()?)),
            Request::Mail => Answer::Mail(self.mail(Reader::Person, None)),
            Request::Unread { session } => Answer::Mail(self.mail(Reader::Model, Some(&session))),
            Request::Shutdown => {
                self.leaving = Some("Somebody asked the legwork daemon to end.".to_owned());
                Answer::Done
            }
        };
        if let Some(from) = self.shell.outside().peers.get(&connection) {
            from.send(id, &FromDaemon::Data { id, data });
        }
        Ok(())
    }

    /// What waits for readers of this kind, for one session or for all. While nothing can be saved
    /// it goes on waiting, because it would be shown again and again.
    fn mail(&mut self, reader: Reader, session: Option<&SessionId>) -> Vec<Mail> {
        if self.shell.is_degraded() {
            return Vec::new();
        }
        let built_in = self.built_in.clone();
        let is_wanted = |to: &SessionId| {
            session.is_none_or(|session| session == to) && built_in.reader(to) == Some(reader)
        };
        let unread = self.read(|engine, _| Ok(engine.unread(is_wanted))).unwrap_or_default();
        let mut mail = Vec::new();
        for mut unread in unread {
            match reader {
                // A person reads the headlines only.
                Reader::Person => unread.parts.retain(|part| part.shown == Shown::ToAll),
                Reader::Model if self.shell.fill(&mut unread.parts) => {}
                Reader::Model => continue,
            }
            let texts: Vec<&str> = unread.parts.iter().map(|part| part.text.as_str()).collect();
            let (text, tasks) = (texts.join("\n\n"), unread.tasks());
            let Unread { message, session, at, .. } = unread;
            mail.push(Mail { message, session, at, text, tasks });
        }
        // A person's end is nobody's to collect.
        if reader == Reader::Model && !mail.is_empty() {
            let messages = mail.iter().map(|mail| mail.message.clone()).collect();
            self.step(Input::Hint(Hint::Read { messages }));
        }
        mail
    }

    /// A person who clears the last task wants nothing to be left, nor of sessions that were
    /// deleted before.
    fn remove_last_traces(&mut self) {
        if !self.read(|engine, _| Ok(engine.tally().tasks == 0)).unwrap_or(false) {
            return;
        }
        if let Err(fault) = self.shell.journal().store.remove_tombstones() {
            self.log.warn(format_args!("what was forgotten is still in the files: {fault}"));
        }
    }

    pub(crate) fn read<T>(
        &mut self,
        read: impl FnOnce(&legwork_engine::Engine, legwork_protocol::Time) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let now = self.clock.now();
        self.shell.read(now, |engine| read(engine, now)).unwrap_or(Err(Refusal::CannotRead))
    }

    pub(crate) fn task(&mut self, name: &str) -> Result<TaskView, Refusal> {
        let mut view = self.read(|engine, now| engine.view(name, now))?;
        self.shell.explain([&mut view]);
        Ok(view)
    }

    /// The newest prompts are whole; of older ones that do not fit into a line only the beginning
    /// is.
    fn runs(&mut self, name: &str) -> Result<Vec<RunView>, Refusal> {
        let task = self.task(name)?;
        let mut runs = self.runs_of(&task, Prompts::With)?;
        let mut room = RUNS_MAX_BYTES;
        for run in runs.iter_mut().rev() {
            if run.prompt.len() > room {
                run.prompt = cut(&run.prompt, PROMPT_CUT_CHARS);
            }
            room = room.saturating_sub(run.prompt.len());
        }
        Ok(runs)
    }

    fn task_with_runs(&mut self, name: &str) -> Result<TaskView, Refusal> {
        let mut task = self.task(name)?;
        task.runs = self.runs_of(&task, Prompts::Without)?;
        Ok(task)
    }

    /// Each run of a task. What the last one has used up so far is the engine's to say.
    pub(crate) fn runs_of(
        &mut self,
        task: &TaskView,
        prompts: Prompts,
    ) -> Result<Vec<RunView>, Refusal> {
        let runs = self.store().runs(task.id, prompts);
        let mut runs = runs.map_err(|fault| self.cannot_read(&fault))?;
        if let Some(last) = runs.last_mut().filter(|last| last.run == task.resumes) {
            (last.started, last.tool_calls) = (task.started, Some(task.tool_calls));
            last.usage = task.usage.clone();
        }
        Ok(runs)
    }

    /// The end of a run, also of one before the last. Whoever was told it another way reads only
    /// that.
    fn ended(&mut self, name: &str, run: u32) -> Result<EndView, Refusal> {
        let task = self.task(name)?;
        let runs = self.runs_of(&task, Prompts::Without)?;
        let known = runs.into_iter().find(|known| known.run == run);
        let known = known.ok_or_else(|| Refusal::NotFound(name.to_owned()))?;
        let (Some(ended), Some(outcome)) = (known.ended, known.outcome) else {
            return Err(Refusal::BadRequest("That run has not ended.".to_owned()));
        };
        let told = self.store().told_end(task.id, run);
        let told = told.map_err(|fault| self.cannot_read(&fault))?;
        let text = if told.and_then(|to| self.built_in.reader(&to)) == Some(Reader::Model) {
            notices::told_before(&task)
        } else {
            let detail = self.shell.journal().detail(task.id, run);
            let detail = detail.map_err(|fault| self.cannot_read(&fault))?.unwrap_or_default();
            {
                let max_chars = self.read(|engine, _| Ok(engine.max_result_chars()))?;
                notices::end(&task, &known, &detail, max_chars, fence())
            }
        };
        Ok(EndView { task: task.id, run, outcome, ended, text })
    }

    fn timeline(&mut self, name: &str) -> Result<Vec<News>, Refusal> {
        let task = self.task(name)?.id;
        let events = self.store().timeline(task);
        let events = events.map_err(|fault| self.cannot_read(&fault))?.into_iter();
        Ok(events.map(|(at, run, event)| feed::told(at, task, run, &event)).collect())
    }

    /// Whether there is a task whose result can be read.
    pub(crate) fn check_kept(&mut self, name: &str) -> Result<(), Refusal> {
        match self.task(name) {
            Err(Refusal::NotFound(name)) => Err(self.forgotten(name)),
            found => found.map(|_| ()),
        }
    }

    /// What is to be said of a task that is not there: perhaps it was, and something is left.
    fn forgotten(&mut self, name: String) -> Refusal {
        let Ok(task) = name.parse() else { return Refusal::NotFound(name) };
        let now = self.clock.now();
        match self.store().tombstone(task, now) {
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

    pub(crate) fn cannot_read(&mut self, fault: &legwork_store::Fault) -> Refusal {
        self.shell.outside().log.warn(chain(fault));
        Refusal::CannotRead
    }

    fn view(&mut self) -> Result<DaemonView, Refusal> {
        let tally = self.read(|engine, _| Ok(engine.tally()))?;
        let set_aside = self.store().set_aside().into_iter().map(|path| path.display().to_string());
        let set_aside = set_aside.collect();
        Ok(DaemonView {
            pid: std::process::id(),
            build: BUILD.to_owned(),
            started: self.started,
            store: self.store().path().display().to_string(),
            log: self.folders.log.display().to_string(),
            healthy: !self.shell.is_degraded(),
            unfinished: tally.unfinished,
            tasks: tally.tasks,
            at_work: self.built_in.at_work(),
            pending: tally.pending,
            hosts: self.shell.outside().host_views(),
            set_aside,
        })
    }
}
