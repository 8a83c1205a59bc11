//! An agent's request for a permission: what it is about, and which of the agent's own options an
//! answer chooses.

use std::collections::BTreeMap;

use legwork_engine::work::Question;
use legwork_protocol::QuestionId;
use legwork_protocol::api::Reply;
use legwork_protocol::limits::{HOST_TEXT_MAX_CHARS, SUBJECT_MAX_CHARS};
use legwork_protocol::refusal::cut;
use legwork_protocol::view::{QuestionKind, QuestionOption};
use serde_json::{Value, json};

use crate::agents::Permissions;
use crate::limits::OPTIONS_MAX;
use crate::turn::update::tool_title;
use crate::wire::WORDS;
use legwork_protocol::json_rpc::ID_MAX_BYTES;

/// The options of a request that an answer can choose. All that is kept of a request until somebody
/// answers it: the rest may be megabytes of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The id of the first option of each kind.
    ids: BTreeMap<&'static str, String>,
    /// What the agent calls a yes for good.
    always: Option<String>,
    /// Whether words may go with an answer, as our own agents say.
    takes_words: bool,
    /// The ids and names of what can be chosen, if it is no permission but a question.
    choices: Option<Vec<(String, String)>>,
}

/// Every kind of option, as the protocol names them.
const KINDS: [&str; 4] = ["allow_once", "allow_always", "reject_once", "reject_always"];

impl Options {
    /// Those of a request. One with an id that nobody can keep is not offered.
    pub fn of(params: &Value) -> Self {
        let options = params["options"].as_array().into_iter().flatten().take(OPTIONS_MAX);
        let (mut ids, mut always) = (BTreeMap::new(), None);
        for option in options {
            let kind = KINDS.into_iter().find(|kind| option["kind"] == *kind);
            let id = option["optionId"].as_str().filter(|id| id.len() <= ID_MAX_BYTES);
            if let (Some(kind), Some(id)) = (kind, id) {
                if kind == "allow_always" && !ids.contains_key(kind) {
                    let name = option["name"].as_str().map(str::trim);
                    let name = name.filter(|name| !name.is_empty());
                    always = name.map(|name| cut(name, HOST_TEXT_MAX_CHARS));
                }
                ids.entry(kind).or_insert_with(|| id.to_owned());
            }
        }
        let about = &params["_meta"][WORDS];
        let choices = (about["kind"] == "question").then(|| choices(params));
        Self { ids, always, takes_words: about["words"] == true, choices }
    }

    /// Whether an answer of this name chooses an option.
    fn offers(&self, answer: &str) -> bool {
        let has = |kind: &str| self.ids.contains_key(kind);
        match answer {
            "once" => has("allow_once"),
            "always" => has("allow_always"),
            _ => has("reject_once") || has("reject_always"),
        }
    }

    /// The answer that chooses the first of these kinds that there is. An agent that offers none
    /// gets none.
    fn chosen(&self, kinds: [&str; 2]) -> Value {
        match kinds.into_iter().find_map(|kind| self.ids.get(kind)) {
            Some(id) => json!({ "outcome": { "outcome": "selected", "optionId": id } }),
            None => called_off(),
        }
    }
}

/// What the answer to a request says when nobody will answer it any more.
pub fn called_off() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

pub fn question(id: QuestionId, params: &Value, options: &Options) -> Question {
    let call = &params["toolCall"];
    // Not the short title of a listing: the end of a command may be what counts.
    let command = call["rawInput"]["command"].as_str();
    let title = call["title"].as_str().filter(|title| !title.trim().is_empty());
    let title = title.map_or_else(|| tool_title(call), str::to_owned);
    let subject = match command {
        Some(command) if !title.contains(command) => format!("{title}: {command}"),
        _ => title,
    };
    let subject = cut(&subject, SUBJECT_MAX_CHARS);
    if let Some(choices) = &options.choices {
        let option = |(number, (_, label)): (usize, &(String, String))| QuestionOption {
            id: number.to_string(),
            label: label.clone(),
        };
        let offered = (1..).zip(choices).map(option).collect();
        let (kind, takes_words) = (QuestionKind::Question, options.takes_words);
        return Question { id, kind, subject, options: offered, takes_words };
    }
    let offered = |option: &QuestionOption| options.offers(&option.id);
    let mut question = Question::permission(id, subject);
    question.takes_words = options.takes_words;
    question.options.retain(offered);
    match &options.always {
        Some(name) => question.with_always(name.clone()),
        None => question,
    }
}

