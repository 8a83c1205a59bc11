//! How a launch is accepted: once its agent was found. Before that nothing is saved, and a refusal
//! leaves nothing behind. It is answered as soon as it is saved; what goes wrong later is how the
//! run ends.

use legwork_protocol::limits::DESCRIPTION_MAX_CHARS;
use legwork_protocol::refusal::plain;
use legwork_protocol::{CallId, CallKey, HostId, Refusal, SessionId, TaskId, Usage};

use super::task::{Asked, Outcome, Run, Stage, Task};
use super::volatile::Volatile;
use crate::engine::{Answered, Engine, Purpose};
use crate::hosts::Presence;
use crate::input::Caller;
use crate::record::{Change, Origin};
use crate::text::words;
use crate::work::{Action, Finding, HostError};

/// A launch whose agent is being looked up: at the asker's own host, and if that has no such agent,
/// at each host that serves everyone.
#[derive(Debug)]
pub(crate) struct PendingLaunch {
    calls: Vec<CallId>,
    /// The host that the asker calls through.
    own: HostId,
    session: SessionId,
    origin: Origin,
    launch: Launch,
    spare: TaskId,
    /// The hosts that were asked; the last one is asked now.
    asked: Vec<HostId>,
    /// The agents of those that have no such agent.
    known: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub prompt: String,
    pub description: String,
    pub agent: String,
    pub fork: bool,
    /// Whether the asker collects the run.
    pub collects: bool,
}

impl Engine {
    pub(crate) fn launch(
        &mut self,
        call: CallId,
        caller: Caller,
        launch: Launch,
        spare: TaskId,
    ) -> Answered {
        let Caller::Session { host, session, key, message, agent, directory, .. } = caller else {
            return Err(Refusal::NotASession);
        };
        if let Some(known) = self.tasks.by_key(&key) {
            // Only one that asks for the same can be the same call sent again.
            if known.agent.as_ref() != launch.agent
                || known.description.as_ref() != one_line(&launch.description)
            {
                return Err(Refusal::CallRepeated);
            }
            return Ok(Some(self.launched(&known, &host)));
        }
        if let Some(pending) = self.pending_launches.get_mut(&key) {
            if pending.launch != launch {
                return Err(Refusal::CallRepeated);
            }
            pending.calls.push(call);
            return Ok(None);
        }
        self.may_launch(&session, &host)?;
        if self.hosts.presence(&host) != Presence::Here {
            return Err(Refusal::HostUnreachable);
        }
        let origin = Origin { message: message.as_str().to_owned(), agent, directory };
        let pending = PendingLaunch {
            calls: vec![call],
            own: host.clone(),
            session,
            origin,
            launch,
            spare,
            asked: Vec::new(),
            known: Vec::new(),
        };
        self.check_agent(key, pending, host);
        Ok(None)
    }

    fn check_agent(&mut self, key: CallKey, mut pending: PendingLaunch, host: HostId) {
        let action = Action::CheckAgent { agent: pending.launch.agent.clone() };
        self.work(host.clone(), action, Purpose::CheckAgent(key.clone()));
        pending.asked.push(host);
        self.pending_launches.insert(key, pending);
    }

    /// A helper that failed or was cancelled gets nothing more, though its calls may still arrive.
    pub(super) fn may_ask(&self, session: &SessionId) -> Result<(), Refusal> {
        let own = self.tasks.of_session(session).and_then(|task| task.outcome());
        if own.is_some_and(|outcome| outcome != Outcome::Completed) || self.stops.names(session) {
            return Err(Refusal::NotStarted(words::ASKER_ENDED.to_owned()));
        }
        Ok(())
    }

    fn may_launch(&self, session: &SessionId, own: &HostId) -> Result<(), Refusal> {
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
        let place = self.hosts.get(own).map(|host| &host.place);
        place.map_or(Ok(()), |realm| self.may_spend(&root, realm))
    }

    fn depth_below(&self, session: &SessionId) -> u32 {
        self.tasks.of_session(session).map_or(1, |task| task.depth + 1)
    }

    fn root_of(&self, session: &SessionId) -> SessionId {
        self.tasks.of_session(session).map_or_else(|| session.clone(), |task| task.root.clone())
    }

