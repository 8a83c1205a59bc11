//! Clients that nobody can wake: what is new comes with the answer to the next call, once, and a
//! wait brings the results along.

use legwork_testkit::legwork::{Home, eventually};
use serde_json::json;

use crate::client::{Client, gated, open, text};
use crate::tasks::kill_daemon;

/// Waits until the notice of a task waits for the next call.
fn delivered(home: &Home, task: &str) {
    eventually("the notice waits for the next call", || {
        let view = home.run(["show", task, "--json"]).json();
        (view["status"] == "completed" && view["notice_pending"] == false).then_some(())
    });
}

#[test]
fn m5_the_result_comes_with_the_next_answer_and_never_again() {
    let home = Home::new();
    let mut client = Client::old(&home, "gemini-cli-mcp-client");
    let said = client.says("background_task", crate::client::launch("say the result"));
    assert!(said.contains("comes with the answer to your next call"), "{said}");
    let task = said.lines().find_map(|line| line.strip_prefix("Task ID: ")).unwrap().to_owned();
    delivered(&home, &task);
    let next = client.says("background_list", json!({}));
    assert!(next.starts_with("[BACKGROUND TASK COMPLETED]"), "{next}");
    assert!(next.contains("the result") && next.contains(&format!("{task}    completed")));
    eventually("it is marked as shown", || {
        let again = client.says("background_list", json!({}));
        (!again.contains("the result")).then_some(())
    });
}

#[test]
fn m6_what_one_session_asked_for_is_never_told_to_another() {
    let home = Home::new();
    let mut one = Client::old(&home, "codex-mcp-client");
    let meta = |thread: &str| {
        let turn = json!({ "turn_trigger": "exec", "thread_source": "user" });
        json!({ "threadId": thread, "callId": format!("call-{thread}"),
            "x-codex-turn-metadata": turn })
    };
    one.meta = meta("a");
    let task = one.launch("say for a alone");
    delivered(&home, &task);
    one.meta = meta("b");
    assert!(!one.says("background_list", json!({})).contains("for a alone"));
    let mut other = Client::old(&home, "goose");
    other.meta = json!({ "agent-session-id": "g", "agent-working-dir": home.path("") });
    assert!(!other.says("background_list", json!({})).contains("for a alone"));
    // The same thread in another process is the same session.
    let mut again = Client::old(&home, "codex-mcp-client");
    again.meta = meta("a");
    assert!(again.says("background_list", json!({})).contains("for a alone"));
}

#[test]
fn m5_a_wait_brings_the_results_and_nothing_brings_them_again() {
    let home = gated("worth waiting for");
    let mut client = Client::old(&home, "goose");
    let task = client.launch_as("gated", "go");
    let other = client.launch("hang");
    let arguments = json!({ "task_ids": [task, other], "any": true, "timeout": 60_000 });
    let call = json!({ "name": "background_block", "arguments": arguments });
    let block = client.send("tools/call", call);
    // Not before: its result would come with the answer to the second launch.
    open(&home);
    let said = text(&client.answer(block)["result"]);
    assert!(said.contains("worth waiting for"), "{said}");
    assert!(said.contains("[BACKGROUND TASK COMPLETED]"), "{said}");
    eventually("the notice is withdrawn", || {
        let view = home.run(["show", &task, "--json"]).json();
        (view["notice_pending"] == false).then_some(())
    });
    assert!(!client.says("background_list", json!({})).contains("worth waiting for"));
}

#[test]
fn m5_a_wait_for_what_has_ended_brings_its_result() {
    let home = Home::new();
    let mut client = Client::old(&home, "goose");
    let task = client.launch("say worth waiting for");
    delivered(&home, &task);
    let said = client.says("background_block", json!({ "task_ids": [task] }));
    assert_eq!(said.matches("begin words of").count(), 1, "{said}");
    assert!(!client.says("background_list", json!({})).contains("begin words of"));
}

#[test]
fn m5_who_reads_a_result_is_not_sent_it_again() {
    let home = Home::new();
    let mut client = Client::old(&home, "cursor");
    let task = client.launch("say once");
    delivered(&home, &task);
    let said = client.says("background_output", json!({ "task_id": task }));
    assert_eq!(said.matches("begin words of").count(), 1, "{said}");
    assert!(!client.says("background_list", json!({})).contains("begin words of"));
}

#[test]
fn l6_the_same_call_twice_is_one_task() {
    let home = Home::new();
    let mut client = Client::old(&home, "codex-mcp-client");
    client.meta = json!({ "threadId": "t", "callId": "c1" });
    let first = client.launch("say x");
    assert_eq!(client.launch("say x"), first);
    client.meta["callId"] = json!("c2");
    assert_ne!(client.launch("say x"), first);
}

/// Neither where it was answered, nor above the result.
#[test]
fn m5_a_question_that_is_settled_is_not_said_to_wait() {
    let home = Home::new();
    let mut client = Client::old(&home, "gemini-cli-mcp-client");
    let task = client.launch("ask rm -rf target; say done");
    eventually("the question waits for the next call", || {
        let asked = home.run(["answer", &task, "--json"]).json();
        let daemon = home.run(["daemon", "status", "--json"]).json();
        (asked[0].is_object() && daemon["daemon"]["pending"] == 0).then_some(())
    });
    home.run(["answer", &task, "once"]).with_code(0);
    delivered(&home, &task);
    let next = client.says("background_list", json!({}));
    assert!(next.starts_with("[BACKGROUND TASK COMPLETED]"), "{next}");
    assert!(!next.contains("WAITING") && !next.contains("1 still running"), "{next}");
}

#[test]
fn m5_a_question_that_is_open_is_told_with_the_next_answer() {
    let home = Home::new();
    let mut client = Client::old(&home, "gemini-cli-mcp-client");
    let task = client.launch("ask rm -rf target; say done");
    eventually("the question is told", || {
        let told = client.says("background_list", json!({}));
        told.starts_with(&format!("[BACKGROUND TASK WAITING] {task}")).then_some(())
    });
}

#[test]
fn m5_a_result_that_waits_for_the_next_call_outlives_the_daemon() {
    let home = Home::new();
    let mut client = Client::old(&home, "goose");
    let task = client.launch("say the result");
    delivered(&home, &task);
    kill_daemon(&home);
    assert!(client.says("background_list", json!({})).contains("the result"));
    kill_daemon(&home);
    assert!(!client.says("background_list", json!({})).contains("the result"));
}

#[test]
fn n1_mail_of_an_older_build_comes_with_the_next_answer_and_never_again() {
    let home = Home::new();
    let mut client = Client::old(&home, "goose");
    let task = client.launch("say the result");
    delivered(&home, &task);
    let told = client.says("background_list", json!({}));
    assert!(told.contains("the result"), "{told}");
    let session = home.run(["show", &task, "--json"]).json()["parent"].clone();
    home.run(["daemon", "stop"]).with_code(0);
    let file = home.path("legwork/sessions/clients/mail");
    let came = json!({ "is": "came", "message": "msg_1", "session": session, "at": 7,
        "text": told, "tasks": [task] });
    std::fs::write(&file, format!("{came}\n")).unwrap();
    let again = client.says("background_list", json!({}));
    assert!(again.starts_with("[BACKGROUND TASK COMPLETED]") && again.contains("the result"));
    assert!(!file.exists());
    kill_daemon(&home);
    assert!(!client.says("background_list", json!({})).contains("the result"));
}
