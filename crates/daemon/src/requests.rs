//! What the daemon answers without the engine's decision: it reads what is known and kept.

use std::collections::BTreeSet;

use legwork_engine::Journal;
use legwork_engine::text::notices;
use legwork_protocol::CallKey;
use legwork_protocol::api::refusal::cut;
use legwork_protocol::api::view::{DaemonView, EndView, Mail, News, RunView, TaskView};
use legwork_protocol::api::{Answer, Ask, Refusal, Request};
use legwork_protocol::line::{Context, FromDaemon};
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
                if let Ask::HandedOver { task, run } = &ask {
                    self.take_back_mail(task, *run)?;
                }
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
            Request::Mail => {
                let mail = self.built_in.mail();
                Answer::Mail(self.still_so(mail))
            }
            Request::Unread { session } => {
                let mail = self.built_in.unread(&session);
                Answer::Mail(self.still_so(mail))
            }
            Request::MailShown { messages } => {
                self.built_in.mail_shown(&messages).map_err(Refusal::BadRequest)?;
                Answer::Done
            }
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

    /// These messages without the questions that were settled since. One that asked nothing else
    /// is not shown to anybody any more.
    fn still_so(&mut self, mail: Vec<Mail>) -> Vec<Mail> {
        let (mut left, mut moot) = (Vec::new(), Vec::new());
        for mail in mail {
            match self.read(|engine, _| Ok(engine.still_so(&mail.text))) {
                Ok(Some(text)) => left.push(Mail { text, ..mail }),
                Ok(None) => moot.push(mail.message),
                // What nobody knows better about is shown as it is.
                Err(_) => left.push(mail),
            }
        }
        if let Err(why) = self.built_in.mail_shown(&moot) {
            self.log.warn(format_args!("{why}"));
        }
        left
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
        let text = if self.built_in.has_told(task.id, run) {
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

    /// What lies unread of a run whose end the client has is not shown any more.
    fn take_back_mail(&mut self, name: &str, run: u32) -> Result<(), Refusal> {
        let task = self.task(name)?;
        if run < task.resumes || !task.status.is_unfinished() {
            self.built_in.handed_over(task.id, run).map_err(Refusal::BadRequest)?;
        }
        Ok(())
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
