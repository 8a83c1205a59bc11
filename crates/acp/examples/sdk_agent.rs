//! An agent made with the protocol's own library. The tests hold legwork's client against it.
//!
//! Each prompt is one thing to do: `echo WORDS` uses a tool and repeats the words, `ask WORDS`
//! wants a permission, `wait` goes on until it is called off, `count` says how many prompts there
//! were. Arguments: a folder to keep conversations in, and when a loaded one is told again:
//! `before` the answer, as the protocol has it, `after` it, as Gemini does, or `never`, without an
//! answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ContentBlock, ContentChunk, InitializeRequest,
    InitializeResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, PermissionOption, PermissionOptionKind, PromptRequest, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequest, SessionId, SessionNotification,
    SessionUpdate, StopReason, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, ErrorCode, Result, on_receive_notification,
    on_receive_request,
};
use tokio::io::{stdin, stdout};
use tokio::sync::Notify;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

/// What was asked, and what was answered.
type Talk = Vec<(String, String)>;

struct Desk {
    memory: Option<PathBuf>,
    replay: String,
    sessions: Mutex<BTreeMap<String, (Talk, Arc<Notify>)>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let memory = words.next().map(PathBuf::from);
    let replay = words.next().unwrap_or_else(|| "before".to_owned());
    let desk = Arc::new(Desk { memory, replay, sessions: Mutex::default() });
    let (new, load, prompt, cancel) = (desk.clone(), desk.clone(), desk.clone(), desk.clone());
    Agent
        .v1()
        .on_receive_request(
            async move |hello: InitializeRequest, responder, _| {
                let can = AgentCapabilities::new().load_session(desk.memory.is_some());
                let hello = InitializeResponse::new(hello.protocol_version);
                responder.respond(hello.agent_capabilities(can))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: NewSessionRequest, responder, _| {
                responder.respond(NewSessionResponse::new(new.open()))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest,
                        responder,
                        connection: ConnectionTo<Client>| {
                let talk = match load.load(&request.session_id) {
                    Ok(talk) => talk,
                    Err(error) => return responder.respond_with_error(error),
                };
                if load.replay == "never" {
                    return connection.spawn(async move {
                        std::future::pending::<()>().await;
                        responder.respond(LoadSessionResponse::new())
                    });
                }
                if load.replay == "before" {
                    replay_all(&connection, &request.session_id, &talk)?;
                    return responder.respond(LoadSessionResponse::new());
                }
                responder.respond(LoadSessionResponse::new())?;
                replay_all(&connection, &request.session_id, &talk)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, connection: ConnectionTo<Client>| {
                let (desk, to) = (prompt.clone(), connection.clone());
                // Outside of the loop, which has to read on: an answer or a cancel may come.
                connection.spawn(async move {
                    let stop = desk.turn(&to, request).await?;
                    responder.respond(PromptResponse::new(stop))
                })
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |called_off: CancelNotification, _| {
                if let Some((_, cancel)) = cancel.sessions().get(&*called_off.session_id.0) {
                    cancel.notify_one();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(ByteStreams::new(stdout().compat_write(), stdin().compat()))
        .await
}

impl Desk {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, (Talk, Arc<Notify>)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> String {
        let mut sessions = self.sessions();
        let id = format!("sdk-{}-{}", std::process::id(), sessions.len());
        sessions.insert(id.clone(), Default::default());
        id
    }

    fn file(&self, session: &SessionId) -> Option<PathBuf> {
        Some(self.memory.as_ref()?.join(&*session.0))
    }

    fn load(&self, session: &SessionId) -> Result<Talk> {
        let nobody = || Error::new(ErrorCode::RESOURCE_NOT_FOUND, "no such session");
        let file = self.file(session).ok_or_else(nobody)?;
        let kept = std::fs::read(file).map_err(|_| nobody())?;
        let talk: Talk = serde_json::from_slice(&kept).map_err(Error::into_internal_error)?;
        self.sessions().insert(session.to_string(), (talk.clone(), Arc::default()));
        Ok(talk)
    }

    async fn turn(&self, to: &ConnectionTo<Client>, request: PromptRequest) -> Result<StopReason> {
        let session = request.session_id;
        let Some(ContentBlock::Text(text)) = request.prompt.into_iter().next() else {
            return Err(Error::invalid_params());
        };
        let known = self.sessions().get(&*session.0).cloned();
        let (mut talk, cancel) = known.ok_or_else(Error::invalid_params)?;
        let (verb, words) = text.text.split_once(' ').unwrap_or((&text.text, ""));
        let answer = match verb {
            "echo" => {
                let call = ToolCall::new("1", "repeat").status(ToolCallStatus::InProgress);
                tell(to, &session, SessionUpdate::ToolCall(call))?;
                let done = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
                let done = ToolCallUpdate::new("1", done);
                tell(to, &session, SessionUpdate::ToolCallUpdate(done))?;
                words.to_owned()
            }
            "ask" => match ask(to, &session, words).await? {
                RequestPermissionOutcome::Selected(chosen) => chosen.option_id.to_string(),
                _ => return Ok(StopReason::Cancelled),
            },
            "count" => (talk.len() + 1).to_string(),
            _ => {
                tell(to, &session, SessionUpdate::AgentMessageChunk(chunk("waiting")))?;
                cancel.notified().await;
                return Ok(StopReason::Cancelled);
            }
        };
        tell(to, &session, SessionUpdate::AgentMessageChunk(chunk(&answer)))?;
        talk.push((text.text, answer));
        if let Some(file) = self.file(&session) {
            let kept = serde_json::to_vec(&talk).map_err(Error::into_internal_error)?;
            std::fs::write(file, kept).map_err(Error::into_internal_error)?;
        }
        self.sessions().insert(session.to_string(), (talk, cancel));
        Ok(StopReason::EndTurn)
    }
}

async fn ask(
    to: &ConnectionTo<Client>,
    session: &SessionId,
    title: &str,
) -> Result<RequestPermissionOutcome> {
    let call = ToolCallUpdate::new("1", ToolCallUpdateFields::new().title(title));
    let options = vec![
        PermissionOption::new("yes", "Yes", PermissionOptionKind::AllowOnce),
        PermissionOption::new("no", "No", PermissionOptionKind::RejectOnce),
    ];
    let request = RequestPermissionRequest::new(session.clone(), call, options);
    Ok(to.send_request(request).block_task().await?.outcome)
}

fn replay_all(to: &ConnectionTo<Client>, session: &SessionId, talk: &Talk) -> Result<()> {
    for (asked, answered) in talk {
        tell(to, session, SessionUpdate::UserMessageChunk(chunk(asked)))?;
        tell(to, session, SessionUpdate::AgentMessageChunk(chunk(answered)))?;
    }
    Ok(())
}

fn tell(to: &ConnectionTo<Client>, session: &SessionId, update: SessionUpdate) -> Result<()> {
    to.send_notification(SessionNotification::new(session.clone(), update))
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(text.into())
}
