//! How a run comes to be accepted: a launch after its agent was looked up, a resume after its
//! session was. Before that nothing is saved, and a refusal leaves nothing behind.

use legwork_protocol::api::Answer;
use legwork_protocol::limits::DESCRIPTION_MAX_CHARS;
use legwork_protocol::refusal::plain;
use legwork_protocol::{CallId, CallKey, HostId, Refusal, SessionId, Status, TaskId};

use crate::engine::{Answered, Engine, Purpose};
use crate::hosts::Presence;
use crate::input::Caller;
use crate::record::{Change, Origin};
use crate::task::{Outcome, Run, Stage, Task};
use crate::text::words;
use crate::watch::Watch;
use crate::work::{Action, Finding, HostError};

/// A launch whose agent is being looked up.
#[derive(Debug)]
pub(crate) struct PendingLaunch {
    calls: Vec<CallId>,
    host: HostId,
    session: SessionId,
    origin: Origin,
    launch: Launch,
    spare: TaskId,
}

/// What a launch brings along.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub prompt: String,
    pub description: String,
    pub agent: String,
}

/// A resume before it is accepted.
#[derive(Debug)]
pub(crate) struct Resuming {
    pub key: CallKey,
    pub calls: Vec<CallId>,
    pub host: HostId,
    pub asker: SessionId,
    pub prompt: String,
}

impl Engine {
    pub(crate) fn launch(
        &mut self,
        call: CallId,
        caller: Caller,
        launch: Launch,
        spare: TaskId,
    ) -> Answered {
        let Caller::Session { host, session, key, message, agent, directory } = caller else {
            return Err(Refusal::NotASession);
        };
        if let Some(known) = self.tasks.by_key(&key) {
            // Only one that asks for the same can be the same call sent again.
            if known.agent.as_ref() != launch.agent
                || known.description.as_ref() != one_line(&launch.description)
            {
                return Err(Refusal::CallRepeated);
            }
            let known = known.id;
            return Ok(self.launched_before(call, known));
        }
        if let Some(pending_launch) = self.pending_launches.get_mut(&key) {
            if pending_launch.launch != launch {
                return Err(Refusal::CallRepeated);
            }
            pending_launch.calls.push(call);
            return Ok(None);
        }
        self.may_launch(&session)?;
        if self.hosts.presence(&host) != Presence::Here {
            return Err(Refusal::HostUnreachable);
        }
        let check_agent = Action::CheckAgent { agent: launch.agent.clone() };
        self.work(host.clone(), check_agent, Purpose::CheckAgent(key.clone()));
        let origin = Origin { message: message.as_str().to_owned(), agent, directory };
        let calls = vec![call];
        self.pending_launches
            .insert(key, PendingLaunch { calls, host, session, origin, launch, spare });
        Ok(None)
    }

    /// The same call again: the same answer, as soon as there is one.
    fn launched_before(&mut self, call: CallId, id: TaskId) -> Option<Answer> {
        if let Some(live) = self.tasks.live_mut(id)
            && live.task.stage == Stage::Opening
        {
            live.watch.callers.push(call);
            return None;
        }
        let task = self.tasks.get(id)?;
        Some(self.launched(task))
    }

    /// A helper that was called off or failed asks for nothing more, though its calls may arrive.
    fn may_ask(&self, session: &SessionId) -> Result<(), Refusal> {
        let own = self.tasks.of_session(session).and_then(Task::outcome);
        if own.is_some_and(|outcome| outcome != Outcome::Completed) || self.stops.names(session) {
            return Err(Refusal::NotStarted(words::ASKER_ENDED.to_owned()));
        }
        Ok(())
    }

