//! Tasks of the protocol: a client that polls is told by its polls, whatever is killed meanwhile.

use legwork_testkit::legwork::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Client, gated, launch, open, text};

fn result(view: &Value) -> String {
    text(&view["result"])
}

pub fn kill_daemon(home: &Home) {
    kill_process(daemon(home), Signal::KILL).unwrap();
}

fn daemon(home: &Home) -> Pid {
    let daemon = home.run(["daemon", "status", "--json"]).json()["daemon"]["pid"].as_u64();
    Pid::from_raw(i32::try_from(daemon.unwrap()).unwrap()).unwrap()
}

fn is_owed(home: &Home, task: &str) -> bool {
    home.run(["show", task, "--json"]).json()["notice_pending"].as_bool().unwrap()
}

#[test]
fn m2_a_client_that_polls_is_given_the_whole_result_as_often_as_it_asks() {
    let home = gated("all of it");
    let mut client = Client::modern(&home);
    let task = client.launch_gated();
    let first = client.get(&task);
    assert_eq!(first["status"], "working", "the first poll is answered at once");
    assert!(first["statusMessage"].as_str().unwrap().contains("look around"));
    open(&home);
    let end = client.poll(&task, "completed");
    assert!(result(&end).starts_with("[BACKGROUND TASK COMPLETED]"), "{end}");
    assert!(result(&end).contains("all of it"), "{end}");
    // Nothing else tells it.
    eventually("the notice is withdrawn", || (!is_owed(&home, &task)).then_some(()));
    assert!(!client.says("background_list", json!({})).contains("all of it"));
    // From any front, for ever.
    let mut other = Client::modern(&home);
    let body = |view: &Value| result(view).contains("all of it");
    assert!(body(&client.get(&task)) && body(&other.get(&task)));
}

#[test]
fn m2_a_poll_is_held_until_something_changes_and_other_calls_go_on() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("ask rm -rf target; say done");
    let asks = client.poll(&task, "input_required");
    let (question, form) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert!(form["params"]["message"].as_str().unwrap().contains("rm -rf target"), "{form}");
    let held = client.send("tasks/get", json!({ "taskId": task }));
    assert!(client.says("background_list", json!({})).contains(&task), "a call goes on");
    let filled = json!({ question: { "action": "accept", "content": { "reply": "once" } } });
    let taken = client.ask("tasks/update", json!({ "taskId": task, "inputResponses": filled }));
    assert_eq!(taken["resultType"], "complete");
    let mut next = client.answer(held)["result"].clone();
    eventually("the question is closed", || {
        if next["inputRequests"].is_object() {
            // The poll was held for as long as one is, and that was before the answer.
            next = client.get(&task);
        }
        next["inputRequests"].is_null().then_some(())
    });
    assert!(result(&client.poll(&task, "completed")).contains("done"));
}

#[test]
fn m2_of_two_questions_at_once_one_may_be_answered() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("ask one | two; say done");
    let open = |view: &Value| -> Vec<String> {
        let requests = view["inputRequests"].as_object();
        requests.into_iter().flat_map(|requests| requests.keys().cloned()).collect()
    };
    // The second may come a moment after the first.
    let both = eventually("both ask", || {
        Some(open(&client.poll(&task, "input_required"))).filter(|both| both.len() == 2)
    });
    for (answered, question) in both.iter().enumerate() {
        let filled = json!({ question: { "action": "accept", "content": { "reply": "once" } } });
        client.ask("tasks/update", json!({ "taskId": task, "inputResponses": filled }));
        if answered == 0 {
            // The first is closed a moment after the helper has its answer.
            eventually("the second is left", || {
                (open(&client.poll(&task, "input_required")) == both[1..]).then_some(())
            });
        }
    }
    assert!(result(&client.poll(&task, "completed")).contains("done"));
}

#[test]
fn m2_a_failure_is_a_result_that_says_so() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("fail no such model");
    let end = client.poll(&task, "completed");
    assert_eq!(end["result"]["isError"], true);
    assert!(result(&end).starts_with("[BACKGROUND TASK FAILED]"), "{end}");
    assert!(result(&end).contains("no such model"), "{end}");
}

#[test]
fn m2_cancelling_is_idempotent_and_not_told_again() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("hang");
    for _ in 0..2 {
        assert_eq!(client.ask("tasks/cancel", json!({ "taskId": task }))["resultType"], "complete");
    }
    assert_eq!(client.get(&task)["status"], "cancelled");
    assert!(!is_owed(&home, &task));
    // One that is not there any more has been cancelled for ever.
    home.run(["clear", "--yes", "--all"]);
    assert_eq!(client.get(&task)["status"], "cancelled");
    assert_eq!(client.ask("tasks/cancel", json!({ "taskId": task }))["resultType"], "complete");
}

/// Claude Code tells its model the end of what it polls for, whoever ended it.
#[test]
fn x3_who_cancels_what_its_client_polls_for_is_told_what_follows() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("hang");
    client.get(&task);
    let said = client.says("background_cancel", json!({ "task_id": task }));
    assert!(said.contains("Your client notes that it is cancelled; nothing else"), "{said}");
    assert_eq!(client.poll(&task, "cancelled")["status"], "cancelled");
    assert!(!is_owed(&home, &task), "and legwork tells nothing");
    let mut other = Client::old(&home, "gemini-cli-mcp-client");
    let task = other.launch("hang");
    let said = other.says("background_cancel", json!({ "task_id": task }));
    assert!(said.contains("No notification follows."), "{said}");
}

