//! Helpers that wait for a person.

use legwork_protocol::limits::{QUESTIONS_MAX_OPEN, QUESTIONS_MAX_TOLD};
use legwork_protocol::{QuestionId, TaskId};

use crate::engine::Engine;
use crate::record::{About, Change, Note};
use crate::tasks::Live;
use crate::text::notices::question_headline;
use crate::text::words;
use crate::work::Question;

impl Engine {
    /// These are the helper's open questions, and no others.
    pub(super) fn apply_questions(&mut self, id: TaskId, open: &[Question]) {
        let Some(Live { volatile, .. }) = self.tasks.unfinished_mut(id) else { return };
        let known = volatile.questions.keys();
        let answered = known.filter(|id| !open.iter().any(|question| question.id == **id));
        for question in answered.cloned().collect::<Vec<_>>() {
            self.question_closed(id, &question);
        }
        for question in open {
            self.question_open(id, question.clone());
        }
    }

    /// A helper waits for a person. Its asker is told once, however often we hear of it.
    pub(crate) fn question_open(&mut self, id: TaskId, question: Question) {
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        if volatile.questions.len() >= QUESTIONS_MAX_OPEN {
            return;
        }
        let since = volatile.questions.get(&question.id).map_or(self.now, |known| known.since);
        let question = question.view(since);
        volatile.questions.insert(question.id.clone(), question.clone());
        let told = task.run.asked.len() as u32;
        if task.run.asked.contains(&question.id) || told >= QUESTIONS_MAX_TOLD {
            return;
        }
        task.run.asked.push(question.id.clone());
        let (task, from) = (task.clone(), task.stage.name());
        let (run, asked) = (task.run.number, Note::Asked(words::question(&question)));
        self.save(Change::Moved { task, from });
        self.save(Change::Noted { task: id, run, note: asked });
        let about = About::Question(told);
        self.enqueue(id, about, |task| question_headline(task, &question));
    }

    pub(crate) fn question_closed(&mut self, id: TaskId, question: &QuestionId) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.live_mut(id) else { return };
        if volatile.questions.remove(question).is_none() {
            return;
        }
        volatile.activity.since = now;
        let number = task.run.asked.iter().position(|asked| asked == question);
        if let Some(notice) = number.map(|number| task.notice(About::Question(number as u32))) {
            self.withdraw(notice);
        }
        self.arm(id);
    }
}
