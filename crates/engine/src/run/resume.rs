//! How a resume is accepted: once the task's session was found. Before that nothing is saved, and a
//! refusal leaves nothing behind. A session goes on with what is completed; a person with whatever
//! is over, and the session that launched it is told.

use std::borrow::Cow;

use legwork_protocol::{CallId, CallKey, HostId, Refusal, SessionId, Status, TaskId};

use super::task::{ResumedBy, Run, Stage, Task};
use crate::engine::{Answered, Engine, Purpose};
use crate::hosts::Presence;
use crate::hosts::headless::Folder;
use crate::input::Caller;
use crate::record::Change;
use crate::work::{Action, Finding, HostError};

#[derive(Debug)]
pub(crate) struct Resuming {
    pub key: CallKey,
    pub calls: Vec<CallId>,
    /// The session that asks, and the host that it calls through; a person is neither.
    pub asker: Option<(SessionId, HostId)>,
    /// The host that is to do it.
    pub host: HostId,
    pub prompt: String,
    /// Whether the asker collects the run.
    pub collects: bool,
}

impl Engine {
    pub(crate) fn resume(
        &mut self,
        call: CallId,
        caller: Caller,
        name: &str,
        prompt: String,
        collects: bool,
    ) -> Answered {
        let id = self.find(&caller, name)?.id;
        let Caller::Session { host, session, key, .. } = caller else {
            return Err(Refusal::NotASession);
        };
        self.begin_resume(call, id, Some((session, host)), (key, prompt, collects))
    }

    pub(crate) fn resume_any(
        &mut self,
        call: CallId,
        caller: &Caller,
        name: &str,
        what: (CallKey, String),
    ) -> Answered {
        if *caller != Caller::Person {
            return Err(Refusal::BadRequest("Only a person may ask this.".to_owned()));
        }
        let id = self.find(caller, name)?.id;
        let (key, prompt) = what;
        self.begin_resume(call, id, None, (key, prompt, false))
    }

    fn begin_resume(
        &mut self,
        call: CallId,
        id: TaskId,
        asker: Option<(SessionId, HostId)>,
        (key, prompt, collects): (CallKey, String, bool),
    ) -> Answered {
        if let Some(resuming) = self.resuming.get_mut(&id) {
            if resuming.key != key {
                return Err(Refusal::BeingResumed);
            }
            resuming.calls.push(call);
            return Ok(None);
        }
        let Some(task) = self.tasks.get(id) else {
            return Err(Refusal::NotFound(id.to_string()));
        };
        let own = asker.as_ref().map(|(_, own)| own);
        if let Some(earlier) = self.tasks.by_key(&key) {
            let same_run = task.run.key == key;
            let other = task.run.prompt.as_deref().is_some_and(|running| running != prompt);
            let launched_it = self.tasks.key_of(id, 0).as_ref() == Some(&key);
            if earlier.id != id || launched_it || same_run && other {
                return Err(Refusal::CallRepeated);
            }
            return Ok(Some(self.resumed(&task, own.unwrap_or(&task.run.host))));
        }
        let by = if own.is_some() { ResumedBy::Session } else { ResumedBy::Person };
        if !by.may_resume(task.stage.name()) {
            return Err(match task.status() {
                Status::Resumed => Refusal::BeingResumed,
                status => Refusal::NotCompleted(status),
            });
        }
        // The stop would end the new run too.
        if self.stops.is_pending(id) {
            return Err(Refusal::BeingStopped);
        }
        let session = task.session.clone().ok_or(Refusal::SessionExpired)?;
        self.may_spend(&task.root, &task.realm)?;
        let host = self.host_to_resume(&task, own).ok_or(Refusal::HostUnreachable)?;
        self.work(host.clone(), Action::Probe { session }, Purpose::Resume(id));
        let calls = vec![call];
        self.resuming.insert(id, Resuming { key, calls, asker, host, prompt, collects });
        Ok(None)
    }

    /// The host that goes on with a finished task: the asker's own if it keeps the session, else
    /// the one that ran it last, else any that keeps it.
    fn host_to_resume(&self, task: &Task, own: Option<&HostId>) -> Option<HostId> {
        if own.is_some_and(|own| self.hosts.presence(own) != Presence::Here) {
            return None;
        }
        let keeps = |id: &&HostId| {
            let host = self.hosts.get(id).filter(|host| host.presence == Presence::Here);
            host.is_some_and(|host| host.place == task.place)
        };
        let known = own.into_iter().chain([&task.run.host]).find(keeps);
        let folder = Folder::of(task);
        let there = || self.hosts.here_in(&folder).chain(self.hosts.here_at(&folder.place)).next();
        known.or_else(there).cloned()
    }

    pub(crate) fn resume_probed(&mut self, id: TaskId, found: Result<Finding, HostError>) {
        let Some(resuming) = self.resuming.remove(&id) else { return };
        let refusal = match found {
            Ok(_) => None,
            Err(HostError::Gone) => Some(Refusal::SessionExpired),
            Err(HostError::Rejected { why }) => Some(Refusal::NotStarted(why)),
            Err(HostError::Unreachable | HostError::Busy) => Some(Refusal::HostUnreachable),
        };
        // Either host may have ended before the answer was read.
        let ended = |host: &HostId| self.hosts.presence(host) == Presence::Gone;
        let own = resuming.asker.as_ref().map(|(_, own)| own);
        let gone = ended(&resuming.host) || own.is_some_and(ended);
        let refusal = refusal.or(gone.then_some(Refusal::HostUnreachable));
        let asker = resuming.asker.as_ref().map(|(asker, _)| asker);
        // Others may have gone on while the host was asked.
        let over_budget =
            || self.tasks.get(id).and_then(|task| self.may_spend(&task.root, &task.realm).err());
        let refusal = refusal.or_else(|| self.may_ask(asker?).err());
        match refusal.or_else(over_budget) {
            Some(refusal) => self.refuse(resuming.calls, &refusal),
            None => self.accept_resume(id, resuming),
        }
    }

    fn accept_resume(&mut self, id: TaskId, resuming: Resuming) {
        let Resuming { key, calls, asker, host, prompt, collects } = resuming;
        let Some(task) = self.tasks.get(id) else {
            return self.refuse(calls, &Refusal::NotFound(id.to_string()));
        };
        let by = if asker.is_some() { ResumedBy::Session } else { ResumedBy::Person };
        let (number, from) = (task.run.number + 1, task.stage.name());
        let (realm, earlier) = (task.realm.clone(), task.run.key.clone());
        // Whoever launched it is told what a person has it do.
        let (asker, own) = asker.unwrap_or_else(|| (task.parent.clone(), host.clone()));
        let asker = self.parent_known(&asker, &realm, &own);
        let run = self.new_run(number, asker.clone(), key, host, prompt);
        self.tasks.change(id, |task| {
            task.run = Run { asked: task.run.asked.closed(), ..run };
            task.stage = Stage::Queued;
            task.retrieved = None;
        });
        self.tasks.remember_call(id, earlier);
        self.leaving.remove(&id);
        self.rejoin_waits(id);
        let Some(task) = self.tasks.get(id).map(Cow::into_owned) else { return };
        self.hosts.enlist(&task);
        let answer = self.resumed(&task, &own);
        self.save(Change::Resumed { task, from, by });
        for call in calls {
            self.answer(call, answer.clone());
        }
        if collects {
            self.lease(id, number, Some(&asker));
        }
        self.tend_run(id);
    }
}
