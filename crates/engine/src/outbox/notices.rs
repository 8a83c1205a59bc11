//! Notices: enqueued in the same transaction as what they tell of, and withdrawn when nobody needs
//! them any more.

use legwork_protocol::view::QuestionView;
use legwork_protocol::{SessionId, TaskId};

use crate::engine::Engine;
use crate::record::{About, Change, Notice, NoticeId};
use crate::text::notices as texts;
use crate::timers::Timer;

impl Engine {
    /// Whoever asked for the run is to be told of its end.
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
        let Some(recipient) = self.outbox.recipients.get_mut(&to) else { return };
        recipient.pending.insert(id);
        let notice = Notice { id, to: to.clone(), headline, made: self.now, delivery: None };
        self.save(Change::Enqueued(notice.clone()));
        self.outbox.notices.insert(id, notice);
        self.soon(Timer::Gather(to));
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
        for notice in self.notices_of(id) {
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
        let to = notice.to.clone();
        self.outbox.notices.remove(&id);
        if let Some(recipient) = self.outbox.recipients.get_mut(&to) {
            recipient.pending.remove(&id);
        }
        self.save(Change::Withdrawn(id));
        self.soon(Timer::Gather(to));
    }

    pub(crate) fn notices_of(&self, id: TaskId) -> Vec<NoticeId> {
        let first = NoticeId { task: id, run: 0, about: About::End };
        let all = self.outbox.notices.range(first..);
        all.map(|(notice, _)| *notice).take_while(|notice| notice.task == id).collect()
    }

    /// The task is forgotten: so are its notices, in deliveries too.
    pub(crate) fn forget_notices(&mut self, id: TaskId) {
        for notice in self.notices_of(id) {
            let Some(notice) = self.outbox.notices.remove(&notice) else { continue };
            if let Some(recipient) = self.outbox.recipients.get_mut(&notice.to) {
                recipient.pending.remove(&notice.id);
            }
            let Some(delivery) = notice.delivery else { continue };
            let Some(attempt) = self.outbox.deliveries.get_mut(&delivery) else { continue };
            attempt.delivery.notices.retain(|held| *held != notice.id);
            if attempt.delivery.notices.is_empty() {
                self.drop_delivery(&delivery);
            }
        }
    }
}
