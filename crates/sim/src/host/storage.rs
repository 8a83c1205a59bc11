//! What survives a process: OpenCode's database of one place, shared by all of its processes.
//!
//! A deleted session stays as a tombstone for the checkers; no call of the API shows it. Nothing in
//! here runs or knows who runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use legwork_protocol::{MessageId, PartId, SessionId, TaskId, Time};

use super::script::Step;

/// The sessions of one place.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    pub(super) sessions: Vec<Session>,
    pub(super) by_id: BTreeMap<SessionId, usize>,
    pub(super) by_mark: BTreeSet<(TaskId, usize)>,
    /// Which session holds a user message: an id is taken for good (seen in 1.18.33).
    pub(super) owner: BTreeMap<MessageId, usize>,
}

#[derive(Debug, Clone)]
pub struct Session {
    pub id: SessionId,
    /// Its parent, which need not exist (seen in 1.18.33).
    pub parent: Option<SessionId>,
    pub title: Arc<str>,
    /// Our mark in its metadata.
    pub mark: Option<TaskId>,
    /// Whether its permissions let it launch tasks itself.
    pub may_nest: bool,
    /// The database that it is kept in.
    pub database: u8,
    /// When it was created.
    pub created: Time,
    /// Whether a person has an undo pending here.
    pub revert_pending: bool,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether it was deleted.
    pub deleted: bool,
    /// What checkers want to know of it.
    pub facts: SessionFacts,
}

/// What happened to a session, for checkers only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// Turns that called the model at least once.
    pub turns: u32,
    /// Turns that found nothing to answer.
    pub empty_turns: u32,
    /// When it was last aborted.
    pub last_abort: Option<Time>,
    /// When something last ran in it and stopped.
    pub ran_until: Option<Time>,
    /// How many undos prompts of ours have made permanent.
    pub undos_destroyed: u32,
}

/// A message of a session.
#[derive(Debug, Clone)]
pub struct Message {
    pub id: MessageId,
    /// When it was written, or last written again.
    pub created: Time,
    pub body: Body,
}

/// Who wrote a message, and what.
#[derive(Debug, Clone)]
pub enum Body {
    User(User),
    Assistant(Assistant),
}

/// A prompt, by a person or by us.
#[derive(Debug, Clone)]
pub struct User {
    /// Who is to answer.
    pub agent: Arc<str>,
    pub parts: Vec<Part>,
    /// Whether it bears our mark.
    pub ours: bool,
    /// Whether it was sent without asking for an answer.
    pub no_reply: bool,
    /// What checkers want to know of it.
    pub tally: Tally,
    pub(super) script: Option<Arc<[Step]>>,
}

/// A text of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub id: PartId,
    pub text: Arc<str>,
    /// Whether the person's screen hides it.
    pub synthetic: bool,
}

/// How often things happened with a prompt, for checkers only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// It was stored, or stored again.
    pub stored: u32,
    /// It began a turn, be it one that found nothing to do.
    pub started: u32,
    /// It came into a turn under way.
    pub joined: u32,
    /// A model was called for it.
    pub calls: u32,
    /// It was answered in full.
    pub answered: u32,
}

/// One model call and what came of it.
#[derive(Debug, Clone)]
pub struct Assistant {
    /// The prompt that it answers: the newest at the time of the call.
    pub answers: MessageId,
    pub text: Arc<str>,
    /// The tools that it used.
    pub tool_calls: u32,
    /// When it was over. Absent in what a killed process leaves (seen in 1.18.33).
    pub completed: Option<Time>,
    /// How it ended. Absent after an error.
    pub finish: Option<Finish>,
    pub error: Option<Arc<str>>,
    /// What it used up so far.
    pub spent: Spent,
}

/// What a model call used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micros: u64,
}

impl Spent {
    /// Three millionths a token.
    pub(super) fn add(&mut self, tokens: u64) {
        self.tokens += tokens;
        self.micros += 3 * tokens;
    }
}

/// How a model call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    /// With tools whose results are to be read.
    ToolCalls,
    Unknown,
}

impl Assistant {
    /// Whether nothing follows in its turn.
    pub fn is_end(&self) -> bool {
        self.completed.is_some() && (self.error.is_some() || self.finish == Some(Finish::Stop))
    }
}

impl Storage {
    pub(super) fn find(&self, id: &SessionId) -> Option<usize> {
        self.by_id.get(id).copied().filter(|number| !self.sessions[*number].deleted)
    }

    pub(super) fn ever_marked(&self, mark: TaskId) -> impl Iterator<Item = &Session> {
        let marked = self.by_mark.range((mark, 0)..=(mark, usize::MAX));
        marked.map(|(_, number)| &self.sessions[*number])
    }
}

impl Session {
    /// Its user messages, oldest first.
    pub fn prompts(&self) -> impl DoubleEndedIterator<Item = (&MessageId, &User)> {
        self.messages.iter().filter_map(|message| match &message.body {
            Body::User(user) => Some((&message.id, user)),
            Body::Assistant(_) => None,
        })
    }

    /// Its assistant messages, oldest first.
    pub fn replies(&self) -> impl DoubleEndedIterator<Item = &Assistant> {
        self.messages.iter().filter_map(|message| match &message.body {
            Body::Assistant(assistant) => Some(assistant),
            Body::User(_) => None,
        })
    }

    /// What the calls for a prompt used up, from the first of them on and up to one that ends it;
    /// none if there was none. A prompt that was sent twice may stand behind its own answer.
    pub fn spent(&self, prompt: &MessageId) -> Option<Spent> {
        let mut later = false;
        let mut sum: Option<Spent> = None;
        for message in &self.messages {
            later |= message.id == *prompt;
            let Body::Assistant(reply) = &message.body else { continue };
            if later || reply.answers == *prompt {
                let sum = sum.get_or_insert_default();
                sum.tokens += reply.spent.tokens;
                sum.micros += reply.spent.micros;
                if reply.is_end() {
                    break;
                }
            }
        }
        sum
    }

    pub(super) fn user_mut(&mut self, id: &MessageId) -> Option<&mut User> {
        self.messages.iter_mut().rev().find(|message| message.id == *id).and_then(|message| {
            match &mut message.body {
                Body::User(user) => Some(user),
                Body::Assistant(_) => None,
            }
        })
    }

    pub(super) fn assistant_mut(&mut self, id: &MessageId) -> Option<&mut Assistant> {
        self.messages.iter_mut().rev().find(|message| message.id == *id).and_then(|message| {
            match &mut message.body {
                Body::Assistant(assistant) => Some(assistant),
                Body::User(_) => None,
            }
        })
    }

    /// Whether the newest model call is a full answer to this prompt: the test by which a turn
    /// ends (source of 1.18.18). An error is no answer, so such a prompt sent again runs again.
    pub(super) fn settled(&self, prompt: &MessageId) -> bool {
        self.replies()
            .next_back()
            .is_some_and(|last| last.answers == *prompt && last.finish == Some(Finish::Stop))
    }

    /// Ends a model call with an error, unless it has ended otherwise or is gone.
    pub(super) fn fail(&mut self, message: &MessageId, why: &Arc<str>, now: Time) {
        if self.deleted {
            return;
        }
        if let Some(open) = self.assistant_mut(message).filter(|open| open.completed.is_none()) {
            open.error = Some(why.clone());
            open.completed = Some(now);
        }
    }
}
