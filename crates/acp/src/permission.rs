//! An agent's request for a permission: what it is about, and which of the agent's own options an
//! answer chooses.

use legwork_protocol::ask::Reply;
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::refusal::plain;
use serde_json::{Value, json};

use crate::agents::Permissions;
use crate::transcript::tool_title;

/// What the answer to a request says when nobody will answer it any more.
pub fn called_off() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// What an agent wants to do.
pub fn text(params: &Value) -> String {
    let call = &params["toolCall"];
    let command = call["rawInput"]["command"].as_str();
    let title = tool_title(call);
    let words = match command {
        Some(command) if !title.contains(command) => format!("permission for {title}: {command}"),
        _ => format!("permission for {title}"),
    };
    plain(&words, HOST_TEXT_MAX_CHARS)
}

/// The answer by policy; nothing if a person is to be asked.
pub fn by_policy(permissions: Permissions, params: &Value) -> Option<Value> {
    match permissions {
        Permissions::Ask => None,
        Permissions::Allow => Some(chosen(params, &["allow_once", "allow_always"])),
        Permissions::Reject => Some(chosen(params, &["reject_once", "reject_always"])),
    }
}

/// The answer that a person gave, or why it is none.
pub fn by_person(reply: &Reply, params: &Value) -> Result<Value, String> {
    match reply {
        Reply::Once => Ok(chosen(params, &["allow_once", "allow_always"])),
        Reply::Always => Ok(chosen(params, &["allow_always", "allow_once"])),
        Reply::Reject(None) => Ok(chosen(params, &["reject_once", "reject_always"])),
        Reply::Reject(Some(_)) => {
            Err("This agent takes no words with a no: answer with a plain reject.".to_owned())
        }
        Reply::Words(_) => {
            Err("This asks for a permission, not for words: answer with once, always or reject."
                .to_owned())
        }
    }
}

/// The first option of the first kind that there is. An agent that offers none gets none.
fn chosen(params: &Value, kinds: &[&str]) -> Value {
    let options = || params["options"].as_array().into_iter().flatten();
    let option = kinds.iter().find_map(|kind| options().find(|option| option["kind"] == *kind));
    match option.map(|option| &option["optionId"]) {
        Some(id) => json!({ "outcome": { "outcome": "selected", "optionId": id } }),
        None => called_off(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kinds: &[&str]) -> Value {
        let option = |kind: &&str| json!({ "optionId": format!("id-{kind}"), "kind": kind });
        let options: Vec<Value> = kinds.iter().map(option).collect();
        json!({ "toolCall": { "title": "remove a.rs" }, "options": options })
    }

    fn selected(kind: &str) -> Value {
        json!({ "outcome": { "outcome": "selected", "optionId": format!("id-{kind}") } })
    }

    #[test]
    fn an_answer_chooses_the_option_that_fits_best() {
        let all = request(&["allow_always", "allow_once", "reject_once"]);
        let once_only = request(&["allow_once"]);
        let cases = [
            (Reply::Once, &all, selected("allow_once")),
            (Reply::Always, &all, selected("allow_always")),
            (Reply::Always, &once_only, selected("allow_once")),
            (Reply::Reject(None), &all, selected("reject_once")),
            (Reply::Reject(None), &once_only, called_off()),
        ];
        for (reply, params, expected) in cases {
            assert_eq!(by_person(&reply, params), Ok(expected), "{reply:?}");
        }
        assert!(by_person(&Reply::Words("x".into()), &all).is_err());
        assert!(by_person(&Reply::Reject(Some("x".into())), &all).is_err());
    }

    #[test]
    fn the_policy_answers_for_the_person() {
        let all = request(&["allow_always", "allow_once", "reject_once"]);
        assert_eq!(by_policy(Permissions::Ask, &all), None);
        assert_eq!(by_policy(Permissions::Allow, &all), Some(selected("allow_once")));
        assert_eq!(by_policy(Permissions::Reject, &all), Some(selected("reject_once")));
    }

    #[test]
    fn a_question_says_what_it_is_about() {
        assert_eq!(text(&request(&[])), "permission for remove a.rs");
        let command = json!({ "toolCall": { "kind": "execute", "rawInput": { "command": "ls" } } });
        assert_eq!(text(&command), "permission for execute: ls");
        assert_eq!(text(&Value::Null), "permission for tool");
    }
}
