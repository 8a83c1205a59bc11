//! The first use of a client whose person has nothing but the client.

use std::fs;
use std::os::unix::fs::symlink;

use legwork_testkit::legwork::{Home, eventually};
use serde_json::json;

use crate::client::{Client, text};

#[test]
fn h1_p13_a_model_is_offered_the_program_of_its_person() {
    let home = Home::new();
    fs::create_dir(home.path("bin")).unwrap();
    let mut command = home.command(["mcp"]);
    command.env("PATH", home.path("bin"));
    let mut client = Client::old_as(command, "claude-code", json!({}));
    let launch = json!({ "prompt": "say x", "description": "x", "agent": "claude" });
    let refused = client.call("background_task", launch.clone());
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(!text(&refused).contains("npm install"), "{refused}");
    // It works at once, in the same conversation.
    symlink("/bin/sh", home.path("bin/claude")).unwrap();
    let launched = client.says("background_task", launch);
    assert!(launched.contains("Task ID: "), "{launched}");
    eventually("claude is named", || {
        let tools = client.ask("tools/list", json!({}));
        let told = tools["tools"][0]["description"].as_str().unwrap();
        told.contains("- claude: another program (claude)").then_some(())
    });
}
