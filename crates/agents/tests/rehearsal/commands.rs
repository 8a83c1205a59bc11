//! Each command of a script.

use legwork_acp::wire::{BAD_PARAMS, INTERNAL};
use legwork_agents::Ending;
use serde_json::json;
use tokio::time::{Duration, Instant};

use legwork_testkit::agent::AgentClient as Client;

#[tokio::test(start_paused = true)]
async fn say_streams_paragraphs() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "say Good mörning\nsay x").await;
    assert_eq!((heard.stop_reason(), heard.said().as_str()), ("end_turn", "Good mörning\n\nx"));
    assert_eq!(heard.texts("agent_message_chunk"), ["Good", " mör", "ning", "\n\n", "x"]);
}

#[tokio::test(start_paused = true)]
async fn wait_takes_its_time() {
    let (mut client, session) = Client::ready().await;
    let before = Instant::now();
    let heard = client.prompt(&session, "wait 2s; wait 300ms; say done").await;
    assert_eq!((heard.said().as_str(), heard.stop_reason()), ("done", "end_turn"));
    let waited = before.elapsed();
    assert!(waited >= Duration::from_millis(2_300) && waited < Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_used_and_ends_well_or_not() {
    let (mut client, session) = Client::ready().await;
    let before = Instant::now();
    let heard = client.prompt(&session, "tool read a file for 5s; tool grep fails").await;
    assert!(before.elapsed() >= Duration::from_secs(5));
    let call = |id: &str, title: &str| {
        json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "other",
            "status": "in_progress"
        })
    };
    let end = |id: &str, status: &str| {
        let kind = "tool_call_update";
        json!({ "sessionUpdate": kind, "toolCallId": id, "status": status })
    };
    assert_eq!(
        heard.updates,
        [
            call("call-1-1", "read a file"),
            end("call-1-1", "completed"),
            call("call-1-2", "grep"),
            end("call-1-2", "failed"),
        ]
    );
    let again = client.prompt(&session, "tool grep").await;
    assert_eq!(again.updates[0]["toolCallId"], "call-2-1");
}

#[tokio::test(start_paused = true)]
async fn thoughts_and_plans_are_no_part_of_the_answer() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "think hm; plan look | leap; say a").await;
    assert_eq!((heard.texts("agent_thought_chunk"), heard.said()), (vec!["hm"], "a".to_owned()));
    let entry = |text| json!({ "content": text, "priority": "medium", "status": "pending" });
    let plan = json!({ "sessionUpdate": "plan", "entries": [entry("look"), entry("leap")] });
    assert!(heard.updates.contains(&plan), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn permission_is_asked_for_and_its_answer_is_said() {
    for (option, said, settled) in [
        ("allow_once", "Allowed: rm -rf", false),
        ("allow_always", "Allowed: rm -rf", true),
        ("reject_once", "Not allowed: rm -rf", false),
        ("reject_always", "Not allowed: rm -rf", true),
    ] {
        let (mut client, session) = Client::ready().await;
        let prompt = client.send_prompt(&session, "ask rm -rf").await;
        let (question, about) = client.asked().await;
        assert_eq!(about["sessionId"], session);
        assert_eq!(about["toolCall"]["title"], "rm -rf");
        let kinds: Vec<&str> = about["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
        client.choose(question, option).await;
        let heard = client.hear(prompt).await;
        assert_eq!((heard.said().as_str(), heard.stop_reason()), (said, "end_turn"), "{option}");

        let again = client.send_prompt(&session, "ask rm -rf").await;
        if !settled {
            let (question, _) = client.asked().await;
            client.choose(question, option).await;
        }
        assert_eq!(client.hear(again).await.said(), said, "{option}");
        // Another question is another matter, and so is another session.
        client.send_prompt(&session, "ask something else").await;
        client.asked().await;
        let other = client.open().await;
        client.send_prompt(&other, "ask rm -rf").await;
        client.asked().await;
    }
}

#[tokio::test(start_paused = true)]
async fn several_permissions_are_asked_for_at_once_and_answered_in_any_order() {
    let (mut client, session) = Client::ready().await;
    let prompt = client.send_prompt(&session, "ask one | two").await;
    let (one, _) = client.asked().await;
    let (two, about) = client.asked().await;
    assert_eq!(about["toolCall"]["title"], "two");
    client.choose(two, "reject_once").await;
    client.choose(one, "allow_always").await;
    assert_eq!(client.hear(prompt).await.said(), "Allowed: one\n\nNot allowed: two");
    // What is settled is not asked again.
    let prompt = client.send_prompt(&session, "ask two | one").await;
    let (two, about) = client.asked().await;
    assert_eq!(about["toolCall"]["title"], "two");
    client.choose(two, "allow_once").await;
    assert_eq!(client.hear(prompt).await.said(), "Allowed: two\n\nAllowed: one");
}

#[tokio::test(start_paused = true)]
async fn what_was_not_offered_cannot_be_chosen() {
    let (mut client, session) = Client::ready().await;
    let prompt = client.send_prompt(&session, "ask a; say b").await;
    let (question, _) = client.asked().await;
    client.choose(question, "perhaps").await;
    let heard = client.hear(prompt).await;
    assert!(heard.error().1.contains("perhaps") && heard.said().is_empty(), "{heard:?}");

    let prompt = client.send_prompt(&session, "ask a; say b").await;
    let (question, _) = client.asked().await;
    client.write(&legwork_acp::wire::refusal(&json!(question), -32601, "no questions")).await;
    let heard = client.hear(prompt).await;
    assert!(heard.error().1.contains("no questions") && heard.said().is_empty(), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_recalled_and_counted() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "recall; count").await;
    assert_eq!(heard.said(), "I was not asked before.\n\n1");
    let (mut client, session) = Client::ready().await;
    client.prompt(&session, "wait 1s").await;
    let heard = client.prompt(&session, "recall").await;
    let said = "I was asked 1 time before. First: \"wait 1s\". I have not answered yet.";
    assert_eq!(heard.said(), said);
    client.prompt(&session, "say a\nsay b").await;
    let heard = client.prompt(&session, "recall\ncount").await;
    let said =
        "I was asked 3 times before. First: \"wait 1s\". My last answer was: \"a\n\nb\"\n\n4";
    assert_eq!(heard.said(), said);
    let other = client.open().await;
    assert_eq!(client.prompt(&other, "count").await.said(), "1");
}

#[tokio::test(start_paused = true)]
async fn fail_and_stop_end_the_turn() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "say a; fail out of luck; say b").await;
    assert_eq!((heard.error(), heard.said().as_str()), ((INTERNAL, "out of luck"), "a"));
    let heard = client.prompt(&session, "say a; stop max_tokens; say b").await;
    assert_eq!((heard.stop_reason(), heard.said().as_str()), ("max_tokens", "a"));
}

