//! The commands of a script that only tests need.

use legwork_agents::Ending;
use legwork_agents::rehearsal::Options;
use legwork_agents::rehearsal::script::{Step, read};
use legwork_testkit::agent::{AgentClient, Bad};
use tempfile::TempDir;

async fn ready() -> (AgentClient, String) {
    AgentClient::of_bad(Options::default(), None).opened().await
}

#[test]
fn every_command_is_read() {
    for text in [
        "stderr oh no",
        "babble 3",
        "flood 1",
        "flood-line 2",
        "flood-stderr 3",
        "spawn 60",
        r#"update {"a": 1}"#,
        "result {}",
    ] {
        let (word, rest) = text.split_once(' ').unwrap();
        let step = Step::Extra { word: word.to_owned(), rest: rest.to_owned() };
        assert_eq!(read(text, Some(&Bad)), Ok(Some(vec![step])), "{text}");
        assert_eq!(read(text, None), Ok(None), "{text}");
    }
}

#[test]
fn a_prompt_without_any_command_is_talk() {
    for text in ["update it", "result 7", "flood 0", "flood 1000001", "stderr", "babble", "spawn x"]
    {
        assert_eq!(read(text, Some(&Bad)), Ok(None), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn stderr_and_babble_are_no_messages() {
    let (mut client, session) = ready().await;
    let prompt = client.send_prompt(&session, "stderr oh no; babble 2").await;
    for number in [1, 2] {
        let line = client.line().await.unwrap();
        assert_eq!(line, format!("line {number} of what is no message\n"));
    }
    assert_eq!(client.hear(prompt).await.stop_reason(), "end_turn");
    assert_eq!(client.leave().await, (Ending::InputEnded, "oh no\n".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn floods_are_as_large_as_told() {
    let (mut client, session) = ready().await;
    let heard = client.prompt(&session, "flood 2").await;
    let chunks = heard.texts("agent_message_chunk");
    assert!(chunks.len() == 32 && chunks.iter().all(|chunk| chunk.len() == 64 << 10));
    let prompt = client.send_prompt(&session, "flood-line 2; say a").await;
    assert_eq!(client.line().await.unwrap().len(), (2 << 20) + 1);
    assert_eq!(client.hear(prompt).await.said(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_stderr_waits_for_its_reader() {
    let (mut client, session) = ready().await;
    let prompt = client.send_prompt(&session, "flood-stderr 1; crash").await;
    assert_eq!(client.line().await, None, "nobody reads stderr: {prompt}");
    let (other, said) = (client.open().await, "others go on");
    assert_eq!(client.prompt(&other, &format!("say {said}")).await.said(), said);
    assert_eq!(client.drain_errors((1 << 20) + 1).await.last(), Some(&b'\n'));
    assert_eq!(client.end().await.0, Ending::Crashed(1));
}

#[tokio::test(start_paused = true)]
async fn a_child_is_left_in_the_same_group() {
    let (mut client, session) = ready().await;
    let child = client.prompt(&session, "spawn 600").await.said();
    assert_eq!(client.leave().await.0, Ending::InputEnded);
    let group = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1;
        after_name.split_whitespace().nth(2).unwrap().to_owned()
    };
    assert_eq!(group(&child), group("self"));
    let pid = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_flood_that_nobody_reads_is_cancelled() {
    let (mut client, session) = ready().await;
    let prompt = client.send_prompt(&session, "flood 100").await;
    client.cancel(&session).await;
    let heard = client.hear(prompt).await;
    assert_eq!(heard.stop_reason(), "cancelled");
    assert!(heard.updates.len() < 16, "{} chunks", heard.updates.len());
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_remembered_in_part() {
    let home = TempDir::new().unwrap();
    let options = Options { memory: Some(home.path().to_owned()), ..Options::default() };
    let (mut client, session) = AgentClient::of_bad(options, None).opened().await;
    client.prompt(&session, "flood 3").await;
    let file = home.path().join(format!("{session}.jsonl"));
    let bytes = std::fs::metadata(file).unwrap().len();
    assert!((200_000..300_000).contains(&bytes), "{bytes}");
}

#[tokio::test(start_paused = true)]
async fn an_update_and_a_result_are_sent_as_they_are() {
    let (mut client, session) = ready().await;
    let script = r#"update {"sessionUpdate":"x","y":1}; result {"z":2}; repeat 2: babble {i}"#;
    let prompt = client.send_prompt(&session, script).await;
    let update = client.message().await.unwrap();
    let told = serde_json::json!({ "sessionUpdate": "x", "y": 1 });
    assert!(format!("{update:?}").contains(&format!("{told:?}")), "{update:?}");
    for _ in 0..3 {
        assert!(client.line().await.unwrap().ends_with(" of what is no message\n"));
    }
    let result = client.hear(prompt).await.outcome.unwrap();
    assert_eq!(result, serde_json::json!({ "stopReason": "end_turn", "z": 2 }));
}
