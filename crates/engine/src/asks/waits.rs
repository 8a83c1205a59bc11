//! Waiting: an answer that is postponed until the tasks it names, or the first of them, are
//! finished or its time is up. Not saved: a caller whose daemon was restarted asks again.

use std::collections::BTreeSet;

use legwork_protocol::api::{Answer, Awaited};
use legwork_protocol::limits::{BLOCK_MAX_MS, KEEP_AWAKE_EVERY_MS};
use legwork_protocol::{CallId, SessionId, TaskId, Time};

use crate::engine::{Answered, Engine};
use crate::input::{Caller, Progress};
use crate::timers::Timer;

#[derive(Debug)]
pub(crate) struct Wait {
    /// The ids as the caller wrote them.
    names: Vec<String>,
    /// All of them that are tasks.
    tasks: BTreeSet<TaskId>,
    /// Which of those are not finished yet.
    left: BTreeSet<TaskId>,
    /// Whether one that is finished is enough.
    any: bool,
    caller: Caller,
    since: Time,
    cut: bool,
}

impl Wait {
    /// The session that is blocked; a person is none.
    fn session(&self) -> Option<&SessionId> {
        self.caller.session()
    }

    fn is_over(&self) -> bool {
        self.left.is_empty() || self.any && self.left.len() < self.tasks.len()
    }
}

impl Engine {
    /// Whether the session is blocked on the task, so that its notice is held.
    pub(crate) fn holds_notice(&self, session: &SessionId, task: TaskId) -> bool {
        let blocked = |wait: &Wait| wait.session() == Some(session) && wait.tasks.contains(&task);
        self.waits.values().any(blocked)
    }

    pub(crate) fn wait(
        &mut self,
        call: CallId,
        caller: &Caller,
        (named, any): (&[String], bool),
        timeout_ms: u64,
    ) -> Answered {
        let cut = timeout_ms > BLOCK_MAX_MS;
        let timeout_ms = timeout_ms.min(BLOCK_MAX_MS);
        let mut names: Vec<String> = Vec::new();
        for name in named.iter().map(|name| name.trim()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let known = || names.iter().filter_map(|name| self.find(caller, name).ok());
        let tasks = known().map(|task| task.id).collect();
        let left = known().filter(|task| !task.is_finished()).map(|task| task.id).collect();
        let wait = Wait { names, tasks, left, any, caller: caller.clone(), since: self.now, cut };
        if wait.is_over() || timeout_ms == 0 {
            return Ok(Some(self.summary(&wait)));
        }
        self.waits.insert(call, wait);
        self.timers.set(Timer::Wait(call), self.now.plus(timeout_ms));
        self.timers.set(Timer::Awake(call), self.now.plus(KEEP_AWAKE_EVERY_MS));
        Ok(None)
    }

    fn summary(&self, wait: &Wait) -> Answer {
        let tasks = wait.names.iter().map(|name| {
            let task = self.find(&wait.caller, name).ok().map(|task| self.view_of(&task, self.now));
            Awaited { name: name.clone(), task }
        });
        Answer::Waited { tasks: tasks.collect(), any: wait.any, cut: wait.cut }
    }

    /// The task is finished or forgotten; callers that waited for nothing else are answered.
    pub(crate) fn end_waits(&mut self, id: TaskId) {
        let is_forgotten = self.tasks.get(id).is_none();
        let waiting = self.waits.iter_mut().filter_map(|(call, wait)| {
            let waited = wait.left.remove(&id);
            // Who waits for any goes on waiting for the others.
            if is_forgotten {
                wait.tasks.remove(&id);
            }
            let next = if wait.is_over() { Timer::Wait(*call) } else { Timer::Awake(*call) };
            waited.then_some(next)
        });
        for next in waiting.collect::<Vec<_>>() {
            self.soon(next);
        }
    }

    /// The task has a new run: who waits for it and others waits for that too.
    pub(crate) fn rejoin_waits(&mut self, id: TaskId) {
        for wait in self.waits.values_mut().filter(|wait| wait.tasks.contains(&id)) {
            wait.left.insert(id);
        }
    }

    pub(crate) fn wait_over(&mut self, call: CallId) {
        if let Some(wait) = self.unblock(call) {
            let answer = self.summary(&wait);
            self.answer(call, answer);
        }
    }

    /// The waiting ends, and nothing else. Notices that were held for it go out.
    pub(crate) fn unblock(&mut self, call: CallId) -> Option<Wait> {
        self.timers.clear(&Timer::Wait(call));
        self.timers.clear(&Timer::Awake(call));
        let wait = self.waits.remove(&call)?;
        if let Some(session) = wait.session() {
            self.soon(Timer::Gather(session.clone()));
        }
        Some(wait)
    }

    pub(crate) fn keep_awake(&mut self, call: CallId) {
        let Some(wait) = self.waits.get(&call) else { return };
        let waited_ms = self.now.since(wait.since);
        self.say(call, Progress { left: wait.left.len(), waited_ms });
        self.timers.set(Timer::Awake(call), self.now.plus(KEEP_AWAKE_EVERY_MS));
    }
}
