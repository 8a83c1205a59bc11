//! The queue of a Codex thread (0.166.0). It is durable: what is in it is told once, by whichever
//! process of Codex has the thread, now or when it is resumed. It takes the same message twice, so
//! what may have been added is looked for first, by the id that we gave it.
//!
//! Codex's server is asked over its socket if one runs, else over the pipes of one that we start;
//! its methods for the queue are experimental, so the command `codex queue` is the last resort.

mod app_server;
mod websocket;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use legwork_machine::process::Detached;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use self::app_server::AppServer;
use crate::limits::{CODEX_ARGUMENT_MAX_BYTES, CODEX_ITEMS, CODEX_MAX};

/// A thread, and how its Codex is reached.
#[derive(Debug)]
pub struct Thread<'a> {
    pub id: &'a str,
    pub home: &'a Path,
    /// Its program, if it is known.
    pub program: Option<&'a Path>,
    pub detached: &'a Detached,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such thread.
    NoThread,
    /// It could not be done; nobody knows how far it came.
    Failed(String),
}

impl Thread<'_> {
    /// Puts a message into the queue, unless it is there or was told; `may_be_there` says whether
    /// that is possible.
    pub async fn queue(&self, id: &str, text: &str, may_be_there: bool) -> Result<(), Trouble> {
        let done = timeout(CODEX_MAX, self.try_queue(id, text, may_be_there)).await;
        done.unwrap_or_else(|_| Err(Trouble::Failed("Codex did not answer in time".to_owned())))
    }

    async fn try_queue(&self, id: &str, text: &str, may_be_there: bool) -> Result<(), Trouble> {
        let program = self.program();
        let mut server = match AppServer::connect(self.home, &program, self.detached).await {
            Ok(server) => server,
            // Without a look nothing is written that may be there.
            Err(why) if may_be_there => return Err(Trouble::Failed(why)),
            Err(_) => return self.run_queue(&program, id, text).await,
        };
        if may_be_there && self.has(&mut server, id).await? {
            return Ok(());
        }
        let input = json!([{ "type": "text", "text": text, "text_elements": [] }]);
        let add = json!({ "threadId": self.id, "clientUserMessageId": id, "input": input });
        match server.ask("thread/queue/add", &add).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_unknown_method() && !may_be_there => {
                self.run_queue(&program, id, text).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the message waits in the queue or is among the last ones of the thread.
    async fn has(&self, server: &mut AppServer, id: &str) -> Result<bool, Trouble> {
        let queued = server.ask("thread/queue/list", &json!({ "threadId": self.id })).await?;
        if mentions(&queued, id) {
            return Ok(true);
        }
        let last = json!({ "threadId": self.id, "limit": CODEX_ITEMS, "sortDirection": "desc" });
        Ok(mentions(&server.ask("thread/items/list", &last).await?, id))
    }

    /// The id goes into the text, where a later look finds it.
    async fn run_queue(&self, program: &Path, id: &str, text: &str) -> Result<(), Trouble> {
        let end = format!("\n\n({id})");
        let text = legwork_protocol::line::beginning(text, CODEX_ARGUMENT_MAX_BYTES - end.len());
        let mut command = Command::new(program);
        command
            .args(["queue", "--thread", self.id, "--message"])
            .arg(format!("{text}{end}"))
            .env("CODEX_HOME", self.home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let ended = command.output().await.map_err(|error| Trouble::Failed(error.to_string()))?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        let unknown = said.contains("not found") || said.contains("no such thread");
        Err(if unknown { Trouble::NoThread } else { Trouble::Failed(said) })
    }

    fn program(&self) -> PathBuf {
        self.program.map_or_else(|| PathBuf::from("codex"), Path::to_owned)
    }
}

/// Whether a value has this text in one of its own; ours is in the id of a message, or in its text.
fn mentions(value: &Value, id: &str) -> bool {
    match value {
        Value::String(text) => text.contains(id),
        Value::Array(values) => values.iter().any(|value| mentions(value, id)),
        Value::Object(fields) => fields.values().any(|value| mentions(value, id)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl From<app_server::Unanswered> for Trouble {
    fn from(error: app_server::Unanswered) -> Self {
        if error.is_unknown_thread() { Self::NoThread } else { Self::Failed(error.to_string()) }
    }
}
