//! An agent's side of ACP: one loop reads what the client says, knows which sessions are busy, and
//! answers. What an agent does is behind [`Agent`].
//!
//! Every request is a task of its own, and the loop never waits for its own output, so a client can
//! cancel a turn that writes faster than the client reads.

mod forms;

use std::collections::BTreeMap;
use std::future::Future;
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use legwork_acp::wire::{
    BAD_PARAMS, BAD_REQUEST, CHECK, LOOK, MESSAGE, Message, NO_SUCH_METHOD, NOT_FOUND, RpcError,
    answer, notification, read, refusal, request,
};
use legwork_machine::LineReader;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::forms::{folder, greeting, looked, options, prompt_text, result, session_id};
use crate::Ending;
use crate::out::Out;

/// A line of the client's; a longer one is passed over.
const LINE_MAX_BYTES: usize = 16 << 20;
/// How long what is on its way may take at the end, if the client does not read.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub type Object = Map<String, Value>;
pub type Answered<T> = Result<T, RpcError>;

/// What an agent does. Its methods run at the same time for several sessions, but no two turns of
/// one session do.
pub trait Agent: Send + Sync + 'static {
    /// Says what it is. An agent that cannot work at all refuses here and says why. If this is a
    /// check for people, it also finds out who is logged in.
    fn greet(&self, check: bool) -> impl Future<Output = Answered<Greeting>> + Send;

    /// Opens a session in this folder.
    fn open(&self, cwd: PathBuf) -> impl Future<Output = Answered<(String, Offer)>> + Send;

    /// Takes up a session, of an earlier process too. What was said in it is to be shown again if
    /// the client wants a replay (`session/load`).
    fn load(&self, load: Load) -> impl Future<Output = Answered<Offer>> + Send;

    /// Chooses an offered model for the turns to come.
    fn choose(&self, session: &str, model: &str) -> impl Future<Output = Answered<Offer>> + Send;

    /// One turn. It is to end soon after [`Prompt::cancelled`] returns, with [`End::cancelled`].
    /// Dropped, it leaves nothing at work.
    fn prompt(&self, prompt: Prompt) -> impl Future<Output = End> + Send;

    /// Looks whether a prompt was taken, of an earlier process too, and how its turn ended. Nothing
    /// is sent, and nothing is started in the session. An error if it cannot be said for certain.
    fn look(&self, session: &str, message: &str) -> impl Future<Output = Answered<Look>> + Send {
        let _ = (session, message);
        std::future::ready(Err(no_method(LOOK)))
    }

    /// The client has left, and no turn is at work any more.
    fn close(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// What an agent says of itself.
#[derive(Debug, Clone, Default)]
pub struct Greeting {
    pub name: String,
    pub version: String,
    /// Whether sessions of earlier processes can be taken up.
    pub loads: bool,
    /// Whether it answers [`Agent::look`].
    pub looks: bool,
    /// How somebody logs in, in words: `run codex login`.
    pub logins: Vec<String>,
    pub program: Option<Program>,
}

/// The program of the person that does the work.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub path: PathBuf,
    pub version: String,
    /// Who is logged in, in words; `Some(None)` if nobody is, and nothing if that is not known.
    pub login: Option<Option<String>>,
}

/// The models of a session. None at all if there is no choice.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    pub current: Option<String>,
    /// The id and the name of each.
    pub models: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct Load {
    pub session: String,
    pub cwd: PathBuf,
    /// Shows what was said, if the client wants that.
    pub replay: Option<Client>,
}

#[derive(Debug)]
pub struct Prompt {
    pub session: String,
    /// The texts of the prompt; pictures and links are left out.
    pub text: String,
    /// The client's id of the message, if it has one: the same message has the same one.
    pub message: Option<String>,
    pub client: Client,
    cancel: Arc<Notify>,
}

/// How a turn ended.
#[derive(Debug)]
pub enum End {
    /// With one of the protocol's reasons: `end_turn`, `cancelled`, `max_tokens`, `refusal`.
    Stopped {
        reason: String,
        /// What the result says beside the reason.
        result: Object,
    },
    Failed(RpcError),
    /// Ends the process too.
    Crash(u8),
}

/// What became of a prompt.
#[derive(Debug, PartialEq)]
pub enum Look {
    /// It never came to the program: it may be sent.
    NotTaken,
    /// The program has it, and its turn is not over or was cut off.
    Taken,
    /// Its turn is over, with this answer or this failure, and took this.
    Over { end: Result<String, String>, result: Object },
}

