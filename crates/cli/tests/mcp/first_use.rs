//! The first use of a client whose person has no agent over ACP yet.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use legwork_testkit::legwork::{Home, eventually};
use serde_json::json;

use crate::client::{Client, text};

const INSTALL: &str = "npm install -g @agentclientprotocol/claude-agent-acp";

fn add(home: &Home, program: &str) {
    let file = home.path("bin").join(program);
    let legwork = env!("CARGO_BIN_EXE_legwork");
    fs::write(&file, format!("#!/bin/sh\nexec {legwork} rehearsal\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
}

/// What a model reads of the launch and of claude. The list of tools waits for a daemon that starts
/// no longer than a client may, and then names no agent.
fn described(client: &mut Client) -> String {
    eventually("claude is named", || {
        let tools = client.ask("tools/list", json!({}));
        let told = tools["tools"][0]["description"].as_str().unwrap();
        told.contains("- claude: ").then(|| told.to_owned())
    })
}

#[test]
fn p13_a_model_without_any_agent_is_told_what_its_person_installs() {
    let home = Home::new();
    fs::create_dir(home.path("bin")).unwrap();
    ["claude", "npm"].iter().for_each(|program| add(&home, program));
    let start = || {
        let mut command = home.command(["mcp"]);
        command.env("PATH", home.path("bin"));
        Client::old_as(command, "claude-code", json!({}))
    };
    let mut client = start();
    let told = described(&mut client);
    assert!(told.contains(INSTALL), "{told}");
    for agent in ["claude", "general-purpose"] {
        let launch = json!({ "prompt": "say x", "description": "x", "agent": agent });
        let refused = client.call("background_task", launch);
        assert_eq!(refused["isError"], true, "{refused}");
        let says = text(&refused);
        assert!(says.contains(INSTALL) && !says.contains("none"), "{says}");
    }
    // It works at once, in the same conversation.
    add(&home, "claude-agent-acp");
    let launch = json!({ "prompt": "say x", "description": "x", "agent": "claude" });
    let launched = client.says("background_task", launch);
    assert!(launched.contains("Task ID: "), "{launched}");
    let told = described(&mut start());
    assert!(!told.contains(INSTALL), "{told}");
}
