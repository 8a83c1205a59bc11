//! The protocol's own library is the client, our agent is the agent: what we write by hand, the
//! library must understand.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

use std::path::PathBuf;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, ContentChunk, InitializeRequest, LoadSessionRequest,
    NewSessionRequest, PermissionOptionKind, PromptRequest, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    ResumeSessionRequest, SelectedPermissionOutcome, SessionId, SessionNotification, SessionUpdate,
    StopReason, ToolCallStatus, ToolKind,
};
use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, ErrorCode, Result, on_receive_notification,
    on_receive_request,
};
use legwork_agents::Ending;
use legwork_agents::native::codex::Codex;
use legwork_agents::rehearsal::{Options, serve};
use legwork_testkit::{Played, act_as_program};
use tempfile::TempDir;
use tokio::io::{DuplexStream, duplex, sink, split};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

/// What the client chooses when it is asked.
#[derive(Clone, Copy)]
enum Choice {
    Of(PermissionOptionKind),
    Cancelled,
}

/// What came in beside the answers.
struct Seen {
    updates: UnboundedReceiver<(SessionId, SessionUpdate)>,
    questions: UnboundedReceiver<RequestPermissionRequest>,
}

impl Seen {
    fn updates(&mut self) -> Vec<SessionUpdate> {
        std::iter::from_fn(|| self.updates.try_recv().ok()).map(|(_, update)| update).collect()
    }
}

/// Runs the client against a scripted agent of its own; both end with it.
async fn with_client<R>(
    options: Options,
    choice: Choice,
    act: impl AsyncFnOnce(ConnectionTo<Agent>, Seen) -> Result<R>,
) -> R {
    let agent = |stream| {
        let (input, output) = split(stream);
        serve(input, output, sink(), options)
    };
    with_agent(agent, choice, act).await
}