#[tokio::test(start_paused = true)]
async fn crash_ends_the_process_after_what_was_said() {
    for (script, code) in [("say a; crash 9", 9), ("say a; crash", 1)] {
        let (mut client, session) = Client::ready().await;
        client.send_prompt(&session, script).await;
        let line = client.line().await.unwrap();
        assert!(line.contains("agent_message_chunk"), "{line}");
        assert_eq!(client.line().await, None);
        let ended = client.end().await;
        assert_eq!(ended, (Ending::Crashed(code), "rehearsal: crashing as told\n".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn repeat_counts() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "repeat 3: say {i}; count\nsay end").await;
    assert_eq!(heard.said().replace("\n\n", " "), "1 1 2 1 3 1 end");
    let heard = client.prompt(&session, "repeat 2: repeat 2: say a").await;
    assert_eq!(heard.said().replace("\n\n", " "), "a a a a");
    let heard = client.prompt(&session, "repeat 1000000: stop refusal").await;
    assert_eq!(heard.stop_reason(), "refusal");
    let heard = client.prompt(&session, "repeat 6: wait {i}000000000ms").await;
    assert!(heard.error().1.contains("5000000000ms"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn facts_of_the_process_are_said() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "pid; cwd; env CARGO_PKG_NAME; env NO SUCH").await;
    assert!(heard.error().1.contains("\"env NO SUCH\""), "{heard:?}");
    let script = "pid; cwd; env CARGO_PKG_NAME; env LEGWORK_NEVER_SET";
    let heard = client.prompt(&session, script).await;
    let pid = std::process::id();
    let said = format!("{pid}\n\n/p\n\nlegwork-agents\n\nLEGWORK_NEVER_SET is not set");
    assert_eq!(heard.said(), said);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_know_it_is_told_what_it_is() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "hello").await;
    let said = heard.said();
    assert_eq!(heard.stop_reason(), "end_turn");
    for part in ["You wrote: \"hello\"", "say Good morning; wait 2s", "  ask TEXT  ", "  hang  "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let long = "ö".repeat(10_000);
    let said = client.prompt(&session, &long).await.said();
    assert!(said.contains("ö...\"") && said.chars().count() < 3_000, "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_script_with_a_mistake_is_not_begun() {
    let (mut client, session) = Client::ready().await;
    let heard = client.prompt(&session, "say a\nsay b\nsya c").await;
    let (code, message) = heard.error();
    assert!(code == BAD_PARAMS && heard.updates.is_empty(), "{heard:?}");
    assert!(message.starts_with("Line 3 is no command: \"sya c\""), "{message}");
}
