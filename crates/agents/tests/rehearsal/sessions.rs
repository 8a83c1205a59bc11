//! The handshake, sessions beside each other, and what is refused.

use legwork_acp::wire::{BAD_PARAMS, Message, NO_SUCH_METHOD, NOT_FOUND};
use legwork_agents::Ending;
use legwork_agents::rehearsal::Options;
use serde_json::json;

use legwork_testkit::agent::AgentClient as Client;

#[tokio::test(start_paused = true)]
async fn the_greeting_is_the_same_for_every_version() {
    let mut client = Client::with(Options::default());
    for version in [0, 1, 2, 99] {
        let greeted = client.call("initialize", json!({ "protocolVersion": version })).await;
        assert_eq!(
            greeted.outcome.unwrap(),
            json!({
                "protocolVersion": 1,
                "agentInfo": { "name": "rehearsal", "version": env!("CARGO_PKG_VERSION") },
                "agentCapabilities": { "loadSession": false, "sessionCapabilities": {} },
                "authMethods": [],
            })
        );
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_wait_for_each_other() {
    let (mut client, slow) = Client::ready().await;
    let quick = client.open().await;
    assert_ne!(slow, quick);
    let first = client.send_prompt(&slow, "wait 1m; say slow").await;
    assert_eq!(client.prompt(&quick, "wait 1s; say quick").await.said(), "quick");
    assert_eq!(client.hear(first).await.said(), "slow");
}

#[tokio::test(start_paused = true)]
async fn a_busy_session_takes_no_second_prompt() {
    let (mut client, session) = Client::ready().await;
    let first = client.send_prompt(&session, "wait 1m; count").await;
    let second = client.prompt(&session, "say b").await;
    assert!(second.error().1.contains("busy"), "{second:?}");
    assert_eq!(client.hear(first).await.said(), "1");
    assert_eq!(client.prompt(&session, "count").await.said(), "2");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_is_refused() {
    let (mut client, session) = Client::ready().await;
    let bad = "rehearsal-0";
    for (method, params, code) in [
        ("session/new", json!({}), BAD_PARAMS),
        ("session/new", json!({ "cwd": "/p" }), BAD_PARAMS),
        ("session/new", json!({ "cwd": "p", "mcpServers": [] }), BAD_PARAMS),
        ("session/prompt", json!({}), BAD_PARAMS),
        ("session/prompt", json!({ "sessionId": session }), BAD_PARAMS),
        ("session/prompt", json!({ "sessionId": bad, "prompt": [] }), NOT_FOUND),
        ("session/load", json!({ "sessionId": bad, "cwd": "/p" }), NO_SUCH_METHOD),
        ("session/resume", json!({ "sessionId": bad, "cwd": "/p" }), NO_SUCH_METHOD),
        ("session/fork", json!([]), NO_SUCH_METHOD),
    ] {
        let heard = client.call(method, params.clone()).await;
        assert_eq!(heard.error().0, code, "{method} {params}");
    }
}

#[tokio::test(start_paused = true)]
async fn rubbish_is_passed_over() {
    let (mut client, session) = Client::ready().await;
    for line in ["\n", "hello\n", "{}\n", "[]\n", "{\"id\":77,\"result\":1}\n"] {
        client.write(line).await;
    }
    client.write("{\"jsonrpc\":\"2.0\",\"method\":\"$/whatever\"}\n").await;
    assert_eq!(client.prompt(&session, "say a").await.said(), "a");
}

#[tokio::test(start_paused = true)]
async fn only_the_texts_of_a_prompt_are_the_script() {
    let (mut client, session) = Client::ready().await;
    let prompt = json!([
        { "type": "text", "text": "say a" },
        { "type": "resource_link", "uri": "file:///x", "name": "x" },
        { "type": "text", "text": "say b" },
    ]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    assert_eq!(client.call("session/prompt", params).await.said(), "a\n\nb");
}

#[tokio::test(start_paused = true)]
async fn ids_of_requests_may_be_texts() {
    let mut client = Client::with(Options::default());
    client.write("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"initialize\"}\n").await;
    let line = client.line().await.unwrap();
    assert!(line.contains("\"id\":\"x\"") && line.contains("protocolVersion"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn the_agent_ends_with_its_input_after_its_last_words() {
    let mut client = Client::with(Options::default());
    let id = client.send("initialize", json!({})).await;
    client.close_input().await;
    assert!(matches!(client.message().await, Some(Message::Response { id: got, .. }) if got == id));
    assert_eq!(client.line().await, None);
    assert_eq!(client.end().await, (Ending::InputEnded, String::new()));

    let (mut client, session) = Client::ready().await;
    client.send_prompt(&session, "repeat 1000000: say x").await;
    assert_eq!(client.leave().await.0, Ending::InputEnded, "nobody reads");
}