    fn may_launch(&self, session: &SessionId) -> Result<(), Refusal> {
        self.may_ask(session)?;
        let limit = self.settings.max_depth;
        if limit != 0 && self.depth_below(session) > limit {
            return Err(Refusal::TooDeep { limit });
        }
        let limit = self.settings.max_tasks_per_root;
        let root = self.root_of(session);
        let held = self.tasks.under_root(&root);
        if limit != 0 && held >= limit as usize {
            let (finished, unfinished) = self.tasks.counts(&root);
            return Err(Refusal::TooManyTasks { limit, held, finished, unfinished });
        }
        Ok(())
    }

    fn depth_below(&self, session: &SessionId) -> u32 {
        self.tasks.of_session(session).map_or(1, |task| task.depth + 1)
    }

    fn root_of(&self, session: &SessionId) -> SessionId {
        self.tasks.of_session(session).map_or_else(|| session.clone(), |task| task.root.clone())
    }

    pub(crate) fn agent_checked(&mut self, key: &CallKey, found: Result<Finding, HostError>) {
        let Some(pending_launch) = self.pending_launches.remove(key) else { return };
        let here = self.hosts.presence(&pending_launch.host) == Presence::Here;
        let refusal = match found {
            // The host that was asked may have ended before the answer was read.
            Ok(Finding::AgentKnown) if !here => Some(Refusal::HostUnreachable),
            // Others may have been accepted while the host was asked.
            Ok(Finding::AgentKnown) => self.may_launch(&pending_launch.session).err(),
            Ok(Finding::NoSuchAgent { known }) => {
                Some(Refusal::UnknownAgent { agent: pending_launch.launch.agent.clone(), known })
            }
            Err(HostError::Rejected { why }) => Some(Refusal::NotStarted(why)),
            Ok(_) | Err(_) => Some(Refusal::HostUnreachable),
        };
        match refusal {
            Some(refusal) => self.refuse(pending_launch.calls, &refusal),
            None => self.accept_launch(key.clone(), pending_launch),
        }
    }

    fn accept_launch(&mut self, key: CallKey, pending_launch: PendingLaunch) {
        let PendingLaunch { calls, host, session, origin, launch, spare } = pending_launch;
        let mut id = spare;
        while self.tasks.get(id).is_some() || self.stops.is_pending(id) {
            id = id.next();
        }
        let Some(place) = self.hosts.get(&host).map(|host| host.place.clone()) else {
            return self.refuse(calls, &Refusal::HostUnreachable);
        };
        let parent = self.parent_known(&session, &place, &host);
        let run = self.new_run(0, parent.clone(), key, host, launch.prompt);
        let task = Task {
            id,
            seq: self.tasks.next_seq(),
            root: self.root_of(&session),
            depth: self.depth_below(&session),
            place,
            parent,
            agent: launch.agent.into(),
            description: one_line(&launch.description).into(),
            created: self.now,
            session: None,
            stage: self.first_stage(&run),
            run,
            retrieved: None,
        };
        self.hosts.enlist(&task);
        self.save(Change::Launched { task: task.clone(), origin });
        let queued = task.stage == Stage::Queued;
        self.tasks.insert(task, Watch::new(self.now));
        if queued {
            for call in calls {
                if let Some(answer) = self.launched_before(call, id) {
                    self.answer(call, answer);
                }
            }
        } else if let Some(live) = self.tasks.live_mut(id) {
            live.watch.callers = calls;
        }
        self.tend_run(id);
    }

    fn new_run(
        &mut self,
        number: u32,
        asker: SessionId,
        key: CallKey,
        host: HostId,
        prompt: String,
    ) -> Run {
        Run {
            number,
            asker,
            key,
            host,
            order: self.tasks.next_order(),
            prompt: Some(prompt.into()),
            continued: 0,
            started: self.now,
            paused_ms: 0,
            ended: None,
            tool_calls: 0,
            asked: Vec::new(),
        }
    }

    /// A new launch opens its session at once if its host has room and nobody waits before it.
    fn first_stage(&self, run: &Run) -> Stage {
        if self.may_start(&run.host) { Stage::Opening } else { Stage::Queued }
    }