/// The client of a session.
#[derive(Debug, Clone)]
pub struct Client {
    session: String,
    pub out: Out,
    pub err: Out,
    tell: mpsc::UnboundedSender<News>,
}

#[derive(Debug)]
enum News {
    Ask { params: Value, reply: oneshot::Sender<Answered<Value>> },
    Answer { request: Value, answered: Answered<Value> },
    Over { request: Value, session: String, end: End },
}

impl Prompt {
    /// Returns when the client calls the turn off.
    pub async fn cancelled(&self) {
        self.cancel.notified().await;
    }
}

impl End {
    pub fn stopped(reason: &str, result: Object) -> Self {
        Self::Stopped { reason: reason.to_owned(), result }
    }

    pub fn cancelled() -> Self {
        Self::stopped("cancelled", Object::new())
    }

    pub fn failed(code: i64, message: impl Into<String>) -> Self {
        Self::Failed(error(code, message))
    }
}

impl Client {
    /// Sends an update of the session, and returns when it has left.
    pub async fn update(&self, update: Value) {
        self.out.line(self.session_update(update)).await;
    }

    /// The same without waiting.
    pub fn post_update(&self, update: Value) {
        self.out.post(self.session_update(update));
    }

    fn session_update(&self, update: Value) -> String {
        let params = json!({ "sessionId": self.session, "update": update });
        notification("session/update", &params)
    }

    /// Asks for a permission (`{toolCall, options}`); the answer is the client's, as it comes.
    pub fn request_permission(&self, mut params: Value) -> oneshot::Receiver<Answered<Value>> {
        params["sessionId"] = self.session.as_str().into();
        let (reply, replied) = oneshot::channel();
        let _ = self.tell.send(News::Ask { params, reply });
        replied
    }
}

/// Serves a client until the input ends or a turn crashes the agent.
pub async fn serve<A, I, O, E>(mut input: I, output: O, errors: E, agent: A) -> Ending
where
    A: Agent,
    I: AsyncRead + Unpin,
    O: AsyncWrite + Send + Unpin + 'static,
    E: AsyncWrite + Send + Unpin + 'static,
{
    let (out, mut written) = Out::open(output);
    let (err, _) = Out::open(errors);
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut server = Server {
        agent: Arc::new(agent),
        busy: BTreeMap::new(),
        requests: JoinSet::new(),
        turns: JoinSet::new(),
        asked: BTreeMap::new(),
        last_request: 0,
        out,
        err: err.clone(),
        tell,
    };
    let mut lines = LineReader::new(LINE_MAX_BYTES);
    loop {
        let ending = tokio::select! {
            read = input.read(lines.space()) => match read {
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    lines.filled(count);
                    iter::from_fn(|| lines.pop()).flatten().for_each(|line| server.on_line(&line));
                    None
                }
            },
            Some(news) = told.recv() => server.on_news(news),
            _ = &mut written => break,
        };
        if let Some(ending) = ending {
            // What is on its way to stderr says why.
            let _ = timeout(LAST_WORDS, err.line(String::new())).await;
            return ending;
        }
    }
    server.turns.shutdown().await;
    let requests = async { while server.requests.join_next().await.is_some() {} };
    let _ = timeout(LAST_WORDS, requests).await;
    while let Ok(news) = told.try_recv() {
        server.on_news(news);
    }
    server.agent.close().await;
    drop((server, told));
    if !written.is_finished() {
        let _ = timeout(LAST_WORDS, written).await;
    }
    Ending::InputEnded
}

struct Server<A> {
    agent: Arc<A>,
    /// Cancels the turn of a session.
    busy: BTreeMap<String, Arc<Notify>>,
    requests: JoinSet<()>,
    turns: JoinSet<()>,
    /// The turns that wait for the answer to a request of ours.
    asked: BTreeMap<u64, oneshot::Sender<Answered<Value>>>,
    last_request: u64,
    out: Out,
    err: Out,
    tell: mpsc::UnboundedSender<News>,
}

