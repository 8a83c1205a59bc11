//! Codex's app-server: JSON-RPC, over the socket of the one that runs or the pipes of one of ours.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::Stdio;

use legwork_machine::LineReader;
use legwork_machine::process::Detached;
use legwork_protocol::json_rpc::{self, Message, NO_SUCH_METHOD, RpcError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::websocket::WebSocket;
use crate::limits::CODEX_MESSAGE_MAX_BYTES;

/// Where the server of a user listens, below the folder of Codex.
const SOCKET: &str = "app-server-control/app-server-control.sock";

pub struct AppServer {
    line: Line,
    last_id: u64,
}

enum Line {
    Socket(Box<WebSocket>),
    Pipes(Box<Pipes>),
}

struct Pipes {
    /// Ends when it is dropped.
    _child: Child,
    to: ChildStdin,
    from: ChildStdout,
    lines: LineReader,
}

/// Why a request was not answered with a result.
#[derive(Debug)]
pub enum Unanswered {
    Refused(RpcError),
    Broken(io::Error),
}

impl AppServer {
    pub async fn connect(home: &Path, program: &Path, detached: &Detached) -> Result<Self, String> {
        let line = match WebSocket::connect(&home.join(SOCKET)).await {
            Ok(socket) => Line::Socket(Box::new(socket)),
            Err(_) => start(home, program, detached)
                .map_err(|error| format!("{}: {error}", program.display()))?,
        };
        let mut server = Self { line, last_id: 0 };
        let hello = json!({
            "clientInfo": { "name": "legwork", "title": "legwork",
                "version": env!("CARGO_PKG_VERSION") },
            "capabilities": { "experimentalApi": true },
        });
        server.ask("initialize", &hello).await.map_err(|error| error.to_string())?;
        let initialized = json_rpc::notification("initialized", &json!({}));
        server.write(&initialized).await.map_err(|error| error.to_string())?;
        Ok(server)
    }

    pub async fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Unanswered> {
        self.last_id += 1;
        let asked = self.last_id;
        let request = json_rpc::request(asked, method, params);
        self.write(&request).await.map_err(Unanswered::Broken)?;
        loop {
            let line = self.read().await.map_err(Unanswered::Broken)?;
            match json_rpc::read(&line) {
                Ok(Message::Response { id, outcome }) if id == asked => {
                    return outcome.map_err(Unanswered::Refused);
                }
                // What else it says is for its own clients.
                _ => {}
            }
        }
    }

    async fn write(&mut self, line: &str) -> io::Result<()> {
        match &mut self.line {
            Line::Socket(socket) => socket.send(line.trim_end()).await,
            Line::Pipes(pipes) => pipes.to.write_all(line.as_bytes()).await,
        }
    }

    async fn read(&mut self) -> io::Result<Vec<u8>> {
        match &mut self.line {
            Line::Socket(socket) => socket.next().await,
            Line::Pipes(pipes) => loop {
                match pipes.lines.pop() {
                    Some(Ok(line)) => return Ok(line),
                    Some(Err(_)) => return Err(io::ErrorKind::InvalidData.into()),
                    None => {}
                }
                match pipes.from.read(pipes.lines.space()).await? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => pipes.lines.filled(count),
                }
            },
        }
    }
}

/// Starts a server of our own.
fn start(home: &Path, program: &Path, detached: &Detached) -> io::Result<Line> {
    let mut child = Command::new(program)
        .arg("app-server")
        .env("CODEX_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(pid) = child.id() {
        detached.insert(pid);
    }
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let lines = LineReader::new(CODEX_MESSAGE_MAX_BYTES);
    Ok(Line::Pipes(Box::new(Pipes { _child: child, to, from, lines })))
}

impl Unanswered {
    pub fn is_unknown_method(&self) -> bool {
        // One that knows the method only by its name says that the request is invalid.
        let unknown = |error: &RpcError| {
            error.code == NO_SUCH_METHOD || error.message.contains("unknown variant")
        };
        matches!(self, Self::Refused(error) if unknown(error))
    }

    pub fn is_unknown_thread(&self) -> bool {
        let unknown = |words: &str| {
            words.contains("thread")
                && (words.contains("not found") || words.contains("no rollout"))
        };
        matches!(self, Self::Refused(error) if unknown(&error.message.to_lowercase()))
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(out, "Codex refused: {error}"),
            Self::Broken(error) => write!(out, "Codex's server cannot be reached: {error}"),
        }
    }
}
