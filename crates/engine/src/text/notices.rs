//! Notices as a parent reads them: headlines for everybody, results for the model.

use legwork_protocol::QuestionId;

use super::words::{counted, duration};
use super::{Piece, Text, View};
use crate::record::{About, Letter, Notice};
use crate::task::{Outcome, Task};
use crate::work::{Part, Shown};

/// The first line about the end of a run.
pub fn end_headline(task: &Task) -> String {
    let resumed = task.run.number > 0;
    let kind = match (task.outcome(), resumed) {
        (Some(Outcome::Completed), false) => "[BACKGROUND TASK COMPLETED]",
        (Some(Outcome::Completed), true) => "[BACKGROUND RESUME COMPLETED]",
        (Some(Outcome::Cancelled), _) => "[BACKGROUND TASK CANCELLED]",
        (Some(Outcome::Failed) | None, false) => "[BACKGROUND TASK FAILED]",
        (Some(Outcome::Failed) | None, true) => "[BACKGROUND RESUME FAILED]",
    };
    let took = duration(task.elapsed_ms(task.run.started));
    format!("{kind} {} {} ({took})", task.id, task.description)
}

/// The first line about a question.
pub fn question_headline(task: &Task, question: &QuestionId, text: &str) -> String {
    format!(
        "[BACKGROUND TASK WAITING] {} {}: {text} (A person has to answer {question}: \
         `legwork answer {}`.)",
        task.id, task.description, task.id
    )
}

/// How many tasks are finished, and how many still run.
pub fn counts(finished: usize, unfinished: usize) -> String {
    format!("{} finished, {unfinished} still running.", counted(finished, "background task"))
}

/// The letter's parts: all headlines in one that everybody sees, then each result.
pub fn parts(letter: &Letter, notices: &[&Notice], max_chars: u32) -> Vec<Part> {
    let mut head: Vec<&str> = notices.iter().map(|notice| notice.headline.as_str()).collect();
    head.push(&letter.counts);
    let headlines =
        Part { id: letter.id.part(0), shown: Shown::ToAll, text: Text::from(head.join("\n")) };
    let results = notices.iter().filter(|notice| notice.id.about == About::End);
    let results = results.enumerate().map(|(number, notice)| Part {
        id: letter.id.part(number + 1),
        shown: Shown::ToModel,
        text: result(notice, max_chars),
    });
    std::iter::once(headlines).chain(results).collect()
}

fn result(notice: &Notice, max_chars: u32) -> Text {
    let (task, run) = (notice.id.task, notice.id.run);
    let view = View::Start { max_chars };
    Text(vec![Piece::Plain(format!("What came of {task}:\n\n")), Piece::Detail { task, run, view }])
}
