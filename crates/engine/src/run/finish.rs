//! How a run ends.

use std::borrow::Cow;

use legwork_protocol::{SessionId, TaskId};

use super::task::{Outcome, Stage, Task};
use crate::engine::Engine;
use crate::record::{About, Change, Settled};
use crate::tasks::Live;
use crate::text::notices::end_headline;
use crate::text::words;
use crate::timers::Timer;

/// Whether the asker of a run is to be told of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    Yes,
    /// It ended the run itself, or is ended with it.
    No,
}

/// Whether a finished run's session may still be at work, and so is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    Needed,
    NotNeeded,
}

impl Engine {
    pub(super) fn fail(&mut self, id: TaskId, why: String) {
        self.finish(id, Outcome::Failed, why, Notify::Yes, Halt::Needed);
    }

    /// The run is over: its end and the notice of it are saved together, its slot is free, and
    /// whoever waits for it is answered.
    pub(crate) fn finish(
        &mut self,
        id: TaskId,
        outcome: Outcome,
        detail: String,
        notify: Notify,
        halt: Halt,
    ) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        let from = task.stage.name();
        if let Some(since) = volatile.idle_since.take() {
            task.run.paused_ms += now.since(since);
        }
        self.hosts.release(task);
        if halt == Halt::Needed {
            let task = task.clone();
            self.request_stop(&task);
        }
        let volatile = self.tasks.change(id, |task| {
            task.stage = Stage::Finished(outcome);
            task.run.ended = Some(now);
            task.run.prompt = None;
            task.run.asked = task.run.asked.closed();
        });
        self.timers.clear(&Timer::Run(id));
        let Some(task) = self.tasks.get(id).map(Cow::into_owned) else { return };
        let (host, asker, session) =
            (task.run.host.clone(), task.run.asker.clone(), task.session.clone());
        // What it was told before may have waited for this task, whoever asked for the run.
        self.soon(Timer::Gather(task.parent.clone()));
        for question in volatile.unwrap_or_default().questions.into_values() {
            self.question_settled(&task, question, Settled::RunEnded);
        }
        self.settle_cost(&task);
        self.save(Change::Ended { task, from, detail: words::kept_detail(detail) });
        self.withdraw_questions(id);
        match notify {
            Notify::Yes => self.enqueue(id, About::End, end_headline),
            Notify::No => self.soon(Timer::Gather(asker)),
        }
        if outcome != Outcome::Completed
            && let Some(session) = session
        {
            self.cancel_helpers_of(&session);
        }
        self.end_waits(id);
        self.collected_task_changed(id);
        self.soon(Timer::Start(host));
    }

    /// A helper that failed or was cancelled takes its own helpers along; nobody is left who could
    /// use what they find.
    fn cancel_helpers_of(&mut self, session: &SessionId) {
        let unfinished = self.tasks.family(session).filter(|task| !task.is_finished());
        // Somebody else may have resumed it, and is still there.
        let notify = |task: &Task| match task.run.asker == *session {
            true => Notify::No,
            false => Notify::Yes,
        };
        let below: Vec<(TaskId, Notify)> =
            unfinished.map(|task| (task.id, notify(&task))).collect();
        for (id, notify) in below {
            let why = words::CANCELLED_WITH_PARENT.to_owned();
            self.finish(id, Outcome::Cancelled, why, notify, Halt::Needed);
        }
    }
}
