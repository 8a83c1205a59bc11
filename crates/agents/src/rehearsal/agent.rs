//! The agent: knows the sessions and their options, and begins and closes turns. What a turn said
//! is in the memory before it is answered.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use legwork_acp::agents::REHEARSAL;
use legwork_acp::wire::{BAD_PARAMS, INTERNAL, RpcError};
use legwork_machine::{lock, since_epoch};

use super::memory::{Conversation, Entry, Memory};
use super::turn::{Settled, Turn};
use super::{Extra, Options};
use crate::serve::{
    Agent, Answered, End, Greeting, Load, Object, Offer, Prompt, chunk, error, no_method,
    no_session,
};

pub struct Rehearsal {
    models: Vec<String>,
    extra: Option<&'static dyn Extra>,
    memory: Memory,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<String, Session>,
    sessions_made: usize,
}

struct Session {
    cwd: PathBuf,
    conversation: Conversation,
    settled: Settled,
    model: Option<String>,
}

impl Rehearsal {
    pub fn new(options: Options) -> Self {
        let Options { memory, models, extra } = options;
        Self { models, extra, memory: Memory::new(memory), kept: Mutex::default() }
    }

    fn new_session(&self, cwd: PathBuf, conversation: Conversation) -> Session {
        let model = self.models.first().cloned();
        Session { cwd, conversation, settled: Settled::new(), model }
    }

    /// The models of a session, if there is a choice.
    fn offer(&self, session: &Session) -> Offer {
        let models = self.models.iter().map(|name| (name.clone(), name.clone())).collect();
        Offer { current: session.model.clone(), models }
    }

    fn begin(&self, prompt: &Prompt) -> Answered<Turn> {
        let mut kept = lock(&self.kept);
        let session = kept.session(&prompt.session)?;
        let past = session.conversation.past();
        let asked = Entry::Asked(prompt.text.clone());
        session.conversation.keep(asked).map_err(|cause| forgetful(&cause))?;
        Ok(Turn {
            cwd: session.cwd.clone(),
            past,
            settled: session.settled.clone(),
            model: session.model.clone(),
            client: prompt.client.clone(),
            extra: self.extra,
            answer: String::new(),
            calls: 0,
            result: Object::new(),
        })
    }

    fn close(&self, id: &str, turn: Turn) -> Answered<Object> {
        let Turn { settled, answer, result, .. } = turn;
        let mut kept = lock(&self.kept);
        let session = kept.session(id)?;
        session.settled = settled;
        if !answer.is_empty() {
            let answered = session.conversation.keep(Entry::Answered(answer));
            answered.map_err(|cause| forgetful(&cause))?;
        }
        Ok(result)
    }
}

impl Agent for Rehearsal {
    async fn greet(&self, _check: bool) -> Answered<Greeting> {
        Ok(Greeting {
            name: REHEARSAL.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            loads: self.memory.lasts(),
            ..Greeting::default()
        })
    }

    async fn open(&self, cwd: PathBuf) -> Answered<(String, Offer)> {
        let mut kept = lock(&self.kept);
        kept.sessions_made += 1;
        let id = new_id(kept.sessions_made);
        let conversation = self.memory.begin(&id).map_err(|cause| forgetful(&cause))?;
        let session = self.new_session(cwd, conversation);
        let offer = self.offer(&session);
        kept.sessions.insert(id.clone(), session);
        Ok((id, offer))
    }

    async fn load(&self, load: Load) -> Answered<Offer> {
        let Load { session: id, cwd, replay } = load;
        if !self.memory.lasts() {
            return Err(no_method(if replay.is_some() {
                "session/load"
            } else {
                "session/resume"
            }));
        }
        let mut kept = lock(&self.kept);
        if !kept.sessions.contains_key(&id) {
            let found = self.memory.find(&id).map_err(|cause| forgetful(&cause))?;
            let conversation = found.ok_or_else(|| no_session(&id))?;
            kept.sessions.insert(id.clone(), self.new_session(cwd.clone(), conversation));
        }
        let session = kept.session(&id)?;
        session.cwd = cwd;
        for (client, entry) in replay.iter().cycle().zip(session.conversation.entries()) {
            client.post_update(match entry {
                Entry::Asked(text) => chunk("user_message_chunk", text),
                Entry::Answered(text) => chunk("agent_message_chunk", text),
            });
        }
        Ok(self.offer(session))
    }

    async fn choose(&self, id: &str, model: &str) -> Answered<Offer> {
        let is_offered = self.models.iter().any(|offered| offered == model);
        let mut kept = lock(&self.kept);
        let session = kept.session(id).ok().filter(|_| is_offered);
        let session = session.ok_or_else(|| error(BAD_PARAMS, "There is no such option here"))?;
        session.model = Some(model.to_owned());
        Ok(self.offer(session))
    }

    async fn prompt(&self, prompt: Prompt) -> End {
        let turn = match self.begin(&prompt) {
            Ok(turn) => turn,
            Err(error) => return End::Failed(error),
        };
        let (turn, end) = turn.run(&prompt).await;
        match (self.close(&prompt.session, turn), end) {
            (_, end @ End::Crash(_)) => end,
            (Ok(result), End::Stopped { reason, .. }) => End::Stopped { reason, result },
            (Err(error), _) => End::Failed(error),
            (Ok(_), end) => end,
        }
    }
}

impl Kept {
    fn session(&mut self, id: &str) -> Answered<&mut Session> {
        self.sessions.get_mut(id).ok_or_else(|| no_session(id))
    }
}

fn forgetful(cause: &io::Error) -> RpcError {
    error(INTERNAL, format!("The memory cannot be used: {cause}"))
}

/// Unlike that of any other session of any process with the same memory.
fn new_id(number: usize) -> String {
    let now = since_epoch();
    format!("rehearsal-{:x}-{:x}-{number}", now.as_millis(), std::process::id())
}
