//! The agent: reads what the client says, knows the sessions, answers.
//!
//! One loop owns everything and never waits for its own output, so a client can cancel a turn that
//! writes faster than the client reads. What a turn said is in the memory before it is answered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{io, iter};

use legwork_machine::{LineReader, since_epoch};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::memory::{Conversation, Entry, Memory};
use crate::out::Out;
use crate::script::Object;
use crate::turn::{End, News, Settled, Turn, chunk, session_update};
use crate::{Ending, Extra, Options};
use legwork_acp::agents::REHEARSAL;
use legwork_acp::wire::{
    ACP_VERSION, BAD_PARAMS, INTERNAL, Message, NO_SUCH_METHOD, NOT_FOUND, RpcError, answer, read,
    refusal, request,
};

/// JSON-RPC: this cannot be asked now.
const BAD_REQUEST: i64 = -32600;
/// A line of the client's; a longer one is passed over.
const LINE_MAX_BYTES: usize = 16 << 20;
/// How long what is on its way may take at the end, if the client does not read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves a client until the input ends or a script crashes it.
pub async fn serve<I, O, E>(mut input: I, output: O, errors: E, options: Options) -> Ending
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Send + Unpin + 'static,
    E: AsyncWrite + Send + Unpin + 'static,
{
    let (out, mut written) = Out::open(output);
    let (err, _) = Out::open(errors);
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut agent = Agent::new(options, out, err.clone(), tell);
    let mut lines = LineReader::new(LINE_MAX_BYTES);
    loop {
        let ending = tokio::select! {
            read = input.read(lines.space()) => match read {
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    lines.filled(count);
                    iter::from_fn(|| lines.pop()).flatten().for_each(|line| agent.on_line(&line));
                    None
                }
            },
            Some(news) = told.recv() => agent.on_news(news),
            _ = &mut written => return Ending::InputEnded,
        };
        if let Some(ending) = ending {
            // What is on its way to stderr says why.
            let _ = timeout(LAST_WORDS, err.line(String::new())).await;
            return ending;
        }
    }
    agent.turns.shutdown().await;
    drop((agent, told));
    let _ = timeout(LAST_WORDS, written).await;
    Ending::InputEnded
}

struct Session {
    cwd: PathBuf,
    conversation: Conversation,
    settled: Settled,
    model: Option<String>,
    /// Cancels the turn that is going on.
    turn: Option<Arc<Notify>>,
}

struct Agent {
    models: Vec<String>,
    extra: Option<&'static dyn Extra>,
    memory: Memory,
    sessions: BTreeMap<String, Session>,
    sessions_made: usize,
    turns: JoinSet<()>,
    /// The turns that wait for the answer to a request of ours.
    asked: BTreeMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    last_request: u64,
    out: Out,
    err: Out,
    tell: mpsc::UnboundedSender<News>,
}

impl Agent {
    fn new(options: Options, out: Out, err: Out, tell: mpsc::UnboundedSender<News>) -> Self {
        Self {
            models: options.models,
            extra: options.extra,
            memory: Memory::new(options.memory),
            sessions: BTreeMap::new(),
            sessions_made: 0,
            turns: JoinSet::new(),
            asked: BTreeMap::new(),
            last_request: 0,
            out,
            err,
            tell,
        }
    }

    fn on_line(&mut self, line: &[u8]) {
        match read(line) {
            Ok(Message::Request { id, method, params }) => self.on_request(id, &method, &params),
            Ok(Message::Notification { method, params }) if method == "session/cancel" => {
                self.cancel(&params);
            }
            Ok(Message::Response { id, outcome }) => {
                if let Some(reply) = self.asked.remove(&id) {
                    // A cancelled turn does not wait for it any more.
                    let _ = reply.send(outcome);
                }
            }
            Ok(Message::Notification { .. }) | Err(_) => {}
        }
    }

