//! Conversations that outlive their process.

use std::path::Path;

use legwork_acp::wire::{BAD_PARAMS, NOT_FOUND};
use legwork_agents::rehearsal::Options;
use serde_json::json;
use tempfile::TempDir;

use legwork_testkit::agent::{AgentClient as Client, Heard};

fn with_memory(folder: &Path) -> Client {
    Client::with(Options { memory: Some(folder.to_owned()), ..Options::default() })
}

async fn load(client: &mut Client, method: &str, session: &str) -> Heard {
    let params = json!({ "sessionId": session, "cwd": "/q", "mcpServers": [] });
    client.call(method, params).await
}

/// Kind and text of each update.
fn replayed(heard: &Heard) -> Vec<(&str, &str)> {
    heard
        .updates
        .iter()
        .map(|update| {
            let kind = update["sessionUpdate"].as_str().unwrap();
            (kind.trim_end_matches("_message_chunk"), update["content"]["text"].as_str().unwrap())
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_a_memory_says_so() {
    let home = TempDir::new().unwrap();
    let greeting = with_memory(home.path()).initialize().await;
    let can = json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } });
    assert_eq!(greeting["agentCapabilities"], can);
}

#[tokio::test(start_paused = true)]
async fn a_killed_agent_loses_nothing_that_was_answered_or_asked() {
    let home = TempDir::new().unwrap();
    let mut client = with_memory(home.path());
    let session = client.open().await;
    client.prompt(&session, "say a; say b").await;
    client.prompt(&session, "wait 1s").await;
    client.send_prompt(&session, "say half; hang").await;
    assert!(client.line().await.is_some());
    client.kill().await;

    let mut client = with_memory(home.path());
    let heard = load(&mut client, "session/load", &session).await;
    assert_eq!(heard.outcome, Ok(json!({})));
    let history = [
        ("user", "say a; say b"),
        ("agent", "a\n\nb"),
        ("user", "wait 1s"),
        ("user", "say half; hang"),
    ];
    assert_eq!(replayed(&heard), history);
    assert_eq!(client.prompt(&session, "count; cwd").await.said(), "4\n\n/q");
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_remembered_before_it_is_given() {
    let home = TempDir::new().unwrap();
    let mut client = with_memory(home.path());
    let session = client.open().await;
    let file = home.path().join(format!("{session}.jsonl"));
    for (script, answer) in [("say a", "a"), ("say b; fail x", "b"), ("say c; stop refusal", "c")] {
        let _ = client.prompt(&session, script).await;
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(kept.ends_with(&format!("{{\"answered\":\"{answer}\"}}\n")), "{kept}");
    }
    client.send_prompt(&session, "say d; wait 1m").await;
    assert!(client.line().await.is_some());
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.ends_with("{\"asked\":\"say d; wait 1m\"}\n"), "{kept}");
}

#[tokio::test(start_paused = true)]
async fn resume_replays_nothing() {
    let home = TempDir::new().unwrap();
    let mut client = with_memory(home.path());
    let session = client.open().await;
    client.prompt(&session, "say a").await;
    let mut client = with_memory(home.path());
    let heard = load(&mut client, "session/resume", &session).await;
    assert_eq!((heard.outcome, heard.updates), (Ok(json!({})), vec![]));
    let said = client.prompt(&session, "recall").await.said();
    assert_eq!(said, "I was asked 1 time before. First: \"say a\". My last answer was: \"a\"");
}

#[tokio::test(start_paused = true)]
async fn a_session_can_be_loaded_where_it_lives() {
    let home = TempDir::new().unwrap();
    let mut client = with_memory(home.path());
    let session = client.open().await;
    client.prompt(&session, "say a").await;
    let heard = load(&mut client, "session/load", &session).await;
    assert_eq!(replayed(&heard), [("user", "say a"), ("agent", "a")]);
    assert_eq!(client.prompt(&session, "count").await.said(), "2");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_session_is_not_found() {
    let home = TempDir::new().unwrap();
    let mut client = with_memory(home.path());
    for method in ["session/load", "session/resume"] {
        for id in ["rehearsal-1", "../x", ""] {
            let heard = load(&mut client, method, id).await;
            assert_eq!(heard.error().0, NOT_FOUND, "{method} {id}");
        }
        let heard = client.call(method, json!({ "sessionId": "x", "cwd": "q" })).await;
        assert_eq!(heard.error().0, BAD_PARAMS);
    }
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_cannot_be_written_is_an_error() {
    let home = TempDir::new().unwrap();
    let blocked = home.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let mut client = with_memory(&blocked);
    let heard = client.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
    assert!(heard.error().1.contains("memory"), "{heard:?}");
}
