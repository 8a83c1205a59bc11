//! The connection to an agent until a session is open: it introduces itself, then opens a session
//! or resumes an earlier one. Every step has a deadline. Turns are in `turn/`.

use std::path::Path;
use std::sync::Arc;

use legwork_protocol::MessageId;
use legwork_protocol::line::Environment;
use legwork_protocol::refusal::plain;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::agent::failure::{Failure, What};
use crate::agent::model::Offer;
use crate::agent::process::Process;
use crate::agents::Agent;
use crate::limits::{LOGINS_MAX, NAME_MAX_CHARS, QUIET_MAX};
use crate::orphans::ProcessTree;
use crate::wire::{
    self, ACP_VERSION, CHECK, LOOK, LOOKS, Message, NO_SUCH_METHOD, PROGRAM, RpcError,
};
use legwork_protocol::json_rpc::ID_MAX_BYTES;

/// A question that no agent knows: names that begin like this are free.
const QUIET: &str = "_legwork/quiet";

pub struct AgentConnection {
    pub process: Process,
    pub introduction: Introduction,
    /// The model of the session, if the agent tells it.
    pub model: Option<String>,
    last_id: u64,
    pub agent: Agent,
    deadline: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Introduction {
    /// Its own name for itself; empty if it does not say.
    pub name: String,
    /// Its version; empty if it does not say.
    pub version: String,
    /// Whether it can take up an earlier conversation.
    pub loads: bool,
    /// Whether it does so without telling all of it again.
    pub resumes: bool,
    /// Whether it can say what became of a prompt.
    pub looks: bool,
    pub logins: Vec<String>,
    /// The person's program that does the work, if it tells.
    pub program: Option<Program>,
}

/// A program that an agent drives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    pub path: String,
    pub version: String,
    pub login: Login,
}

/// Whether somebody is logged in to a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Login {
    /// In words: `ChatGPT, plus`.
    As(String),
    Nobody,
    #[default]
    Unknown,
}

/// Starts an agent, lets it introduce itself, and ends it.
pub async fn check(
    agent: &Agent,
    directory: &Path,
    processes: &Arc<ProcessTree>,
) -> Result<Introduction, Failure> {
    let connection = AgentConnection::start(agent, directory, None, processes, true).await?;
    let introduction = connection.introduction.clone();
    connection.process.end().await;
    Ok(introduction)
}

impl AgentConnection {
    pub async fn begin(
        agent: &Agent,
        directory: &Path,
        environment: Option<&Environment>,
        processes: &Arc<ProcessTree>,
    ) -> Result<Self, Failure> {
        Self::start(agent, directory, environment, processes, false).await
    }

