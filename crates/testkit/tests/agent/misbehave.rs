//! Bad agents.

use std::path::Path;

use legwork_acp::wire::{LOGIN_NEEDED, NO_SUCH_METHOD};
use legwork_agents::Ending;
use legwork_agents::rehearsal::Options;
use legwork_testkit::agent::{AgentClient, Misbehaviour};
use serde_json::json;
use tempfile::TempDir;

fn misbehaving(how: Misbehaviour) -> AgentClient {
    AgentClient::of_bad(Options::default(), Some(how))
}

fn with_memory(folder: &Path, how: Misbehaviour) -> AgentClient {
    let memory = Some(folder.to_owned());
    AgentClient::of_bad(Options { memory, ..Options::default() }, Some(how))
}

#[test]
fn every_name_leads_back_to_its_own() {
    for (one, name) in Misbehaviour::ALL {
        assert_eq!((Misbehaviour::named(name), one.name()), (Some(one), name));
    }
    assert_eq!(Misbehaviour::named("well"), None);
}

#[tokio::test(start_paused = true)]
async fn one_ends_at_once() {
    let (ending, errors) = misbehaving(Misbehaviour::Exit).end().await;
    assert_eq!(ending, Ending::Crashed(3));
    assert_eq!(errors, "rehearsal: ending at once as told\n");
}

#[tokio::test(start_paused = true)]
async fn one_answers_with_rubbish() {
    let mut client = misbehaving(Misbehaviour::Rubbish);
    client.send("initialize", json!({ "protocolVersion": 1 })).await;
    assert_eq!(client.line().await.unwrap(), "<html>This is no message.</html>\n");
}

#[tokio::test(start_paused = true)]
async fn one_claims_another_version() {
    let mut client = misbehaving(Misbehaviour::Version);
    assert_eq!(client.initialize().await["protocolVersion"], 99);
}

#[tokio::test(start_paused = true)]
async fn one_is_silent() {
    let mut client = misbehaving(Misbehaviour::Silent);
    client.send("initialize", json!({ "protocolVersion": 1 })).await;
    assert_eq!(client.line().await, None);
    assert_eq!(client.leave().await.0, Ending::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn one_opens_no_session() {
    let mut client = misbehaving(Misbehaviour::NeverNew);
    client.initialize().await;
    client.send("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
    assert_eq!(client.line().await, None);
    client.initialize().await;
}

#[tokio::test(start_paused = true)]
async fn one_demands_a_login() {
    let mut client = misbehaving(Misbehaviour::NeedLogin);
    assert_eq!(client.initialize().await["authMethods"][0]["id"], "login");
    let heard = client.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
    assert_eq!(heard.error().0, LOGIN_NEEDED);
}

#[tokio::test(start_paused = true)]
async fn one_cannot_load() {
    let home = TempDir::new().unwrap();
    let mut client = with_memory(home.path(), Misbehaviour::NoLoad);
    let can = json!({ "loadSession": false, "sessionCapabilities": {} });
    assert_eq!(client.initialize().await["agentCapabilities"], can);
    let session = client.open().await;
    let heard = client.call("session/load", json!({ "sessionId": session, "cwd": "/p" })).await;
    assert_eq!(heard.error().0, NO_SUCH_METHOD);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_dies_when_it_is_to_load() {
    let home = TempDir::new().unwrap();
    for method in ["session/load", "session/resume"] {
        let mut client = with_memory(home.path(), Misbehaviour::DieOnLoad);
        assert_eq!(client.initialize().await["agentCapabilities"]["loadSession"], true);
        client.send(method, json!({ "sessionId": "x", "cwd": "/p" })).await;
        let (ending, errors) = client.end().await;
        assert_eq!(ending, Ending::Crashed(3));
        assert_eq!(errors, "rehearsal: ending in the middle of loading as told\n");
    }
}

#[tokio::test(start_paused = true)]
async fn one_begins_with_a_flood() {
    let mut client = misbehaving(Misbehaviour::FloodStart);
    let id = client.send("initialize", json!({ "protocolVersion": 1 })).await;
    assert_eq!(client.line().await.unwrap().len(), (100 << 20) + 1);
    assert!(client.hear(id).await.outcome.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_begins_with_a_flood_of_stderr() {
    let mut client = misbehaving(Misbehaviour::FloodStderr);
    let id = client.send("initialize", json!({ "protocolVersion": 1 })).await;
    assert_eq!(client.line().await, None, "nobody reads stderr");
    client.drain_errors((100 << 20) + 1).await;
    assert!(client.hear(id).await.outcome.is_ok());
}
