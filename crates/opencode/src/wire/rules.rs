//! What a helper may not do, as rules of its session. They come after those of its agent, and of
//! all rules that fit a call the last one counts.

use legwork_protocol::tools::tools;
use serde_json::{Value, json};

/// The rules of a helper's session: all that its parent's session is denied and where that may go
/// (as OpenCode's own `task` tool does it), no editing under an agent that may not edit, no
/// questions to a person who does not look, and the six tools only where helpers may have helpers.
pub fn of_helper(parent: &Value, parents_agent: &Value, agent: &Value, nested: bool) -> Value {
    let mut rules: Vec<Value> = list(parent).filter(|rule| is_handed_down(rule)).cloned().collect();
    if may_not_edit(parents_agent) {
        rules.push(deny("edit"));
    } else {
        rules.extend(list(parents_agent).filter(|rule| denies_editing_some(rule)).cloned());
    }
    // Also as the `task` tool does it: an agent that is to have these says so itself.
    for tool in ["todowrite", "task"] {
        if !list(agent).any(|rule| is_on(rule, tool)) {
            rules.push(deny(tool));
        }
    }
    rules.push(deny("question"));
    if !nested {
        rules.extend(tools().iter().map(|tool| deny(&tool.name)));
    }
    Value::Array(rules)
}

fn list(of: &Value) -> impl Iterator<Item = &Value> {
    of["permission"].as_array().into_iter().flatten()
}

fn is_handed_down(rule: &Value) -> bool {
    rule["action"] == "deny" || is_on(rule, "external_directory")
}

fn denies_editing_some(rule: &Value) -> bool {
    rule["action"] == "deny" && is_on(rule, "edit") && rule["pattern"] != "*"
}

/// The last rule about all files tells. It may be one about everything: `explore` is denied that
/// first, and then allowed this and that.
fn may_not_edit(agent: &Value) -> bool {
    let on_all =
        |rule: &&Value| rule["pattern"] == "*" && (is_on(rule, "edit") || is_on(rule, "*"));
    list(agent).filter(on_all).last().is_some_and(|rule| rule["action"] == "deny")
}

fn is_on(rule: &Value, what: &str) -> bool {
    rule["permission"] == what
}

fn deny(what: &str) -> Value {
    json!({ "permission": what, "pattern": "*", "action": "deny" })
}
