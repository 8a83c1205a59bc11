//! Looks: during a run, after it, and when it went wrong.

use std::sync::Mutex;

use legwork_engine::work::{RunState, Scope, Tried, Wake};
use legwork_engine::{Action, Finding};
use legwork_host::{Request, Unreachable};
use legwork_opencode::{Remote, Transport, perform};
use legwork_protocol::MessageId;
use legwork_protocol::ids::MessageUse;
use legwork_protocol::line::HostReply;
use legwork_testkit::{block_on, call, script};
use serde_json::json;

use crate::world::{new_task, now, prompt, until, world};

/// Remembers what was asked.
struct Listening<'a> {
    remote: &'a Remote,
    asked: Mutex<Vec<Request>>,
}

impl Transport for Listening<'_> {
    async fn send(&self, request: Request) -> Result<HostReply, Unreachable> {
        self.asked.lock().unwrap().push(request.clone());
        self.remote.send(request).await
    }
}

#[test]
fn d2_a_run_is_busy_and_then_answered() {
    let world = world();
    block_on(async {
        let bash = call("bash", &json!({ "command": "echo real", "description": "d" }));
        let (session, message) = world.helper(&[&bash, "gate look\nsay found"]).await;
        let observation = until("the tool call", async || {
            let observation = world.look(&session, &message).await;
            (observation.tool_calls == 1).then_some(observation)
        })
        .await;
        assert_eq!(observation.state, RunState::Busy);
        assert!(observation.moved.is_some());
        world.model.open("look");
        let observation = world.until_end(&session, &message).await;
        assert_eq!(observation.state, RunState::Answered { text: "found".to_owned() });
    });
}

#[test]
fn d3_a_provider_that_refuses_fails_the_run() {
    let world = world();
    block_on(async {
        let (session, message) = world.helper(&["fail 400 too bad"]).await;
        let observation = world.until_end(&session, &message).await;
        let RunState::Failed { reason } = observation.state else { panic!("{observation:?}") };
        assert!(reason.contains("too bad") && reason.contains("400"), "{reason}");
    });
}

#[test]
fn d3_an_aborted_run_is_seen_as_one() {
    let world = world();
    block_on(async {
        let (session, message) = world.helper(&["say half\nhang"]).await;
        world.until_busy(&session).await;
        let begun =
            |one: &legwork_testkit::Request| one.session.as_deref() == Some(session.as_str());
        world.model.wait_for("the model is asked", begun).await;
        world.client.abort(session.as_str()).await.ok();
        let observation = world.until_end(&session, &message).await;
        assert!(matches!(observation.state, RunState::Aborted { .. }), "{observation:?}");
    });
}

#[test]
fn a_poll_shows_a_provider_that_is_tried_again() {
    let world = world();
    block_on(async {
        let (session, message) = world.helper(&["fail-once 503 come back\nsay there"]).await;
        let retry = until("the retry", async || {
            let Ok(Finding::Polled { busy, .. }) =
                world.perform(&Action::Poll { scope: Scope::Busy }).await
            else {
                return None;
            };
            busy.into_iter().find(|(at, _)| *at == session)?.1
        })
        .await;
        assert_eq!((retry.attempt, &*retry.why), (1, "come back"));
        assert!(retry.next > now(), "{retry:?}");
        let observation = world.until_end(&session, &message).await;
        assert_eq!(observation.state, RunState::Answered { text: "there".to_owned() });
    });
}

#[test]
fn an_answer_far_back_is_found_by_cursors_that_we_make() {
    let world = world();
    block_on(async {
        let (session, message) = world.helper(&["say the first"]).await;
        world.until_end(&session, &message).await;
        let part = json!({ "type": "text", "text": "more" });
        let more = json!({ "noReply": true, "parts": [part] });
        let path = format!("/session/{session}/message");
        for _ in 0..40 {
            world.client.call("POST", &path, Some(more.clone())).await.ok();
        }
        let listening = Listening { remote: &world.remote, asked: Mutex::default() };
        let look = Action::Observe { session, message };
        let Ok(Finding::Observed(observation)) = perform(&listening, &look).await else { panic!() };
        assert_eq!(observation.state, RunState::Answered { text: "the first".to_owned() });
        let mut asked = listening.asked.into_inner().unwrap();
        asked.retain(|request| request.path == path);
        assert_eq!(asked.len(), 3, "4 messages, 32, and the rest");
        assert!(asked.iter().all(|request| request.query.contains_key("limit")), "{asked:?}");
    });
}

#[test]
fn a_compaction_in_the_middle_is_no_answer() {
    let world = world();
    block_on(async {
        let task = new_task();
        let (session, first) = world.helper(&["say before"]).await;
        world.until_end(&session, &first).await;
        let asked = MessageId::make(now(), task, 1, MessageUse::Prompt(0));
        let waits = Action::Deliver {
            tried: Tried::Perhaps,
            session: session.clone(),
            message: asked.clone(),
            notices: Vec::new(),
            parts: Vec::new(),
            wake: Wake::StayIdle,
        };
        assert_eq!(world.perform(&waits).await, Ok(Finding::Done));
        until("the message", async || {
            let told = world.perform(&waits).await;
            (told == Ok(Finding::Delivered)).then_some(())
        })
        .await;
        let model = json!({ "providerID": "fake", "modelID": "fake" });
        let path = format!("/session/{session}/summarize");
        world.client.call("POST", &path, Some(model)).await.ok();
        let observation = world.look(&session, &asked).await;
        assert_eq!(observation.state, RunState::Still { text: String::new() });
        let later = MessageId::make(now(), task, 2, MessageUse::Prompt(0));
        let go_on = prompt(&session, &later, &script(&["say after all"]));
        assert_eq!(world.perform(&go_on).await, Ok(Finding::Done));
        let observation = world.until_end(&session, &asked).await;
        assert_eq!(observation.state, RunState::Answered { text: "after all".to_owned() });
    });
}
