//! What an unfinished run needs next. Ordinary running, another try, polling and recovery all come
//! through [`Engine::tend_run`]: it looks at the record, not at how it got there.

use legwork_protocol::ids::MessageUse;
use legwork_protocol::limits::{CUT_OFF_GRACE_MS, LIMIT_GRACE_MS, START_MAX_TRIES};
use legwork_protocol::{HostId, MessageId, Refusal, SessionId, TaskId, Time};

use crate::engine::{Engine, Purpose};
use crate::hosts::Presence;
use crate::record::{Change, Forget, Target};
use crate::task::{Outcome, Stage, StageName, Task};
use crate::tasks::Live;
use crate::text::words;
use crate::timers::Timer;
use crate::watch::pause_ms;
use crate::work::{Action, Finding, HostError, Tried};

/// Whether the asker of a run is to be told of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    Yes,
    /// It ended the run itself, or is ended with it.
    No,
}

impl Engine {
    /// Does whatever the run needs now, and sees to it that it is looked at again in time.
    pub(crate) fn tend_run(&mut self, id: TaskId) {
        let Some(live) = self.tasks.live(id) else { return };
        let host = live.task.run.host.clone();
        if self.over_limit(id) {
            return;
        }
        match self.hosts.presence(&host) {
            Presence::Here => {
                self.not_cut_off(id);
                self.next_step(id, &host);
            }
            Presence::Away => self.observe_elsewhere(id),
            Presence::Gone => self.tend_cut_off(id),
        }
        self.arm(id);
    }

    /// A host that is there has not ended, whatever was said of it.
    fn not_cut_off(&mut self, id: TaskId) {
        if let Some(live) = self.tasks.live_mut(id) {
            live.watch.cut_off = None;
        }
    }

    fn next_step(&mut self, id: TaskId, host: &HostId) {
        let Some(live) = self.tasks.live(id) else { return };
        if live.task.stage == Stage::Queued {
            return self.soon(Timer::Start(host.clone()));
        }
        let due = live.watch.due.is_none_or(|due| due <= self.now);
        if live.watch.in_flight.is_some() || !due {
            return;
        }
        let action = match &live.task.stage {
            Stage::Opening => Some(self.open_action(live)),
            Stage::Prompting(message) => prompt_action(live, message),
            // A working run is looked at when there is a reason to, not all the time.
            Stage::Working(message) if live.watch.due.is_some() => {
                observe_action(&live.task, message)
            }
            Stage::Working(_) | Stage::Queued | Stage::Finished(_) => None,
        };
        if let Some(action) = action {
            self.send_for(id, host.clone(), action);
        }
    }

    pub(crate) fn send_for(&mut self, id: TaskId, host: HostId, action: Action) {
        let Some(run) = self.tasks.live(id).map(|live| live.task.run.number) else { return };
        let work = self.work(host.clone(), action, Purpose::Run(id, run));
        if let Some(live) = self.tasks.live_mut(id) {
            live.watch.in_flight = Some(work);
            live.watch.asked = Some(host);
            live.watch.due = None;
            match live.task.stage {
                Stage::Opening => live.watch.open = Tried::Perhaps,
                Stage::Prompting(_) => live.watch.prompt = Tried::Perhaps,
                Stage::Queued | Stage::Working(_) | Stage::Finished(_) => {}
            }
            // What was said while a prompt is handed over again may be about it still.
            live.watch.again &= !matches!(live.task.stage, Stage::Working(_));
        }
    }

    fn open_action(&self, Live { task, watch }: &Live) -> Action {
        let deepest = self.settings.max_depth;
        Action::Open {
            tried: watch.open,
            task: task.id,
            parent: task.parent.clone(),
            title: task.description.as_ref().to_owned(),
            agent: task.agent.as_ref().to_owned(),
            nested: deepest == 0 || task.depth < deepest,
        }
    }

