//! Both eras of the protocol, and what is no request at all.

use legwork_testkit::legwork::Home;
use serde_json::{Value, json};

use crate::client::{Client, TASKS};

#[test]
fn m1_a_client_of_the_new_era_discovers_the_server_and_its_tools() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let server = client.ask("server/discover", json!({}));
    assert_eq!(server["resultType"], "complete");
    assert_eq!(server["supportedVersions"][0], "2026-07-28");
    assert_eq!(server["serverInfo"]["name"], "legwork");
    assert!(server["capabilities"]["extensions"][TASKS].is_object());
    let tools = client.ask("tools/list", json!({}));
    // Nobody can copy the conversation of a client.
    assert!(!tools.to_string().to_lowercase().contains("fork"), "{tools:#}");
    let tools = tools["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
    }
    let clear = tools.iter().find(|tool| tool["name"] == "background_clear").unwrap();
    assert_eq!(clear["annotations"]["destructiveHint"], true);
    // Of the old era, and of none.
    for method in ["initialize", "ping", "prompts/list", "tasks/list", "x"] {
        assert_eq!(client.refused(method, json!({}))["code"], -32601, "{method}");
    }
    client.leave();
}

#[test]
fn m1_a_client_of_the_old_era_introduces_itself_once() {
    let home = Home::new();
    let mut client = Client::start(home.command(["mcp"]));
    for (asked, answered) in [("2024-11-05", "2024-11-05"), ("2030-01-01", "2025-11-25")] {
        let hello = json!({ "protocolVersion": asked, "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } });
        let server = client.ask("initialize", hello);
        assert_eq!(server["protocolVersion"], answered);
        assert!(server["resultType"].is_null());
    }
    assert_eq!(client.ask("ping", json!({})), json!({}));
    assert_eq!(client.ask("tools/list", json!({}))["tools"].as_array().unwrap().len(), 6);
    // Without tasks, whatever it asks about them.
    assert_eq!(client.refused("tasks/get", json!({ "taskId": "x" }))["code"], -32021);
    assert!(client.says("background_list", json!({})).starts_with("No background tasks"));
}

#[test]
fn m1_a_request_that_does_not_say_who_sends_it_is_refused_as_the_protocol_says() {
    let home = Home::new();
    let mut client = Client::start(home.command(["mcp"]));
    assert_eq!(client.refused("server/discover", json!({}))["code"], -32602);
    client.meta = json!({ "io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let other = client.refused("tools/list", json!({}));
    assert_eq!(
        (&other["code"], &other["data"]["supported"][0]),
        (&json!(-32022), &json!("2026-07-28"))
    );
    client.meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    assert_eq!(client.refused("tasks/get", json!({ "taskId": "bg_00000000" }))["code"], -32021);
}

#[test]
fn g2_rubbish_is_refused_and_the_front_goes_on() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    for rubbish in ["hello", "{", "[]", "7", "\u{0}", "{\"jsonrpc\":\"2.0\",\"method\":7}"] {
        client.raw(&format!("{rubbish}\n"));
    }
    let long = "x".repeat(17 << 20);
    client.raw(&format!("{{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"{long}\"}}\n"));
    for (params, code) in
        [(json!({}), -32602), (json!({ "name": 7 }), -32602), (json!({ "name": "rm" }), -32602)]
    {
        assert_eq!(client.refused("tools/call", params.clone())["code"], code, "{params}");
    }
    for arguments in [Value::Null, json!([]), json!({ "prompt": 7 }), json!("x")] {
        let refused = client.call("background_task", arguments);
        assert_eq!(refused["isError"], true, "{refused}");
    }
    for task in ["", "nonexistent", "bg_", "../../x"] {
        assert_eq!(client.refused("tasks/get", json!({ "taskId": task }))["code"], -32602);
    }
    client.line(&json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
    client.line(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": 7 }));
    let task = client.launch_task("say still here");
    let end = client.poll(&task, "completed");
    assert!(end["result"]["content"][0]["text"].as_str().unwrap().contains("still here"));
}

#[test]
fn l4_an_unknown_agent_is_refused_with_those_that_there_are() {
    let home = Home::new();
    home.configure("[agents.mine]\ncommand = [\"true\"]\n");
    let mut client = Client::modern(&home);
    let arguments = json!({ "prompt": "x", "description": "d", "agent": "nobody" });
    let refused = client.call("background_task", arguments);
    assert_eq!(refused["isError"], true);
    assert!(crate::client::text(&refused).contains("mine"), "{refused}");
    // M8: what there is, is in the description.
    let tools = client.ask("tools/list", json!({}));
    assert!(tools["tools"][0]["description"].as_str().unwrap().contains("- mine"), "{tools}");
}
