//! The way by which the tests speak to a host: only what a client of the real one can do too. Who
//! includes this also has a module `subject` with the host: `host()`, one that others may share,
//! and `host_alone()`, one that may be restarted.

use legwork_protocol::ids::MessageUse;
use legwork_protocol::{MessageId, SessionId, TaskId, Time};
use legwork_sim::host::{
    ApiError, Assistant, Event, Kind, NewSession, Part, Prompt, Question, Reply, Status,
};

/// A message as a client reads it.
#[derive(Debug, Clone)]
pub enum Read {
    /// A prompt, with so many parts.
    Prompt(usize),
    Answer(Assistant),
}

/// A host as a client meets it. `wait` lets time pass and gathers the events. What a script waits
/// for has passed at the end of `until_quiet`; whether it passes in `wait` is the host's business.
pub trait Contract {
    fn create(&mut self, new: NewSession) -> SessionId;
    fn marked(&self, mark: TaskId) -> Vec<SessionId>;
    fn prompt(&mut self, session: &SessionId, prompt: Prompt) -> Result<(), ApiError>;
    fn abort(&mut self, session: &SessionId) -> bool;
    fn delete(&mut self, session: &SessionId) -> Result<bool, ApiError>;
    fn messages(&self, session: &SessionId) -> Result<Vec<Read>, ApiError>;
    fn status(&self, session: &SessionId) -> Option<Status>;
    fn questions(&self) -> Vec<Question>;
    fn reply(&mut self, question: &Question, reply: Reply) -> Result<bool, ApiError>;
    fn restart(&mut self);
    fn wait(&mut self, ms: u64);
    fn events(&self) -> &[Event];
    fn forget_events(&mut self);

    fn open(&mut self) -> SessionId {
        self.create(NewSession::default())
    }

    /// Sends a script under the message id with this number, and with fixed part ids.
    fn send(&mut self, session: &SessionId, number: u32, script: &str) -> MessageId {
        self.prompt(session, body(number, script)).unwrap();
        id(number)
    }

    fn until(&mut self, there: impl Fn(&Self) -> bool) {
        for _ in 0..100_000 {
            if there(self) {
                return;
            }
            self.wait(5);
        }
        panic!("it never came to that");
    }

    fn until_busy(&mut self, session: &SessionId) {
        self.until(|host| host.status(session).is_some());
    }

    fn until_retrying(&mut self, session: &SessionId) {
        self.until(|host| matches!(host.status(session), Some(Status::Retry { .. })));
    }

    /// Waits for the end of what was sent last, and a while longer.
    fn until_quiet(&mut self, session: &SessionId) {
        self.wait(1_000);
        self.until(|host| host.status(session).is_none());
        self.wait(1_000);
    }

    fn answers(&self, session: &SessionId, to: &MessageId) -> Vec<Assistant> {
        let messages = self.messages(session).unwrap();
        let answer = |message: Read| match message {
            Read::Answer(answer) if answer.answers == *to => Some(answer),
            _ => None,
        };
        messages.into_iter().filter_map(answer).collect()
    }

    fn prompts(&self, session: &SessionId) -> usize {
        let messages = self.messages(session).unwrap();
        messages.iter().filter(|message| matches!(message, Read::Prompt(_))).count()
    }

    fn count(&self, wanted: impl Fn(&Kind) -> bool) -> usize {
        self.events().iter().filter(|event| wanted(&event.kind)).count()
    }

    fn busies(&self) -> usize {
        self.count(|kind| *kind == Kind::Status(Status::Busy))
    }

    fn idles(&self) -> usize {
        self.count(|kind| *kind == Kind::Idle)
    }

    fn errors(&self) -> usize {
        self.count(|kind| matches!(kind, Kind::Error { .. }))
    }

    fn progress(&self) -> usize {
        self.count(|kind| matches!(kind, Kind::Progress { .. }))
    }
}

pub fn id(number: u32) -> MessageId {
    MessageId::make(Time(5_000), TaskId::from_number(1), number, MessageUse::Prompt(0))
}

pub fn body(number: u32, script: &str) -> Prompt {
    let message = id(number);
    let part = Part { id: message.part(0), text: script.into(), synthetic: false };
    Prompt { message, parts: vec![part], agent: None, no_reply: false, ours: true }
}

pub fn text(answers: &[Assistant]) -> Vec<&str> {
    answers.iter().map(|answer| &*answer.text).collect()
}