    fn on_request(&mut self, id: Value, method: &str, params: &Value) {
        let reply = match method {
            "initialize" => Ok(self.greeting()),
            "session/new" => self.open(params),
            "session/load" if self.memory.lasts() => self.load(params, true),
            "session/resume" if self.memory.lasts() => self.load(params, false),
            "session/set_config_option" if !self.models.is_empty() => self.choose(params),
            "session/prompt" => match self.begin(&id, params) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            _ => Err(error(NO_SUCH_METHOD, format!("There is no method {method} here"))),
        };
        self.out.post(match reply {
            Ok(result) => answer(&id, &result),
            Err(error) => refusal(&id, error.code, &error.message),
        });
    }

    fn greeting(&self) -> Value {
        let sessions = if self.memory.lasts() { json!({ "resume": {} }) } else { json!({}) };
        json!({
            "protocolVersion": ACP_VERSION,
            "agentInfo": { "name": REHEARSAL, "version": env!("CARGO_PKG_VERSION") },
            "agentCapabilities": {
                "loadSession": self.memory.lasts(),
                "sessionCapabilities": sessions,
            },
            "authMethods": [],
        })
    }

    fn open(&mut self, params: &Value) -> Result<Value, RpcError> {
        let cwd = folder(params)?;
        if !params["mcpServers"].is_array() {
            return Err(error(BAD_PARAMS, "mcpServers has to be a list"));
        }
        self.sessions_made += 1;
        let id = new_id(self.sessions_made);
        let conversation = self.memory.begin(&id).map_err(|cause| forgetful(&cause))?;
        self.keep(&id, cwd, conversation);
        let mut opened = self.offer(&id);
        opened["sessionId"] = id.into();
        Ok(opened)
    }

    fn keep(&mut self, id: &str, cwd: PathBuf, conversation: Conversation) {
        let model = self.models.first().cloned();
        let session = Session { cwd, conversation, settled: Settled::new(), model, turn: None };
        self.sessions.insert(id.to_owned(), session);
    }

    fn load(&mut self, params: &Value, replay: bool) -> Result<Value, RpcError> {
        let cwd = folder(params)?;
        let id = session_id(params)?;
        if !self.sessions.contains_key(id) {
            let found = self.memory.find(id).map_err(|cause| forgetful(&cause))?;
            let conversation = found.ok_or_else(|| no_session(id))?;
            self.keep(id, cwd.clone(), conversation);
        }
        let session = self.sessions.get_mut(id).ok_or_else(|| no_session(id))?;
        session.cwd = cwd;
        for entry in session.conversation.entries().iter().filter(|_| replay) {
            let update = match entry {
                Entry::Asked(text) => chunk("user_message_chunk", text),
                Entry::Answered(text) => chunk("agent_message_chunk", text),
            };
            self.out.post(session_update(id, update));
        }
        Ok(self.offer(id))
    }

    /// The options of a session: its model, if there is a choice.
    fn offer(&self, id: &str) -> Value {
        if self.models.is_empty() {
            return json!({});
        }
        let current = self.sessions.get(id).and_then(|session| session.model.as_ref());
        let options: Vec<Value> =
            self.models.iter().map(|name| json!({ "value": name, "name": name })).collect();
        let model = json!({
            "id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": current, "options": options,
        });
        json!({ "configOptions": [model] })
    }

    fn choose(&mut self, params: &Value) -> Result<Value, RpcError> {
        let id = session_id(params)?.to_owned();
        let model = params["value"]
            .as_str()
            .filter(|name| params["configId"] == "model" && self.models.iter().any(|m| m == name))
            .ok_or_else(|| error(BAD_PARAMS, "There is no such option here"))?;
        let session = self.sessions.get_mut(&id).ok_or_else(|| no_session(&id))?;
        session.model = Some(model.to_owned());
        Ok(self.offer(&id))
    }

