//! What the server asks in a turn: approvals, questions of the model, and what MCP servers want.
//! Each is read into a question and the answers that it can have; what cannot be shown whole is
//! refused.

use serde_json::{Map, Value, json};

use crate::native::{Asked, Call, Choice, Grants, Reply, State};

/// A question of the server, and how an answer is told to it.
#[derive(Debug)]
pub struct Ask {
    /// All of them are asked, one after the other.
    pub asked: Vec<Asked>,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// `{decision}`
    Decision,
    /// `{permissions, scope}`
    Permissions(Value),
    /// `{answers: {id: {answers: [text]}}}`
    Answers(Vec<Question>),
    /// `{action, content}`
    Elicitation { persists: bool },
}

#[derive(Debug)]
struct Question {
    id: String,
    labels: Vec<String>,
}

/// What is told to the server, and words for the model that go with a no.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub result: Value,
    pub words: Option<String>,
}

const ONCE: &str = "accept";
const SESSION: &str = "acceptForSession";
const NO: &str = "decline";

impl Ask {
    /// Reads a request. `known` is the item that it is about, as far as it was shown. An error is
    /// told to the server.
    pub fn read(method: &str, params: &Value, known: Option<&Call>) -> Result<Self, String> {
        match method {
            "item/commandExecution/requestApproval" => Ok(Self::command(params, known)),
            "item/fileChange/requestApproval" => Ok(Self::files(params, known)),
            "item/permissions/requestApproval" => Ok(Self::permissions(params)),
            "item/tool/requestUserInput" => Self::questions(params),
            "mcpServer/elicitation/request" => Self::elicitation(params),
            _ => Err(format!("legwork does not offer {method}")),
        }
    }

    fn command(params: &Value, known: Option<&Call>) -> Self {
        let command = params["command"].as_str().map(str::to_owned);
        let command = command.or_else(|| known.map(|call| call.title.clone()));
        let host = params["networkApprovalContext"]["host"].as_str();
        let mut title = match (&command, host) {
            (_, Some(host)) => format!("Reach {host} over the network"),
            (Some(command), None) => command.clone(),
            (None, None) => "Run a command".to_owned(),
        };
        let more = &params["additionalPermissions"];
        if !more.is_null() {
            title = format!("{title}, with more rights: {more}");
        }
        let session = match host {
            Some(host) => format!("Yes, and do not ask again for {host} in this session"),
            None => "Yes, and do not ask again for this command in this session".to_owned(),
        };
        let input = command.map_or(Value::Null, |command| json!({ "command": command }));
        Self::decision(params, title, "execute", input, session)
    }

    fn files(params: &Value, known: Option<&Call>) -> Self {
        let title = known.map_or_else(|| "Change files".to_owned(), |call| call.title.clone());
        let session = match params["grantRoot"].as_str() {
            Some(root) => {
                format!("Yes, and do not ask again for changes below {root} in this session")
            }
            None => {
                "Yes, and do not ask again for changes of these files in this session".to_owned()
            }
        };
        Self::decision(params, title, "edit", Value::Null, session)
    }

    fn decision(
        params: &Value,
        title: String,
        kind: &'static str,
        input: Value,
        session: String,
    ) -> Self {
        let asked = permission(params, title, kind, input, Some(session));
        Self { asked: vec![asked], form: Form::Decision }
    }

    fn permissions(params: &Value) -> Self {
        let wanted = params["permissions"].clone();
        let title = format!("Have more rights: {wanted}");
        let session = "Yes, for the rest of this session".to_owned();
        let asked = permission(params, title, "other", Value::Null, Some(session));
        Self { asked: vec![asked], form: Form::Permissions(wanted) }
    }

    fn questions(params: &Value) -> Result<Self, String> {
        let (mut all, mut asked) = (Vec::new(), Vec::new());
        for question in params["questions"].as_array().into_iter().flatten() {
            if question["isSecret"] == true {
                return Err("A secret cannot be asked for here. Go on without it.".to_owned());
            }
            let options = question["options"].as_array().into_iter().flatten();
            let labels: Vec<String> =
                options.filter_map(|option| option["label"].as_str().map(str::to_owned)).collect();
            let choice = |(number, label): (usize, &String)| Choice {
                id: number.to_string(),
                label: label.clone(),
                grants: Grants::Once,
            };
            let choices = (1..).zip(&labels).map(choice).collect();
            let title = question["question"].as_str().unwrap_or("a question").to_owned();
            let call = call(params, title, "think", Value::Null);
            asked.push(Asked { call, choices, is_question: true, takes_words: true });
            let id = question["id"].as_str().unwrap_or_default().to_owned();
            all.push(Question { id, labels });
        }
        if asked.is_empty() {
            return Err("No question was asked.".to_owned());
        }
        Ok(Self { asked, form: Form::Answers(all) })
    }

