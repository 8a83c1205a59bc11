//! Notices as a parent reads them: headlines for everybody, results for the model.

use legwork_protocol::view::{QuestionView, RunView, TaskView};
use legwork_protocol::{CallKey, TaskId};

use super::fence::{Fence, quoted};
use super::pages::Excerpt;
use super::words::{self, counted, duration};
use crate::record::{About, Delivery, Notice};
use crate::task::{Outcome, Task};
use crate::work::{Part, Shown};

pub fn end_headline(task: &Task) -> String {
    let took_ms = task.elapsed_ms(task.run.started);
    headline(task.outcome(), task.run.number, task.id, &task.description, took_ms)
}

fn headline(
    outcome: Option<Outcome>,
    run: u32,
    id: TaskId,
    description: &str,
    took_ms: u64,
) -> String {
    let kind = match (outcome, run > 0) {
        (Some(Outcome::Completed), false) => "[BACKGROUND TASK COMPLETED]",
        (Some(Outcome::Completed), true) => "[BACKGROUND RESUME COMPLETED]",
        (Some(Outcome::Cancelled), _) => "[BACKGROUND TASK CANCELLED]",
        (Some(Outcome::Failed) | None, false) => "[BACKGROUND TASK FAILED]",
        (Some(Outcome::Failed) | None, true) => "[BACKGROUND RESUME FAILED]",
    };
    format!("{kind} {id} {description} ({})", duration(took_ms))
}

/// The end of a run for whoever collects it: its headline, and the result as it is kept.
pub fn end(task: &TaskView, run: &RunView, kept: &str, max_chars: u32, fence: Fence) -> String {
    let took_ms = run.ended.unwrap_or(run.started).since(run.started);
    let headline = headline(run.outcome, run.run, task.id, &task.description, took_ms);
    let result = Excerpt { task: task.id, run: run.run, max_chars, fence }.of(kept);
    format!("{headline}\n\n{result}")
}

/// The same for a model that knows it.
pub fn told_before(task: &TaskView) -> String {
    let TaskView { id, description, .. } = task;
    format!(
        "The end of {id} {description} has been told in this conversation already. \
         background_output(task_id: \"{id}\") shows it again."
    )
}

pub(crate) fn unread_headline(task: &Task) -> String {
    let (id, description) = (task.id, &task.description);
    format!(
        "[BACKGROUND TASK UNREAD] {id} {description}: you were told what came of it while others \
         still ran, and had no turn for it. (background_output shows it again.)"
    )
}

pub(crate) fn question_headline(task: &Task, question: &QuestionView) -> String {
    let (id, asked) = (task.id, quoted(&words::question(question)));
    format!(
        "[BACKGROUND TASK WAITING] {id} {}: it asks {asked} (A person has to answer: `legwork \
         answer {id}`.)",
        task.description
    )
}

pub fn counts(finished: usize, unfinished: usize) -> String {
    format!("{} finished, {unfinished} still running.", counted(finished, "background task"))
}

/// A notice of a delivery, and the call that its run came of, which no helper is told.
pub(crate) type Told<'a> = (&'a Notice, Option<&'a CallKey>);

/// The delivery's parts: all headlines in one that everybody sees, then each result.
pub(crate) fn parts(delivery: &Delivery, notices: &[Told<'_>], max_chars: u32) -> Vec<Part> {
    let mut head: Vec<&str> = notices.iter().map(|(notice, _)| notice.headline.as_str()).collect();
    head.push(&delivery.counts);
    let (id, text) = (delivery.id.part(0), head.join("\n"));
    let headlines = Part { id, shown: Shown::ToAll, text, result: None };
    let results = notices.iter().filter(|(notice, _)| notice.id.about == About::End);
    let results = results.enumerate().map(|(number, (notice, key))| {
        let id = delivery.id.part(number + 1);
        let fence = Fence::of(id.as_str(), key.map_or("", CallKey::as_str));
        let (task, run) = (notice.id.task, notice.id.run);
        let text = format!("What came of {task}:\n\n");
        let result = Some(Excerpt { task, run, max_chars, fence });
        Part { id, shown: Shown::ToModel, text, result }
    });
    std::iter::once(headlines).chain(results).collect()
}