    /// Starts it and lets it introduce itself. A check is for people, who are also told what takes
    /// time to find out.
    async fn start(
        agent: &Agent,
        directory: &Path,
        environment: Option<&Environment>,
        processes: &Arc<ProcessTree>,
        is_check: bool,
    ) -> Result<Self, Failure> {
        let process = Process::start(agent, directory, environment, processes)?;
        let mut connection = Self {
            process,
            introduction: Introduction::default(),
            model: None,
            last_id: 0,
            agent: agent.clone(),
            deadline: Instant::now() + agent.start_max,
        };
        let mut params = json!({
            "protocolVersion": ACP_VERSION,
            "clientInfo": { "name": "legwork", "version": env!("CARGO_PKG_VERSION") },
            // An agent uses its own files and terminals.
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
            },
        });
        if is_check {
            params["_meta"] = json!({ CHECK: true });
        }
        let answer = connection.call("initialize", &params).await?;
        let answer = answer.map_err(|error| connection.refused("initialize", &error))?;
        connection.introduction = connection.introduced(&answer)?;
        Ok(connection)
    }

    /// Opens a session in this folder, with this model if one was chosen. Returns the agent's id
    /// for it.
    pub async fn open(&mut self, directory: &Path, model: Option<&str>) -> Result<String, Failure> {
        const METHOD: &str = "session/new";
        let params = json!({ "cwd": self.folder(directory), "mcpServers": [] });
        let answer = self.call(METHOD, &params).await?.map_err(|e| self.refused(METHOD, &e))?;
        let id = answer["sessionId"].as_str().filter(|id| id.len() <= ID_MAX_BYTES);
        let id = id.map(str::to_owned).ok_or_else(|| {
            self.process.failure(What::Incomplete { method: METHOD, missing: "a session id" })
        })?;
        let offer = Offer::of(&answer);
        if model.is_some() && offer.is_none() {
            return Err(self.process.failure(What::NoModels));
        }
        self.choose_model(&id, offer, model).await?;
        Ok(id)
    }

    pub async fn take_up(
        &mut self,
        session: &str,
        directory: &Path,
        model: Option<&str>,
    ) -> Result<(), Failure> {
        let method = match &self.introduction {
            Introduction { resumes: true, .. } => "session/resume",
            Introduction { loads: true, .. } => "session/load",
            Introduction { .. } => return Err(self.process.failure(What::CannotLoad)),
        };
        let folder = self.folder(directory);
        let params = json!({ "sessionId": session, "cwd": folder, "mcpServers": [] });
        let answer = self.call(method, &params).await?;
        let offer = Offer::of(&answer.map_err(|e| self.refused(method, &e))?);
        if !self.introduction.resumes {
            self.hear_out().await?;
        }
        // One that offers nothing now has kept what was chosen, or cannot help it.
        self.choose_model(session, offer, model).await
    }

    /// Asks what became of a prompt (`{taken, end?}`), without taking up its session.
    pub async fn look(&mut self, session: &str, message: &MessageId) -> Result<Value, Failure> {
        let params = json!({ "sessionId": session, "message": message });
        self.call(LOOK, &params).await?.map_err(|error| self.refused(LOOK, &error))
    }

    async fn choose_model(
        &mut self,
        session: &str,
        offer: Option<Offer>,
        wanted: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(offer) = offer else { return Ok(()) };
        self.model = offer.current();
        let Some(wanted) = wanted else { return Ok(()) };
        let Some(model) = offer.find(wanted) else {
            return Err(self.process.failure(What::NoSuchModel {
                model: plain(wanted, NAME_MAX_CHARS),
                offered: offer.named(),
            }));
        };
        if !offer.is_current(model) {
            let (method, params) = offer.choosing(session, model);
            self.call(method, &params).await?.map_err(|e| self.refused(method, &e))?;
            self.model = Some(plain(model, NAME_MAX_CHARS));
        }
        Ok(())
    }

    /// By the protocol an agent replays the conversation before it answers. Gemini answers first
    /// (seen in 0.61.0), and the replay would be taken for the next turn. So it is sent a
    /// meaningless request until nothing comes between request and answer.
    async fn hear_out(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + QUIET_MAX;
        loop {
            let asked = self.ask(QUIET, &json!({}));
            let mut told = 0;
            loop {
                let next = timeout_at(deadline, self.process.next("while it was starting"));
                match next.await {
                    // One that answers no such question is not asked again.
                    Err(_) => return Ok(()),
                    Ok(message) => match message? {
                        Message::Response { id, .. } if id == asked => break,
                        message => told += usize::from(self.pass_over(&message)),
                    },
                }
            }
            if told == 0 {
                return Ok(());
            }
        }
    }

    /// Whether it was an update of a session.
    fn pass_over(&self, message: &Message) -> bool {
        if let Message::Request { id, method, .. } = message {
            self.process.send(refuse_unknown(id, method));
        }
        matches!(message, Message::Notification { method, .. } if method == "session/update")
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.process.send(wire::request(self.last_id, method, params));
        self.last_id
    }

    pub fn refused(&self, method: &'static str, error: &RpcError) -> Failure {
        self.process.failure(What::refused(method, error, &self.introduction.logins))
    }

    /// Makes a request and waits for the answer. A replayed conversation is passed over.
    async fn call(
        &mut self,
        method: &'static str,
        params: &Value,
    ) -> Result<Result<Value, RpcError>, Failure> {
        let asked = self.ask(method, params);
        loop {
            let next = timeout_at(self.deadline, self.process.next("while it was starting"));
            let message = next.await.map_err(|_| {
                let seconds = self.agent.start_max.as_secs();
                self.process.failure(What::Silent { method, seconds })
            })??;
            match message {
                Message::Response { id, outcome } if id == asked => return Ok(outcome),
                message => {
                    self.pass_over(&message);
                }
            }
        }
    }

    fn introduced(&self, answer: &Value) -> Result<Introduction, Failure> {
        let version = &answer["protocolVersion"];
        if version.as_u64() != Some(ACP_VERSION) {
            let what = What::OtherVersion {
                theirs: plain(&version.to_string(), NAME_MAX_CHARS),
                ours: ACP_VERSION,
            };
            return Err(self.process.failure(what));
        }
        let text = |value: &Value| plain(value.as_str().unwrap_or_default(), NAME_MAX_CHARS);
        let info = &answer["agentInfo"];
        let can = &answer["agentCapabilities"];
        let resumes = can["sessionCapabilities"]["resume"].is_object();
        let logins = answer["authMethods"].as_array().into_iter().flatten().take(LOGINS_MAX);
        Ok(Introduction {
            name: text(&info["name"]),
            version: text(&info["version"]),
            loads: resumes || can["loadSession"] == true,
            resumes,
            looks: can["_meta"][LOOKS] == true,
            program: answer["_meta"].get(PROGRAM).map(|about| Program {
                path: text(&about["program"]),
                version: text(&about["version"]),
                login: match about.get("login") {
                    None => Login::Unknown,
                    Some(Value::Null) => Login::Nobody,
                    Some(login) => Login::As(text(login)),
                },
            }),
            logins: logins.map(|way| text(&way["name"])).filter(|way| !way.is_empty()).collect(),
        })
    }

    fn folder<'a>(&'a self, directory: &'a Path) -> &'a Path {
        self.agent.cwd.as_deref().unwrap_or(directory)
    }
}

/// We offer an agent nothing but permissions.
pub fn refuse_unknown(id: &Value, method: &str) -> String {
    wire::refusal(id, NO_SUCH_METHOD, &format!("legwork does not offer {method}"))
}
