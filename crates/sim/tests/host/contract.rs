//! The way by which the tests speak to a host: only what a client of the real one can do too.

use legwork_protocol::ids::MessageUse;
use legwork_protocol::{MessageId, SessionId, TaskId, Time};
use legwork_sim::host::{
    ApiError, Assistant, Body, Event, Kind, Message, Nasty, NewSession, OpenCode, Part, ProcessNo,
    Prompt, Question, Reply, Status,
};

/// A host as a client meets it. `wait` lets time pass and gathers the events.
pub trait Contract {
    fn create(&mut self, new: NewSession) -> SessionId;
    fn marked(&self, mark: TaskId) -> Vec<SessionId>;
    fn prompt(&mut self, session: &SessionId, prompt: Prompt) -> Result<(), ApiError>;
    fn abort(&mut self, session: &SessionId) -> bool;
    fn delete(&mut self, session: &SessionId) -> Result<bool, ApiError>;
    fn messages(&self, session: &SessionId) -> Result<Vec<Message>, ApiError>;
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
        let answer = |message: Message| match message.body {
            Body::Assistant(assistant) if assistant.answers == *to => Some(assistant),
            _ => None,
        };
        messages.into_iter().filter_map(answer).collect()
    }

    fn prompts(&self, session: &SessionId) -> usize {
        let messages = self.messages(session).unwrap();
        messages.iter().filter(|message| matches!(message.body, Body::User(_))).count()
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

/// The virtual host, with one process that the tests speak to.
pub struct Virtual {
    pub host: OpenCode,
    pub process: ProcessNo,
    now: Time,
    events: Vec<Event>,
}

impl Contract for Virtual {
    fn create(&mut self, new: NewSession) -> SessionId {
        self.host.create(new)
    }
    fn marked(&self, mark: TaskId) -> Vec<SessionId> {
        self.host.sessions_marked(mark).map(|session| session.id.clone()).collect()
    }
    fn prompt(&mut self, session: &SessionId, prompt: Prompt) -> Result<(), ApiError> {
        self.host.prompt_async(self.process, session, prompt)
    }
    fn abort(&mut self, session: &SessionId) -> bool {
        self.host.abort(self.process, session).unwrap()
    }
    fn delete(&mut self, session: &SessionId) -> Result<bool, ApiError> {
        self.host.delete(self.process, session)
    }
    fn messages(&self, session: &SessionId) -> Result<Vec<Message>, ApiError> {
        self.host.messages(session).map(<[Message]>::to_vec)
    }
    fn status(&self, session: &SessionId) -> Option<Status> {
        let mut all = self.host.status(self.process);
        all.find(|(id, _)| *id == session).map(|(_, status)| status)
    }
    fn questions(&self) -> Vec<Question> {
        self.host.questions(self.process).to_vec()
    }
    fn reply(&mut self, question: &Question, reply: Reply) -> Result<bool, ApiError> {
        self.host.reply(self.process, &question.id, &reply)
    }
    fn restart(&mut self) {
        self.host.kill(self.process);
        self.process = self.host.boot();
    }
    fn wait(&mut self, ms: u64) {
        self.now = self.now.plus(ms);
        self.host.advance(self.now, &mut self.events);
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
    fn forget_events(&mut self) {
        self.wait(0);
        self.events.clear();
    }
}

pub fn host() -> Virtual {
    host_with(Nasty::scripted())
}

pub fn host_with(nasty: Nasty) -> Virtual {
    let mut host = OpenCode::new(0, 7, nasty);
    let process = host.boot();
    let mut host = Virtual { host, process, now: Time(1_700_000_000_000), events: Vec::new() };
    host.wait(0);
    host
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
