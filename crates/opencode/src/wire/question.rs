//! What a helper asks a person: permissions and questions, on one line, and the answers to them.

use legwork_engine::work::Question;
use legwork_protocol::SessionId;
use legwork_protocol::api::Reply;
use legwork_protocol::view::{ALLOW_ALWAYS, QuestionKind, QuestionOption};
use serde_json::Value;

/// A permission (`{id, sessionID, permission, patterns, metadata}`) or a question (`{id, sessionID,
/// questions}`), as listed and as announced.
pub fn read(told: &Value) -> Option<(SessionId, Question)> {
    let session = told["sessionID"].as_str()?.parse().ok()?;
    let id = told["id"].as_str()?.parse().ok()?;
    if told.get("questions").is_none() {
        let question = Question::permission(id, permission(told));
        let always: Vec<&str> = list(told, "always").filter_map(Value::as_str).collect();
        let question = match always[..] {
            [] => question,
            _ => question.with_always(format!("{ALLOW_ALWAYS}: {}", always.join(", "))),
        };
        return Some((session, question));
    }
    let questions: Vec<&Value> = list(told, "questions").collect();
    let (subject, options) = match questions[..] {
        [one] => (words(one).to_owned(), options(one)),
        // Each has its own options, and all of them want one answer together.
        _ => (questions.iter().map(|one| in_words(one)).collect::<Vec<_>>().join(" | "), vec![]),
    };
    let question =
        Question { id, kind: QuestionKind::Question, subject, options, takes_words: true };
    Some((session, question))
}

/// How somebody answered, by the event that says so: a permission (`{reply}`) or a question
/// (`{answers}`, a list for each).
pub fn reply(event: &str, told: &Value) -> Option<Reply> {
    match (event, told["reply"].as_str()) {
        ("question.rejected", _) => Some(Reply::Reject(None)),
        ("question.replied", _) => {
            let chosen = |answer: &Value| {
                let chosen = answer.as_array().into_iter().flatten().filter_map(Value::as_str);
                chosen.collect::<Vec<_>>().join(", ")
            };
            let answers: Vec<String> = list(told, "answers").map(chosen).collect();
            (!answers.is_empty()).then(|| Reply::Words(answers.join(" | ")))
        }
        (_, Some("once")) => Some(Reply::Once),
        (_, Some("always")) => Some(Reply::Always),
        (_, Some("reject")) => Some(Reply::Reject(None)),
        _ => None,
    }
}

/// `bash: echo permitted`. The patterns are pieces of a command; the whole says more.
fn permission(told: &Value) -> String {
    let what = told["permission"].as_str().unwrap_or("a permission");
    let on = match told["metadata"]["command"].as_str() {
        Some(command) => command.to_owned(),
        None => list(told, "patterns").filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
    };
    if on.is_empty() { what.to_owned() } else { format!("{what}: {on}") }
}

/// `Which colour? (1: Red, 2: Blue)`
fn in_words(question: &Value) -> String {
    let option = |option: QuestionOption| format!("{}: {}", option.id, option.label);
    let options: Vec<String> = options(question).into_iter().map(option).collect();
    let text = words(question);
    if options.is_empty() { text.to_owned() } else { format!("{text} ({})", options.join(", ")) }
}

fn words(question: &Value) -> &str {
    question["question"].as_str().unwrap_or("a question")
}

/// What can be chosen, by its number.
fn options(question: &Value) -> Vec<QuestionOption> {
    let option = |(number, label): (usize, &str)| QuestionOption {
        id: number.to_string(),
        label: label.to_owned(),
    };
    (1..).zip(labels(question)).map(option).collect()
}

fn labels(question: &Value) -> impl Iterator<Item = &str> {
    list(question, "options").filter_map(|option| option["label"].as_str())
}

fn list<'a>(told: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    told[key].as_array().into_iter().flatten()
}

/// The answers to what was asked at once, one line for each; or how many lines are wanted.
pub fn answers(told: &Value, words: &str) -> Result<Vec<Vec<String>>, usize> {
    let questions: Vec<&Value> = list(told, "questions").collect();
    if let [question] = questions[..] {
        return Ok(vec![choose(question, words)]);
    }
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.len() != questions.len() {
        return Err(questions.len());
    }
    Ok(questions.iter().zip(lines).map(|(question, line)| choose(question, line)).collect())
}

/// Options by their number or name, with commas between where several may be chosen; other words
/// as they are.
fn choose(question: &Value, words: &str) -> Vec<String> {
    let option = |words: &str| {
        let number = words.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let same = |label: &&str| label.trim().to_lowercase() == words.trim().to_lowercase();
        let named = labels(question).find(same);
        let label = named.or_else(|| number.and_then(|number| labels(question).nth(number)));
        label.map(str::to_owned)
    };
    let several = question["multiple"] == true;
    let chosen: Option<Vec<String>> = if several {
        words.split(',').map(option).collect()
    } else {
        option(words).map(|one| vec![one])
    };
    chosen.unwrap_or_else(|| vec![words.trim().to_owned()])
}
