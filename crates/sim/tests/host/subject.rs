//! The virtual host as the subject of the tests, with one process that they speak to. The real one
//! is in the testkit's tests.

use legwork_protocol::{SessionId, TaskId, Time};
use legwork_sim::host::{
    ApiError, Body, Event, Message, Nasty, NewSession, OpenCode, ProcessNo, Prompt, Question,
    Reply, Status,
};

use crate::contract::{Contract, Read};

/// The virtual host, with one process that the tests speak to.
pub struct Subject {
    pub host: OpenCode,
    pub process: ProcessNo,
    now: Time,
    events: Vec<Event>,
}

impl Contract for Subject {
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
    fn messages(&self, session: &SessionId) -> Result<Vec<Read>, ApiError> {
        let read = |message: &Message| match &message.body {
            Body::User(user) => Read::Prompt(user.parts.len()),
            Body::Assistant(answer) => Read::Answer(answer.clone()),
        };
        Ok(self.host.messages(session)?.iter().map(read).collect())
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

pub fn host() -> Subject {
    host_with(Nasty::scripted())
}

pub fn host_alone() -> Subject {
    host()
}

pub fn host_with(nasty: Nasty) -> Subject {
    let mut host = OpenCode::new(0, 7, nasty);
    let process = host.boot();
    let mut host = Subject { host, process, now: Time(1_700_000_000_000), events: Vec::new() };
    host.wait(0);
    host
}
