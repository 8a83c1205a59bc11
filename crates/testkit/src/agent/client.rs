//! A client that sees every line of an agent in the same process.

use std::future::Future;
use std::time::Duration;

use legwork_acp::wire::{self, Message, RpcError};
use legwork_agents::Ending;
use legwork_agents::rehearsal::{Options, serve};
use legwork_agents::serve::Agent;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
    duplex, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Bad, Misbehaviour, serve_badly};

/// Virtual, and longer than any script: when nothing can happen any more, it is over at once.
const FOREVER: Duration = Duration::from_secs(60_000_000);
const PIPE_BYTES: usize = 64 << 10;

type Input = ReadHalf<DuplexStream>;
type Output = WriteHalf<DuplexStream>;

#[derive(Debug)]
pub struct AgentClient {
    to: WriteHalf<DuplexStream>,
    from: BufReader<ReadHalf<DuplexStream>>,
    errors: DuplexStream,
    agent: JoinHandle<Ending>,
    last_id: u64,
}

/// All that came of one request.
#[derive(Debug)]
pub struct Heard {
    pub updates: Vec<Value>,
    pub outcome: Result<Value, RpcError>,
}

impl AgentClient {
    pub fn with(options: Options) -> Self {
        Self::of(|input, output, errors| serve(input, output, errors, options))
    }

    /// Of an agent with the commands that only tests need.
    pub fn of_bad(options: Options, misbehaviour: Option<Misbehaviour>) -> Self {
        let options = Options { extra: Some(&Bad), ..options };
        match misbehaviour {
            Some(how) => Self::of(move |input, output, errors| {
                serve_badly(input, output, errors, options, how)
            }),
            None => Self::with(options),
        }
    }

    /// Of any agent of ours.
    pub fn of_agent(agent: impl Agent) -> Self {
        Self::of(|input, output, errors| legwork_agents::serve::serve(input, output, errors, agent))
    }

    fn of<F>(agent: impl FnOnce(Input, Output, DuplexStream) -> F) -> Self
    where
        F: Future<Output = Ending> + Send + 'static,
    {
        let (ours, theirs) = duplex(PIPE_BYTES);
        let (errors, their_errors) = duplex(PIPE_BYTES);
        let (input, output) = split(theirs);
        let agent = tokio::spawn(agent(input, output, their_errors));
        let (from, to) = split(ours);
        Self { to, from: BufReader::new(from), errors, agent, last_id: 0 }
    }

    /// With a session open.
    pub async fn ready() -> (Self, String) {
        Self::with(Options::default()).opened().await
    }

    pub async fn opened(mut self) -> (Self, String) {
        let session = self.open().await;
        (self, session)
    }

    pub async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.write(&wire::request(self.last_id, method, &params)).await;
        self.last_id
    }

    pub async fn write(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).await.expect("the agent reads");
    }

    pub async fn cancel(&mut self, session: &str) {
        let params = json!({ "sessionId": session });
        self.write(&wire::notification("session/cancel", &params)).await;
    }

    /// The next line; nothing if none can come any more.
    pub async fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = timeout(FOREVER, self.from.read_until(b'\n', &mut line)).await.ok()?;
        (read.expect("a line") > 0).then(|| String::from_utf8(line).expect("a text"))
    }

    pub async fn message(&mut self) -> Option<Message> {
        let line = self.line().await?;
        Some(wire::read(line.as_bytes()).unwrap_or_else(|_| panic!("no message: {line}")))
    }

    /// What comes until the request is answered.
    pub async fn hear(&mut self, request: u64) -> Heard {
        let mut updates = Vec::new();
        loop {
            match self.message().await.expect("an answer comes") {
                Message::Notification { method, params } if method == "session/update" => {
                    updates.push(params["update"].clone());
                }
                Message::Response { id, outcome } if id == request => {
                    return Heard { updates, outcome };
                }
                other => panic!("not expected: {other:?}"),
            }
        }
    }

    pub async fn call(&mut self, method: &str, params: Value) -> Heard {
        let id = self.send(method, params).await;
        self.hear(id).await
    }

    pub async fn initialize(&mut self) -> Value {
        self.call("initialize", json!({ "protocolVersion": 1 })).await.outcome.expect("a greeting")
    }

    pub async fn open(&mut self) -> String {
        let opened = self.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
        opened.outcome.expect("a session")["sessionId"].as_str().expect("a text").to_owned()
    }

    pub async fn send_prompt(&mut self, session: &str, script: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": script }]);
        self.send("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await
    }

    pub async fn prompt(&mut self, session: &str, script: &str) -> Heard {
        let id = self.send_prompt(session, script).await;
        self.hear(id).await
    }

    /// The request that comes next, with what it is about.
    pub async fn asked(&mut self) -> (u64, Value) {
        match self.message().await {
            Some(Message::Request { id, method, params })
                if method == "session/request_permission" =>
            {
                (id.as_u64().expect("a number"), params)
            }
            other => panic!("no question: {other:?}"),
        }
    }

    pub async fn choose(&mut self, question: u64, option: &str) {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        self.write(&wire::answer(&json!(question), &outcome)).await;
    }

    /// So many bytes of what the agent writes to stderr.
    pub async fn drain_errors(&mut self, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        let done = timeout(FOREVER, self.errors.read_exact(&mut read)).await;
        done.expect("so much is written").expect("an open stream");
        read
    }

    pub async fn close_input(&mut self) {
        self.to.shutdown().await.expect("an open stream");
    }

    /// What the agent has written to stderr, at its end.
    pub async fn end(mut self) -> (Ending, String) {
        let ending = timeout(FOREVER, &mut self.agent)
            .await
            .expect("the agent ends")
            .expect("it does not panic");
        let mut errors = String::new();
        self.errors.read_to_string(&mut errors).await.expect("a text");
        (ending, errors)
    }

    /// Closes the agent's input.
    pub async fn leave(mut self) -> (Ending, String) {
        self.close_input().await;
        self.end().await
    }

    /// As kill -9 does.
    pub async fn kill(self) {
        self.agent.abort();
        assert!(self.agent.await.expect_err("a killed agent does not end").is_cancelled());
    }
}

impl Heard {
    pub fn stop_reason(&self) -> &str {
        self.outcome.as_ref().expect("a result")["stopReason"].as_str().expect("a reason")
    }

    pub fn error(&self) -> (i64, &str) {
        let error = self.outcome.as_ref().expect_err("it is refused");
        (error.code, &error.message)
    }

    /// The answer, put together.
    pub fn said(&self) -> String {
        self.texts("agent_message_chunk").concat()
    }

    pub fn texts(&self, kind: &str) -> Vec<&str> {
        self.updates
            .iter()
            .filter(|update| update["sessionUpdate"] == kind)
            .map(|update| update["content"]["text"].as_str().expect("a text"))
            .collect()
    }
}