async fn with_agent<R, F>(
    agent: impl FnOnce(DuplexStream) -> F,
    choice: Choice,
    act: impl AsyncFnOnce(ConnectionTo<Agent>, Seen) -> Result<R>,
) -> R
where
    F: Future<Output = Ending> + Send + 'static,
{
    let (ours, theirs) = duplex(64 << 10);
    let agent = tokio::spawn(agent(theirs));
    let (from, to) = split(ours);
    let (tell_update, updates) = mpsc::unbounded_channel();
    let (tell_question, questions) = mpsc::unbounded_channel();
    let done = Client
        .v1()
        .on_receive_notification(
            async move |SessionNotification { session_id, update, .. }, _| {
                tell_update.send((session_id, update)).map_err(Error::into_internal_error)
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let outcome = chosen(&request, choice);
                tell_question.send(request).map_err(Error::into_internal_error)?;
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            on_receive_request!(),
        )
        .connect_with(ByteStreams::new(to.compat_write(), from.compat()), async move |connection| {
            act(connection, Seen { updates, questions }).await
        })
        .await
        .unwrap();
    assert_eq!(agent.await.unwrap(), Ending::InputEnded);
    done
}

fn chosen(request: &RequestPermissionRequest, choice: Choice) -> RequestPermissionOutcome {
    let Choice::Of(kind) = choice else { return RequestPermissionOutcome::Cancelled };
    let option = request.options.iter().find(|option| option.kind == kind).unwrap();
    let selected = SelectedPermissionOutcome::new(option.option_id.clone());
    RequestPermissionOutcome::Selected(selected)
}

async fn open(client: &ConnectionTo<Agent>) -> Result<SessionId> {
    let greeting =
        client.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
    assert_eq!(greeting.protocol_version, ProtocolVersion::V1);
    let request = NewSessionRequest::new(PathBuf::from("/p"));
    Ok(client.send_request(request).block_task().await?.session_id)
}

async fn prompt(
    client: &ConnectionTo<Agent>,
    session: &SessionId,
    script: &str,
) -> Result<PromptResponse> {
    let request = PromptRequest::new(session.clone(), vec![script.into()]);
    client.send_request(request).block_task().await
}

fn text(chunk: &ContentChunk) -> &str {
    match &chunk.content {
        ContentBlock::Text(text) => &text.text,
        other => panic!("{other:?}"),
    }
}

fn said(updates: &[SessionUpdate]) -> String {
    let answers = updates.iter().filter_map(|update| match update {
        SessionUpdate::AgentMessageChunk(chunk) => Some(text(chunk)),
        _ => None,
    });
    answers.collect()
}

#[tokio::test]
async fn the_greeting_says_what_the_agent_can() {
    let home = TempDir::new().unwrap();
    for memory in [None, Some(home.path().to_owned())] {
        let lasts = memory.is_some();
        let options = Options { memory, ..Options::default() };
        with_client(options, Choice::Cancelled, async |client, _| {
            let request = InitializeRequest::new(ProtocolVersion::V1);
            let greeting = client.send_request(request).block_task().await?;
            let can = greeting.agent_capabilities;
            assert_eq!(can.load_session, lasts);
            assert_eq!(can.session_capabilities.resume.is_some(), lasts);
            assert_eq!(greeting.agent_info.unwrap().name, "rehearsal");
            assert!(greeting.auth_methods.is_empty());
            Ok(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_turn_is_understood() {
    with_client(Options::default(), Choice::Cancelled, async |client, mut seen| {
        let session = open(&client).await?;
        let script = "think hm; plan look | leap; tool grep; tool make fails; say Good morning";
        assert_eq!(prompt(&client, &session, script).await?.stop_reason, StopReason::EndTurn);
        let updates = seen.updates();
        assert_eq!(said(&updates), "Good morning");
        let SessionUpdate::AgentThoughtChunk(thought) = &updates[0] else { panic!() };
        assert_eq!(text(thought), "hm");
        let SessionUpdate::Plan(plan) = &updates[1] else { panic!() };
        assert_eq!(plan.entries[1].content, "leap");
        let SessionUpdate::ToolCall(call) = &updates[2] else { panic!() };
        assert_eq!((call.title.as_str(), call.kind), ("grep", ToolKind::Other));
        assert_eq!(call.status, ToolCallStatus::InProgress);
        for (at, status) in [(3, ToolCallStatus::Completed), (5, ToolCallStatus::Failed)] {
            let SessionUpdate::ToolCallUpdate(end) = &updates[at] else { panic!() };
            assert_eq!(end.fields.status, Some(status));
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn permission_is_given_or_not() {
    for (kind, answer) in [
        (PermissionOptionKind::AllowOnce, "Allowed: rm"),
        (PermissionOptionKind::AllowAlways, "Allowed: rm"),
        (PermissionOptionKind::RejectOnce, "Not allowed: rm"),
        (PermissionOptionKind::RejectAlways, "Not allowed: rm"),
    ] {
        with_client(Options::default(), Choice::Of(kind), async |client, mut seen| {
            let session = open(&client).await?;
            let done = prompt(&client, &session, "ask rm").await?;
            assert_eq!(
                (done.stop_reason, said(&seen.updates())),
                (StopReason::EndTurn, answer.into())
            );
            let question = seen.questions.try_recv().unwrap();
            assert_eq!(question.session_id, session);
            assert_eq!(question.tool_call.fields.title.as_deref(), Some("rm"));
            Ok(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_question_that_is_cancelled_ends_the_turn() {
    with_client(Options::default(), Choice::Cancelled, async |client, _| {
        let session = open(&client).await?;
        let done = prompt(&client, &session, "ask rm; say a").await?;
        assert_eq!(done.stop_reason, StopReason::Cancelled);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn cancel_ends_the_turn() {
    with_client(Options::default(), Choice::Cancelled, async |client, mut seen| {
        let session = open(&client).await?;
        let request = PromptRequest::new(session.clone(), vec!["say a; wait 600m".into()]);
        let sent = client.send_request(request);
        seen.updates.recv().await.unwrap();
        client.send_notification(CancelNotification::new(session.clone()))?;
        assert_eq!(sent.block_task().await?.stop_reason, StopReason::Cancelled);
        assert_eq!(prompt(&client, &session, "say b").await?.stop_reason, StopReason::EndTurn);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn every_end_and_error_is_understood() {
    with_client(Options::default(), Choice::Cancelled, async |client, _| {
        let session = open(&client).await?;
        for (script, reason) in [
            ("stop max_tokens", StopReason::MaxTokens),
            ("stop max_turn_requests", StopReason::MaxTurnRequests),
            ("stop refusal", StopReason::Refusal),
        ] {
            assert_eq!(prompt(&client, &session, script).await?.stop_reason, reason);
        }
        let failed = prompt(&client, &session, "fail out of luck").await.unwrap_err();
        assert_eq!(
            (failed.code, failed.message.as_str()),
            (ErrorCode::INTERNAL_ERROR, "out of luck")
        );
        let nobody = prompt(&client, &SessionId::new("nobody"), "say a").await.unwrap_err();
        assert_eq!(nobody.code, ErrorCode::RESOURCE_NOT_FOUND);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_conversation_is_loaded_and_resumed() {
    let home = TempDir::new().unwrap();
    let options = || Options { memory: Some(home.path().to_owned()), ..Options::default() };
    let session = with_client(options(), Choice::Cancelled, async |client, _| {
        let session = open(&client).await?;
        prompt(&client, &session, "say a").await?;
        Ok(session)
    })
    .await;
    with_client(options(), Choice::Cancelled, async |client, mut seen| {
        let request = LoadSessionRequest::new(session.clone(), PathBuf::from("/p"));
        client.send_request(request).block_task().await?;
        let updates = seen.updates();
        let [SessionUpdate::UserMessageChunk(asked), SessionUpdate::AgentMessageChunk(answered)] =
            updates.as_slice()
        else {
            panic!("{updates:?}")
        };
        assert_eq!((text(asked), text(answered)), ("say a", "a"));
        Ok(())
    })
    .await;
    with_client(options(), Choice::Cancelled, async |client, mut seen| {
        let request = ResumeSessionRequest::new(session.clone(), PathBuf::from("/p"));
        client.send_request(request).block_task().await?;
        assert!(seen.updates().is_empty());
        prompt(&client, &session, "count").await?;
        assert_eq!(said(&seen.updates()), "2");
        let request = ResumeSessionRequest::new(SessionId::new("nobody"), PathBuf::from("/p"));
        let nobody = client.send_request(request).block_task().await.unwrap_err();
        assert_eq!(nobody.code, ErrorCode::RESOURCE_NOT_FOUND);
        Ok(())
    })
    .await;
}

const CODEX: &str = r#"
< initialize
> {"id":"$id","result":{"userAgent":"legwork/0.169.0 (x)"}}
< account/read
> {"id":"$id","result":{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}}
< thread/start
> {"id":"$id","result":{"thread":{"id":"T"},"model":"gpt-6"}}
< model/list
> {"id":"$id","result":{"data":[]}}
< turn/start
> {"id":"$id","result":{"turn":{"id":"U"}}}
> {"method":"turn/plan/updated","params":{"threadId":"T","turnId":"U","plan":[{"step":"look","status":"inProgress"}]}}
> {"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c","command":"ls","status":"inProgress"}}}
> {"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c","command":"ls"}}
< #1
> {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c","command":"ls","status":"completed","aggregatedOutput":"a"}}}
> {"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"totalTokens":9},"last":{"totalTokens":9}}}}
> {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"m","text":"Good morning"}}}
> {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}
"#;

#[test]
fn this_program_is_played_if_it_is_started_so() {
    act_as_program();
}

#[tokio::test]
async fn h1_a_turn_of_a_program_of_the_person_is_understood() {
    let folder = TempDir::new().unwrap();
    let is_program = "this_program_is_played_if_it_is_started_so";
    let codex = Played::new(folder.path(), "codex", is_program);
    codex.plays(CODEX);
    let agent = |stream| {
        let (input, output) = split(stream);
        legwork_agents::serve::serve(input, output, sink(), Codex::new(codex.program.clone()))
    };
    let choice = Choice::Of(PermissionOptionKind::AllowAlways);
    with_agent(agent, choice, async |client, mut seen| {
        let session = open(&client).await?;
        let done = prompt(&client, &session, "look").await?;
        assert_eq!(done.stop_reason, StopReason::EndTurn);
        let updates = seen.updates();
        assert_eq!(said(&updates), "Good morning");
        let SessionUpdate::Plan(plan) = &updates[0] else { panic!("{updates:?}") };
        assert_eq!(plan.entries[0].content, "look");
        let SessionUpdate::ToolCall(call) = &updates[1] else { panic!("{updates:?}") };
        assert_eq!((call.title.as_str(), call.kind), ("ls", ToolKind::Execute));
        let SessionUpdate::ToolCallUpdate(end) = &updates[2] else { panic!("{updates:?}") };
        assert_eq!(end.fields.status, Some(ToolCallStatus::Completed));
        let question = seen.questions.try_recv().unwrap();
        assert_eq!(question.tool_call.fields.title.as_deref(), Some("ls"));
        Ok(())
    })
    .await;
}
