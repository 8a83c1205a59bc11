//! Who asks. A client's session has an id that outlives `/clear`, a resume and a restart as far as
//! the client lets us know; and each kind of client has its own way to be told.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use legwork_client::new_key;
use legwork_machine::process::process_mark;
use legwork_machine::{hash8, table, var};
use legwork_protocol::api::Told;
use legwork_protocol::line::{ClientSession, Context, Environment, Reach};
use legwork_protocol::{CallKey, MessageId, SessionId};
use serde_json::Value;

use crate::era::Client;
use crate::limits::{ANCESTORS_MAX, SESSION_FILE_MAX_BYTES};

/// What this process was started with.
#[derive(Debug, Clone)]
pub struct Surroundings {
    pub directory: String,
    /// The environment that helpers get.
    pub environment: Environment,
    /// Our parent and its ancestors, the nearest first.
    ancestors: Vec<u32>,
}

/// Who makes a call.
#[derive(Debug, Clone)]
pub struct Asker {
    pub context: Context,
    /// Sessions whose unread results this one reads: its own, and those of its sub-agents.
    pub reads: Vec<SessionId>,
    pub key: CallKey,
    /// The longest time that the client waits for an answer, in milliseconds.
    pub patience_ms: u64,
}

impl Asker {
    /// Whether the model has to fetch results, because nobody can wake it.
    pub fn fetches(&self) -> bool {
        self.context.client.as_ref().is_some_and(|client| client.told == Told::NextCall)
    }
}

/// A session as its client names it.
struct Session {
    name: String,
    directory: Option<String>,
    told: Told,
    reach: Option<Reach>,
    also_reads: Option<String>,
    call: Option<String>,
    patience_ms: u64,
}

impl Surroundings {
    pub fn of_this_process(environment: Environment) -> std::io::Result<Self> {
        let directory = std::env::current_dir()?.to_string_lossy().into_owned();
        let mut ancestors = Vec::new();
        let mut next = std::os::unix::process::parent_id();
        while next > 1 && ancestors.len() < ANCESTORS_MAX {
            ancestors.push(next);
            next = table::entry(next).map_or(0, |entry| entry.parent);
        }
        Ok(Self { directory, environment, ancestors })
    }

    /// Who makes the call with these parameters. `knows_tasks` says whether this client has shown
    /// that its main loop has tasks: a call without them is then one of a sub-agent.
    pub fn asker(&self, client: &Client, params: &Value, knows_tasks: bool) -> Asker {
        let meta = &params["_meta"];
        let session = if client.name == "claude-code" {
            self.claude(client, meta, knows_tasks)
        } else if let Some(thread) = meta["threadId"].as_str() {
            self.codex(thread, meta)
        } else if let Some(session) = meta["agent-session-id"].as_str() {
            goose(session, meta)
        } else {
            self.other(client)
        };
        self.made(session, &client.name)
    }

    fn made(&self, session: Session, client: &str) -> Asker {
        let id = |name: &str| fitting(name).parse::<SessionId>().ok();
        let own = id(&session.name).unwrap_or_else(nobody);
        let key = session
            .call
            .and_then(|call| CallKey::try_from(format!("{}-{}", own, fitting(&call))).ok());
        let key = key.unwrap_or_else(new_key);
        let mut reads = vec![own.clone()];
        reads.extend(session.also_reads.as_deref().and_then(id));
        let message = key.to_string().parse::<MessageId>();
        let context = Context {
            session: own,
            message: message.unwrap_or_else(|_| unreachable!("a key is short enough for an id")),
            agent: fitting(if client.is_empty() { "client" } else { client }),
            directory: session.directory.unwrap_or_else(|| self.directory.clone()),
            environment: Some(self.environment.clone()),
            model: None,
            client: Some(Box::new(ClientSession { told: session.told, reach: session.reach })),
        };
        Asker { context, reads, key, patience_ms: session.patience_ms }
    }

    fn claude(&self, client: &Client, meta: &Value, knows_tasks: bool) -> Session {
        let home = claude_home();
        let noted = self.ancestors.iter().find_map(|pid| noted(&home, *pid));
        let process = noted.as_ref().map(|(pid, _)| *pid).or(self.ancestors.first().copied());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let noted = noted.map(|(_, note)| note).unwrap_or_default();
        let session = text(&noted["sessionId"]).or_else(|| in_env("CLAUDE_CODE_SESSION_ID"));
        let session = session.unwrap_or_else(|| self.own_name());
        let socket =
            text(&noted["messagingSocketPath"]).or_else(|| in_env("CLAUDE_CODE_MESSAGING_SOCKET"));
        let mark = process.and_then(process_mark);
        let is_sub_agent = knows_tasks && !client.has_tasks();
        let one_shot = process.is_some_and(|pid| is_one_shot(&table::arguments(pid)));
        let reach = match (mark, socket) {
            (Some(process), Some(socket)) if !is_sub_agent && !one_shot => Some(Reach::Claude {
                session: session.clone(),
                process,
                socket,
                home: home.to_string_lossy().into_owned(),
            }),
            _ => None,
        };
        let [main, of_sub_agents] = names_of_claude(&session);
        let (name, also_reads) =
            if is_sub_agent { (of_sub_agents, None) } else { (main, Some(of_sub_agents)) };
        let told = if reach.is_some() { Told::Here } else { Told::NextCall };
        let call = text(&meta["claudecode/toolUseId"]);
        Session { name, directory: None, told, reach, also_reads, call, patience_ms: 600_000 }
    }

