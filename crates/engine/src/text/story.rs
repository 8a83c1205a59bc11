//! Changes as sentences: a task's timeline, and the simulation's trace.

use legwork_protocol::TaskId;
use legwork_protocol::api::Reply;
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::refusal::plain;

use super::fence::quoted;
use super::words::duration;
use crate::record::{About, Change, DeliveryEnd, Forget, Note, NoticeId, Target};
use crate::task::{ResumedBy, Stage, StageName};

/// A line of a task's timeline: which task, which run, and a sentence.
pub type Line = (TaskId, u32, String);

/// What a change means for tasks, for people: without ids of hosts. Some changes are about no task
/// in particular.
pub fn lines(change: &Change) -> Vec<Line> {
    let (notices, line) = match change {
        Change::DeliveryCreated(delivery) => (&delivery.notices, "on its way".to_owned()),
        Change::DeliveryWithdrawn { notices, .. } => (notices, NOT_SENT.to_owned()),
        Change::DeliveryDone { notices, end, .. } => (notices, delivery_end(*end).to_owned()),
        other => return line(other, Ids::Hidden).into_iter().collect(),
    };
    notices.iter().map(|id| (id.task, id.run, format!("{}: {line}", about(*id)))).collect()
}

const NOT_SENT: &str = "not sent yet (an undo is pending there, or it is not needed any more)";

/// Whether ids of hosts are named: who looks for a fault wants them, nobody else can use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    Shown,
    Hidden,
}

fn line(change: &Change, ids: Ids) -> Option<Line> {
    match change {
        Change::Launched { task, .. } => {
            let what = format!("launched as \"{}\" for {}", task.description, task.agent);
            Some((task.id, 0, format!("{what}, {}", stage(&task.stage, ids))))
        }
        Change::Resumed { task, by, .. } => {
            let by = match by {
                ResumedBy::Session => "resumed",
                ResumedBy::Person => "resumed by a person",
            };
            Some((task.id, task.run.number, format!("{by}, {}", stage(&task.stage, ids))))
        }
        Change::Moved { task, from } => {
            let line = match (&task.stage, from) {
                (Stage::Queued, StageName::Queued) => "waits for a place elsewhere".to_owned(),
                (Stage::Queued, _) => "cut off with its host, is to go on".to_owned(),
                (onward, _) => stage(onward, ids),
            };
            Some((task.id, task.run.number, line))
        }
        Change::Ended { task, detail, .. } => {
            let took = duration(task.elapsed_ms(task.run.started));
            let first: String =
                detail.lines().next().unwrap_or_default().chars().take(80).collect();
            let line = format!("{} after {took}: {first}", task.status());
            Some((task.id, task.run.number, line))
        }
        Change::Noted { task, run, note } => Some((*task, *run, noted(note))),
        Change::Retrieved { task, .. } => Some((*task, 0, "its result was read".to_owned())),
        Change::Forgotten { task, why } => {
            let why = match why {
                Forget::Cleared => "forgotten",
                Forget::ParentDeleted => {
                    "forgotten, because the session that launched it was deleted"
                }
            };
            Some((*task, 0, why.to_owned()))
        }
        Change::Enqueued(notice) => {
            let line = match ids {
                Ids::Shown => format!("{} queued for {}", about(notice.id), notice.to),
                Ids::Hidden => format!("{} queued", about(notice.id)),
            };
            Some((notice.id.task, notice.id.run, line))
        }
        Change::Withdrawn(id) => {
            Some((id.task, id.run, format!("{} not needed any more", about(*id))))
        }
        Change::StopRequested(stop) => {
            let what = match &stop.target {
                Target::Session(_) | Target::Opened(_) if ids == Ids::Hidden => {
                    "its session is to be stopped".to_owned()
                }
                Target::Session(session) | Target::Opened(session) => {
                    format!("{session} is to be stopped")
                }
                Target::Marked => "what was opened for it is to be deleted".to_owned(),
            };
            Some((stop.task, 0, what))
        }
        Change::StopDone { task } => Some((*task, 0, "nothing of it runs any more".to_owned())),
        Change::DeliveryCreated(_)
        | Change::DeliveryWithdrawn { .. }
        | Change::DeliveryDone { .. }
        | Change::ParentKnown(_)
        | Change::ParentForgotten { .. } => None,
    }
}

pub fn sentence(change: &Change) -> String {
    if let Some((task, run, line)) = line(change, Ids::Shown) {
        let run = if run > 0 { format!(", resume {run}") } else { String::new() };
        return format!("{task}{run}: {line}");
    }
    match change {
        Change::DeliveryCreated(delivery) => {
            let told: Vec<String> = delivery.notices.iter().map(|id| id.task.to_string()).collect();
            format!("{}: telling {} in {}", told.join(", "), delivery.to, delivery.id)
        }
        Change::DeliveryDone { delivery, end, .. } => format!("{delivery}: {}", delivery_end(*end)),
        Change::DeliveryWithdrawn { delivery, .. } => format!("{delivery}: {NOT_SENT}"),
        Change::ParentKnown(parent) => match &parent.active_host {
            Some(host) => format!("{} is told through {host} from now on", parent.session),
            None => format!("{} is known", parent.session),
        },
        Change::ParentForgotten { session } => format!("{session} has nothing to expect"),
        other => format!("{other:?}"),
    }
}

fn noted(note: &Note) -> String {
    match note {
        Note::Asked(what) => format!("asks a person: {}", quoted(what)),
        Note::Answered(Reply::Once) => "a person allowed it once".to_owned(),
        Note::Answered(Reply::Always) => "a person allowed it from now on".to_owned(),
        Note::Answered(Reply::Reject(None)) => "a person rejected it".to_owned(),
        Note::Answered(Reply::Reject(Some(words))) => {
            format!("a person rejected it: {}", quoted(&plain(words, HOST_TEXT_MAX_CHARS)))
        }
        Note::Answered(Reply::Words(words)) => {
            format!("a person answered: {}", quoted(&plain(words, HOST_TEXT_MAX_CHARS)))
        }
    }
}

fn delivery_end(end: DeliveryEnd) -> &'static str {
    match end {
        DeliveryEnd::Delivered => "told",
        DeliveryEnd::ParentGone => "nobody is left to tell",
        DeliveryEnd::Refused => "the host refused it too often",
    }
}

fn about(id: NoticeId) -> &'static str {
    match id.about {
        About::End => "notice of its end",
        About::Question(_) => "notice of its question",
    }
}

fn stage(stage: &Stage, ids: Ids) -> String {
    match stage {
        Stage::Queued => "waits for a place".to_owned(),
        Stage::Opening => "opening its session".to_owned(),
        Stage::Prompting(_) if ids == Ids::Hidden => "handing over the prompt".to_owned(),
        Stage::Prompting(message) => format!("handing over the prompt {message}"),
        Stage::Working(_) => "the host has the prompt".to_owned(),
        Stage::Finished(_) => "finished".to_owned(),
    }
}
