//! How the end of a run is known. Events only trigger a look; a run ends when a look finds an
//! answer or an error to its own prompt.

use legwork_protocol::limits::{HOST_TEXT_MAX_CHARS, STILL_LOOK_EVERY_MS};
use legwork_protocol::refusal::plain;
use legwork_protocol::{SessionId, TaskId};

use super::finish::{Halt, Notify};
use super::task::{Outcome, Stage, Task};
use super::volatile::{Activity, Handover, Stillness, Validity, pause_ms};
use crate::engine::Engine;
use crate::tasks::Live;
use crate::text::words;
use crate::work::PromptUsage;
use crate::work::{Action, Finding, HostError, Observation, RunState};

impl Engine {
    /// Something happened in a session: look at the run in it, or try a held delivery again.
    pub(crate) fn changed(&mut self, session: &SessionId, error: Option<String>) {
        if let Some(id) = self.tasks.at_work_in(session) {
            self.run_changed(id, error);
        }
        self.undo_may_be_over(session);
    }

    fn run_changed(&mut self, id: TaskId, error: Option<String>) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        if task.stage.prompt().is_none() {
            return;
        }
        if let Some(why) = error {
            volatile.stillness.errored(&why);
        }
        if matches!(task.stage, Stage::Working(_)) {
            volatile.overtake();
            volatile.due = Some(now);
            self.tend_run(id);
        } else if volatile.request.is_some() {
            volatile.handover = Handover::Heard;
        }
    }

    pub(super) fn look_answered(
        &mut self,
        id: TaskId,
        validity: Validity,
        found: Result<Finding, HostError>,
    ) {
        let now = self.now;
        match found {
            Ok(Finding::Observed(observation)) => self.observed(id, observation, validity),
            // A host that answers something else has not looked.
            Ok(_) => self.observe_at(id, now.plus(pause_ms(1))),
            Err(HostError::Gone) => self.deleted_under(id),
            Err(_) => {
                if let Some(Live { volatile, .. }) = self.tasks.unfinished_mut(id) {
                    let next_try = volatile.failed(now);
                    volatile.due_by(next_try);
                }
            }
        }
    }

    pub(super) fn observed(&mut self, id: TaskId, observation: Observation, validity: Validity) {
        let now = self.now;
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        volatile.observed = Some(now);
        volatile.tries = 0;
        volatile.activity.host_tells(observation.moved.map(|moved| moved.min(now)));
        task.run.tool_calls = task.run.tool_calls.max(observation.tool_calls);
        self.learn_usage(id, observation.usage, observation.state.is_end());
        let overspent = self.tasks.live(id).is_some_and(|live| self.is_overspent(&live.task));
        let Some(Live { volatile, .. }) = self.tasks.unfinished_mut(id) else { return };
        let replied = observation.moved.is_some();
        match observation.state {
            RunState::Answered { text } => {
                let text = if text.trim().is_empty() { words::NO_TEXT.to_owned() } else { text };
                self.finish(id, Outcome::Completed, text, Notify::Yes, Halt::NotNeeded);
            }
            RunState::Failed { reason } => {
                self.finish(id, Outcome::Failed, reason, Notify::Yes, Halt::NotNeeded);
            }
            RunState::Busy if validity == Validity::Overtaken => volatile.due = Some(now),
            RunState::Busy => {
                volatile.stillness = Stillness::default();
                volatile.due = None;
            }
            RunState::Aborted { text } | RunState::Still { text } if overspent => {
                let why = self.why_overspent(id, &text);
                self.fail(id, why);
            }
            RunState::Aborted { text } => {
                // A host that is closed aborts what runs before it goes. If it goes, the run was
                // interrupted with it; only if it stays was this somebody's wish.
                volatile.stillness.error = Some(words::ABORTED.to_owned());
                self.observed_still(id, &text, validity);
            }
            RunState::Still { .. } if !replied && volatile.is_swallowed(now) => {
                volatile.run_again(now);
            }
            RunState::Still { text } => self.observed_still(id, &text, validity),
        }
    }

    /// Nobody works on the prompt and nothing ended it. It may not have begun, or its error may not
    /// be readable yet; only time tells these from one that will never be answered.
    fn observed_still(&mut self, id: TaskId, text: &str, validity: Validity) {
        let now = self.now;
        let Some(Live { volatile, .. }) = self.tasks.unfinished_mut(id) else { return };
        if volatile.stillness.seen(now) {
            let why = words::never_answered(volatile.stillness.error.as_deref(), text);
            return self.finish(id, Outcome::Failed, why, Notify::Yes, Halt::Needed);
        }
        let overtaken = validity == Validity::Overtaken;
        volatile.due = Some(if overtaken { now } else { now.plus(STILL_LOOK_EVERY_MS) });
    }

    pub(super) fn deleted_under(&mut self, id: TaskId) {
        let why = words::SESSION_DELETED.to_owned();
        // Deleting a busy session does not stop it (OpenCode 1.18.33).
        self.finish(id, Outcome::Cancelled, why, Notify::Yes, Halt::Needed);
    }

    pub(crate) fn does(&mut self, session: &SessionId, what: &legwork_protocol::view::Activity) {
        self.progressed(session, None, None);
        let id = self.tasks.at_work_in(session);
        if let Some(live) = id.and_then(|id| self.tasks.live_mut(id)) {
            let line = |text: &str| plain(text, HOST_TEXT_MAX_CHARS);
            live.volatile.doing = Some(legwork_protocol::view::Activity {
                tool: line(&what.tool),
                subject: line(&what.subject),
            });
        }
    }

    pub(crate) fn progressed(
        &mut self,
        session: &SessionId,
        tool: Option<String>,
        used: Option<PromptUsage>,
    ) {
        let now = self.now;
        let Some(id) = self.tasks.at_work_in(session) else { return };
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return };
        volatile.activity = Activity::seen(now);
        volatile.stillness.since = None;
        if let Some(name) = tool {
            task.run.tool_calls = task.run.tool_calls.saturating_add(1);
            volatile.used_tool(&name);
        }
        self.provider_told(id, None);
        if let Some(used) = used {
            self.used(id, used);
        }
    }
}

/// A look at the answer to the run's present prompt, once it has one.
pub(super) fn observe_action(task: &Task) -> Option<Action> {
    let (session, message) = (task.session.clone()?, task.stage.prompt()?.clone());
    Some(Action::Observe { session, message })
}
