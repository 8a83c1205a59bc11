//! Messages that nobody has read yet, as they are true now: a question that is settled is not said
//! to wait.

use legwork_protocol::TaskId;

use crate::engine::Engine;
use crate::text::notices::{WAITING, question_headline};

impl Engine {
    /// What is left of a message to a session without the questions that are settled; nothing if
    /// that was all.
    pub fn still_so(&self, text: &str) -> Option<String> {
        let is_settled = |line: &&str| {
            let asks = line.strip_prefix(WAITING)?.split_whitespace().next()?;
            Some(!self.is_open(asks.parse().ok()?, line))
        };
        let kept = text.lines().filter(|line| is_settled(line) != Some(true));
        let kept: Vec<&str> = kept.collect();
        if kept.len() == text.lines().count() {
            return Some(text.to_owned());
        }
        // What is left without a headline counts tasks as they were then.
        kept.iter().any(|line| line.starts_with('[')).then(|| kept.join("\n"))
    }

    fn is_open(&self, task: TaskId, headline: &str) -> bool {
        self.tasks.live(task).is_some_and(|live| {
            let mut open = live.volatile.questions.values();
            open.any(|question| question_headline(&live.task, question) == headline)
        })
    }
}
