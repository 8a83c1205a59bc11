//! Notices: enqueued in the same transaction as what they tell of, and withdrawn when nobody needs
//! them any more.

use legwork_protocol::view::QuestionView;
use legwork_protocol::{SessionId, TaskId};

use crate::engine::Engine;
use crate::record::{About, Change, Notice, NoticeId};
use crate::text::notices as texts;
use crate::timers::Timer;

impl Engine {
    pub(crate) fn enqueue_end(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(id) else { return };
        let to = task.run.asker.clone();
        let headline = texts::end_headline(task);
        let notice = NoticeId { task: id, run: task.run.number, about: About::End };
        self.enqueue(notice, to, headline);
    }

    pub(crate) fn enqueue_question(&mut self, id: TaskId, number: u32, question: &QuestionView) {
        let Some(task) = self.tasks.get(id) else { return };
        let to = task.run.asker.clone();
        let headline = texts::question_headline(task, question);
        let about = About::Question(number);
        self.enqueue(NoticeId { task: id, run: task.run.number, about }, to, headline);
    }

    fn enqueue(&mut self, id: NoticeId, to: SessionId, headline: String) {
        // A session that was deleted is told nothing.
        if self.outbox.recipients.contains_key(&to) {
            let notice = Notice { id, to: to.clone(), headline, made: self.now, delivery: None };
            self.save(Change::Enqueued(notice.clone()));
            self.outbox.put(notice);
            self.soon(Timer::Gather(to));
        }
    }

    /// The session has read what the notice would tell.
    pub(crate) fn withdraw_end(&mut self, id: TaskId, run: u32, reader: &SessionId) {
        let notice = NoticeId { task: id, run, about: About::End };
        if self.outbox.notices.get(&notice).is_some_and(|notice| notice.to == *reader) {
            self.withdraw(notice);
        }
    }

    pub(crate) fn withdraw_question(&mut self, id: TaskId, number: u32) {
        if let Some(task) = self.tasks.get(id) {
            let about = About::Question(number);
            self.withdraw(NoticeId { task: id, run: task.run.number, about });
        }
    }

    /// A finished run asks nothing any more.
    pub(crate) fn withdraw_questions(&mut self, id: TaskId) {
        for notice in self.outbox.of_task(id) {
            if notice.about != About::End {
                self.withdraw(notice);
            }
        }
    }

    /// Takes back a notice, unless it may be on its way.
    pub(crate) fn withdraw(&mut self, id: NoticeId) {
        let Some(notice) = self.outbox.notices.get(&id) else { return };
        if let Some(delivery) = notice.delivery.clone() {
            return self.unwanted(&delivery, id);
        }
        self.save(Change::Withdrawn(id));
        if let Some(Notice { to, .. }) = self.outbox.take(id) {
            self.soon(Timer::Gather(to));
        }
    }

    /// The task is forgotten: so are its notices, in deliveries too.
    pub(crate) fn forget_notices(&mut self, id: TaskId) {
        for id in self.outbox.of_task(id) {
            let Some(delivery) = self.outbox.take(id).and_then(|notice| notice.delivery) else {
                continue;
            };
            let Some(attempt) = self.outbox.attempt_mut(&delivery) else { continue };
            attempt.delivery.notices.retain(|held| *held != id);
            if attempt.delivery.notices.is_empty() {
                self.drop_delivery(&delivery);
            }
        }
    }
}
