//! Tool calls that need somebody's consent: what is asked about one, and what an answer tells
//! Claude Code.
//!
//! Of what Claude Code proposes for the future only rules that allow are taken, and only for the
//! session. Taken as they are, the proposals also accept all edits from then on and write into the
//! project (seen in 2.1.327).

use serde_json::{Map, Value, json};

use super::wire;
use crate::native::{Asked, Call, Choice, Grants, Reply, State};

/// Rules that a label names; more are counted.
const RULES_NAMED: usize = 3;
const ONCE: &str = "once";
const SESSION: &str = "session";
const NO: &str = "no";

/// How a request for a consent is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    /// Whether the tool may run.
    Permission,
    /// Whether a plan may be carried out.
    Plan,
    /// Questions of the model, one after the other.
    Questions(Vec<Question>),
    /// Nobody could say what a yes means, so that nobody is asked.
    Refused,
}

/// A question of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    text: String,
    /// The label of each answer, with its description.
    answers: Vec<(String, String)>,
    takes_several: bool,
}

impl Way {
    pub fn of(asked: &wire::Asked) -> Self {
        match asked.tool.as_str() {
            "AskUserQuestion" => questions(&asked.input).map_or(Self::Refused, Self::Questions),
            "ExitPlanMode" if asked.input["plan"].is_string() => Self::Plan,
            _ if asked.needs_person => Self::Refused,
            _ => Self::Permission,
        }
    }
}

fn questions(input: &Value) -> Option<Vec<Question>> {
    let question = |asked: &Value| {
        let answers = asked["options"].as_array()?.iter().map(|option| {
            let description = option["description"].as_str().unwrap_or_default();
            Some((option["label"].as_str()?.to_owned(), description.to_owned()))
        });
        Some(Question {
            text: asked["question"].as_str()?.to_owned(),
            answers: answers.collect::<Option<_>>()?,
            takes_several: asked["multiSelect"] == true,
        })
    };
    let all = input["questions"].as_array()?.iter().map(question).collect::<Option<Vec<_>>>()?;
    (!all.is_empty()).then_some(all)
}

/// Whether a tool may run.
pub fn permission(asked: &wire::Asked) -> Asked {
    let mut choices = vec![choice(ONCE, "Allow once", Grants::Once)];
    if let Some(label) = session_label(&session_rules(&asked.suggestions)) {
        choices.push(choice(SESSION, &label, Grants::Session));
    }
    choices.push(choice(NO, "Reject", Grants::Nothing));
    let call = call(asked, call_title(&asked.tool, &asked.input));
    Asked { call, choices, is_question: false, takes_words: true }
}

/// Whether a plan may be carried out.
pub fn plan(asked: &wire::Asked) -> Asked {
    let plan = asked.input["plan"].as_str().unwrap_or_default().trim();
    let choices = vec![
        choice(ONCE, "Carry out this plan", Grants::Once),
        choice(NO, "Go on planning", Grants::Nothing),
    ];
    let call = call(asked, format!("A plan to be carried out:\n{plan}"));
    Asked { call, choices, is_question: false, takes_words: true }
}

/// One question of the model.
pub fn question(asked: &wire::Asked, question: &Question) -> Asked {
    let Question { text, answers, takes_several } = question;
    let label = |(label, description): &(String, String)| match description.as_str() {
        "" => label.clone(),
        description => format!("{label}: {description}"),
    };
    let choices = answers.iter().enumerate();
    let choices = choices.map(|(n, answer)| choice(&n.to_string(), &label(answer), Grants::Once));
    let several =
        if *takes_several { " (several: answer with words, a comma between)" } else { "" };
    let call = call(asked, format!("{text}{several}"));
    Asked { call, choices: choices.collect(), is_question: true, takes_words: true }
}

/// The answer to a question of the model, if there is one.
pub fn answer(question: &Question, reply: Reply) -> Option<String> {
    match reply {
        Reply::Chosen { id, words: None } => {
            Some(question.answers.get(id.parse::<usize>().ok()?)?.0.clone())
        }
        Reply::Chosen { words: Some(words), .. } | Reply::Words(words) => Some(words),
        Reply::Nobody => None,
    }
}