    /// Only what is a plain yes or no: codex asks so whether a tool of an MCP server may run.
    fn elicitation(params: &Value) -> Result<Self, String> {
        let fields = params["requestedSchema"]["properties"].as_object();
        let is_plain = params["mode"] != "url" && fields.is_none_or(Map::is_empty);
        let meta = if params["_meta"].is_object() { &params["_meta"] } else { &params["meta"] };
        if !is_plain {
            return Err("Nobody is here who could fill in a form.".to_owned());
        }
        let server = params["serverName"].as_str().unwrap_or("an MCP server");
        let message = params["message"].as_str().unwrap_or("wants a yes");
        let persist = &meta["persist"];
        let persists = *persist == "session"
            || persist.as_array().is_some_and(|all| all.iter().any(|one| one == "session"));
        let session =
            persists.then(|| "Yes, and do not ask again for this tool in this session".to_owned());
        let input = meta["tool_params"].clone();
        let asked = permission(params, format!("{server}: {message}"), "other", input, session);
        Ok(Self { asked: vec![asked], form: Form::Elicitation { persists } })
    }

    /// What the server is told when somebody has answered.
    pub fn told(&self, replies: &[Reply]) -> Told {
        let choice = match replies.first() {
            Some(Reply::Chosen { id, .. }) => id.as_str(),
            _ => NO,
        };
        let words = match replies.first() {
            Some(Reply::Chosen { id, words }) if id == NO => words.clone(),
            Some(Reply::Words(words)) => Some(words.clone()),
            _ => None,
        };
        let result = match &self.form {
            Form::Decision => json!({ "decision": choice }),
            Form::Permissions(wanted) => match choice {
                ONCE => json!({ "permissions": wanted, "scope": "turn" }),
                SESSION => json!({ "permissions": wanted, "scope": "session" }),
                _ => json!({ "permissions": {}, "scope": "turn" }),
            },
            Form::Answers(questions) => {
                let mut answers = Map::new();
                for (question, reply) in questions.iter().zip(replies) {
                    let said: Vec<String> = question.said(reply).into_iter().collect();
                    answers.insert(question.id.clone(), json!({ "answers": said }));
                }
                return Told { result: json!({ "answers": answers }), words: None };
            }
            Form::Elicitation { persists } => match choice {
                ONCE => json!({ "action": "accept", "content": {} }),
                SESSION if *persists => {
                    let meta = json!({ "persist": "session" });
                    json!({ "action": "accept", "content": {}, "_meta": meta })
                }
                _ => json!({ "action": "decline", "content": null }),
            },
        };
        Told { result, words }
    }
}

impl Question {
    fn said(&self, reply: &Reply) -> Option<String> {
        match reply {
            Reply::Chosen { id, .. } => {
                let number = id.parse::<usize>().ok()?.checked_sub(1)?;
                self.labels.get(number).cloned()
            }
            Reply::Words(words) => Some(words.clone()),
            Reply::Nobody => None,
        }
    }
}

fn permission(
    params: &Value,
    title: String,
    kind: &'static str,
    input: Value,
    session: Option<String>,
) -> Asked {
    let title = match params["reason"].as_str().map(str::trim).filter(|why| !why.is_empty()) {
        Some(why) => format!("{title} ({why})"),
        None => title,
    };
    let choice = |id: &str, label: String, grants| Choice { id: id.to_owned(), label, grants };
    let once = choice(ONCE, "Yes, this once".to_owned(), Grants::Once);
    let session = session.map(|label| choice(SESSION, label, Grants::Session));
    let no = choice(NO, "No".to_owned(), Grants::Nothing);
    let choices = [Some(once), session, Some(no)].into_iter().flatten().collect();
    Asked { call: call(params, title, kind, input), choices, is_question: false, takes_words: true }
}

