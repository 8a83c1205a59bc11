//! A helper's question as a form, and what the person filled in.

use legwork_protocol::api::Reply;
use legwork_protocol::view::{QuestionKind, QuestionView, TaskView};
use serde_json::{Value, json};

/// What asks the person, in the form of the protocol.
pub fn form(task: &TaskView, question: &QuestionView) -> Value {
    let headline = legwork_views::model::ask::headline(question);
    let subject = legwork_views::model::ask::subject(question);
    let mut message = format!("{} ({}): {headline}\n\n{subject}", task.description, task.agent);
    if let Some(label) = question.always_means() {
        message.push_str(&format!("\n\nIts host calls \"always\": {label}"));
    }
    let reply = match question.kind {
        QuestionKind::Permission => {
            let offered = ["once", "always", "reject"];
            let offered = offered.into_iter().filter(|id| question.offers(id));
            json!({ "type": "string", "title": "Reply", "enum": offered.collect::<Vec<_>>() })
        }
        QuestionKind::Question => {
            let labels: Vec<&str> =
                question.options.iter().map(|option| option.label.as_str()).collect();
            let mut reply = json!({ "type": "string", "title": "Answer" });
            if !labels.is_empty() {
                reply["description"] = json!(labels.join(" | "));
            }
            reply
        }
    };
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": { "reply": reply },
            "required": ["reply"],
        },
    })
}

/// What the person wants, if they have decided: a form that was put aside is no answer.
pub fn reply(question: &QuestionView, filled: &Value) -> Option<Reply> {
    let kind = question.kind;
    match filled["action"].as_str()? {
        "accept" => {
            let reply = filled["content"]["reply"].as_str()?;
            match (kind, reply) {
                (QuestionKind::Permission, "once") => Some(Reply::Once),
                (QuestionKind::Permission, "always") => Some(Reply::Always),
                (QuestionKind::Permission, "reject") => Some(Reply::Reject(None)),
                (QuestionKind::Permission, _) => None,
                (QuestionKind::Question, words) => {
                    // An option may be named by its label, which is what the form shows.
                    let named = question.options.iter().find(|option| option.label == words);
                    let words = named.map_or(words, |option| &option.id);
                    Some(Reply::Words(words.to_owned()))
                }
            }
        }
        "decline" if kind == QuestionKind::Permission => Some(Reply::Reject(None)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::view::QuestionOption;

    use super::*;

    fn question(kind: QuestionKind, options: &[&str]) -> QuestionView {
        let option = |id: &&str| QuestionOption { id: (*id).to_owned(), label: format!("is {id}") };
        QuestionView {
            number: 1,
            id: "q".parse().unwrap(),
            kind,
            subject: "bash: cargo test".to_owned(),
            options: options.iter().map(option).collect(),
            takes_words: false,
            since: legwork_protocol::Time(1),
        }
    }

    fn filled(reply: &str) -> Value {
        json!({ "action": "accept", "content": { "reply": reply } })
    }

    #[test]
    fn m2_a_permission_offers_what_its_host_offers_and_nothing_else_is_taken() {
        let task = legwork_views::model::example::task(1);
        let permission = question(QuestionKind::Permission, &["once", "reject"]);
        let form = form(&task, &permission);
        let offered = &form["requestedSchema"]["properties"]["reply"]["enum"];
        assert_eq!(offered, &json!(["once", "reject"]));
        let message = form["message"].as_str().unwrap();
        assert!(message.contains(&task.description) && message.ends_with("cargo test"));
        let wider = question(QuestionKind::Permission, &["once", "always"]);
        let message = super::form(&task, &wider)["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with("Its host calls \"always\": is always"), "{message}");
        let of = |value: &Value| reply(&permission, value);
        assert_eq!(of(&filled("once")), Some(Reply::Once));
        assert_eq!(of(&filled("reject")), Some(Reply::Reject(None)));
        assert_eq!(of(&json!({ "action": "decline" })), Some(Reply::Reject(None)));
        for none in [json!({ "action": "cancel" }), filled("perhaps"), json!(7), json!({})] {
            assert_eq!(of(&none), None, "{none}");
        }
    }

    #[test]
    fn m2_a_question_is_answered_in_words() {
        let asked = question(QuestionKind::Question, &["1", "2"]);
        let form = form(&legwork_views::model::example::task(1), &asked);
        let reply_field = &form["requestedSchema"]["properties"]["reply"];
        assert_eq!(reply_field["description"], "is 1 | is 2");
        for (words, sent) in [("blue", "blue"), ("is 2", "2")] {
            assert_eq!(reply(&asked, &filled(words)), Some(Reply::Words(sent.to_owned())));
        }
    }
}