/// The answer by policy; nothing if a person is to be asked.
pub fn by_policy(permissions: Permissions, options: &Options) -> Option<Value> {
    match permissions {
        Permissions::Ask => None,
        // A yes is no answer to a question.
        Permissions::Allow if options.choices.is_some() => None,
        Permissions::Allow => Some(options.chosen(["allow_once", "allow_always"])),
        Permissions::Reject => Some(options.chosen(["reject_once", "reject_always"])),
    }
}

pub fn by_person(reply: &Reply, options: &Options) -> Result<Value, String> {
    if let Some(choices) = &options.choices {
        return answer(reply, choices, options.takes_words);
    }
    match reply {
        // Neither stands for the other: a yes means what was asked.
        Reply::Once if options.offers("once") => Ok(options.chosen(["allow_once"; 2])),
        Reply::Always if options.offers("always") => Ok(options.chosen(["allow_always"; 2])),
        Reply::Once | Reply::Always => Err("This agent does not offer this answer.".to_owned()),
        Reply::Reject(None) => Ok(options.chosen(["reject_once", "reject_always"])),
        Reply::Reject(Some(words)) if options.takes_words => {
            Ok(with_words(options.chosen(["reject_once", "reject_always"]), words))
        }
        Reply::Reject(Some(_)) => {
            Err("This agent takes no words with a no: answer with a plain reject.".to_owned())
        }
        Reply::Words(_) => {
            Err("This asks for a permission, not for words: answer with once, always or reject."
                .to_owned())
        }
    }
}

/// What can be chosen as the answer to a question.
fn choices(params: &Value) -> Vec<(String, String)> {
    let options = params["options"].as_array().into_iter().flatten().take(OPTIONS_MAX);
    let choice = |option: &Value| {
        let id = option["optionId"].as_str().filter(|id| id.len() <= ID_MAX_BYTES)?;
        let label = option["name"].as_str().unwrap_or(id);
        Some((id.to_owned(), cut(label, HOST_TEXT_MAX_CHARS)))
    };
    options.filter_map(choice).collect()
}

/// The answer to a question: one of its choices by number or name, or words.
fn answer(reply: &Reply, choices: &[(String, String)], takes_words: bool) -> Result<Value, String> {
    let words = match reply {
        Reply::Words(words) => words.trim(),
        Reply::Reject(None) => return Ok(called_off()),
        Reply::Reject(Some(words)) if takes_words => return Ok(with_words(called_off(), words)),
        Reply::Reject(Some(_)) | Reply::Once | Reply::Always => {
            return Err("This is a question: answer it in words or by a number.".to_owned());
        }
    };
    let number = words.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let named = choices.iter().find(|(_, label)| label.trim().eq_ignore_ascii_case(words));
    match named.or_else(|| choices.get(number?)) {
        Some((id, _)) => Ok(json!({ "outcome": { "outcome": "selected", "optionId": id } })),
        None if takes_words => Ok(with_words(called_off(), words)),
        None => Err(format!("Choose one by its number, from 1 to {}.", choices.len())),
    }
}

fn with_words(mut outcome: Value, words: &str) -> Value {
    outcome["_meta"] = json!({ WORDS: words });
    outcome
}

#[cfg(test)]
mod tests {
    use legwork_protocol::view::ALLOW_ALWAYS;

    use super::*;

    fn request(kinds: &[&str]) -> Value {
        let option = |kind: &&str| json!({ "optionId": format!("id-{kind}"), "kind": kind });
        let options: Vec<Value> = kinds.iter().map(option).collect();
        json!({ "toolCall": { "title": "remove a.rs" }, "options": options })
    }

    fn options(kinds: &[&str]) -> Options {
        Options::of(&request(kinds))
    }

    #[test]
    fn g3_of_a_request_no_more_is_kept_than_an_answer_needs() {
        let long = "x".repeat(1 << 20);
        let option = |id: &str, kind: &str| json!({ "optionId": id, "kind": kind, "name": long });
        let mut all: Vec<Value> = (0..1_000).map(|_| option("b", "allow_always")).collect();
        all.insert(0, option(&long, "reject_once"));
        all.insert(0, option("a", "allow_once"));
        let kept = Options::of(&json!({ "options": all, "toolCall": { "rawInput": long } }));
        let ids = [("allow_once", "a".to_owned()), ("allow_always", "b".to_owned())];
        let always = Some(cut(&long, HOST_TEXT_MAX_CHARS));
        assert_eq!(kept, Options { ids: ids.into(), always, ..Options::default() });
    }

    fn selected(kind: &str) -> Value {
        json!({ "outcome": { "outcome": "selected", "optionId": format!("id-{kind}") } })
    }

