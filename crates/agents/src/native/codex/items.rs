//! The items of a turn, as values that can be shown.

use serde_json::{Value, json};

use crate::native::{Call, State, Step};

/// The tool call that an item is; nothing if it is none.
pub fn call(item: &Value) -> Option<Call> {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let (kind, title, input, output) = match item["type"].as_str()? {
        "commandExecution" => {
            let input = json!({ "command": text("command") });
            ("execute", text("command"), input, text("aggregatedOutput"))
        }
        "fileChange" => ("edit", files(item), Value::Null, diffs(item)),
        "mcpToolCall" => {
            let title = format!("{}: {}", text("server"), text("tool"));
            ("other", title, item["arguments"].clone(), result(item))
        }
        "dynamicToolCall" | "collabAgentToolCall" | "collabToolCall" => {
            ("other", text("tool"), item["arguments"].clone(), String::new())
        }
        "webSearch" => {
            ("search", format!("Search the web: {}", text("query")), Value::Null, String::new())
        }
        "imageView" => ("read", format!("Look at {}", text("path")), Value::Null, String::new()),
        "imageGeneration" => ("other", "Make a picture".to_owned(), Value::Null, text("savedPath")),
        _ => return None,
    };
    let (state, output) = match item["status"].as_str() {
        Some("declined") => (State::Failed, "It was not allowed.".to_owned()),
        Some("failed") => (State::Failed, with_code(item, output)),
        Some("inProgress" | "in_progress") => (State::Running, output),
        Some(_) => (State::Done, output),
        None => (State::Running, output),
    };
    Some(Call { id: text("id"), title, kind, state, input, output })
}

/// `Change src/a.rs, src/b.rs`
fn files(item: &Value) -> String {
    let paths = item["changes"].as_array().into_iter().flatten();
    let paths: Vec<&str> = paths.filter_map(|change| change["path"].as_str()).collect();
    if paths.is_empty() {
        "Change files".to_owned()
    } else {
        format!("Change {}", paths.join(", "))
    }
}

fn diffs(item: &Value) -> String {
    let changes = item["changes"].as_array().into_iter().flatten();
    let diff = |change: &Value| {
        Some(format!("{}\n{}", change["path"].as_str()?, change["diff"].as_str()?.trim_end()))
    };
    changes.filter_map(diff).collect::<Vec<_>>().join("\n")
}

/// The texts that an MCP server gave back, or its error.
fn result(item: &Value) -> String {
    if let Some(why) = item["error"]["message"].as_str() {
        return why.to_owned();
    }
    let content = item["result"]["content"].as_array().into_iter().flatten();
    content.filter_map(|one| one["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn with_code(item: &Value, output: String) -> String {
    match item["exitCode"].as_i64() {
        Some(code) if output.is_empty() => format!("exit code {code}"),
        Some(code) => format!("{}\nexit code {code}", output.trim_end()),
        None => output,
    }
}

/// The steps of a plan (`{plan: [{step, status}]}`).
pub fn plan(params: &Value) -> Vec<Step> {
    let step = |entry: &Value| {
        let state = match entry["status"].as_str() {
            Some("inProgress" | "in_progress") => State::Running,
            Some("completed") => State::Done,
            _ => State::Pending,
        };
        Some(Step { text: entry["step"].as_str()?.to_owned(), state })
    };
    params["plan"].as_array().into_iter().flatten().filter_map(step).collect()
}

/// The answer of a turn that is over: its texts after the last tool call, or the last before that.
pub fn answer(items: &[Value]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    for item in items {
        if call(item).is_some() {
            if !texts.is_empty() {
                before = std::mem::take(&mut texts);
            }
        } else if let Some("agentMessage" | "plan") = item["type"].as_str() {
            texts.extend(item["text"].as_str().filter(|text| !text.trim().is_empty()));
        }
    }
    if texts.is_empty() { before.join("\n\n") } else { texts.join("\n\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h5_an_item_is_a_call_with_all_that_it_does() {
        let item = json!({
            "type": "commandExecution", "id": "c1", "command": "ls -l", "status": "failed",
            "aggregatedOutput": "no\n", "exitCode": 2,
        });
        let shown = call(&item).unwrap();
        assert_eq!((shown.title.as_str(), shown.state), ("ls -l", State::Failed));
        assert_eq!(shown.output, "no\nexit code 2");
        let changes = json!([{ "path": "a.rs", "diff": "+x\n" }, { "path": "b.rs", "diff": "-y" }]);
        let item = json!({ "type": "fileChange", "id": "c2", "changes": changes });
        let shown = call(&item).unwrap();
        assert_eq!((shown.title.as_str(), shown.state), ("Change a.rs, b.rs", State::Running));
        assert_eq!(shown.output, "a.rs\n+x\nb.rs\n-y");
        for other in [json!({ "type": "reasoning" }), json!({ "type": "new" }), json!(7)] {
            assert_eq!(call(&other), None, "{other}");
        }
    }

    #[test]
    fn h2_the_answer_of_a_turn_stands_after_its_last_tool_call() {
        let says = |text: &str| json!({ "type": "agentMessage", "text": text });
        let tool = || json!({ "type": "commandExecution", "id": "c", "status": "completed" });
        let all = [says("I look."), tool(), says("One."), says(""), says("Two.")];
        assert_eq!(answer(&all), "One.\n\nTwo.");
        assert_eq!(answer(&all[..2]), "I look.");
        assert_eq!(answer(&[]), "");
    }
}