    /// The run is to be looked at again at this moment, at the latest.
    pub(crate) fn observe_at(&mut self, id: TaskId, at: Time) {
        if let Some(live) = self.tasks.live_mut(id) {
            live.watch.due = Some(live.watch.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Sets the run's timer to the first moment at which it may need something.
    pub(crate) fn arm(&mut self, id: TaskId) {
        let Some(live) = self.tasks.live(id) else { return };
        let here = self.hosts.presence(&live.task.run.host);
        let next_try = match here {
            _ if live.watch.in_flight.is_some() => None,
            // Another host is asked only if the run is past its limit.
            Presence::Away if live.watch.overdue.is_none() => None,
            Presence::Here | Presence::Gone | Presence::Away => live.watch.due,
        };
        let watched = live.watch.cut_off.filter(|_| !live.watch.unwatched);
        let grace = watched.map(|since| since.plus(CUT_OFF_GRACE_MS));
        let last_word = live.watch.overdue.map(|since| since.plus(LIMIT_GRACE_MS));
        let moments = [next_try, grace, self.limit_of(live), last_word];
        match moments.into_iter().flatten().filter(|at| *at > self.now).min() {
            Some(at) => self.timers.set(Timer::Run(id), at),
            None => self.timers.clear(&Timer::Run(id)),
        }
    }

    pub(crate) fn run_answered(
        &mut self,
        id: TaskId,
        run: u32,
        work: crate::work::WorkId,
        found: Result<Finding, HostError>,
    ) {
        let Some(live) = self.tasks.live_mut(id) else { return };
        if live.task.run.number != run || live.watch.in_flight != Some(work) {
            return;
        }
        live.watch.in_flight = None;
        if live.watch.cut_off.is_some() {
            return self.cut_off_answered(id, found);
        }
        if live.watch.asked.as_ref() != Some(&live.task.run.host) {
            return self.observed_elsewhere(id, found);
        }
        match (&live.task.stage, found) {
            (Stage::Opening, Ok(Finding::Opened { session })) => self.opened(id, session),
            (Stage::Prompting(message), Ok(Finding::Done)) => {
                let stage = Stage::Working(message.clone());
                self.taken(id, stage);
            }
            (Stage::Working(_), Ok(Finding::Observed(observation))) => {
                self.observed(id, observation)
            }
            (Stage::Working(_), Err(HostError::Gone)) => self.deleted_under(id),
            (Stage::Working(_), Err(_)) => {
                live.watch.tries += 1;
                let pause = pause_ms(live.watch.tries);
                self.observe_at(id, self.now.plus(pause));
            }
            (_, Err(error)) => self.start_failed(id, error),
            // A host that answers something else has not done it.
            (Stage::Working(_), Ok(_)) => self.observe_at(id, self.now.plus(pause_ms(1))),
            (_, Ok(_)) => self.start_failed(id, HostError::Busy),
        }
        self.tend_run(id);
    }

    /// The host has the prompt. What it said of the session meanwhile may be about this prompt:
    /// its answer to us may come after that.
    fn taken(&mut self, id: TaskId, stage: Stage) {
        let Some(live) = self.tasks.live_mut(id) else { return };
        let (error, again) = (live.watch.error.take(), live.watch.again);
        self.advance(id, stage);
        if let Some(live) = self.tasks.live_mut(id)
            && again
        {
            live.watch.error = error;
            live.watch.due = Some(self.now);
        }
        self.watch_host_of(id);
    }

    fn opened(&mut self, id: TaskId, session: SessionId) {
        self.tasks.set_session(id, session);
        let Some(live) = self.tasks.live_mut(id) else { return };
        let callers = std::mem::take(&mut live.watch.callers);
        let stage = self.prompting(id);
        self.advance(id, stage);
        if let Some(task) = self.tasks.get(id) {
            let answer = self.launched(task);
            for call in callers {
                self.answer(call, answer.clone());
            }
        }
    }

    /// The stage in which the run's prompt is handed over, under an id made now.
    fn prompting(&self, id: TaskId) -> Stage {
        let (number, continued) = self
            .tasks
            .live(id)
            .map_or((0, 0), |live| (live.task.run.number, live.task.run.continued));
        Stage::Prompting(MessageId::make(self.now, id, number, MessageUse::Prompt(continued)))
    }

    /// The run is further on: its record says so before anybody acts on it.
    pub(crate) fn advance(&mut self, id: TaskId, stage: Stage) {
        let Some(live) = self.tasks.live_mut(id) else { return };
        let from = live.task.stage.name();
        debug_assert!(from.may_become(stage.name()), "{id}: {from:?} to {stage:?}");
        live.task.stage = stage;
        live.watch.fresh_stage();
        let task = live.task.clone();
        self.save(Change::Moved { task, from });
    }

    /// The session could not be opened, or the prompt not be handed over.
    fn start_failed(&mut self, id: TaskId, error: HostError) {
        let Some(live) = self.tasks.live_mut(id) else { return };
        let lasting = match &error {
            HostError::Unreachable | HostError::Busy => false,
            HostError::Gone | HostError::Rejected { .. } => true,
        };
        live.watch.tries += 1;
        if !lasting && live.watch.tries < START_MAX_TRIES {
            live.watch.due = Some(self.now.plus(pause_ms(live.watch.tries)));
            return;
        }
        let why = match error {
            HostError::Gone => words::SESSION_GONE_BEFORE_PROMPT.to_owned(),
            other => words::could_not_start(&other, live.watch.tries),
        };
        self.fail(id, why);
    }

    /// The run failed. A launch that nobody was promised yet is refused and leaves nothing behind.
    pub(crate) fn fail(&mut self, id: TaskId, why: String) {
        let Some(live) = self.tasks.live_mut(id) else { return };
        let callers = std::mem::take(&mut live.watch.callers);
        if callers.is_empty() {
            return self.finish(id, Outcome::Failed, why, Notify::Yes, Halt::Needed);
        }
        self.forget(id, Forget::Cleared);
        self.refuse(callers, &Refusal::NotStarted(why));
    }

    /// The run is over: its end and the notice of it are saved together, its place is free, and
    /// whoever waits for it is answered.
    pub(crate) fn finish(
        &mut self,
        id: TaskId,
        outcome: Outcome,
        detail: String,
        notify: Notify,
        halt: Halt,
    ) {
        let Some(Live { task, .. }) = self.tasks.live(id) else { return };
        let from = task.stage.name();
        self.hosts.release(task);
        if halt == Halt::Needed {
            self.request_stop(&task.clone());
        }
        let now = self.now;
        let watch = self.tasks.change(id, |task| {
            task.stage = Stage::Finished(outcome);
            task.run.ended = Some(now);
            task.run.prompt = None;
            task.run.asked = Vec::new();
        });
        self.timers.clear(&Timer::Run(id));
        let Some(task) = self.tasks.get(id).cloned() else { return };
        let (host, asker, session) =
            (task.run.host.clone(), task.run.asker.clone(), task.session.clone());
        let detail = words::kept_detail(detail);
        let answer = self.launched(&task);
        self.save(Change::Ended { task, from, detail });
        for call in watch.into_iter().flat_map(|watch| watch.callers) {
            self.answer(call, answer.clone());
        }
        self.withdraw_questions(id);
        match notify {
            Notify::Yes => self.enqueue_end(id),
            Notify::No => self.soon(Timer::Gather(asker)),
        }
        if outcome != Outcome::Completed
            && let Some(session) = session
        {
            self.fell(&session);
        }
        self.end_waits(id);
        self.soon(Timer::Start(host));
    }

    /// A helper that failed or was called off takes its own helpers along; nobody is left who
    /// could use what they find.
    fn fell(&mut self, session: &SessionId) {
        let below: Vec<(TaskId, Notify)> = self
            .tasks
            .family(session)
            .filter(|task| !task.is_finished())
            .map(|task| {
                // Somebody else may have resumed it, and is still there.
                let notify = if task.run.asker == *session { Notify::No } else { Notify::Yes };
                (task.id, notify)
            })
            .collect();
        for (id, notify) in below {
            let why = words::CANCELLED_WITH_PARENT.to_owned();
            self.finish(id, Outcome::Cancelled, why, notify, Halt::Needed);
        }
    }

    /// Lets runs leave the queue while their host has room.
    pub(crate) fn start_waiting(&mut self, host: &HostId) {
        while let Some(id) = self.next_to_start(host) {
            let opened = self.tasks.live(id).is_some_and(|live| live.task.session.is_some());
            let stage = if opened { self.prompting(id) } else { Stage::Opening };
            let now = self.now;
            if let Some(live) = self.tasks.live_mut(id) {
                live.task.run.started = now;
                live.task.run.paused_ms = 0;
                live.watch.active = now;
            }
            self.advance(id, stage);
            if let Some(live) = self.tasks.live(id) {
                self.hosts.enlist(&live.task);
            }
            self.tend_run(id);
        }
    }

    fn next_to_start(&self, host: &HostId) -> Option<TaskId> {
        let host = self.hosts.get(host)?;
        let may = host.presence == Presence::Here && host.has_room(self.settings.max_running);
        let (_, first) = host.queue.first().filter(|_| may)?;
        Some(*first)
    }
}

/// Whether a finished run's session may still be at work, and so is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    Needed,
    NotNeeded,
}

/// What there is to stop at a stage.
pub(crate) fn stop_target(task: &Task) -> Option<Target> {
    match (task.stage.name(), &task.session) {
        // Never begun. A resume that waits has a session, in which nothing runs. One that was cut
        // off and waits again may have left something at its first host.
        (StageName::Queued, _) if task.run.continued == 0 => None,
        (StageName::Working, Some(session)) => Some(Target::Session(session.clone())),
        (_, Some(session)) => Some(Target::Opened(session.clone())),
        (_, None) => Some(Target::Marked),
    }
}

fn prompt_action(Live { task, watch }: &Live, message: &MessageId) -> Option<Action> {
    let prompt = task.run.prompt.as_deref()?;
    let text = if task.run.continued > 0 { words::go_on(prompt) } else { prompt.to_owned() };
    Some(Action::Prompt {
        tried: watch.prompt,
        session: task.session.clone()?,
        message: message.clone(),
        part: message.part(0),
        agent: task.agent.as_ref().to_owned(),
        text,
    })
}

pub(crate) fn observe_action(task: &Task, message: &MessageId) -> Option<Action> {
    Some(Action::Observe { session: task.session.clone()?, message: message.clone() })
}
