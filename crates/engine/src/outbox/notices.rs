//! Notices: enqueued in the same transaction as what they tell of, and withdrawn when nobody needs
//! them any more.

use legwork_protocol::{SessionId, TaskId};

use crate::engine::Engine;
use crate::record::{About, Change, Forget, Notice, NoticeId};
use crate::task::Task;
use crate::text::notices::unread_headline;
use crate::timers::Timer;

impl Engine {
    /// Whoever asked for the run is to be told something.
    pub(crate) fn enqueue(
        &mut self,
        id: TaskId,
        about: About,
        headline: impl FnOnce(&Task) -> String,
    ) {
        let Some(task) = self.tasks.get(id) else { return };
        let (id, to) = (task.notice(about), task.run.asker.clone());
        // A session that was deleted is told nothing.
        if self.outbox.recipients.contains_key(&to) {
            let headline = headline(&task);
            let notice = Notice { id, to: to.clone(), headline, made: self.now, delivery: None };
            self.save(Change::Enqueued(notice.clone()));
            self.outbox.put(notice);
            self.soon(Timer::Gather(to));
        }
    }

    /// The session has read what the notice would tell.
    pub(crate) fn withdraw_end(&mut self, end: NoticeId, reader: &SessionId) {
        if self.outbox.get(&end).is_some_and(|notice| notice.to == *reader) {
            self.withdraw(end);
        }
    }

    /// A finished run asks nothing any more.
    pub(crate) fn withdraw_questions(&mut self, id: TaskId) {
        for notice in self.outbox.of_task(id) {
            if notice.about.is_question() {
                self.withdraw(notice);
            }
        }
    }

    /// What is told now waits in the session's history. It is to have a turn that reads it when
    /// none of its tasks is unfinished any more, however the last one goes.
    pub(super) fn owe_turn(&mut self, to: &SessionId, told: &[NoticeId]) {
        for NoticeId { task, run, about } in told.iter().copied() {
            let id = NoticeId { task, run, about: About::Unread };
            let Some(task) = self.tasks.get(task).filter(|_| about == About::End) else { continue };
            let (to, headline) = (to.clone(), unread_headline(&task));
            let notice = Notice { id, to, headline, made: self.now, delivery: None };
            self.save(Change::Enqueued(notice.clone()));
            self.outbox.put(notice);
        }
    }

    /// The session has a turn, which reads what it was told before.
    pub(crate) fn turn_begins(&mut self, session: &SessionId) {
        let Some(recipient) = self.outbox.recipients.get_mut(session) else { return };
        recipient.owed = false;
        let unread = recipient.pending.iter().filter(|id| id.about == About::Unread);
        for notice in unread.copied().collect::<Vec<_>>() {
            self.withdraw(notice);
        }
    }

    /// Nobody needs to be told anything about this run any more.
    pub(crate) fn withdraw_run(&mut self, task: TaskId, run: u32) {
        for notice in self.outbox.of_task(task).into_iter().filter(|id| id.run == run) {
            self.withdraw(notice);
        }
    }

    /// Takes back a notice, unless it may be on its way.
    pub(crate) fn withdraw(&mut self, id: NoticeId) {
        if let Some(Notice { to, .. }) = self.outbox.pulled.remove(&id) {
            self.save(Change::Withdrawn(id));
            return self.soon(Timer::Gather(to));
        }
        let Some(notice) = self.outbox.notices.get(&id) else { return };
        if let Some(delivery) = notice.delivery.clone() {
            return self.unwanted(&delivery, id);
        }
        self.save(Change::Withdrawn(id));
        if let Some(Notice { to, .. }) = self.outbox.take(id) {
            self.soon(Timer::Gather(to));
        }
        self.leave_if_told(id.task);
    }

    /// A task that was cleared and had something to tell yet is forgotten when that is told.
    pub(super) fn leave_if_told(&mut self, id: TaskId) {
        let notices = self.outbox.of_task(id);
        let is_on_its_way = |id: &NoticeId| self.outbox.notices.contains_key(id);
        if self.leaving.contains(&id) && !notices.iter().any(is_on_its_way) {
            self.forget(id, Forget::Cleared);
        }
    }

    /// Whoever was told the end of this task and had no turn for it yet.
    pub(crate) fn unread_by(&self, id: TaskId) -> Option<SessionId> {
        let notices = self.outbox.of_task(id);
        let unread = notices.into_iter().find(|id| id.about == About::Unread)?;
        self.outbox.notices.get(&unread).map(|notice| notice.to.clone())
    }

    /// The task is forgotten: so are its notices, in deliveries too.
    pub(crate) fn forget_notices(&mut self, id: TaskId) {
        for id in self.outbox.of_task(id) {
            self.outbox.pulled.remove(&id);
            let Some(notice) = self.outbox.take(id) else { continue };
            if let Some(recipient) = self.outbox.recipients.get_mut(&notice.to) {
                recipient.owed |= id.about == About::Unread;
            }
            let Some(delivery) = notice.delivery else { continue };
            let Some(attempt) = self.outbox.attempt_mut(&delivery) else { continue };
            attempt.delivery.notices.retain(|held| *held != id);
            if attempt.delivery.notices.is_empty() {
                self.drop_delivery(&delivery);
            }
        }
    }
}