fn call(params: &Value, title: String, kind: &'static str, input: Value) -> Call {
    let id = params["itemId"].as_str().unwrap_or("asked").to_owned();
    Call { id, title, kind, state: State::Pending, input, output: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(id: &str, words: Option<&str>) -> Reply {
        Reply::Chosen { id: id.to_owned(), words: words.map(str::to_owned) }
    }

    fn read(method: &str, params: &Value) -> Ask {
        Ask::read(method, params, None).unwrap()
    }

    #[test]
    fn h3_a_command_is_allowed_once_for_the_session_or_refused_with_words() {
        let params = json!({
            "itemId": "i1", "command": "rm -rf x", "reason": "to clean up",
            "availableDecisions": ["accept", "cancel"],
            "proposedExecpolicyAmendment": ["rm"],
        });
        let ask = read("item/commandExecution/requestApproval", &params);
        let asked = &ask.asked[0];
        assert_eq!(asked.call.title, "rm -rf x (to clean up)");
        let ids: Vec<_> = asked.choices.iter().map(|one| (one.id.as_str(), one.grants)).collect();
        assert_eq!(
            ids,
            [(ONCE, Grants::Once), (SESSION, Grants::Session), (NO, Grants::Nothing)],
            "an amendment of the person's rules is not offered"
        );
        for (reply, decision, words) in [
            (chosen(ONCE, None), "accept", None),
            (chosen(SESSION, None), "acceptForSession", None),
            (chosen(NO, Some("use trash")), "decline", Some("use trash".to_owned())),
            (Reply::Nobody, "decline", None),
        ] {
            let result = json!({ "decision": decision });
            assert_eq!(ask.told(&[reply]), Told { result, words });
        }
    }

    #[test]
    fn h3_what_is_asked_for_is_shown_whole() {
        let params = json!({
            "itemId": "i", "command": "make", "additionalPermissions": { "network": true },
        });
        let ask = read("item/commandExecution/requestApproval", &params);
        assert!(ask.asked[0].call.title.contains("more rights: {\"network\":true}"));
        let params = json!({ "itemId": "i", "networkApprovalContext": { "host": "a.b" } });
        let ask = read("item/commandExecution/requestApproval", &params);
        assert_eq!(ask.asked[0].call.title, "Reach a.b over the network");
        assert!(ask.asked[0].choices[1].label.contains("a.b"));
        let params = json!({ "itemId": "i", "permissions": { "fileSystem": { "write": ["/x"] } } });
        let ask = read("item/permissions/requestApproval", &params);
        assert!(ask.asked[0].call.title.contains("/x"));
        assert_eq!(ask.told(&[Reply::Nobody]).result["permissions"], json!({}));
        assert_eq!(ask.told(&[chosen(SESSION, None)]).result["scope"], "session");
    }

    #[test]
    fn h3_a_question_is_answered_by_a_choice_or_in_words() {
        let options = json!([{ "label": "Red" }, { "label": "Blue" }]);
        let params = json!({ "itemId": "i", "questions": [
            { "id": "a", "question": "Which colour?", "options": options },
            { "id": "b", "question": "Why?" },
        ] });
        let ask = read("item/tool/requestUserInput", &params);
        assert!(ask.asked.iter().all(|asked| asked.is_question && asked.takes_words));
        let told = ask.told(&[chosen("2", None), Reply::Words("because".to_owned())]);
        let answers = json!({ "a": { "answers": ["Blue"] }, "b": { "answers": ["because"] } });
        assert_eq!(told.result, json!({ "answers": answers }));
        let secret = json!({ "questions": [{ "id": "a", "question": "Key?", "isSecret": true }] });
        assert!(Ask::read("item/tool/requestUserInput", &secret, None).is_err());
    }

    #[test]
    fn h3_of_an_mcp_server_only_a_plain_yes_is_passed_on() {
        let method = "mcpServer/elicitation/request";
        let plain = json!({
            "serverName": "s", "message": "Allow s to run t?", "mode": "form",
            "requestedSchema": { "type": "object", "properties": {} },
            "_meta": { "persist": ["session", "always"] },
        });
        let ask = read(method, &plain);
        assert_eq!(ask.told(&[chosen(ONCE, None)]).result["action"], "accept");
        let session = ask.told(&[chosen(SESSION, None)]).result;
        assert_eq!(session["_meta"]["persist"], "session");
        assert_eq!(ask.told(&[Reply::Nobody]).result["action"], "decline");
        let form = json!({ "mode": "form", "requestedSchema": { "properties": { "name": {} } } });
        for asked in [form, json!({ "mode": "url", "url": "https://x" })] {
            assert!(Ask::read(method, &asked, None).is_err(), "{asked}");
        }
        assert!(Ask::read("item/tool/call", &json!({}), None).is_err());
    }
}
