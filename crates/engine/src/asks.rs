//! The asks that are answered at once from what is known: output, list, cancel, clear; and a
//! person's reply to a helper.

use std::collections::BTreeSet;

use legwork_protocol::ask::Reply;
use legwork_protocol::limits::LIST_MAX_TASKS;
use legwork_protocol::{CallId, QuestionId, Refusal, Status, TaskId};

use crate::engine::{Answered, Engine, Purpose};
use crate::hosts::Presence;
use crate::input::Caller;
use crate::record::{Change, Forget};
use crate::run::finish::{Halt, Notify};
use crate::task::{Outcome, Task};
use crate::tasks::Live;
use crate::text::fence::Fence;
use crate::text::{Answer, answers, listing, words};
use crate::timers::Timer;
use crate::work::{Action, Finding, HostError};

impl Engine {
    /// The task that a caller means. A session sees the tasks of its place, a person all.
    pub(crate) fn find(&self, caller: &Caller, name: &str) -> Result<TaskId, Refusal> {
        let not_found = || Refusal::NotFound(name.to_owned());
        let id: TaskId = name.trim().parse().map_err(|_| not_found())?;
        let task = self.tasks.get(id).ok_or_else(not_found)?;
        match caller {
            Caller::Person => Ok(id),
            Caller::Session { host, .. } => {
                let place = self.hosts.get(host).map(|host| &host.place);
                if place == Some(&task.realm) { Ok(id) } else { Err(not_found()) }
            }
        }
    }

    pub(crate) fn output(
        &mut self,
        caller: &Caller,
        name: &str,
        offset: u64,
        waits: bool,
        spare: TaskId,
    ) -> Answered {
        let id = self.find(caller, name)?;
        if let Some(live) = self.tasks.live(id) {
            let ahead = self.ahead(&live.task);
            let away = self.hosts.presence(&live.task.run.host) != Presence::Here;
            return Ok(Some(answers::progress(live, ahead, away, self.now, waits)));
        }
        let now = self.now;
        let Some(task) = self.tasks.kept_mut(id) else {
            return Err(Refusal::NotFound(name.to_owned()));
        };
        let first = task.retrieved.is_none();
        task.retrieved.get_or_insert(now);
        let run = task.run.number;
        // Made by dice after the helper wrote.
        let fence = Fence::of(&spare.to_string(), task.run.key.as_str());
        let answer = answers::outcome(task, offset, waits, fence);
        if first {
            self.save(Change::Retrieved { task: id, at: now });
        }
        if let Caller::Session { session, .. } = caller {
            self.withdraw_end(id, run, session);
        }
        Ok(Some(answer))
    }

    pub(crate) fn list(&self, caller: &Caller, status: Option<Status>, all: bool) -> Answer {
        let most = LIST_MAX_TASKS;
        let (tasks, total) = match caller {
            Caller::Session { session, .. } if !all => {
                let wanted = |task: &&Task| status.is_none_or(|status| task.status() == status);
                let tasks: Vec<&Task> = self.tasks.family(session).filter(wanted).collect();
                let total = tasks.len();
                (tasks.into_iter().take(most).collect(), total)
            }
            Caller::Session { host, .. } => match self.hosts.get(host) {
                Some(host) => self.tasks.shelf(Some(&host.place), status, most),
                None => (Vec::new(), 0),
            },
            Caller::Person => self.tasks.shelf(None, status, most),
        };
        let rows = tasks.into_iter().map(|task| {
            let watch = self.tasks.live(task.id).map(|live| &live.watch);
            let away = self.hosts.presence(&task.run.host) != Presence::Here;
            listing::Row { task, watch, ahead: self.ahead(task), away }
        });
        let missing = self.incomplete.then_some(words::SET_ASIDE);
        listing::listing(rows.collect(), total, missing, self.now)
    }

    pub(crate) fn cancel(&mut self, caller: &Caller, name: &str) -> Answered {
        let id = self.find(caller, name)?;
        let Some(live) = self.tasks.live(id) else {
            let status = self.tasks.get(id).map(Task::status);
            return Err(
                status.map_or_else(|| Refusal::NotFound(name.to_owned()), Refusal::CannotCancel)
            );
        };
        let (notify, why) = match caller {
            Caller::Session { session, .. } if *session == live.task.run.asker => {
                (Notify::No, words::CANCELLED_BY_PARENT)
            }
            Caller::Session { .. } => (Notify::Yes, words::CANCELLED_BY_SESSION),
            Caller::Person => (Notify::Yes, words::CANCELLED_BY_PERSON),
        };
        let answer = answers::cancelled(&live.task, notify == Notify::No);
        self.finish(id, Outcome::Cancelled, why.to_owned(), notify, Halt::Needed);
        Ok(Some(answer))
    }

    pub(crate) fn clear(&mut self, caller: &Caller) -> Answered {
        let Caller::Session { session, .. } = caller else { return Err(Refusal::NotASession) };
        let (all, unfinished) = self.forget_family(session, Forget::Cleared);
        Ok(Some(answers::cleared(all, unfinished)))
    }

    /// Forgets the tasks that a person names; ones that are not there any more are no matter.
    pub(crate) fn forget_named(&mut self, caller: &Caller, names: &[String]) -> Answered {
        let named = names.iter().filter_map(|name| self.find(caller, name).ok());
        let tasks: BTreeSet<TaskId> = named.collect();
        let unfinished = tasks.iter().filter(|id| self.tasks.live(**id).is_some()).count();
        for id in &tasks {
            self.forget(*id, Forget::Cleared);
        }
        Ok(Some(answers::cleared(tasks.len(), unfinished)))
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
        let callers = self.tasks.remove(id).and_then(|(_, watch)| watch).map(|watch| watch.callers);
        self.save(Change::Forgotten { task: id, why });
        for call in callers.into_iter().flatten() {
            self.answer(call, Refusal::NotStarted(words::CLEARED.to_owned()));
        }
        self.end_waits(id);
        self.soon(Timer::Gather(task.run.asker));
        self.soon(Timer::Gather(task.parent));
        self.soon(Timer::Start(task.run.host));
    }

    pub(crate) fn reply(&mut self, call: CallId, question: QuestionId, reply: Reply) -> Answered {
        let unknown = || Refusal::NoSuchQuestion(question.as_str().to_owned());
        let asks = |live: &&Live| live.watch.questions.contains_key(&question);
        let task = self.tasks.unfinished().find(asks).map(|live| &live.task);
        let task = task.ok_or_else(unknown)?;
        let session = task.session.clone().ok_or_else(unknown)?;
        let (id, host) = (task.id, task.run.host.clone());
        let action = Action::Answer { session, question: question.clone(), reply };
        self.work(host, action, Purpose::Reply(call, id, question));
        Ok(None)
    }

    pub(crate) fn replied(
        &mut self,
        call: CallId,
        id: TaskId,
        question: &QuestionId,
        found: Result<Finding, HostError>,
    ) {
        match found {
            Ok(_) => {
                self.question_closed(id, question);
                self.answer(call, Answer::done(answers::ANSWERED));
            }
            Err(HostError::Gone) => {
                self.question_closed(id, question);
                self.answer(call, Refusal::NoSuchQuestion(question.as_str().to_owned()));
            }
            Err(HostError::Rejected { why }) => self.answer(call, Refusal::NotDone(why)),
            Err(HostError::Unreachable | HostError::Busy) => {
                self.answer(call, Refusal::HostUnreachable);
            }
        }
    }
}
