//! The server: reads requests, answers each when it is done, and ends with its client.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use legwork_client::{Daemon, Trouble};
use legwork_machine::{Folders, LineReader, lock};
use legwork_protocol::api::{self, Ask, List, Request};
use legwork_protocol::json_rpc::{
    self, BAD_REQUEST, INTERNAL, Message, NOT_READ, RpcError, Unread,
};
use legwork_protocol::line::{Context, Environment};
use legwork_protocol::tools::OfferedAgent;
use legwork_protocol::{MessageId, TaskId};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Stdout};
use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::asker::Surroundings;
use crate::era::{self, Client, bad, unknown};
use crate::limits::{AGENTS_MAX, HABITS, LINE_MAX_BYTES, OPEN_MAX, TELL_TRIES};
use crate::polls::Polls;
use crate::tools;

/// What the command knows and this does not.
pub struct Options {
    pub folders: Folders,
    /// The environment that helpers get.
    pub environment: Environment,
    /// Whether this runs inside of a helper.
    pub inside: bool,
}

pub struct Server {
    pub daemon: Daemon,
    pub surroundings: Surroundings,
    out: tokio::sync::Mutex<Stdout>,
    inside: bool,
    /// The client of the old era, once it has introduced itself.
    introduced: Mutex<Option<Client>>,
    /// Whether some request has shown that its client has tasks.
    pub knows_tasks: AtomicBool,
    pub polls: Polls,
    /// Requests of ours that the client has not answered.
    asked: Mutex<BTreeMap<u64, oneshot::Sender<Result<Value, RpcError>>>>,
    last_id: AtomicU64,
    /// Whoever shows unread results to the client.
    pub shows: Arc<tokio::sync::Mutex<()>>,
    /// Whether questions of helpers are being looked for, to be shown as forms.
    pub watches: AtomicBool,
}

/// A result, and what is to be done once the client has it.
pub struct Answer {
    pub result: Value,
    pub after: Vec<After>,
    /// Held until what was shown is known to have been: else the next answer would show it again.
    pub shows: Option<OwnedMutexGuard<()>>,
}

pub enum After {
    /// These messages were in it.
    Shown(Vec<MessageId>),
    /// The end of this run was.
    HandedOver { task: TaskId, run: u32 },
}

impl From<Value> for Answer {
    fn from(result: Value) -> Self {
        Self { result, after: Vec::new(), shows: None }
    }
}

/// Hears the client's answer to a request of ours.
pub type Asked = oneshot::Receiver<Result<Value, RpcError>>;

type Open = Arc<Mutex<BTreeMap<String, AbortHandle>>>;

/// Serves one client, until it closes our stdin.
pub fn run(options: Options) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let Options { folders, environment, inside } = options;
        let server = Arc::new(Server {
            daemon: Daemon::new(folders, HABITS),
            surroundings: Surroundings::of_this_process(environment)?,
            out: tokio::sync::Mutex::new(tokio::io::stdout()),
            inside,
            introduced: Mutex::default(),
            knows_tasks: AtomicBool::new(false),
            polls: Polls::default(),
            asked: Mutex::default(),
            last_id: AtomicU64::new(0),
            shows: Arc::default(),
            watches: AtomicBool::new(false),
        });
        server.serve().await
    });
    // Whatever still waits, waits for nobody: stdin is read by a thread that cannot be ended.
    runtime.shutdown_background();
    served
}

impl Server {
    async fn serve(self: Arc<Self>) -> io::Result<()> {
        let (mut stdin, open) = (tokio::io::stdin(), Open::default());
        let mut lines = LineReader::new(LINE_MAX_BYTES);
        loop {
            while let Some(line) = lines.pop() {
                let Ok(line) = line else {
                    let why = format!("a message has at most {LINE_MAX_BYTES} bytes");
                    self.write(&json_rpc::refusal(&Value::Null, BAD_REQUEST, &why)).await?;
                    continue;
                };
                self.hear(&line, &open).await?;
            }
            match stdin.read(lines.space()).await? {
                0 => return Ok(()),
                count => lines.filled(count),
            }
        }
    }

    async fn hear(self: &Arc<Self>, line: &[u8], open: &Open) -> io::Result<()> {
        match json_rpc::read(line) {
            Ok(Message::Request { id, method, params }) => {
                if lock(open).len() >= OPEN_MAX {
                    let why = "too many requests are open";
                    return self.write(&json_rpc::refusal(&id, INTERNAL, why)).await;
                }
                self.begin(id, method, params, open);
            }
            Ok(Message::Notification { method, params }) => {
                if method == "notifications/cancelled"
                    && let Some(call) = lock(open).remove(&params["requestId"].to_string())
                {
                    // Its waiting ends, and nothing else.
                    call.abort();
                }
            }
            Ok(Message::Response { id, outcome }) => {
                if let Some(waits) = lock(&self.asked).remove(&id) {
                    let _ = waits.send(outcome);
                }
            }
            Err(Unread::Message) => {
                let why = "the message cannot be read";
                self.write(&json_rpc::refusal(&Value::Null, NOT_READ, why)).await?;
            }
            // No message at all.
            Err(Unread::Other) => {}
        }
        Ok(())
    }