impl<A: Agent> Server<A> {
    fn on_line(&mut self, line: &[u8]) {
        match read(line) {
            Ok(Message::Request { id, method, params }) => {
                if let Err(refused) = self.on_request(&id, &method, &params) {
                    self.answer(&id, Err(refused));
                }
            }
            Ok(Message::Notification { method, params }) if method == "session/cancel" => {
                let session = params["sessionId"].as_str();
                if let Some(turn) = session.and_then(|session| self.busy.get(session)) {
                    turn.notify_one();
                }
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

    fn on_request(&mut self, id: &Value, method: &str, params: &Value) -> Answered<()> {
        let agent = self.agent.clone();
        match method {
            "initialize" => {
                let check = params["_meta"][CHECK] == true;
                self.run(id, async move { Ok(greeting(agent.greet(check).await?)) });
            }
            "session/new" => {
                let cwd = folder(params)?;
                if !params["mcpServers"].is_array() {
                    return Err(error(BAD_PARAMS, "mcpServers has to be a list"));
                }
                self.run(id, async move {
                    let (session, offer) = agent.open(cwd).await?;
                    let mut opened = options(&offer);
                    opened["sessionId"] = session.into();
                    Ok(opened)
                });
            }
            "session/load" | "session/resume" => {
                let (cwd, session) = (folder(params)?, session_id(params)?);
                let replay = (method == "session/load").then(|| self.client(&session));
                let load = Load { session, cwd, replay };
                self.run(id, async move { Ok(options(&agent.load(load).await?)) });
            }
            "session/set_config_option" => {
                let session = session_id(params)?;
                let model = params["value"].as_str().filter(|_| params["configId"] == "model");
                let model = model.map(str::to_owned);
                let model =
                    model.ok_or_else(|| error(BAD_PARAMS, "There is no such option here"))?;
                self.run(id, async move { Ok(options(&agent.choose(&session, &model).await?)) });
            }
            "session/prompt" => {
                let session = session_id(params)?;
                if self.busy.contains_key(&session) {
                    return Err(error(BAD_REQUEST, "This session is busy; cancel it or wait"));
                }
                let prompt = self.prompt(session.clone(), params)?;
                let (tell, request) = (self.tell.clone(), id.clone());
                self.turns.spawn(async move {
                    let end = agent.prompt(prompt).await;
                    let _ = tell.send(News::Over { request, session, end });
                });
            }
            LOOK => {
                let session = session_id(params)?;
                let message = params["message"].as_str().unwrap_or_default().to_owned();
                self.run(id, async move { Ok(looked(agent.look(&session, &message).await?)) });
            }
            _ => return Err(no_method(method)),
        }
        Ok(())
    }

    fn run(&mut self, id: &Value, work: impl Future<Output = Answered<Value>> + Send + 'static) {
        let (tell, request) = (self.tell.clone(), id.clone());
        self.requests.spawn(async move {
            let answered = work.await;
            // Without a receiver the process is about to end.
            let _ = tell.send(News::Answer { request, answered });
        });
    }

    fn prompt(&mut self, session: String, params: &Value) -> Answered<Prompt> {
        let text = prompt_text(params)?;
        let message = params["_meta"][MESSAGE].as_str().map(str::to_owned);
        let cancel = Arc::new(Notify::new());
        self.busy.insert(session.clone(), cancel.clone());
        let client = self.client(&session);
        Ok(Prompt { session, text, message, client, cancel })
    }

    fn client(&self, session: &str) -> Client {
        let Self { out, err, tell, .. } = self;
        let session = session.to_owned();
        Client { session, out: out.clone(), err: err.clone(), tell: tell.clone() }
    }

    fn answer(&self, request: &Value, answered: Answered<Value>) {
        self.out.post(match answered {
            Ok(result) => answer(request, &result),
            Err(error) if error.data.is_null() => refusal(request, error.code, &error.message),
            Err(RpcError { code, message, data }) => {
                let error = json!({ "code": code, "message": message, "data": data });
                format!("{}\n", json!({ "jsonrpc": "2.0", "id": request, "error": error }))
            }
        });
    }

    fn on_news(&mut self, news: News) -> Option<Ending> {
        // Drops the tasks that are over.
        while self.requests.try_join_next().or_else(|| self.turns.try_join_next()).is_some() {}
        match news {
            News::Ask { params, reply } => {
                self.last_request += 1;
                self.asked.insert(self.last_request, reply);
                self.out.post(request(self.last_request, "session/request_permission", &params));
            }
            News::Answer { request, answered } => self.answer(&request, answered),
            News::Over { end: End::Crash(code), .. } => return Some(Ending::Crashed(code)),
            News::Over { request, session, end } => {
                self.busy.remove(&session);
                self.answer(&request, result(end));
            }
        }
        None
    }
}

pub fn error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError { code, message: message.into(), data: Value::Null }
}

pub fn no_method(method: &str) -> RpcError {
    error(NO_SUCH_METHOD, format!("There is no method {method} here"))
}

pub fn no_session(id: &str) -> RpcError {
    error(NOT_FOUND, format!("There is no session {id}"))
}

/// A piece of an answer (`agent_message_chunk`) or of something else that is text.
pub fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}
