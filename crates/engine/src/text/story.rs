//! Changes as sentences: a task's timeline, and the simulation's trace.

use legwork_protocol::api::Reply;
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::refusal::{cut, plain};
use legwork_protocol::view::{QuestionKind, QuestionView};
use legwork_protocol::{Cost, Status, TaskId, Usage};

use super::words::{self, duration};
use crate::record::{About, Change, DeliveryEnd, Forget, Ledger, NoticeId, Settled, Target};
use crate::task::{ResumedBy, Stage, StageName};

/// A line of a task's timeline: which task, which run, and a sentence.
pub type Line = (TaskId, u32, String);

/// What a change means for tasks, for people: without ids of hosts. Some changes are about no task
/// in particular.
pub fn lines(change: &Change) -> Vec<Line> {
    let (notices, line) = match change {
        Change::DeliveryCreated(delivery) => (&delivery.notices, ON_ITS_WAY.to_owned()),
        Change::DeliveryWithdrawn { notices, .. } => (notices, NOT_SENT.to_owned()),
        Change::DeliveryDone { notices, end, .. } => (notices, delivery_end(*end).to_owned()),
        Change::Cleared { tasks } => {
            return tasks.iter().map(|task| (*task, 0, FORGOTTEN.to_owned())).collect();
        }
        other => return line(other, Ids::Hidden).into_iter().collect(),
    };
    notices.iter().map(|id| (id.task, id.run, format!("{}: {line}", about(*id)))).collect()
}

/// Whether a line of a timeline says how something was done, and not what became of the task. The
/// lines are kept as they are, so it is told by their words, which are made here.
pub fn is_detail(line: &str) -> bool {
    const WHOLE: [&str; 6] = [OPENING, PROMPTING, PROMPTED, TO_BE_STOPPED, TO_BE_DELETED, STOPPED];
    const ENDS: [&str; 4] = [ON_ITS_WAY, NOT_SENT, QUEUED, NOT_NEEDED];
    let is_notice = line.starts_with(NOTICE);
    WHOLE.contains(&line) || is_notice && ENDS.iter().any(|end| line.ends_with(end))
}

const OPENING: &str = "opening its session";
const PROMPTING: &str = "handing over the prompt";
const PROMPTED: &str = "the host has the prompt";
const TO_BE_STOPPED: &str = "its session is to be stopped";
const TO_BE_DELETED: &str = "what was opened for it is to be deleted";
const STOPPED: &str = "nothing of it runs any more";
const FORGOTTEN: &str = "forgotten";
const NOTICE: &str = "notice of its ";
const ON_ITS_WAY: &str = "on its way";
const QUEUED: &str = "queued";
const NOT_NEEDED: &str = "not needed any more";
const NOT_SENT: &str = "not sent yet (an undo is pending there, its program does not run, or it \
     is not needed any more)";

/// Whether ids of hosts are named. They are of use only to find a fault.
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
            let line = format!("{} after {took}: {}", task.status(), end(task.status(), detail));
            Some((task.id, task.run.number, line))
        }
        Change::Retrieved { task, .. } => Some((*task, 0, "its result was read".to_owned())),
        Change::Forgotten { task, why } => {
            let why = match why {
                Forget::Cleared => FORGOTTEN,
                Forget::ParentDeleted => {
                    "forgotten, because the session that launched it was deleted"
                }
            };
            Some((*task, 0, why.to_owned()))
        }
        Change::Enqueued(notice) => {
            let line = match ids {
                Ids::Shown => format!("{} queued for {}", about(notice.id), notice.to),
                Ids::Hidden => format!("{} {QUEUED}", about(notice.id)),
            };
            Some((notice.id.task, notice.id.run, line))
        }
        Change::Withdrawn(id) => Some((id.task, id.run, format!("{} {NOT_NEEDED}", about(*id)))),
        Change::StopRequested(stop) => Some((stop.task, 0, stopped(&stop.target, ids))),
        Change::LaunchUndone { task, run } => {
            Some((*task, *run, "its launch was undone; it works on".to_owned()))
        }
        Change::Asked { task, run, question } => Some((*task, *run, asks(question))),
        Change::Answered { task, run, question, how } => {
            let what = cut(&question.subject, 80);
            Some((*task, *run, format!("{} ({what})", settled(how))))
        }
        Change::StopDone { task } => Some((*task, 0, STOPPED.to_owned())),
        Change::Used { .. }
        | Change::LedgerKept { .. }
        | Change::LedgerForgotten { .. }
        | Change::Cleared { .. }
        | Change::DeliveryCreated(_)
        | Change::DeliveryWithdrawn { .. }
        | Change::DeliveryDone { .. }
        | Change::ParentKnown(_)
        | Change::ParentForgotten { .. } => None,
    }
}

/// The first line of a result, in short, or of why a task did not complete, with `…` where
/// something was cut.
fn end(status: Status, detail: &str) -> String {
    let most = if status == Status::Completed { 80 } else { HOST_TEXT_MAX_CHARS };
    let (first, rest) = detail.split_once('\n').unwrap_or((detail, ""));
    let first = cut(first.trim_end(), most);
    if rest.trim().is_empty() || first.ends_with('…') { first } else { format!("{first} …") }
}

