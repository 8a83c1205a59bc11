//! `legwork mcp` and the client of the protocol's own library, in both eras: each message has to be
//! what the library takes it for.

use std::process::Stdio;
use std::time::Duration;

use legwork_testkit::DEADLINE;
use legwork_testkit::legwork::Home;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientConfig, GetTaskParams,
    ProtocolVersion, TaskPayload, TaskStatus,
};
use rmcp::service::RunningService;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::client::{TASKS, launch};

/// A client of the library, and the front that it has started.
async fn client(
    home: &Home,
    lifecycle: ClientLifecycleMode,
) -> (RunningService<RoleClient, ClientConfig>, Child) {
    let mut command = Command::from(home.command(["mcp"]));
    let mut child = command.stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let info = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "extensions": { TASKS: {} } },
        "clientInfo": { "name": "library", "version": "1" },
    });
    let info: ClientConfig = serde_json::from_value(info).unwrap();
    (info.serve_with_lifecycle(pipes, lifecycle).await.unwrap(), child)
}

fn call(script: &str) -> CallToolRequestParams {
    let arguments = launch(script).as_object().cloned().unwrap();
    CallToolRequestParams::new("background_task").with_arguments(arguments)
}

async fn plays(home: &Home, lifecycle: ClientLifecycleMode) {
    let (client, _front) = client(home, lifecycle).await;
    assert_eq!(client.list_all_tools().await.unwrap().len(), 6);
    let launched = client.call_tool_once(call("wait 200ms; say from the library")).await.unwrap();
    let CallToolResponse::Task(launched) = launched else { panic!("{launched:?}") };
    let task = launched.task.task_id;
    let end = loop {
        let view = client.get_task(GetTaskParams::new(&task)).await.unwrap();
        match view.task.payload {
            TaskPayload::Completed { result, .. } => break result,
            TaskPayload::Working => tokio::time::sleep(Duration::from_millis(20)).await,
            other => panic!("{other:?}"),
        }
    };
    let end = serde_json::to_string(&end).unwrap();
    assert!(end.contains("from the library"), "{end}");
    let launched = client.call_tool_once(call("hang")).await.unwrap();
    let CallToolResponse::Task(launched) = launched else { panic!("{launched:?}") };
    let task = launched.task.task_id;
    client.cancel_task(CancelTaskParams::new(&task)).await.unwrap();
    let view = client.get_task(GetTaskParams::new(&task)).await.unwrap();
    assert_eq!(view.task.status(), TaskStatus::Cancelled);
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn m1_the_protocols_own_client_works_in_the_new_era() {
    let home = Home::new();
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
    timeout(DEADLINE, plays(&home, lifecycle)).await.unwrap();
}

#[tokio::test]
async fn m1_the_protocols_own_client_works_in_the_old_era() {
    let home = Home::new();
    timeout(DEADLINE, plays(&home, ClientLifecycleMode::Initialize)).await.unwrap();
}
