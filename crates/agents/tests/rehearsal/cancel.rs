//! Cancelling, and what cannot be cancelled.

use legwork_acp::wire::Message;
use legwork_agents::Ending;

use legwork_testkit::agent::AgentClient as Client;

#[tokio::test(start_paused = true)]
async fn a_wait_and_a_tool_are_cancelled_at_once() {
    for script in ["say a; wait 600m; say b", "say a; tool make for 600m; say b"] {
        let (mut client, session) = Client::ready().await;
        let prompt = client.send_prompt(&session, script).await;
        assert!(client.line().await.unwrap().contains("agent_message_chunk"));
        client.cancel(&session).await;
        let heard = client.hear(prompt).await;
        assert_eq!((heard.stop_reason(), heard.said().as_str()), ("cancelled", ""), "{script}");
        let recalled = client.prompt(&session, "recall").await.said();
        assert!(recalled.ends_with("My last answer was: \"a\""), "{recalled}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_cancelled_and_its_late_answer_is_nobodys() {
    let (mut client, session) = Client::ready().await;
    let prompt = client.send_prompt(&session, "ask a; say b").await;
    let (question, _) = client.asked().await;
    client.cancel(&session).await;
    assert_eq!(client.hear(prompt).await.stop_reason(), "cancelled");
    client.choose(question, "allow_always").await;
    let again = client.send_prompt(&session, "ask a").await;
    let (question, _) = client.asked().await;
    client.choose(question, "reject_once").await;
    assert_eq!(client.hear(again).await.said(), "Not allowed: a");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_answered_with_cancelled_ends_the_turn() {
    let (mut client, session) = Client::ready().await;
    let prompt = client.send_prompt(&session, "ask a; say b").await;
    let (question, _) = client.asked().await;
    let outcome = serde_json::json!({ "outcome": { "outcome": "cancelled" } });
    client.write(&legwork_acp::wire::answer(&question.into(), &outcome)).await;
    let heard = client.hear(prompt).await;
    assert_eq!((heard.stop_reason(), heard.said().as_str()), ("cancelled", ""));
}

#[tokio::test(start_paused = true)]
async fn an_endless_repeat_is_cancelled() {
    let (mut client, session) = Client::ready().await;
    let script = "say a; repeat 1000000: repeat 1000000: wait 0s";
    let prompt = client.send_prompt(&session, script).await;
    assert!(client.line().await.is_some());
    client.cancel(&session).await;
    assert_eq!(client.hear(prompt).await.stop_reason(), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn hang_ignores_cancel_and_holds_up_nobody_else() {
    let (mut client, session) = Client::ready().await;
    client.send_prompt(&session, "say a; hang").await;
    assert!(client.line().await.is_some());
    client.cancel(&session).await;
    assert_eq!(client.line().await, None);
    let other = client.open().await;
    assert_eq!(client.prompt(&other, "say b").await.said(), "b");
    assert_eq!(client.leave().await, (Ending::InputEnded, String::new()));
}

#[tokio::test(start_paused = true)]
async fn cancelling_nothing_does_nothing() {
    let (mut client, session) = Client::ready().await;
    client.cancel(&session).await;
    client.cancel("nobody").await;
    let heard = client.prompt(&session, "wait 1s; say a").await;
    assert_eq!((heard.stop_reason(), heard.said().as_str()), ("end_turn", "a"));
    client.cancel(&session).await;
    assert_eq!(client.prompt(&session, "wait 1s").await.stop_reason(), "end_turn");
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_the_turn_of_its_own_session_only() {
    let (mut client, one) = Client::ready().await;
    let two = client.open().await;
    let first = client.send_prompt(&one, "wait 600m").await;
    let second = client.send_prompt(&two, "wait 1m").await;
    client.cancel(&one).await;
    for (request, reason) in [(first, "cancelled"), (second, "end_turn")] {
        match client.message().await {
            Some(Message::Response { id, outcome: Ok(result) }) => {
                assert_eq!((id, &result["stopReason"]), (request, &reason.into()));
            }
            other => panic!("{other:?}"),
        }
    }
}