/// What comes before the answer of the call Claude Code tells its model with that answer; what
/// comes later begins a turn of its own.
#[test]
fn x3_a_call_that_ends_a_task_is_answered_after_the_poll_for_it() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    for tool in ["background_cancel", "background_clear"] {
        let task = client.launch_task("hang");
        client.get(&task);
        let names =
            if tool == "background_cancel" { json!({ "task_id": task }) } else { json!({}) };
        let call = client.send("tools/call", json!({ "name": tool, "arguments": names }));
        // Between two polls.
        let poll = client.send("tasks/get", json!({ "taskId": task }));
        let first = client.first_answer(&[poll, call]);
        assert_eq!(first["result"]["status"], "cancelled", "{tool}: {first}");
        let said = text(&client.answer(call)["result"]);
        assert!(said.starts_with("Cancelled"), "{said}");
    }
    // One that nobody polls for any more holds nothing up.
    let task = client.launch_task("hang");
    client.get(&task);
    let said = client.says("background_cancel", json!({ "task_id": task }));
    assert!(said.starts_with("Cancelled"), "{said}");
}

#[test]
fn m2_a_resume_is_a_run_of_its_own() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("say one");
    client.poll(&task, "completed");
    let arguments = json!({ "prompt": "say two", "resume": task });
    let resumed = client.call("background_task", arguments);
    let run = resumed["taskId"].as_str().unwrap().to_owned();
    assert_eq!(run, format!("{task}.1"));
    let end = client.poll(&run, "completed");
    assert!(result(&end).starts_with("[BACKGROUND RESUME COMPLETED]"), "{end}");
    assert!(result(&end).contains("two") && !result(&end).contains("one"), "{end}");
    assert!(result(&client.get(&task)).contains("one"), "the first run keeps its end");
}

#[test]
fn m2_a_poll_outlives_the_daemon() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("wait 1s; say one; wait 1s; say two");
    client.get(&task);
    let held = client.send("tasks/get", json!({ "taskId": task }));
    kill_daemon(&home);
    // It was cut off with the daemon and goes on with the next, which the poll has started.
    let view = client.answer(held);
    assert!(view["error"].is_null(), "{view}");
    let end = client.poll(&task, "completed");
    assert!(result(&end).starts_with("[BACKGROUND TASK"), "{end}");
}

#[test]
fn p9_a_call_to_a_daemon_that_was_suspended_names_it() {
    let home = Home::new();
    let mut client = Client::modern(&home);
    let task = client.launch_task("wait 600s");
    let daemon = daemon(&home);
    kill_process(daemon, Signal::STOP).unwrap();
    let said = client.says("background_list", json!({}));
    kill_process(daemon, Signal::CONT).unwrap();
    assert!(said.contains(&format!("kill -CONT {}", daemon.as_raw_nonzero())), "{said}");
    assert!(client.says("background_list", json!({})).contains(&task));
}

#[test]
fn m2_a_client_that_was_killed_is_told_by_the_next_one() {
    let home = gated("the end");
    let mut client = Client::modern(&home);
    let task = client.launch_gated();
    client.get(&task);
    client.kill();
    open(&home);
    let mut again = Client::modern(&home);
    assert!(result(&again.poll(&task, "completed")).contains("the end"));
}

#[test]
fn q8_a_result_that_is_polled_for_is_cut_as_every_other() {
    let home = Home::new();
    home.configure("[notices]\nmax_result_chars = 100\n");
    let mut client = Client::modern(&home);
    let task = client.launch_task(&format!("say {}", "x".repeat(1_000)));
    let told = result(&client.poll(&task, "completed"));
    assert_eq!(told.matches("xxxxx").count(), 20, "{told}");
    let rest = format!("background_output(task_id: \"{task}\", offset: 100)");
    assert!(told.contains("The first 100 of 1000 characters") && told.contains(&rest), "{told}");
}

#[test]
fn m2_without_a_limit_a_result_of_90000_characters_is_whole() {
    let home = Home::new();
    home.configure("[notices]\nmax_result_chars = 0\n");
    let mut client = Client::modern(&home);
    let script = format!("repeat 900: say {}", "x".repeat(98));
    let task = client.launch_task(&script);
    let end = client.poll(&task, "completed");
    assert!(result(&end).matches('x').count() >= 88_200, "{}", result(&end).len());
}

#[test]
fn m9_a_helper_finds_no_tools() {
    let home = Home::new();
    let mut command = home.command(["mcp"]);
    command.env("LEGWORK_INSIDE", "1");
    let mut client = Client::modern_as(command, "claude-code");
    assert_eq!(client.ask("tools/list", json!({}))["tools"], json!([]));
    let call = json!({ "name": "background_task", "arguments": launch("say x") });
    assert_eq!(client.refused("tools/call", call)["code"], -32602);
}