fn stopped(target: &Target, ids: Ids) -> String {
    match target {
        Target::Session(_) | Target::Opened(_) if ids == Ids::Hidden => TO_BE_STOPPED.to_owned(),
        Target::Session(session) | Target::Opened(session) => {
            format!("{session} is to be stopped")
        }
        Target::Marked => TO_BE_DELETED.to_owned(),
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
        Change::Used { task, usage, .. } => format!("{task}: {}", used(usage)),
        Change::LedgerKept { ledger, .. } => {
            let Ledger { root, currency, micros, .. } = ledger;
            format!(
                "{root}: ended runs have cost {}",
                Cost { micros: *micros, currency: *currency }
            )
        }
        Change::Cleared { tasks } => match tasks.as_slice() {
            [first, _] => format!("{first} and another: {FORGOTTEN}"),
            [first, others @ ..] => format!("{first} and {} others: {FORGOTTEN}", others.len()),
            [] => FORGOTTEN.to_owned(),
        },
        Change::LedgerForgotten { root } => format!("{root}: its costs are forgotten"),
        Change::ParentForgotten { session } => format!("{session} has nothing to expect"),
        other => format!("{other:?}"),
    }
}

fn asks(question: &QuestionView) -> String {
    let kind = match question.kind {
        QuestionKind::Permission => "asks for a permission",
        QuestionKind::Question => "asks a person",
    };
    format!("{kind}: {}", words::question(question))
}

fn settled(how: &Settled) -> String {
    match how {
        Settled::ByPerson(reply) => {
            format!("answered by a person through legwork: {}", said(reply))
        }
        Settled::InHost(Some(reply)) => {
            format!("answered in the host's own dialog: {}", said(reply))
        }
        Settled::InHost(None) => "answered or dismissed in the host itself".to_owned(),
        Settled::RunEnded => "withdrawn unanswered, because the run ended".to_owned(),
        Settled::HostEnded => "withdrawn unanswered, because its host ended".to_owned(),
    }
}

fn said(reply: &Reply) -> String {
    match reply {
        Reply::Once => "yes, this once".to_owned(),
        Reply::Always => "yes, from now on".to_owned(),
        Reply::Reject(None) => "no".to_owned(),
        Reply::Reject(Some(words)) => format!("no, with the words: {}", one_line(words)),
        Reply::Words(words) => one_line(words),
    }
}

fn one_line(words: &str) -> String {
    plain(words, HOST_TEXT_MAX_CHARS)
}

fn used(usage: &Usage) -> String {
    let tokens = usage.tokens.map(|tokens| format!("{tokens} tokens"));
    let cost = usage.cost.map(|cost| cost.to_string());
    let model = usage.model.as_deref().map(str::to_owned);
    let known: Vec<String> = [tokens, cost, model].into_iter().flatten().collect();
    format!("used up so far: {}", known.join(", "))
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
        About::Unread => "notice of its unread end",
    }
}

fn stage(stage: &Stage, ids: Ids) -> String {
    match stage {
        Stage::Queued => "waits for a place".to_owned(),
        Stage::Opening => OPENING.to_owned(),
        Stage::Prompting(_) if ids == Ids::Hidden => PROMPTING.to_owned(),
        Stage::Prompting(message) => format!("{PROMPTING} {message}"),
        Stage::Working(_) => PROMPTED.to_owned(),
        Stage::Finished(_) => "finished".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v6_what_is_cut_of_an_end_is_marked() {
        let long = "x".repeat(100);
        assert_eq!(end(Status::Completed, "All is well."), "All is well.");
        assert_eq!(end(Status::Completed, &long), format!("{}…", "x".repeat(79)));
        assert_eq!(end(Status::Completed, "# Found\n\nThree.\n"), "# Found …");
        assert_eq!(end(Status::Completed, "Found.\n\n"), "Found.");
        assert_eq!(end(Status::Completed, &format!("{long}\nmore")), end(Status::Completed, &long));
        assert_eq!(end(Status::Error, &long), long, "a fault is found with all of it");
    }

    #[test]
    fn v6_how_something_was_done_is_told_from_what_became_of_the_task() {
        let details = [
            "opening its session",
            "handing over the prompt",
            "the host has the prompt",
            "notice of its end queued",
            "notice of its question: on its way",
            "notice of its end not needed any more",
            "notice of its end: not sent yet (an undo is pending there, its program does not run, \
             or it is not needed any more)",
            "its session is to be stopped",
            "nothing of it runs any more",
        ];
        for line in details {
            assert!(is_detail(line), "{line}");
        }
        let facts = [
            "launched as \"notice of its end queued\" for general, opening its session",
            "completed after 4s: on its way",
            "notice of its end: told",
            "asks for a permission: the host has the prompt",
            "resumed by a person, handing over the prompt",
            "waits for a place elsewhere",
            "its result was read",
        ];
        for line in facts {
            assert!(!is_detail(line), "{line}");
        }
    }
}
