//! Helpers that wait for a person, and what the person says.

use legwork_protocol::api::{Answer, Reply};
use legwork_protocol::limits::{QUESTIONS_MAX_NUMBERED, QUESTIONS_MAX_OPEN, QUESTIONS_MAX_TOLD};
use legwork_protocol::view::{QuestionKind, QuestionView};
use legwork_protocol::{CallId, QuestionId, Refusal, TaskId, Time};

use super::task::Task;
use crate::engine::{Answered, Engine, Purpose};
use crate::record::{About, Change, Settled};
use crate::tasks::Live;
use crate::text::notices::question_headline;
use crate::work::{Action, Finding, HostError, Question};

impl Engine {
    /// These were the helper's open questions, and no others, when the host was asked. A question
    /// that came while the answer was on its way is not in it and is not settled.
    pub(super) fn apply_questions(&mut self, id: TaskId, open: &[Question], began: Time) {
        let Some(Live { volatile, .. }) = self.tasks.unfinished_mut(id) else { return };
        let known = volatile.questions.values().filter(|question| question.since < began);
        let answered = known.filter(|known| !open.iter().any(|question| question.id == known.id));
        let answered: Vec<QuestionId> = answered.map(|question| question.id.clone()).collect();
        for question in answered {
            self.question_closed(id, &question, Settled::InHost(None));
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
        let asked = &mut task.run.asked;
        let earlier = asked.ids.len() as u32;
        let is_new = !asked.ids.contains(&question.id) && earlier < QUESTIONS_MAX_NUMBERED;
        if is_new {
            asked.ids.push(question.id.clone());
        }
        let number = asked.number(&question.id);
        let question = question.view(number, since);
        volatile.questions.insert(question.id.clone(), question.clone());
        if !is_new {
            return self.collected_task_changed(id);
        }
        let (task, from) = (task.clone(), task.stage.name());
        let run = task.run.number;
        self.save(Change::Moved { task, from });
        self.save(Change::Asked { task: id, run, question: question.clone() });
        if earlier < QUESTIONS_MAX_TOLD {
            let about = About::Question(earlier);
            self.enqueue(id, about, |task| question_headline(task, &question));
        }
        self.collected_task_changed(id);
    }

    pub(crate) fn question_closed(&mut self, id: TaskId, question: &QuestionId, how: Settled) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.live_mut(id) else { return };
        let Some(closed) = volatile.questions.remove(question) else { return };
        volatile.activity.since = now;
        let of = task.clone();
        self.question_settled(&of, closed, how);
        let Some(Live { task, .. }) = self.tasks.live_mut(id) else { return };
        let number = task.run.asked.ids.iter().position(|asked| asked == question);
        if let Some(notice) = number.map(|number| task.notice(About::Question(number as u32))) {
            self.withdraw(notice);
        }
        self.collected_task_changed(id);
        self.arm(id);
    }

    /// The question is settled in this way, unless a person's answer is on its way to it: then that
    /// answer has settled it, or was too late.
    pub(super) fn question_settled(&mut self, task: &Task, question: QuestionView, how: Settled) {
        let (id, run) = (task.id, task.run.number);
        match self.replying.get_mut(&question.id).filter(|replying| replying.task == id) {
            Some(replying) => replying.closed = Some(how),
            None => self.save(Change::Answered { task: id, run, question, how }),
        }
    }

    pub(crate) fn reply(&mut self, call: CallId, question: QuestionId, reply: Reply) -> Answered {
        let asked = self.tasks.unfinished().find_map(|Live { task, volatile }| {
            let view = volatile.questions.get(&question)?.clone();
            Some((task.id, task.run.number, task.run.host.clone(), task.session.clone()?, view))
        });
        let unknown = || Refusal::NoSuchQuestion(question.as_str().to_owned());
        let (task, run, host, session, view) = asked.ok_or_else(unknown)?;
        let kind = view.kind;
        if kind == QuestionKind::Permission
            && let Some(answer) = reply.permits().filter(|answer| !view.offers(answer))
        {
            let offered = view.options.iter().map(|option| option.id.as_str());
            let offered = offered.collect::<Vec<_>>().join(", ");
            let why = format!("Its host does not offer `{answer}`. It offers: {offered}.");
            return Err(Refusal::NotDone(why));
        }
        // A no is a no, whether its words can be passed on or not.
        let reply = match reply {
            Reply::Reject(Some(_)) if !view.takes_words_with_a_no() => Reply::Reject(None),
            reply => reply,
        };
        let (in_flight, closed) = (0, None);
        let new = Replying { task, run, question: view, in_flight, closed };
        self.replying.entry(question.clone()).or_insert(new).in_flight += 1;
        let action =
            Action::Answer { session, question: question.clone(), kind, reply: reply.clone() };
        self.work(host, action, Purpose::Reply(call, question, reply));
        Ok(None)
    }

    pub(crate) fn replied(
        &mut self,
        call: CallId,
        question: &QuestionId,
        reply: Reply,
        found: Result<Finding, HostError>,
    ) {
        let id = self.replying.get(question).map(|replying| replying.task);
        if let Some(id) = id.filter(|_| matches!(found, Ok(_) | Err(HostError::Gone))) {
            self.question_closed(id, question, Settled::InHost(None));
        }
        self.reply_over(question, found.is_ok().then_some(reply));
        let refusal = match found {
            Ok(_) => return self.answer(call, Answer::Replied),
            Err(HostError::Gone) => Refusal::NoSuchQuestion(question.as_str().to_owned()),
            Err(HostError::Rejected { why }) => Refusal::NotDone(why),
            Err(HostError::Unreachable | HostError::Busy) => Refusal::HostUnreachable,
        };
        self.refuse(vec![call], &refusal);
    }

    /// A person's answer has arrived, or has not. Of several to one question the first counts.
    fn reply_over(&mut self, id: &QuestionId, taken: Option<Reply>) {
        let Some(replying) = self.replying.get_mut(id) else { return };
        replying.in_flight -= 1;
        if let Some(reply) = taken.filter(|_| !replying.is_by_person()) {
            replying.closed = Some(Settled::ByPerson(reply));
        }
        if replying.in_flight > 0 {
            return;
        }
        if let Some(Replying { task, run, question, closed: Some(how), .. }) =
            self.replying.remove(id)
            && self.tasks.get(task).is_some()
        {
            self.save(Change::Answered { task, run, question, how });
        }
    }
}

/// A question that a person's answer is on its way to.
#[derive(Debug)]
pub(crate) struct Replying {
    task: TaskId,
    run: u32,
    question: QuestionView,
    in_flight: u32,
    /// How it was settled meanwhile, as far as is known.
    closed: Option<Settled>,
}

impl Replying {
    fn is_by_person(&self) -> bool {
        matches!(self.closed, Some(Settled::ByPerson(_)))
    }
}
