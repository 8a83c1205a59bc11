//! What a helper asks a person, in the words of a view: a headline, and what it is about.
//!
//! OpenCode names the kind of a permission before its subject (`bash: cargo test`). Other hosts
//! have a title in words of their own, which is shown as it is.

use legwork_protocol::api::Reply;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionKind, QuestionView};
use serde::{Deserialize, Serialize};

use crate::model::limits::LINE_MAX_CHARS;

/// A question as a page shows it, in the order in which its task has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// What stands above it.
    pub headline: String,
    /// What it is about, whole.
    pub subject: String,
}

impl From<&QuestionView> for Asked {
    fn from(question: &QuestionView) -> Self {
        let (headline, subject) = (headline(question).to_owned(), subject(question).to_owned());
        Self { headline, subject }
    }
}

type Known = (&'static str, &'static str, &'static str);

/// The permissions of OpenCode that people meet: their name, the headline, and the beginning of the
/// short form.
const KNOWN: [Known; 8] = [
    ("bash", "May it run this command?", "may it run"),
    ("edit", "May it change this file?", "may it change"),
    ("write", "May it write this file?", "may it write"),
    ("read", "May it read this?", "may it read"),
    ("webfetch", "May it fetch this?", "may it fetch"),
    ("websearch", "May it search the web for this?", "may it search the web for"),
    ("external_directory", "May it leave the project for this?", "may it leave the project for"),
    ("doom_loop", "May it do the same thing once more?", "may it do the same thing once more:"),
];

/// What stands above a question.
pub fn headline(question: &QuestionView) -> &'static str {
    match (question.kind, known(question)) {
        (QuestionKind::Question, _) => "It asks you:",
        (QuestionKind::Permission, Some(((_, headline, _), _))) => headline,
        (QuestionKind::Permission, None) => "May it do this?",
    }
}

/// What the question is about, whole, without what the headline says.
pub fn subject(question: &QuestionView) -> &str {
    known(question).map_or(&question.subject, |(_, subject)| subject)
}

/// The question on one line; it may be long.
pub fn in_short(question: &QuestionView) -> String {
    match (question.kind, known(question)) {
        (QuestionKind::Question, _) => format!("asks: {}", question.subject),
        (QuestionKind::Permission, Some(((_, _, may), subject))) => format!("{may} {subject}?"),
        (QuestionKind::Permission, None) => format!("may it do this: {}?", question.subject),
    }
}

/// What a person has just answered, for that person: `Allowed once: list files`.
pub fn answered(question: &QuestionView, reply: &Reply) -> String {
    let did = match reply {
        Reply::Once => "Allowed once",
        Reply::Always if let Some(label) = question.always_means() => {
            let what = plain(subject(question), LINE_MAX_CHARS);
            let label = plain(label, LINE_MAX_CHARS);
            return format!("Allowed from now on: {what} (its host calls that: {label})");
        }
        Reply::Always => "Allowed from now on",
        Reply::Reject(_) if question.kind == QuestionKind::Question => "Not answered",
        Reply::Reject(_) => "Rejected",
        Reply::Words(words) => {
            let chosen = question.options.iter().find(|option| option.id == *words);
            let words = chosen.map_or(words, |option| &option.label);
            return format!("Answered: {}", plain(words, LINE_MAX_CHARS));
        }
    };
    format!("{did}: {}", plain(subject(question), LINE_MAX_CHARS))
}

fn known(question: &QuestionView) -> Option<(&'static Known, &str)> {
    let (name, subject) = question.subject.split_once(": ")?;
    let is_permission = question.kind == QuestionKind::Permission;
    let known = KNOWN.iter().find(|(known, ..)| is_permission && *known == name);
    Some((known?, subject))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::permission;

    #[test]
    fn v2_a_permission_says_what_it_allows_and_names_the_whole_of_it() {
        let run = permission("bash: cargo test -- --nocapture; rm -rf /");
        assert_eq!(headline(&run), "May it run this command?");
        assert_eq!(subject(&run), "cargo test -- --nocapture; rm -rf /");
        assert_eq!(in_short(&run), "may it run cargo test -- --nocapture; rm -rf /?");
        let other = permission("Write to: /etc/passwd");
        assert_eq!((headline(&other), subject(&other)), ("May it do this?", &*other.subject));
        assert_eq!(in_short(&other), "may it do this: Write to: /etc/passwd?");
    }

    #[test]
    fn v2_a_question_is_asked_in_its_own_words() {
        let mut asked = permission("bash: or fish?");
        asked.kind = QuestionKind::Question;
        assert_eq!((headline(&asked), subject(&asked)), ("It asks you:", "bash: or fish?"));
        assert_eq!(in_short(&asked), "asks: bash: or fish?");
    }

    #[test]
    fn p11_what_was_answered_is_said_with_what_it_was_about() {
        let run = permission("bash: ls\u{1b}[2J -la");
        let said = |reply: &Reply| answered(&run, reply);
        assert_eq!(said(&Reply::Once), "Allowed once: ls [2J -la");
        assert_eq!(said(&Reply::Always), "Allowed from now on: ls [2J -la");
        assert_eq!(said(&Reply::Reject(Some("no".to_owned()))), "Rejected: ls [2J -la");
        let mut write = permission("Write a.rs");
        write.options[1].label = "Allow all edits".to_owned();
        assert_eq!(
            answered(&write, &Reply::Always),
            "Allowed from now on: Write a.rs (its host calls that: Allow all edits)"
        );
        let mut asked = permission("Which one?");
        asked.kind = QuestionKind::Question;
        asked.options[0].label = "The first".to_owned();
        let words = |words: &str| answered(&asked, &Reply::Words(words.to_owned()));
        assert_eq!(
            (words("once"), words("x")),
            ("Answered: The first".into(), "Answered: x".into())
        );
        assert_eq!(answered(&asked, &Reply::Reject(None)), "Not answered: Which one?");
    }

    #[test]
    fn v2_only_the_answers_that_a_host_takes_are_offered() {
        let mut asked = permission("x");
        assert!(asked.offers("always") && !asked.offers("never"));
        asked.options.retain(|option| option.id != "always");
        assert!(!asked.offers("always"));
        asked.options.clear();
        assert!(asked.offers("reject"));
    }
}