    /// Begins a turn; it is answered when it is over.
    fn begin(&mut self, request: &Value, params: &Value) -> Result<(), RpcError> {
        let id = session_id(params)?;
        let session = self.sessions.get_mut(id).ok_or_else(|| no_session(id))?;
        if session.turn.is_some() {
            return Err(error(BAD_REQUEST, "This session is busy; cancel it or wait"));
        }
        let prompt = prompt_text(params)?;
        let past = session.conversation.past();
        let asked = Entry::Asked(prompt.clone());
        session.conversation.keep(asked).map_err(|cause| forgetful(&cause))?;
        let cancel = Arc::new(Notify::new());
        session.turn = Some(cancel.clone());
        let turn = Turn {
            session: id.to_owned(),
            request: request.clone(),
            cwd: session.cwd.clone(),
            past,
            settled: session.settled.clone(),
            model: session.model.clone(),
            out: self.out.clone(),
            err: self.err.clone(),
            extra: self.extra,
            tell: self.tell.clone(),
            answer: String::new(),
            calls: 0,
            result: Object::new(),
        };
        self.turns.spawn(turn.run(prompt, cancel));
        Ok(())
    }

    fn cancel(&self, params: &Value) {
        let session = params["sessionId"].as_str().and_then(|id| self.sessions.get(id));
        if let Some(turn) = session.and_then(|session| session.turn.as_ref()) {
            turn.notify_one();
        }
    }

    fn on_news(&mut self, news: News) -> Option<Ending> {
        match news {
            News::Ask { params, reply } => {
                self.last_request += 1;
                self.asked.insert(self.last_request, reply);
                self.out.post(request(self.last_request, "session/request_permission", &params));
                None
            }
            News::Over { end: End::Crash(code), .. } => Some(Ending::Crashed(code)),
            News::Over { turn, end } => {
                // Drops the tasks of turns that are over.
                while self.turns.try_join_next().is_some() {}
                self.close(*turn, end);
                None
            }
        }
    }

    fn close(&mut self, turn: Turn, end: End) {
        let Some(session) = self.sessions.get_mut(&turn.session) else { return };
        let Turn { request, settled, answer: said, mut result, .. } = turn;
        session.turn = None;
        session.settled = settled;
        let kept =
            if said.is_empty() { Ok(()) } else { session.conversation.keep(Entry::Answered(said)) };
        self.out.post(match (kept, end) {
            (Err(cause), _) => refusal(&request, INTERNAL, &forgetful(&cause).message),
            (Ok(()), End::Stop(reason)) => {
                result.insert("stopReason".to_owned(), reason.into());
                answer(&request, &result.into())
            }
            (Ok(()), End::Failed(code, why)) => refusal(&request, code, &why),
            (Ok(()), End::Crash(_)) => return,
        });
    }
}

fn error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError { code, message: message.into(), data: Value::Null }
}

fn forgetful(cause: &io::Error) -> RpcError {
    error(INTERNAL, format!("The memory cannot be used: {cause}"))
}

fn no_session(id: &str) -> RpcError {
    error(NOT_FOUND, format!("There is no session {id}"))
}

fn session_id(params: &Value) -> Result<&str, RpcError> {
    params["sessionId"].as_str().ok_or_else(|| error(BAD_PARAMS, "sessionId is missing"))
}

fn folder(params: &Value) -> Result<PathBuf, RpcError> {
    let cwd = params["cwd"].as_str().map(Path::new).filter(|cwd| cwd.is_absolute());
    cwd.map(Path::to_owned).ok_or_else(|| error(BAD_PARAMS, "cwd has to be an absolute path"))
}

/// The texts of a prompt; pictures and links are no part of a script.
fn prompt_text(params: &Value) -> Result<String, RpcError> {
    let blocks =
        params["prompt"].as_array().ok_or_else(|| error(BAD_PARAMS, "prompt has to be a list"))?;
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect();
    Ok(texts.join("\n"))
}

/// Unlike that of any other session of any process with the same memory.
fn new_id(number: usize) -> String {
    let now = since_epoch();
    format!("rehearsal-{:x}-{:x}-{number}", now.as_millis(), std::process::id())
}