    fn codex(&self, thread: &str, meta: &Value) -> Session {
        // Some versions send it as a text.
        let turn = &meta["x-codex-turn-metadata"];
        let read = turn.as_str().and_then(|text| serde_json::from_str(text).ok());
        let turn: Value = read.unwrap_or_else(|| turn.clone());
        let by_person = |name: &str| turn[name].is_null() || turn[name] == "user";
        let stays = by_person("turn_trigger") && by_person("thread_source");
        let reach = stays.then(|| Reach::Codex {
            thread: thread.to_owned(),
            home: codex_home().to_string_lossy().into_owned(),
            program: self.program_of("codex"),
        });
        Session {
            name: format!("codex_{thread}"),
            directory: None,
            told: if stays { Told::Here } else { Told::NextCall },
            reach,
            also_reads: None,
            call: meta["callId"].as_str().map(str::to_owned),
            patience_ms: 300_000,
        }
    }

    fn other(&self, client: &Client) -> Session {
        let client = if client.name.is_empty() { "client" } else { &client.name };
        Session {
            name: name_of_process(&self.own_name()),
            directory: None,
            told: Told::NextCall,
            reach: None,
            also_reads: None,
            call: None,
            patience_ms: if client.contains("gemini") { 600_000 } else { 70_000 },
        }
    }

    /// The client by its process, if it has no other name for a session.
    fn own_name(&self) -> String {
        let parent = self.ancestors.first().copied().unwrap_or_else(std::process::id);
        process_mark(parent).unwrap_or_else(|| parent.to_string())
    }

    /// The program of an ancestor that is called so.
    fn program_of(&self, name: &str) -> Option<String> {
        let program = |pid: &u32| {
            let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
            (path.file_name()? == name).then(|| path.to_string_lossy().into_owned())
        };
        self.ancestors.iter().find_map(program)
    }
}

fn goose(session: &str, meta: &Value) -> Session {
    Session {
        name: format!("goose_{session}"),
        directory: meta["agent-working-dir"].as_str().map(str::to_owned),
        told: Told::NextCall,
        reach: None,
        also_reads: None,
        call: None,
        patience_ms: 300_000,
    }
}

/// What Claude Code notes about one of its processes. It is corrected when the session changes,
/// which our environment is not (seen in 2.1.325, not documented, so it may be missing).
fn noted(home: &Path, pid: u32) -> Option<(u32, Value)> {
    let mut text = Vec::new();
    let file = File::open(home.join(format!("sessions/{pid}.json"))).ok()?;
    file.take(SESSION_FILE_MAX_BYTES).read_to_end(&mut text).ok()?;
    Some((pid, serde_json::from_slice(&text).ok()?))
}

/// Whether Claude Code ends with this turn: it prints an answer and takes no further input.
fn is_one_shot(arguments: &[String]) -> bool {
    let has = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.as_str()));
    has(&["-p", "--print"]) && !arguments.iter().any(|word| word.contains("stream-json"))
}

fn claude_home() -> PathBuf {
    var("CLAUDE_CONFIG_DIR").map_or_else(|| in_home(".claude"), PathBuf::from)
}

fn codex_home() -> PathBuf {
    var("CODEX_HOME").map_or_else(|| in_home(".codex"), PathBuf::from)
}

fn in_home(name: &str) -> PathBuf {
    PathBuf::from(var("HOME").unwrap_or_default()).join(name)
}

fn in_env(name: &str) -> Option<String> {
    var(name)?.into_string().ok().filter(|value| !value.is_empty())
}

/// A name that fits into an id, and into a file's name. One that had to be changed is told from
/// others by its hash.
fn fitting(name: &str) -> String {
    const MAX: usize = 80;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() <= MAX && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain = name.chars().filter(|c| is_plain(*c)).take(MAX - 9);
    format!("{}-{}", plain.collect::<String>(), hash8(name.as_bytes()))
}

/// The sessions of a Claude Code session: its own, and that of its sub-agents.
pub fn sessions_of_claude(session: &str) -> Vec<SessionId> {
    names_of_claude(session).iter().filter_map(|name| fitting(name).parse().ok()).collect()
}

fn names_of_claude(session: &str) -> [String; 2] {
    [format!("claude_{session}"), format!("claude_{session}_agents")]
}

/// The session of a client that has no name for it, by the mark of its process. Its hooks, which
/// descend from that process, read what this session is told.
pub fn session_of_process(mark: &str) -> Option<SessionId> {
    fitting(&name_of_process(mark)).parse().ok()
}

fn name_of_process(mark: &str) -> String {
    format!("mcp_{mark}")
}

fn nobody() -> SessionId {
    "mcp_client".parse().unwrap_or_else(|_| unreachable!("letters make an id"))
}
