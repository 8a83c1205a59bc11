//! The asks that are answered at once from what is known: output, cancel, clear; and a person's
//! reply to a helper. Waiting is in `waits.rs`, and what anybody sees of a task in `views.rs`.

mod views;
pub(crate) mod waits;

use std::collections::BTreeSet;

use legwork_protocol::api::{Answer, Reply};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::view::ResultView;
use legwork_protocol::{CallId, QuestionId, Refusal, TaskId};

use crate::engine::{Answered, Engine, Purpose};
use crate::input::Caller;
use crate::record::{About, Change, Forget, Note};
use crate::run::finish::{Halt, Notify};
use crate::task::{Outcome, Stage, Task};
use crate::text::words;
use crate::timers::Timer;
use crate::work::{Action, Finding, HostError};

impl Engine {
    /// The task that a caller means. A session sees the tasks of its place, a person all.
    pub(crate) fn find(&self, caller: &Caller, name: &str) -> Result<&Task, Refusal> {
        let not_found = || Refusal::NotFound(name.to_owned());
        let id: TaskId = name.trim().parse().map_err(|_| not_found())?;
        let task = self.tasks.get(id).ok_or_else(not_found)?;
        match caller {
            Caller::Person => Ok(task),
            Caller::Session { host, .. } => {
                let place = self.hosts.get(host).map(|host| &host.place);
                if place == Some(&task.realm) { Ok(task) } else { Err(not_found()) }
            }
        }
    }

    /// The lifetime is that of the caller's host, which may not be the run's.
    pub(crate) fn launched(&self, task: &Task, lifetime: HostLifetime) -> Answer {
        Answer::Launched { task: Box::new(self.view_of(task, self.now)), lifetime }
    }

    pub(crate) fn resumed(&self, task: &Task, lifetime: HostLifetime) -> Answer {
        Answer::Resumed { task: Box::new(self.view_of(task, self.now)), lifetime }
    }

    pub(crate) fn output(&mut self, caller: &Caller, name: &str, offset: u64) -> Answered {
        let id = self.find(caller, name)?.id;
        let now = self.now;
        if let Some(task) = self.tasks.kept_mut(id) {
            let (end, first) = (task.notice(About::End), task.retrieved.is_none());
            task.retrieved.get_or_insert(now);
            if first {
                self.save(Change::Retrieved { task: id, at: now });
            }
            if let Caller::Session { session, .. } = caller {
                self.withdraw_end(end, session);
            }
        }
        let task = self.view(name, now)?;
        let output = ResultView { task, offset, text: None, next: None };
        Ok(Some(Answer::Output(Box::new(output))))
    }

    pub(crate) fn cancel(&mut self, caller: &Caller, name: &str) -> Answered {
        let task = self.find(caller, name)?;
        if task.is_finished() {
            return Err(Refusal::CannotCancel(task.status()));
        }
        let (notify, why) = match caller {
            Caller::Session { session, .. } if *session == task.run.asker => {
                (Notify::No, words::CANCELLED_BY_PARENT)
            }
            Caller::Session { .. } => (Notify::Yes, words::CANCELLED_BY_SESSION),
            Caller::Person => (Notify::Yes, words::CANCELLED_BY_PERSON),
        };
        let (id, stopping) = (task.id, task.stage != Stage::Queued);
        self.finish(id, Outcome::Cancelled, why.to_owned(), notify, Halt::Needed);
        let (task, told) = (Box::new(self.view(name, self.now)?), notify == Notify::Yes);
        Ok(Some(Answer::Cancelled { task, stopping, told }))
    }

    pub(crate) fn clear(&mut self, caller: &Caller) -> Answered {
        let Caller::Session { session, .. } = caller else { return Err(Refusal::NotASession) };
        let (tasks, unfinished) = self.forget_family(session, Forget::Cleared);
        Ok(Some(Answer::Cleared { tasks, unfinished }))
    }

    /// Forgets the tasks that a person names; ones that are not there any more are no matter.
    pub(crate) fn forget_named(&mut self, caller: &Caller, names: &[String]) -> Answered {
        let named = names.iter().filter_map(|name| self.find(caller, name).ok());
        let tasks: BTreeSet<TaskId> = named.map(|task| task.id).collect();
        let unfinished = tasks.iter().filter(|id| self.tasks.live(**id).is_some()).count();
        for id in &tasks {
            self.forget(*id, Forget::Cleared);
        }
        Ok(Some(Answer::Cleared { tasks: tasks.len(), unfinished }))
    }

    /// Forgets a task with everything that belongs to it. Its session is stopped if it may be at
    /// work, and whoever waits for it is answered.
    pub(crate) fn forget(&mut self, id: TaskId, why: Forget) {
        let Some(task) = self.tasks.get(id).cloned() else { return };
        if !task.is_finished() {
            self.hosts.release(&task);
            self.request_stop(&task);
            self.timers.clear(&Timer::Run(id));
        }
        self.forget_notices(id);
        let volatile = self.tasks.remove(id).unwrap_or_default();
        self.save(Change::Forgotten { task: id, why });
        self.refuse(volatile.callers, &Refusal::NotStarted(words::CLEARED.to_owned()));
        self.end_waits(id);
        self.soon(Timer::Gather(task.run.asker));
        self.soon(Timer::Gather(task.parent));
        self.soon(Timer::Start(task.run.host));
    }

    pub(crate) fn reply(&mut self, call: CallId, question: QuestionId, reply: Reply) -> Answered {
        let asked = self.tasks.unfinished().find_map(|live| {
            let kind = live.volatile.questions.get(&question)?.kind;
            let session = live.task.session.clone()?;
            Some((live.task.id, live.task.run.host.clone(), session, kind))
        });
        let unknown = || Refusal::NoSuchQuestion(question.as_str().to_owned());
        let (id, host, session, kind) = asked.ok_or_else(unknown)?;
        let purpose = Purpose::Reply(call, id, question.clone(), reply.clone());
        self.work(host, Action::Answer { session, question, kind, reply }, purpose);
        Ok(None)
    }

    pub(crate) fn replied(
        &mut self,
        call: CallId,
        id: TaskId,
        (question, reply): (&QuestionId, Reply),
        found: Result<Finding, HostError>,
    ) {
        if let (Ok(_), Some(run)) = (&found, self.tasks.get(id).map(|task| task.run.number)) {
            self.save(Change::Noted { task: id, run, note: Note::Answered(reply) });
        }
        if matches!(found, Ok(_) | Err(HostError::Gone)) {
            self.question_closed(id, question);
        }
        let refusal = match found {
            Ok(_) => return self.answer(call, Answer::Replied),
            Err(HostError::Gone) => Refusal::NoSuchQuestion(question.as_str().to_owned()),
            Err(HostError::Rejected { why }) => Refusal::NotDone(why),
            Err(HostError::Unreachable | HostError::Busy) => Refusal::HostUnreachable,
        };
        self.refuse(vec![call], &refusal);
    }
}
