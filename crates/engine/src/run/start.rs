//! A run begins: its session is opened, then its prompt is handed over.

use legwork_protocol::ids::MessageUse;
use legwork_protocol::limits::START_MAX_TRIES;
use legwork_protocol::{MessageId, SessionId, TaskId};

use super::task::{Stage, Task};
use super::volatile::{Handover, Volatile};
use crate::engine::Engine;
use crate::tasks::Live;
use crate::text::words;
use crate::work::{Action, Finding, HostError, Tried};

impl Engine {
    pub(super) fn start_answered(&mut self, id: TaskId, found: Result<Finding, HostError>) {
        let Some(live) = self.tasks.unfinished_mut(id) else { return };
        match (&live.task.stage, found) {
            (Stage::Opening, Ok(Finding::Opened { session })) => self.opened(id, session),
            (Stage::Prompting(message), Ok(Finding::Done)) => {
                let message = message.clone();
                self.taken(id, message);
            }
            (_, Err(error)) => self.start_failed(id, error),
            // A host that answers something else has not done it.
            (_, Ok(_)) => self.start_failed(id, HostError::Busy),
        }
    }

    fn opened(&mut self, id: TaskId, session: SessionId) {
        self.tasks.set_session(id, session);
        let stage = self.prompting(id);
        self.advance(id, stage);
    }

    /// The stage in which the run's prompt is handed over, under an id made now.
    pub(super) fn prompting(&self, id: TaskId) -> Stage {
        let run = self.tasks.get(id).map(|task| (task.run.number, task.run.continued));
        let (number, continued) = run.unwrap_or_default();
        Stage::Prompting(MessageId::make(self.now, id, number, MessageUse::Prompt(continued)))
    }

    /// The host has the prompt. What it said of the session meanwhile may be about this prompt:
    /// its answer to us may come after that.
    fn taken(&mut self, id: TaskId, message: MessageId) {
        let Some(Live { volatile, .. }) = self.tasks.unfinished_mut(id) else { return };
        let heard = volatile.handover == Handover::Heard;
        let stillness = std::mem::take(&mut volatile.stillness);
        self.advance(id, Stage::Working(message));
        if let Some(live) = self.tasks.unfinished_mut(id).filter(|_| heard) {
            live.volatile.stillness = stillness;
            self.observe_at(id, self.now);
        }
        self.poll_host_of(id);
    }

    /// The session could not be opened, or the prompt not be handed over.
    fn start_failed(&mut self, id: TaskId, error: HostError) {
        let now = self.now;
        let Some(Live { volatile, .. }) = self.tasks.unfinished_mut(id) else { return };
        let lasting = match &error {
            HostError::Unreachable | HostError::Busy => false,
            HostError::Gone | HostError::Rejected { .. } => true,
        };
        let next_try = volatile.failed(now);
        if !lasting && volatile.tries < START_MAX_TRIES {
            volatile.due = Some(next_try);
            return;
        }
        let why = match error {
            HostError::Gone => words::SESSION_GONE_BEFORE_PROMPT.to_owned(),
            other => words::could_not_start(&other, volatile.tries),
        };
        self.fail(id, why);
    }
}

pub(super) fn open_action(task: &Task, volatile: &Volatile, deepest: u32) -> Action {
    Action::Open {
        tried: volatile.open,
        task: task.id,
        parent: task.parent.clone(),
        directory: task.directory.as_ref().to_owned(),
        title: task.description.as_ref().to_owned(),
        agent: task.agent.as_ref().to_owned(),
        nested: deepest == 0 || task.depth < deepest,
        fork_before: task.fork_before.as_deref().map(str::to_owned),
    }
}

pub(super) fn prompt_action(task: &Task, id: &MessageId, tried: Tried) -> Option<Action> {
    let prompt = task.run.prompt.as_deref()?;
    let text = if task.run.continued > 0 { words::go_on(prompt) } else { prompt.to_owned() };
    Some(Action::Prompt {
        tried,
        session: task.session.clone()?,
        message: id.clone(),
        part: id.part(0),
        agent: task.agent.as_ref().to_owned(),
        text,
    })
}