    #[test]
    fn an_answer_chooses_the_option_that_fits_best() {
        let all = options(&["allow_always", "allow_once", "reject_once"]);
        let once_only = options(&["allow_once"]);
        let cases = [
            (Reply::Once, &all, selected("allow_once")),
            (Reply::Always, &all, selected("allow_always")),
            (Reply::Reject(None), &all, selected("reject_once")),
            (Reply::Reject(None), &once_only, called_off()),
        ];
        for (reply, params, expected) in cases {
            assert_eq!(by_person(&reply, params), Ok(expected), "{reply:?}");
        }
        let always_only = options(&["allow_always"]);
        assert!(by_person(&Reply::Always, &once_only).is_err());
        assert!(by_person(&Reply::Once, &always_only).is_err());
        assert!(by_person(&Reply::Words("x".into()), &all).is_err());
        assert!(by_person(&Reply::Reject(Some("x".into())), &all).is_err());
    }

    #[test]
    fn the_policy_answers_for_the_person() {
        let all = options(&["allow_always", "allow_once", "reject_once"]);
        assert_eq!(by_policy(Permissions::Ask, &all), None);
        assert_eq!(by_policy(Permissions::Allow, &all), Some(selected("allow_once")));
        assert_eq!(by_policy(Permissions::Reject, &all), Some(selected("reject_once")));
    }

    /// claude-agent-acp 0.100.0 asks so for a single file.
    #[test]
    fn p11_a_yes_for_good_is_named_as_the_agent_names_it() {
        let mut params = request(&["allow_once", "allow_always", "reject_once"]);
        let always = |params: &Value| {
            let asked = question("q_1".parse().unwrap(), params, &Options::of(params));
            asked.options[1].label.clone()
        };
        assert_eq!(always(&params), ALLOW_ALWAYS);
        params["options"][1]["name"] = json!("Yes, allow all edits during this session");
        assert_eq!(always(&params), "Yes, allow all edits during this session");
    }

    #[test]
    fn h3_words_go_with_a_no_where_the_agent_takes_them() {
        let mut params = request(&["allow_once", "reject_once"]);
        params["_meta"] = json!({ WORDS: { "kind": "permission", "words": true } });
        let options = Options::of(&params);
        assert!(question("q_1".parse().unwrap(), &params, &options).takes_words);
        let no = Reply::Reject(Some("use trash".to_owned()));
        let expected = with_words(selected("reject_once"), "use trash");
        assert_eq!(by_person(&no, &options), Ok(expected));
    }

    #[test]
    fn h3_a_question_of_an_agent_is_answered_by_a_choice_or_in_words() {
        let option = |id: &str, name: &str| json!({ "optionId": id, "name": name });
        let mut params = json!({
            "toolCall": { "title": "Which colour?" },
            "options": [option("a", "Red"), option("b", "Blue")],
            "_meta": { WORDS: { "kind": "question", "words": true } },
        });
        let options = Options::of(&params);
        let asked = question("q_1".parse().unwrap(), &params, &options);
        assert_eq!((asked.kind, asked.subject.as_str()), (QuestionKind::Question, "Which colour?"));
        let shown: Vec<_> = asked.options.iter().map(|one| (&*one.id, &*one.label)).collect();
        assert_eq!(shown, [("1", "Red"), ("2", "Blue")]);
        let words = |words: &str| by_person(&Reply::Words(words.to_owned()), &options);
        let chosen = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
        for (said, answer) in [
            ("2", chosen("b")),
            ("blue", chosen("b")),
            ("green", with_words(called_off(), "green")),
            ("3", with_words(called_off(), "3")),
        ] {
            assert_eq!(words(said), Ok(answer), "{said}");
        }
        assert!(by_person(&Reply::Once, &options).is_err());
        assert_eq!(by_person(&Reply::Reject(None), &options), Ok(called_off()));
        assert_eq!(by_policy(Permissions::Allow, &options), None);
        params["_meta"][WORDS]["words"] = json!(false);
        let no_words = Reply::Words("green".to_owned());
        assert!(by_person(&no_words, &Options::of(&params)).is_err());
    }

    #[test]
    fn a_question_says_what_it_is_about() {
        let asked = |params: &Value| {
            let asked = question("q_1".parse().unwrap(), params, &Options::of(params));
            assert_eq!(asked.kind, QuestionKind::Permission);
            (asked.subject, asked.options.into_iter().map(|option| option.id).collect::<Vec<_>>())
        };
        let (subject, answers) = asked(&request(&["allow_once", "reject_always"]));
        assert_eq!(
            (subject.as_str(), answers),
            ("remove a.rs", vec!["once".into(), "reject".into()])
        );
        let command = json!({ "toolCall": { "kind": "execute", "rawInput": { "command": "ls" } } });
        assert_eq!(asked(&command).0, "execute: ls");
        assert_eq!(asked(&Value::Null), ("tool".to_owned(), Vec::<String>::new()));
    }
}