    fn begin(self: &Arc<Self>, id: Value, method: String, params: Value, open: &Open) {
        let (server, still_open, name) = (self.clone(), open.clone(), id.to_string());
        // Held until it is in the list, so that it cannot end before.
        let mut list = lock(open);
        let call = tokio::spawn(async move {
            let answered = server.answer(&method, &params).await;
            lock(&still_open).remove(&id.to_string());
            let (line, after, shows) = match answered {
                Ok(Answer { result, after, shows }) => {
                    (json_rpc::answer(&id, &result), after, shows)
                }
                Err(error) => (json_rpc::refusal_with(&id, &error), Vec::new(), None),
            };
            // If the client has gone, so will we; what it was not given it was not told.
            if server.write(&line).await.is_ok() {
                server.afterwards(after).await;
            }
            drop(shows);
        });
        list.insert(name, call.abort_handle());
    }

    async fn answer(self: &Arc<Self>, method: &str, params: &Value) -> Result<Answer, RpcError> {
        if method == "initialize" && !era::is_modern(params) {
            let client = Client::introduced(params);
            self.note_tasks(&client);
            self.announce(&client, params);
            *lock(&self.introduced) = Some(client);
            return Ok(era::initialized(params, self.inside).into());
        }
        let introduced = lock(&self.introduced).clone();
        let client = Client::of(params, introduced.as_ref())?;
        self.note_tasks(&client);
        let answer = match method {
            "server/discover" => {
                self.announce(&client, params);
                Answer::from(era::discovered(self.inside))
            }
            "ping" if !client.is_modern => json!({}).into(),
            "tools/list" => self.tools().await.into(),
            "tools/call" if self.inside => return Err(bad("there are no tools here")),
            "tools/call" => self.call(&client, params).await?,
            "tasks/get" => self.get_task(&client, params).await?,
            "tasks/update" => self.update_task(&client, params).await?,
            "tasks/cancel" => self.cancel_task(&client, params).await?,
            _ => return Err(unknown(method)),
        };
        Ok(Answer { result: client.result(answer.result), ..answer })
    }

    /// Says that a session which can be woken is there again: what it was not told while its client
    /// did not run, and does not poll for, is told now.
    fn announce(self: &Arc<Self>, client: &Client, params: &Value) {
        let knows_tasks = self.knows_tasks.load(Ordering::Relaxed);
        let asker = self.surroundings.asker(client, params, knows_tasks);
        let wakes = asker.context.client.as_ref().is_some_and(|client| client.reach.is_some());
        if self.inside || !wakes {
            return;
        }
        let server = self.clone();
        tokio::spawn(async move {
            let list = Ask::List(List { limit: Some(1), ..List::default() });
            let context = Context { environment: None, ..asker.context };
            // A daemon that cannot be reached hears of it with the next call.
            let _ = server.daemon.request_for::<api::Answer>(Some(&context), None, list).await;
        });
    }

    fn note_tasks(&self, client: &Client) {
        if client.has_tasks() {
            self.knows_tasks.store(true, Ordering::Relaxed);
        }
    }

    /// The tools with the agents that there are now. Where the daemon says that we are inside of a
    /// helper there are none; where it says nothing, the tools will say what is wrong.
    async fn tools(&self) -> Value {
        if self.inside {
            return tools::none();
        }
        match timeout(AGENTS_MAX, self.daemon.request(Request::Agents)).await {
            Ok(Ok::<Vec<OfferedAgent>, _>(agents)) => tools::list(&agents),
            Ok(Err(Trouble::Refused(_))) => tools::none(),
            Ok(Err(Trouble::Away(_))) | Err(_) => tools::list(&[]),
        }
    }

    /// Asks the client something. Gives the number of the request, and what will hear the answer.
    pub async fn ask(&self, method: &str, params: &Value) -> io::Result<(u64, Asked)> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (say, answer) = oneshot::channel();
        lock(&self.asked).insert(id, say);
        self.write(&json_rpc::request(id, method, params)).await?;
        Ok((id, answer))
    }

    /// Nobody needs the answer to a request of ours any more.
    pub async fn withdraw(&self, id: u64) {
        if lock(&self.asked).remove(&id).is_some() {
            let which = json!({ "requestId": id, "reason": "it was answered elsewhere" });
            self.notify("notifications/cancelled", &which).await;
        }
    }

    pub async fn notify(&self, method: &str, params: &Value) {
        // A client that has gone hears nothing.
        let _ = self.write(&json_rpc::notification(method, params)).await;
    }

    async fn write(&self, line: &str) -> io::Result<()> {
        let mut out = self.out.lock().await;
        out.write_all(line.as_bytes()).await?;
        out.flush().await
    }

    /// The client has been given an answer. If the daemon cannot be told so, what was in it may be
    /// said once more, and nothing is lost.
    async fn afterwards(&self, after: Vec<After>) {
        for what in after {
            let request = match what {
                After::Shown(messages) => Request::Ask(Ask::MailShown { messages }),
                After::HandedOver { task, run } => {
                    self.polls.has_end((task, run));
                    Request::Ask(Ask::HandedOver { task: task.to_string(), run })
                }
            };
            self.tell(request).await;
        }
    }

    async fn tell(&self, request: Request) {
        for _ in 0..TELL_TRIES {
            match self.daemon.request::<api::Answer>(request.clone()).await {
                Err(Trouble::Away(_)) => {}
                Ok(_) | Err(Trouble::Refused(_)) => return,
            }
        }
    }
}