/// What Claude Code is told about a permission or a plan.
pub fn settled(asked: &wire::Asked, reply: Reply) -> Value {
    match reply {
        Reply::Chosen { id, .. } if id == ONCE => allow(&asked.input),
        Reply::Chosen { id, .. } if id == SESSION => {
            let mut answer = allow(&asked.input);
            answer["updatedPermissions"] = session_rules(&asked.suggestions).into();
            answer
        }
        Reply::Chosen { words: Some(words), .. } | Reply::Words(words) => {
            deny(&format!("The user does not allow this and says: {words}"))
        }
        Reply::Chosen { words: None, .. } => {
            deny("The user does not allow this. Do not try it in another way.")
        }
        Reply::Nobody => deny("There is nobody to allow this. Do not try it in another way."),
    }
}

/// What Claude Code is told when all its questions have an answer, or one has none.
pub fn chosen(asked: &wire::Asked, answers: Option<Map<String, Value>>) -> Value {
    let Some(answers) = answers else { return deny("The user does not want to answer.") };
    let mut input = asked.input.clone();
    input["answers"] = answers.into();
    allow(&input)
}

pub fn refused(asked: &wire::Asked) -> Value {
    deny(&format!(
        "{} needs a person in front of Claude Code itself, and here is none.",
        asked.tool
    ))
}

/// The answers to the questions, to go into the tool's input.
pub fn answers(all: Vec<(Question, String)>) -> Map<String, Value> {
    all.into_iter().map(|(question, answer)| (question.text, answer.into())).collect()
}

fn allow(input: &Value) -> Value {
    json!({ "behavior": "allow", "updatedInput": input })
}

fn deny(message: &str) -> Value {
    json!({ "behavior": "deny", "message": message })
}

fn choice(id: &str, label: &str, grants: Grants) -> Choice {
    Choice { id: id.to_owned(), label: label.to_owned(), grants }
}

fn call(asked: &wire::Asked, title: String) -> Call {
    Call {
        id: asked.call.clone(),
        title,
        kind: call_kind(&asked.tool),
        state: State::Pending,
        input: asked.input.clone(),
        output: String::new(),
    }
}

/// The proposed rules that allow something, for the session only.
fn session_rules(suggestions: &[Value]) -> Vec<Value> {
    let allows = |one: &&Value| one["type"] == "addRules" && one["behavior"] == "allow";
    let rules = suggestions.iter().filter(allows).filter_map(|one| {
        let rules = one["rules"].as_array().filter(|rules| !rules.is_empty())?;
        let rules = rules.iter().map(rule).collect::<Option<Vec<Value>>>()?;
        Some(json!({
            "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session",
        }))
    });
    rules.collect()
}

/// A rule as it is known here. One that has more to it is not taken, because nobody could say what
/// it allows.
fn rule(rule: &Value) -> Option<Value> {
    let is_known = |(key, _): (&String, &Value)| key == "toolName" || key == "ruleContent";
    let has_content = rule["ruleContent"].is_string() || rule["ruleContent"].is_null();
    let is_known = rule.as_object()?.iter().all(is_known) && has_content;
    (is_known && rule["toolName"].is_string()).then(|| rule.clone())
}

/// What a yes for the session allows, in the way in which Claude Code writes its rules.
fn session_label(rules: &[Value]) -> Option<String> {
    let all = rules.iter().flat_map(|update| update["rules"].as_array().into_iter().flatten());
    let name = |rule: &Value| {
        let tool = rule["toolName"].as_str().unwrap_or_default();
        match rule["ruleContent"].as_str() {
            Some(content) => format!("{tool}({content})"),
            None => format!("every {tool}"),
        }
    };
    let names: Vec<String> = all.map(name).collect();
    let more = match names.len().saturating_sub(RULES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more rules"),
    };
    let named = names.iter().take(RULES_NAMED).cloned().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| format!("Allow in this session: {named}{more}"))
}

