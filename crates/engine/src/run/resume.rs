//! How a resume is accepted: once the task's session was found. Before that nothing is saved, and a
//! refusal leaves nothing behind.

use legwork_protocol::{CallId, CallKey, HostId, Refusal, SessionId, Status, TaskId};

use super::task::{Stage, Task};
use crate::engine::{Answered, Engine, Purpose};
use crate::hosts::Presence;
use crate::input::Caller;
use crate::record::Change;
use crate::work::{Action, Finding, HostError};

#[derive(Debug)]
pub(crate) struct Resuming {
    pub key: CallKey,
    pub calls: Vec<CallId>,
    /// The host that the asker calls through.
    pub own: HostId,
    /// The host that is to do it.
    pub host: HostId,
    pub asker: SessionId,
    pub prompt: String,
}

impl Engine {
    pub(crate) fn resume(
        &mut self,
        call: CallId,
        caller: Caller,
        name: &str,
        prompt: String,
    ) -> Answered {
        let id = self.find(&caller, name)?.id;
        let Caller::Session { host: own, session: asker, key, .. } = caller else {
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
            return Ok(Some(self.resumed(task, &own)));
        }
        match (task.status(), task.session.clone()) {
            (Status::Completed, Some(session)) => {
                self.may_spend(&task.root)?;
                let host = self.host_to_resume(task, &own).ok_or(Refusal::HostUnreachable)?;
                self.work(host.clone(), Action::Probe { session }, Purpose::Resume(id));
                let calls = vec![call];
                let resuming = Resuming { key, calls, own, host, asker, prompt };
                self.resuming.insert(id, resuming);
                Ok(None)
            }
            (Status::Resumed, _) => Err(Refusal::BeingResumed),
            (Status::Completed, None) => Err(Refusal::SessionExpired),
            (status, _) => Err(Refusal::NotCompleted(status)),
        }
    }

    /// The host that goes on with a finished task: the asker's own if it keeps the session, else
    /// the one that ran it last, else any that keeps it.
    fn host_to_resume(&self, task: &Task, own: &HostId) -> Option<HostId> {
        if self.hosts.presence(own) != Presence::Here {
            return None;
        }
        let keeps = |id: &&HostId| {
            let host = self.hosts.get(id).filter(|host| host.presence == Presence::Here);
            host.is_some_and(|host| host.place == task.place)
        };
        let known = [own, &task.run.host].into_iter().find(keeps);
        known.or_else(|| self.hosts.here_at(&task.place).next()).cloned()
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
        let gone = ended(&resuming.host) || ended(&resuming.own);
        let refusal = refusal.or(gone.then_some(Refusal::HostUnreachable));
        // Others may have gone on while the host was asked.
        let over_budget = || self.tasks.get(id).and_then(|task| self.may_spend(&task.root).err());
        let refusal = refusal.or_else(|| self.may_ask(&resuming.asker).err());
        match refusal.or_else(over_budget) {
            Some(refusal) => self.refuse(resuming.calls, &refusal),
            None => self.accept_resume(id, resuming),
        }
    }

    fn accept_resume(&mut self, id: TaskId, resuming: Resuming) {
        let Resuming { key, calls, own, host, asker, prompt } = resuming;
        let Some(task) = self.tasks.get(id) else {
            return self.refuse(calls, &Refusal::NotFound(id.to_string()));
        };
        let number = task.run.number + 1;
        let (realm, earlier) = (task.realm.clone(), task.run.key.clone());
        let asker = self.parent_known(&asker, &realm, &own);
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
        let answer = self.resumed(&task, &own);
        self.save(Change::Resumed { task });
        for call in calls {
            self.answer(call, answer.clone());
        }
        self.tend_run(id);
    }
}
