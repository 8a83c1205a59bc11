//! Answering a question with keys, the same in every view: which keys there are, what each does,
//! what is asked first, and when no key counts.

use legwork_protocol::Time;
use legwork_protocol::api::Reply;
use legwork_protocol::view::{QuestionKind, QuestionView};

use crate::model::ask::subject;
use crate::model::limits::{KEYS_GUARD_MS, NEW_QUESTION_MS};

/// The keys that answer, as they are named together.
pub const KEYS: &str = "o w r e";

/// What a key does about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is the answer.
    Reply(Reply),
    /// It would allow more than this once, so [`wider`] is asked first.
    Sure,
    /// A line of words is typed, and [`worded`] makes the answer of it.
    Words,
    /// Nothing, for this reason.
    Not(&'static str),
}

/// What a key does; nothing if it is none of those that answer.
pub fn step(question: &QuestionView, key: char) -> Option<Step> {
    let is_permission = question.kind == QuestionKind::Permission;
    let offered = |answer, step| match is_permission {
        _ if question.offers(answer) => step,
        true => Step::Not("Its host does not offer this answer."),
        false => Step::Not("It asks a question: e answers it in words."),
    };
    Some(match key {
        'o' if is_permission => offered("once", Step::Reply(Reply::Once)),
        'w' | 'a' if is_permission => offered("always", Step::Sure),
        'o' | 'w' | 'a' => Step::Not("It asks a question: e answers it in words."),
        'r' if is_permission => offered("reject", Step::Reply(Reply::Reject(None))),
        'r' => Step::Reply(Reply::Reject(None)),
        'e' => Step::Words,
        _ => return None,
    })
}

/// The keys that answer this question, and what each means.
pub fn keys(question: &QuestionView) -> Vec<(char, &'static str)> {
    let words = match (question.kind, question.takes_words_with_a_no()) {
        (QuestionKind::Question, _) => "answer, with a number or words",
        (QuestionKind::Permission, true) => "reject, say why",
        (QuestionKind::Permission, false) => "",
    };
    let all = [('o', "once"), ('w', "always"), ('r', "reject"), ('e', words)];
    let mut keys: Vec<(char, &str)> = all
        .into_iter()
        .filter(|(key, means)| {
            !means.is_empty() && !matches!(step(question, *key), None | Some(Step::Not(_)))
        })
        .collect();
    if question.kind == QuestionKind::Question {
        keys.reverse();
    }
    keys
}

/// What stands before the line of words; that they will not arrive is said there.
pub fn label(question: &QuestionView) -> &'static str {
    match (question.kind, question.takes_words_with_a_no()) {
        (QuestionKind::Question, _) => "Answer: ",
        (QuestionKind::Permission, true) => "No, because: ",
        (QuestionKind::Permission, false) => "No (this agent drops words): ",
    }
}

/// The answer that a line of words is.
pub fn worded(question: &QuestionView, words: String) -> Reply {
    match question.kind {
        QuestionKind::Question => Reply::Words(words),
        QuestionKind::Permission => Reply::Reject(Some(words)),
    }
}

/// What is said when somebody else was faster.
pub const OVERTAKEN: &str = "The question is not there any more: it was answered or withdrawn.";

/// What is asked before something is allowed for good.
pub const WIDER: &str = "Allow this from now on, without being asked?";

/// What that would allow, whole.
pub fn wider(question: &QuestionView) -> String {
    let label = question.always_means().map(|label| format!("\n\nIts host calls that: {label}"));
    format!("{}{}", subject(question), label.unwrap_or_default())
}

/// Keeps keys from meaning something else than whoever pressed them meant: none counts right after
/// a text was expected, right after a dialog took a letter for a no, or right after a question
/// appeared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guard {
    until: Time,
}

impl Guard {
    /// A text is typed, or may be: no key counts for a while.
    pub fn hold(&mut self, now: Time) {
        self.hold_for(now, KEYS_GUARD_MS);
    }

    /// A question has just appeared: no key counts before it can have been read.
    pub fn hold_for_question(&mut self, now: Time) {
        self.hold_for(now, NEW_QUESTION_MS);
    }

    fn hold_for(&mut self, now: Time, ms: u64) {
        self.until = now.plus(self.left_ms(now).max(ms));
    }

    pub fn holds(&self, now: Time) -> bool {
        self.left_ms(now) > 0
    }

    /// How long no key counts yet. A clock that was set back holds no keys for hours.
    fn left_ms(&self, now: Time) -> u64 {
        Some(self.until.since(now)).filter(|ms| *ms <= KEYS_GUARD_MS).unwrap_or(0)
    }

    /// Whether a key counts now. One that comes too early belongs to a text, of which more follows.
    pub fn lets_through(&mut self, now: Time) -> bool {
        let is_early = self.holds(now);
        if is_early {
            self.hold(now);
        }
        !is_early
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::permission;

    #[test]
    fn p11_only_once_and_no_are_one_key_and_a_key_that_is_not_offered_says_so() {
        let mut asked = permission("bash: ls");
        assert_eq!(step(&asked, 'o'), Some(Step::Reply(Reply::Once)));
        assert_eq!(step(&asked, 'r'), Some(Step::Reply(Reply::Reject(None))));
        assert_eq!([step(&asked, 'w'), step(&asked, 'a')], [Some(Step::Sure), Some(Step::Sure)]);
        assert_eq!([step(&asked, 'e'), step(&asked, 'x')], [Some(Step::Words), None]);
        asked.options.retain(|option| option.id == "once");
        assert!(matches!(step(&asked, 'w'), Some(Step::Not(_))));
        assert!(matches!(step(&asked, 'r'), Some(Step::Not(_))));
        asked.kind = QuestionKind::Question;
        assert!(matches!(step(&asked, 'o'), Some(Step::Not(_))));
        assert_eq!(step(&asked, 'r'), Some(Step::Reply(Reply::Reject(None))));
    }

    #[test]
    fn p11_words_are_asked_for_everywhere_and_it_is_said_beforehand_that_they_will_be_dropped() {
        let mut asked = permission("bash: ls");
        asked.takes_words = false;
        assert_eq!(step(&asked, 'e'), Some(Step::Words));
        assert!(label(&asked).contains("drops words"));
        assert_eq!(worded(&asked, "no".into()), Reply::Reject(Some("no".into())));
        asked.takes_words = true;
        assert!(!label(&asked).contains("drop"));
    }

    #[test]
    fn p11_a_guard_holds_for_as_long_as_somebody_types_on() {
        let mut guard = Guard::default();
        assert!(guard.lets_through(Time(1)));
        guard.hold(Time(1_000));
        for key in 1..10 {
            assert!(!guard.lets_through(Time(1_000 + key * (KEYS_GUARD_MS - 1))));
        }
        assert!(guard.lets_through(Time(20_000)));
    }

    #[test]
    fn p11_a_clock_that_was_set_back_neither_holds_keys_nor_lets_a_text_answer() {
        let mut guard = Guard::default();
        guard.hold(Time(10_000_000));
        assert!(guard.lets_through(Time(1_000)));
        guard.hold(Time(1_000));
        assert!(!guard.lets_through(Time(1_001)));
    }
}