    pub(crate) fn resume(
        &mut self,
        call: CallId,
        caller: Caller,
        name: &str,
        prompt: String,
    ) -> Answered {
        let id = self.find(&caller, name)?;
        let Caller::Session { host, session: asker, key, .. } = caller else {
            return Err(Refusal::NotASession);
        };
        if let Some(resuming) = self.resuming.get_mut(&id) {
            if resuming.key != key {
                return Err(Refusal::BeingResumed);
            }
            resuming.calls.push(call);
            return Ok(None);
        }
        let Some(task) = self.tasks.get(id) else {
            return Err(Refusal::NotFound(name.to_owned()));
        };
        if let Some(earlier) = self.tasks.by_key(&key) {
            let same_run = task.run.key == key;
            let other = task.run.prompt.as_deref().is_some_and(|running| running != prompt);
            let launched_it = self.tasks.key_of(id, 0) == Some(&key);
            if earlier.id != id || launched_it || same_run && other {
                return Err(Refusal::CallRepeated);
            }
            return Ok(Some(self.resumed(task)));
        }
        match (task.status(), task.session.clone()) {
            (Status::Completed, Some(session)) => {
                if self.hosts.presence(&host) != Presence::Here {
                    return Err(Refusal::HostUnreachable);
                }
                self.work(host.clone(), Action::Probe { session }, Purpose::Resume(id));
                let calls = vec![call];
                let resuming = Resuming { key, calls, host, asker, prompt };
                self.resuming.insert(id, resuming);
                Ok(None)
            }
            (Status::Resumed, _) => Err(Refusal::BeingResumed),
            (Status::Completed, None) => Err(Refusal::SessionExpired),
            (status, _) => Err(Refusal::NotCompleted(status)),
        }
    }

    pub(crate) fn resume_probed(&mut self, id: TaskId, found: Result<Finding, HostError>) {
        let Some(resuming) = self.resuming.remove(&id) else { return };
        let refusal = match found {
            Ok(_) => None,
            Err(HostError::Gone) => Some(Refusal::SessionExpired),
            Err(HostError::Rejected { why }) => Some(Refusal::NotStarted(why)),
            Err(HostError::Unreachable | HostError::Busy) => Some(Refusal::HostUnreachable),
        };
        // The host that was asked may have ended before the answer was read.
        let gone = self.hosts.presence(&resuming.host) == Presence::Gone;
        let refusal = refusal.or(gone.then_some(Refusal::HostUnreachable));
        match refusal.or_else(|| self.may_ask(&resuming.asker).err()) {
            Some(refusal) => self.refuse(resuming.calls, &refusal),
            None => self.accept_resume(id, resuming),
        }
    }

    fn accept_resume(&mut self, id: TaskId, resuming: Resuming) {
        let Resuming { key, calls, host, asker, prompt } = resuming;
        let Some(task) = self.tasks.get(id) else {
            return self.refuse(calls, &Refusal::NotFound(id.to_string()));
        };
        let number = task.run.number + 1;
        let (place, earlier) = (task.place.clone(), task.run.key.clone());
        let asker = self.parent_known(&asker, &place, &host);
        let run = self.new_run(number, asker, key, host, prompt);
        self.tasks.change(id, |task| {
            task.run = run;
            task.stage = Stage::Queued;
            task.retrieved = None;
        });
        self.tasks.remember_call(id, earlier);
        self.rejoin_waits(id);
        let Some(task) = self.tasks.get(id).cloned() else { return };
        self.hosts.enlist(&task);
        let answer = self.resumed(&task);
        self.save(Change::Resumed { task });
        for call in calls {
            self.answer(call, answer.clone());
        }
        self.tend_run(id);
    }
}

/// A description as it is kept: on one line, and without gaps, which would look like the columns of
/// a listing.
fn one_line(description: &str) -> String {
    let line = plain(description.trim(), DESCRIPTION_MAX_CHARS);
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
