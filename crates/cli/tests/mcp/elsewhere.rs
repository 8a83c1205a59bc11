//! Helpers of a client run anywhere, with the environment of their client, and ask where the person
//! is.

use legwork_testkit::legwork::Home;
use serde_json::{Value, json};

use crate::client::Client;

#[test]
fn m10_a_helper_has_what_its_client_has_but_not_what_names_its_session() {
    let home = Home::new();
    let mut command = home.command(["mcp"]);
    command.env("OF_THE_CLIENT", "1").env("CLAUDE_CODE_MESSAGING_SOCKET", "/tmp/x");
    command.env("CLAUDE_CODE_SESSION_ID", "s").env("AI_AGENT", "claude");
    let mut client = Client::modern_as(command, "claude-code");
    let script = "env OF_THE_CLIENT; env CLAUDE_CODE_MESSAGING_SOCKET; env AI_AGENT; \
        env CLAUDE_CODE_SESSION_ID";
    let task = client.launch_task(script);
    let end = crate::client::text(&client.poll(&task, "completed")["result"]);
    assert!(end.contains("OF_THE_CLIENT=1") || end.contains("\n1\n"), "{end}");
    for hidden in ["/tmp/x", "=claude", "SESSION_ID=s"] {
        assert!(!end.contains(hidden), "{hidden}: {end}");
    }
}

#[test]
fn m8_a_client_hands_work_to_an_agent_of_the_settings() {
    let home = Home::new();
    let legwork = env!("CARGO_BIN_EXE_legwork");
    home.configure(&format!("[agents.mine]\ncommand = [\"{legwork}\", \"rehearsal\"]\n"));
    let mut client = Client::modern(&home);
    let arguments = json!({ "prompt": "say from mine", "description": "d", "agent": "mine" });
    let task = client.call("background_task", arguments)["taskId"].as_str().unwrap().to_owned();
    let end = client.poll(&task, "completed");
    assert!(crate::client::text(&end["result"]).contains("from mine"));
}

/// A client that shows forms, its helper's task, and the form of what that asks.
fn asked(home: &Home) -> (Client, String, Value) {
    let capabilities = json!({ "elicitation": {} });
    let mut client = Client::old_as(home.command(["mcp"]), "goose", capabilities);
    client.meta = json!({ "agent-session-id": "g" });
    let task = client.launch("ask rm -rf target; say done");
    let form = client.asked("elicitation/create");
    (client, task, form)
}

#[test]
fn m4_a_question_is_a_form_of_a_client_that_shows_forms() {
    let home = Home::new();
    let (mut client, task, form) = asked(&home);
    let message = form["params"]["message"].as_str().unwrap();
    assert!(message.contains("rm -rf target"), "{form}");
    let filled = json!({ "action": "accept", "content": { "reply": "once" } });
    client.line(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": filled }));
    let said = client.says("background_block", json!({ "task_ids": [task] }));
    assert!(said.contains("done"), "{said}");
}

#[test]
fn m4_a_form_is_withdrawn_when_the_question_is_answered_elsewhere() {
    let home = Home::new();
    let (mut client, task, form) = asked(&home);
    home.run(["answer", &task, "once"]).with_code(0);
    let withdrawn = client.asked("notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], form["id"]);
}

#[test]
fn m5_a_wait_gives_signs_of_life_and_ends_with_its_caller() {
    let home = Home::new();
    let mut client = Client::old(&home, "other");
    let task = client.launch("hang");
    client.meta = json!({ "progressToken": "p" });
    let arguments = json!({ "task_ids": [task], "timeout": 600_000 });
    let call = json!({ "name": "background_block", "arguments": arguments });
    let block = client.send("tools/call", call);
    let progress = client.asked("notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    let gone = json!({ "requestId": block });
    client.line(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone }));
    // The helper is still at work.
    client.meta = Value::Null;
    assert!(client.says("background_list", json!({})).contains("running"));
}
