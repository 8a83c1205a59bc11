//! Agents whose output is hard to read or has no end.

use std::fs;

use legwork_testkit::legwork::script_agent;

use crate::stage::Stage;

/// More than the daemon needs for anything that an agent may send, and far less than what it sends
/// in these tests.
const MEMORY_MAX_KB: u64 = 120_000;

fn most_memory_kb(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn g2_half_an_emoji_costs_that_half_and_nothing_else() {
    let work = r#"say 'one \ud83d'; say '\ude00 two'; say ' \ud83d\ude00'"#;
    let mut stage = Stage::with(&script_agent("cutter", work));
    let task = stage.launch_as("cutter", "go");
    let text = "one \u{fffd}\u{fffd} two \u{1f600}".to_owned();
    assert_eq!(stage.result(&task), ("completed".to_owned(), text));
}

#[test]
fn g2_bytes_that_are_no_text_cost_those_bytes_only() {
    let mut stage = Stage::with(&script_agent("raw", r#"say "one $(printf '\355\240\275') two""#));
    let task = stage.launch_as("raw", "go");
    let (status, text) = stage.result(&task);
    assert_eq!(status, "completed");
    assert!(text.starts_with("one \u{fffd}") && text.ends_with(" two"), "{text}");
}

#[test]
fn g2_a_line_that_cannot_be_read_is_told_with_the_result() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let work = format!("say 'all is well'\nline '{{\"method\":\"x\",\"params\":{deep}}}'");
    let mut stage = Stage::with(&script_agent("deep", &work));
    let task = stage.launch_as("deep", "go");
    let (status, text) = stage.result(&task);
    assert_eq!(status, "completed");
    assert!(text.starts_with("all is well\n\n"), "{text}");
    assert!(text.contains("1 line of the agent's output could not be read"), "{text}");
}

#[test]
fn g2_an_error_that_is_no_object_ends_the_turn_all_the_same() {
    let mut stage = Stage::with(&script_agent("odd", r#"line '{"id":3,"error":"out of tea"}'"#));
    let task = stage.launch_as("odd", "go");
    let (status, text) = stage.result(&task);
    assert!(status == "error" && text.contains("out of tea"), "{status}: {text}");
}

#[test]
fn g3_an_agent_that_asks_and_never_reads_is_ended_before_memory_is() {
    let work = r#"yes '{"id":1,"method":"unknown/method/of/a/long/name"}' | head -n 2000000"#;
    let mut stage = Stage::with(&script_agent("deaf", work));
    let task = stage.launch_as("deaf", "go");
    let (status, text) = stage.result(&task);
    assert_eq!(status, "error", "{text}");
    assert!(text.contains("does not read"), "{text}");
    let most = most_memory_kb(stage.daemon().pid);
    assert!(most < MEMORY_MAX_KB, "{most} KB");
}

#[test]
fn g3_long_ids_of_tool_calls_are_not_kept() {
    let call = r#""sessionUpdate":"tool_call","toolCallId":"'"$number$long"'""#;
    let work = format!(
        "long=$(head -c 4000000 /dev/zero | tr '\\0' x)\n\
         for number in $(seq 60); do update '{call}'; done\nsay done"
    );
    let mut stage = Stage::with(&script_agent("caller", &work));
    let task = stage.launch_as("caller", "go");
    assert_eq!(stage.result(&task), ("completed".to_owned(), "done".to_owned()));
    assert_eq!(stage.view(&task).tool_calls, 60);
    let most = most_memory_kb(stage.daemon().pid);
    assert!(most < MEMORY_MAX_KB, "{most} KB");
}

#[test]
fn g3_what_is_asked_at_length_is_not_kept_whole() {
    let option = r#"{"optionId":"a","kind":"allow_once"}"#;
    let call = r#"{"toolCallId":"'"$number"'","rawInput":{"command":"'"$long"'"}}"#;
    let params = format!(r#"{{"sessionId":"s","toolCall":{call},"options":[{option}]}}"#);
    let method = "session/request_permission";
    let ask = format!(r#"{{"id":'"$number"',"method":"{method}","params":{params}}}"#);
    let work = format!(
        "long=$(head -c 8000000 /dev/zero | tr '\\0' x)\n\
         for number in $(seq 30); do line '{ask}'; done\n\
         read -r answer"
    );
    let mut stage = Stage::with(&script_agent("asker", &work));
    let task = stage.launch_as("asker", "go");
    stage.until(&task, "it asks all", |task| task.questions.len() == 30);
    let most = most_memory_kb(stage.daemon().pid);
    assert!(most < MEMORY_MAX_KB, "{most} KB");
    stage.done("background_cancel", serde_json::json!({ "task_id": task }));
}