    pub(crate) fn agent_checked(&mut self, key: &CallKey, found: Result<Finding, HostError>) {
        let Some(mut pending) = self.pending_launches.remove(key) else { return };
        let own = pending.asked.len() == 1;
        let here = |host: &HostId| self.hosts.presence(host) == Presence::Here;
        let ready = here(&pending.own) && pending.asked.last().is_some_and(here);
        let refusal = match found {
            // Either host may have ended before the answer was read.
            Ok(Finding::AgentKnown) if !ready => Some(Refusal::HostUnreachable),
            Ok(Finding::AgentKnown) if pending.launch.fork && !self.can_fork(&pending) => {
                Some(Refusal::CannotFork { agent: pending.launch.agent.clone() })
            }
            // Others may have been accepted while the host was asked.
            Ok(Finding::AgentKnown) => self.may_launch(&pending.session, &pending.own).err(),
            Ok(Finding::NoSuchAgent { known }) => {
                let new = known.into_iter().filter(|name| !pending.known.contains(name));
                let new: Vec<String> = new.collect();
                pending.known.extend(new);
                return self.check_agent_elsewhere(key.clone(), pending);
            }
            // What a host that is not the asker's own cannot tell, it does not have.
            _ if !own => return self.check_agent_elsewhere(key.clone(), pending),
            Err(HostError::Rejected { why }) => Some(Refusal::NotStarted(why)),
            Ok(_) | Err(_) => Some(Refusal::HostUnreachable),
        };
        match refusal {
            Some(refusal) => self.refuse(pending.calls, &refusal),
            None => self.accept_launch(key.clone(), pending),
        }
    }

    /// Only the host that keeps a conversation can copy it; one that serves everyone keeps none.
    fn can_fork(&self, pending: &PendingLaunch) -> bool {
        let keeps = |host: &HostId| !self.hosts.for_everyone().any(|other| other == host);
        pending.asked.last() == Some(&pending.own) && keeps(&pending.own)
    }

    fn check_agent_elsewhere(&mut self, key: CallKey, pending: PendingLaunch) {
        let next = self.hosts.for_everyone().find(|host| !pending.asked.contains(host)).cloned();
        match next {
            Some(host) => self.check_agent(key, pending, host),
            None => {
                let PendingLaunch { calls, launch, known, .. } = pending;
                let agent = launch.agent;
                self.refuse(calls, &Refusal::UnknownAgent { agent, known });
            }
        }
    }

    fn accept_launch(&mut self, key: CallKey, pending: PendingLaunch) {
        let PendingLaunch { calls, own, session, origin, launch, spare, asked, .. } = pending;
        let mut id = spare;
        while self.tasks.get(id).is_some() || self.stops.is_pending(id) {
            id = id.next();
        }
        let host = asked.last().unwrap_or(&own).clone();
        let host = self.beside(&host, &origin.directory).unwrap_or(host);
        let place = |host: &HostId| self.hosts.get(host).map(|host| host.place.clone());
        let (Some(realm), Some(place)) = (place(&own), place(&host)) else {
            return self.refuse(calls, &Refusal::HostUnreachable);
        };
        let parent = self.parent_known(&session, &realm, &own);
        let run = self.new_run(0, parent.clone(), key, host, launch.prompt);
        if launch.collects {
            self.lease(id, 0, Some(&session));
        }
        let task = Task {
            id,
            seq: self.tasks.next_seq(),
            root: self.root_of(&session),
            depth: self.depth_below(&session),
            place,
            realm,
            directory: origin.directory.as_str().into(),
            parent,
            agent: launch.agent.into(),
            description: one_line(&launch.description).into(),
            created: self.now,
            fork_before: launch.fork.then(|| origin.message.as_str().into()),
            session: None,
            stage: if self.may_start(&run.host) { Stage::Opening } else { Stage::Queued },
            run,
            retrieved: None,
        };
        self.hosts.enlist(&task);
        self.save(Change::Launched { task: task.clone(), origin });
        self.tasks.insert(task.clone(), Volatile::new(self.now));
        let answer = self.launched(&task, &own);
        for call in calls {
            self.answer(call, answer.clone());
        }
        self.tend_run(id);
    }

    pub(super) fn new_run(
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
            usage: Usage::default(),
            used_before: Usage::default(),
            asked: Asked::default(),
        }
    }
}

/// A description as it is kept: on one line, and without gaps, which would look like the columns of
/// a listing.
fn one_line(description: &str) -> String {
    let line = plain(description.trim(), DESCRIPTION_MAX_CHARS);
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
