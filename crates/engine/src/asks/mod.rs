//! The asks that are answered at once from what is known: output, cancel, clear. Waiting is in
//! `waits.rs`, and what anybody sees of a task in `views.rs`.

pub(crate) mod collect;
mod views;
pub(crate) mod waits;

use std::borrow::Cow;
use std::collections::BTreeSet;

use legwork_protocol::api::{Answer, Told};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::view::ResultView;
use legwork_protocol::{HostId, Interrupted, Refusal, SessionId, TaskId, Time};

use crate::engine::{Answered, Engine};
use crate::input::Caller;
use crate::record::{About, Change, Forget};
use crate::run::finish::{Halt, Notify};
use crate::task::{Outcome, Stage, Task};
use crate::tasks::Part;
use crate::text::words;
use crate::timers::Timer;

impl Engine {
    /// The task that a caller means. A session sees the tasks of its place, a person all.
    pub(crate) fn find(&self, caller: &Caller, name: &str) -> Result<Cow<'_, Task>, Refusal> {
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

    /// The tasks of other sessions that this one has gone on with, those of them that are in this
    /// part of a listing, in no order.
    pub(crate) fn taken_over_by(
        &self,
        caller: &Caller,
        part: Part,
    ) -> impl Iterator<Item = Cow<'_, Task>> {
        let own = caller.session().cloned();
        let named: BTreeSet<TaskId> = match caller {
            Caller::Session { taken_over, .. } => taken_over.iter().copied().collect(),
            Caller::Person => BTreeSet::new(),
        };
        let tasks = named.into_iter().filter_map(|id| self.tasks.get(id));
        tasks.filter(move |task| {
            Some(&task.parent) != own.as_ref() && part.before.is_none_or(|before| task.seq < before)
        })
    }

    pub(crate) fn launched(&self, task: &Task, own: &HostId) -> Answer {
        Answer::Launched { task: Box::new(self.view_of(task, self.now)), told: self.told(own) }
    }

    pub(crate) fn resumed(&self, task: &Task, own: &HostId) -> Answer {
        Answer::Resumed { task: Box::new(self.view_of(task, self.now)), told: self.told(own) }
    }

    /// How a caller whose own host this is hears of the end.
    fn told(&self, own: &HostId) -> Told {
        let goes_on = self.settings.headless && self.settings.interrupted == Interrupted::Continue;
        match self.hosts.lifetime(own) {
            HostLifetime::Interactive | HostLifetime::Headless => Told::Here,
            HostLifetime::OneShot if goes_on => Told::InHistory,
            HostLifetime::OneShot => Told::BeforeEnd,
        }
    }

    pub(crate) fn output(&mut self, caller: &Caller, name: &str, offset: u64) -> Answered {
        let found = self.find(caller, name)?;
        let (id, end, is_finished) = (found.id, found.notice(About::End), found.is_finished());
        let now = self.now;
        if is_finished {
            if self.tasks.retrieve(id, now) {
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
            Caller::Session { session, taken_over, .. }
                if *session == task.run.asker || taken_over.contains(&task.id) =>
            {
                (Notify::No, words::CANCELLED_BY_PARENT)
            }
            Caller::Session { .. } => (Notify::Yes, words::CANCELLED_BY_SESSION),
            Caller::Person => (Notify::Yes, words::CANCELLED_BY_PERSON),
        };
        let (id, stopping) = (task.id, task.stage != Stage::Queued);
        let noted = self.collects.is_leased(id, task.run.number);
        self.finish(id, Outcome::Cancelled, why.to_owned(), notify, Halt::Needed);
        let (task, told) = (Box::new(self.view(name, self.now)?), notify == Notify::Yes);
        Ok(Some(Answer::Cancelled { task, stopping, told, noted }))
    }

    pub(crate) fn clear(&mut self, caller: &Caller) -> Answered {
        let Caller::Session { session, .. } = caller else { return Err(Refusal::NotASession) };
        let (mut tasks, mut unfinished) = self.forget_family(session, Forget::Cleared);
        let taken_over = self.taken_over_by(caller, Part::ALL);
        for (id, is_finished) in
            taken_over.map(|task| (task.id, task.is_finished())).collect::<Vec<_>>()
        {
            tasks += 1;
            unfinished += usize::from(!is_finished);
            if !self.stays_until_told(id) {
                self.forget(id, Forget::Cleared);
            }
        }
        Ok(Some(Answer::Cleared { tasks, unfinished }))
    }

    /// Forgets the tasks that a person names; ones that are not there any more are no matter.
    pub(crate) fn forget_named(&mut self, caller: &Caller, names: &[String]) -> Answered {
        let named = names.iter().filter_map(|name| self.find(caller, name).ok());
        let tasks: BTreeSet<TaskId> = named.map(|task| task.id).collect();
        let unfinished = tasks.iter().filter(|id| self.tasks.live(**id).is_some()).count();
        let count = tasks.len();
        self.forget_all(tasks);
        Ok(Some(Answer::Cleared { tasks: count, unfinished }))
    }

    /// What a person sees as finished is forgotten; what ended since then, or in that very moment,
    /// is not.
    pub(crate) fn forget_finished(&mut self, caller: &Caller, by: Time) -> Answered {
        if !matches!(caller, Caller::Person) {
            return Err(Refusal::NotASession);
        }
        let (kept, _) = self.tasks.shelf(None, |status| !status.is_unfinished(), Part::ALL);
        let ended = kept.into_iter().filter(|task| task.run.ended.is_some_and(|end| end < by));
        let tasks: BTreeSet<TaskId> = ended.map(|task| task.id).collect();
        let count = tasks.len();
        self.forget_all(tasks);
        Ok(Some(Answer::Cleared { tasks: count, unfinished: 0 }))
    }

    /// Forgets the tasks of a person's choice, unfinished ones first: they tell nobody that others
    /// are unread.
    fn forget_all(&mut self, tasks: BTreeSet<TaskId>) {
        let (unfinished, finished): (Vec<_>, Vec<_>) =
            tasks.into_iter().partition(|id| self.tasks.live(*id).is_some());
        let chosen = unfinished.into_iter().chain(finished);
        let gone = chosen.filter(|id| !self.stays_until_told(*id) && self.let_go(*id)).collect();
        let gone: Vec<TaskId> = gone;
        match gone.as_slice() {
            [] => {}
            [task] => self.save(Change::Forgotten { task: *task, why: Forget::Cleared }),
            _ => self.save(Change::Cleared { tasks: gone }),
        }
    }

    /// Whether the task is kept until a session that is owed a turn for unread results has it,
    /// because no other task is left that would give it one. An unfinished task is called off, and
    /// the end that the session is told starts the turn.
    fn stays_until_told(&mut self, id: TaskId) -> bool {
        if self.leaving.contains(&id) {
            return true;
        }
        let asker = self.tasks.live(id).map(|live| live.task.run.asker.clone());
        let is_owed = |asker: &SessionId| {
            self.outbox.recipients.get(asker).is_some_and(|recipient| recipient.owed)
        };
        let is_finished = asker.is_none();
        let owed = if is_finished { self.unread_by(id) } else { asker.filter(is_owed) };
        let Some(session) = owed else { return false };
        let tells =
            |other: &Task| other.id != id && !other.is_finished() && other.run.asker == session;
        if self.tasks.family(&session).any(|other| tells(&other)) {
            return false;
        }
        if !is_finished {
            let why = words::CANCELLED_BY_PERSON.to_owned();
            self.finish(id, Outcome::Cancelled, why, Notify::Yes, Halt::Needed);
        }
        self.leaving.insert(id);
        true
    }

    /// Forgets a task with everything that belongs to it. Its session is stopped if it may be at
    /// work, and whoever waits for it is answered.
    pub(crate) fn forget(&mut self, id: TaskId, why: Forget) {
        if self.let_go(id) {
            self.save(Change::Forgotten { task: id, why });
        }
    }

    /// Does all of that but save it. Says whether the task was there.
    fn let_go(&mut self, id: TaskId) -> bool {
        let Some(task) = self.tasks.get(id).map(Cow::into_owned) else { return false };
        if !task.is_finished() {
            self.hosts.release(&task);
            self.request_stop(&task);
            self.timers.clear(&Timer::Run(id));
        }
        self.forget_notices(id);
        if !task.is_finished() {
            self.settle_cost(&task);
        }
        self.tasks.remove(id);
        self.leaving.remove(&id);
        self.end_waits(id);
        self.forget_collects(id);
        self.soon(Timer::Gather(task.run.asker));
        self.soon(Timer::Gather(task.parent));
        self.soon(Timer::Start(task.run.host));
        true
    }
}