/// A tool call in a few words.
pub fn call_title(tool: &str, input: &Value) -> String {
    let names = ["command", "file_path", "notebook_path", "pattern", "url", "query", "skill"];
    let subject = names.iter().find_map(|name| input[name].as_str());
    let subject = subject.or_else(|| input["description"].as_str());
    match subject.map(str::trim).filter(|subject| !subject.is_empty()) {
        Some(subject) => format!("{tool}: {subject}"),
        None => tool.to_owned(),
    }
}

/// What ACP calls the kind of a tool.
pub fn call_kind(tool: &str) -> &'static str {
    match tool {
        "Read" => "read",
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => "edit",
        "Bash" | "BashOutput" | "KillShell" => "execute",
        "Glob" | "Grep" | "WebSearch" => "search",
        "WebFetch" => "fetch",
        "Task" | "Agent" => "think",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tool: &str, input: Value, suggestions: Value) -> wire::Asked {
        let request = json!({
            "type": "control_request",
            "request_id": "r",
            "request": {
                "subtype": "can_use_tool",
                "tool_name": tool,
                "input": input,
                "permission_suggestions": suggestions,
                "tool_use_id": "t",
                "requires_user_interaction": tool.starts_with(char::is_uppercase) && tool != "Bash",
            },
        });
        match wire::Message::read(&request) {
            wire::Message::Ask { call, .. } => *call,
            other => panic!("{other:?}"),
        }
    }

    fn bash(suggestions: Value) -> wire::Asked {
        asked("Bash", json!({ "command": "rm -rf zzz" }), suggestions)
    }

    fn rule(tool: &str, content: &str) -> Value {
        json!({ "toolName": tool, "ruleContent": content })
    }

    fn chosen_id(id: &str) -> Reply {
        Reply::Chosen { id: id.to_owned(), words: None }
    }

    /// As Claude Code 2.1.327 proposes it: a mode, and rules for a file of the project.
    fn proposed() -> Value {
        json!([
            { "type": "setMode", "mode": "acceptEdits", "destination": "session" },
            {
                "type": "addRules", "rules": [rule("Bash", "rm:*")],
                "behavior": "allow", "destination": "localSettings",
            },
            { "type": "addDirectories", "directories": ["/"], "destination": "session" },
        ])
    }

    #[test]
    fn h3_of_what_is_proposed_only_rules_for_the_session_are_taken() {
        let asked = bash(proposed());
        let question = permission(&asked);
        let labels: Vec<_> = question.choices.iter().map(|one| (&*one.id, &*one.label)).collect();
        let session = "Allow in this session: Bash(rm:*)";
        assert_eq!(labels, [(ONCE, "Allow once"), (SESSION, session), (NO, "Reject")]);
        assert_eq!(question.call.title, "Bash: rm -rf zzz");
        let answer = settled(&asked, chosen_id(SESSION));
        let rules = json!([{
            "type": "addRules", "rules": [rule("Bash", "rm:*")],
            "behavior": "allow", "destination": "session",
        }]);
        assert_eq!(
            answer,
            json!({
                "behavior": "allow", "updatedInput": { "command": "rm -rf zzz" },
                "updatedPermissions": rules,
            })
        );
        let once = settled(&asked, chosen_id(ONCE));
        assert_eq!(once["updatedPermissions"], Value::Null);
        assert_eq!(once["behavior"], "allow");
    }

    #[test]
    fn h3_what_no_label_could_say_is_no_yes_for_the_session() {
        let mode = json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
        let denial = json!([{ "type": "addRules", "rules": [rule("A", "b")], "behavior": "deny" }]);
        let wider = json!([{
            "type": "addRules", "behavior": "allow",
            "rules": [{ "toolName": "Bash", "ruleContent": "a", "also": "b" }],
        }]);
        let replaced =
            json!([{ "type": "replaceRules", "rules": [rule("A", "b")], "behavior": "allow" }]);
        for suggestions in [Value::Null, json!([]), mode, denial, wider, replaced] {
            let choices = permission(&bash(suggestions.clone())).choices;
            assert!(choices.iter().all(|one| one.grants != Grants::Session), "{suggestions}");
        }
    }

    #[test]
    fn h3_a_label_names_some_rules_and_counts_the_others() {
        let rules: Vec<Value> = (0..5).map(|n| rule("Bash", &format!("c{n}"))).collect();
        let rules = [vec![json!({ "toolName": "WebSearch" })], rules].concat();
        let update = json!([{ "type": "addRules", "rules": rules, "behavior": "allow" }]);
        assert_eq!(
            permission(&bash(update)).choices[1].label,
            "Allow in this session: every WebSearch, Bash(c0), Bash(c1) and 3 more rules"
        );
    }

    #[test]
    fn h3_a_no_has_words_and_nobody_is_a_no() {
        let asked = bash(Value::Null);
        let words = Reply::Chosen { id: NO.to_owned(), words: Some("use trash".to_owned()) };
        let message = |reply| {
            let answer = settled(&asked, reply);
            assert_eq!(answer["behavior"], "deny");
            answer["message"].as_str().unwrap().to_owned()
        };
        assert!(message(words).ends_with("says: use trash"));
        assert!(message(chosen_id(NO)).contains("does not allow"));
        assert!(message(Reply::Nobody).contains("nobody"));
        assert!(message(chosen_id("never offered")).contains("does not allow"));
    }

    fn two_questions() -> wire::Asked {
        let option =
            |label: &str, description: &str| json!({ "label": label, "description": description });
        let questions = json!([
            {
                "question": "Which colour?", "header": "Colour", "multiSelect": false,
                "options": [option("Red", "as blood"), option("Blue", "")],
            },
            {
                "question": "Which days?", "header": "Days", "multiSelect": true,
                "options": [option("Monday", ""), option("Friday", "")],
            },
        ]);
        asked("AskUserQuestion", json!({ "questions": questions }), Value::Null)
    }

    #[test]
    fn h3_questions_are_asked_one_after_the_other_and_answered_together() {
        let asked = two_questions();
        let Way::Questions(questions) = Way::of(&asked) else { panic!("no questions") };
        let first = question(&asked, &questions[0]);
        assert!(first.is_question && first.takes_words);
        assert_eq!(first.call.title, "Which colour?");
        let labels: Vec<&str> = first.choices.iter().map(|one| &*one.label).collect();
        assert_eq!(labels, ["Red: as blood", "Blue"]);
        assert!(question(&asked, &questions[1]).call.title.contains("several"));
        let given = [chosen_id("1"), Reply::Words("Monday, Friday".to_owned())];
        let given: Vec<(Question, String)> = questions
            .into_iter()
            .zip(given)
            .map(|(question, reply)| {
                let words = answer(&question, reply).unwrap();
                (question, words)
            })
            .collect();
        let told = chosen(&asked, Some(answers(given)));
        assert_eq!(told["behavior"], "allow");
        let expected = json!({ "Which colour?": "Blue", "Which days?": "Monday, Friday" });
        assert_eq!(told["updatedInput"]["answers"], expected);
        assert_eq!(told["updatedInput"]["questions"], asked.input["questions"]);
        assert_eq!(chosen(&asked, None)["behavior"], "deny");
    }

    #[test]
    fn h3_a_plan_is_a_question_of_ours() {
        let asked = asked("ExitPlanMode", json!({ "plan": "1. Look\n2. Leap" }), Value::Null);
        assert_eq!(Way::of(&asked), Way::Plan);
        let question = plan(&asked);
        assert!(question.call.title.ends_with("1. Look\n2. Leap"), "{}", question.call.title);
        assert!(question.choices.iter().all(|one| one.grants != Grants::Session));
        assert_eq!(settled(&asked, chosen_id(ONCE))["behavior"], "allow");
    }

    #[test]
    fn h7_what_nobody_can_show_is_refused_and_never_allowed() {
        let odd = json!({ "questions": [{ "question": "?", "options": [{ "name": "x" }] }] });
        for (tool, input) in
            [("AskUserQuestion", odd), ("AskUserQuestion", json!({})), ("PickAStar", json!({}))]
        {
            let asked = asked(tool, input, proposed());
            assert_eq!(Way::of(&asked), Way::Refused, "{tool}");
            assert_eq!(refused(&asked)["behavior"], "deny");
        }
    }
}
