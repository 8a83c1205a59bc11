//! Waiting: an answer that is postponed until the tasks it names are finished or its
//! time is up. Not saved: a caller whose daemon was restarted asks again.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::api::{Answer, Awaited};
use legwork_protocol::limits::{BLOCK_MAX_MS, KEEP_AWAKE_EVERY_MS};
use legwork_protocol::{CallId, SessionId, TaskId, Time};

use crate::engine::{Answered, Engine};
use crate::input::{Caller, Progress};
use crate::timers::Timer;

/// A caller who waits.
#[derive(Debug)]
pub(crate) struct Wait {
    /// The ids as the caller wrote them.
    pub names: Vec<String>,
    /// Which of them are not finished yet.
    pub left: BTreeSet<TaskId>,
    /// All of them that are tasks.
    tasks: BTreeSet<TaskId>,
    /// The session that is blocked; a person is none.
    session: Option<SessionId>,
    caller: Caller,
    since: Time,
    cut: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Waits {
    by_call: BTreeMap<CallId, Wait>,
    by_task: BTreeMap<TaskId, BTreeSet<CallId>>,
    /// Tasks whose notices are held, by the session that waits for them.
    held: BTreeMap<(SessionId, TaskId), usize>,
}

impl Waits {
    /// Whether the session is blocked on the task, so that its notice is held.
    pub fn holds(&self, session: &SessionId, task: TaskId) -> bool {
        !self.held.is_empty() && self.held.contains_key(&(session.clone(), task))
    }

    fn insert(&mut self, call: CallId, wait: Wait) {
        for task in &wait.tasks {
            self.by_task.entry(*task).or_default().insert(call);
            if let Some(session) = &wait.session {
                *self.held.entry((session.clone(), *task)).or_default() += 1;
            }
        }
        self.by_call.insert(call, wait);
    }

    fn remove(&mut self, call: CallId) -> Option<Wait> {
        let wait = self.by_call.remove(&call)?;
        for task in &wait.tasks {
            if let Some(calls) = self.by_task.get_mut(task) {
                calls.remove(&call);
                if calls.is_empty() {
                    self.by_task.remove(task);
                }
            }
            if let Some(session) = &wait.session {
                let key = (session.clone(), *task);
                if let Some(count) = self.held.get_mut(&key) {
                    *count -= 1;
                    if *count == 0 {
                        self.held.remove(&key);
                    }
                }
            }
        }
        Some(wait)
    }
}

impl Engine {
    pub(crate) fn wait(
        &mut self,
        call: CallId,
        caller: &Caller,
        named: &[String],
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
        let tasks: BTreeSet<TaskId> =
            names.iter().filter_map(|name| self.find(caller, name).ok()).collect();
        let left: BTreeSet<TaskId> =
            tasks.iter().copied().filter(|id| self.tasks.live(*id).is_some()).collect();
        let session = match caller {
            Caller::Session { session, .. } => Some(session.clone()),
            Caller::Person => None,
        };
        let caller = caller.clone();
        let wait = Wait { names, left, tasks, session, caller, since: self.now, cut };
        if wait.left.is_empty() || timeout_ms == 0 {
            return Ok(Some(self.summary(&wait)));
        }
        self.waits.insert(call, wait);
        self.timers.set(Timer::Wait(call), self.now.plus(timeout_ms));
        self.timers.set(Timer::Awake(call), self.now.plus(KEEP_AWAKE_EVERY_MS));
        Ok(None)
    }

    fn summary(&self, wait: &Wait) -> Answer {
        let tasks = wait.names.iter().map(|name| {
            let task = self.find(&wait.caller, name).ok().and_then(|id| self.tasks.get(id));
            Awaited { name: name.clone(), task: task.map(|task| self.view_of(task, self.now)) }
        });
        Answer::Waited { tasks: tasks.collect(), cut: wait.cut }
    }

    /// The task is finished or forgotten; callers that waited for nothing else are answered.
    pub(crate) fn end_waits(&mut self, id: TaskId) {
        let calls = self.waits.by_task.get(&id).cloned().unwrap_or_default();
        for call in calls {
            let Some(wait) = self.waits.by_call.get_mut(&call) else { continue };
            if !wait.left.remove(&id) {
                continue;
            }
            let next = if wait.left.is_empty() { Timer::Wait(call) } else { Timer::Awake(call) };
            self.soon(next);
        }
    }

    /// The task has a new run: who waits for it and others waits for that too.
    pub(crate) fn rejoin_waits(&mut self, id: TaskId) {
        for call in self.waits.by_task.get(&id).into_iter().flatten() {
            if let Some(wait) = self.waits.by_call.get_mut(call) {
                wait.left.insert(id);
            }
        }
    }

    pub(crate) fn wait_over(&mut self, call: CallId) {
        if let Some(wait) = self.unwait(call) {
            let answer = self.summary(&wait);
            self.answer(call, answer);
            self.release(&wait);
        }
    }

    /// The caller is gone: the waiting ends, and nothing else.
    pub(crate) fn unblock(&mut self, call: CallId) {
        if let Some(wait) = self.unwait(call) {
            self.release(&wait);
        }
    }

    fn unwait(&mut self, call: CallId) -> Option<Wait> {
        self.timers.clear(&Timer::Wait(call));
        self.timers.clear(&Timer::Awake(call));
        self.waits.remove(call)
    }

    /// Notices that were held for a blocked session go out.
    fn release(&mut self, wait: &Wait) {
        if let Some(session) = &wait.session {
            self.soon(Timer::Gather(session.clone()));
        }
    }

    pub(crate) fn keep_awake(&mut self, call: CallId) {
        let Some(wait) = self.waits.by_call.get(&call) else { return };
        let waited_ms = self.now.since(wait.since);
        self.say(call, Progress { left: wait.left.len(), waited_ms });
        self.timers.set(Timer::Awake(call), self.now.plus(KEEP_AWAKE_EVERY_MS));
    }
}
