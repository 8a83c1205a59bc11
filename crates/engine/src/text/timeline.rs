//! A task's timeline: changes as events, and events as sentences. The simulation's trace and the
//! daemon's log are made of the same sentences.

use legwork_protocol::api::Reply;
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::refusal::{cut, plain};
use legwork_protocol::timeline::{About, Event, NoticeStep, Settled};
use legwork_protocol::view::QuestionView;
use legwork_protocol::{Cost, Outcome, Status, TaskId, Usage};

use super::words::{self, duration};
use crate::record::{Change, Delivery, DeliveryEnd, Forget, Ledger, NoticeId, Target};
use crate::task::{ResumedBy, Stage, StageName, Task};

/// A decision about a task: which task, which run, what.
pub type Entry = (TaskId, u32, Event);

/// What a change means for tasks. Some changes are about no task in particular.
pub fn events(change: &Change) -> Vec<Entry> {
    let notice = |id: &NoticeId, step| (id.task, id.run, Event::Notice { about: id.about, step });
    let done = |id: &NoticeId, end| (id.task, id.run, Event::NoticeDone { about: id.about, end });
    let of = |task: &Task, event| (task.id, task.run.number, event);
    let entry = match change {
        Change::Launched { task, .. } => {
            let description = task.description.to_string();
            let agent = task.agent.to_string();
            of(task, Event::Launched { description, agent, stage: task.stage.name() })
        }
        Change::Resumed { task, by, .. } => {
            let by_person = *by == ResumedBy::Person;
            of(task, Event::Resumed { by_person, stage: task.stage.name() })
        }
        Change::Moved { task, from } => of(
            task,
            match (task.stage.name(), from) {
                (StageName::Queued, StageName::Queued) => Event::Requeued,
                (StageName::Queued, _) => Event::Interrupted,
                (stage, _) => Event::Moved { stage },
            },
        ),
        Change::Ended { task, detail, .. } => {
            let outcome = task.outcome().unwrap_or(Outcome::Failed);
            let took_ms = task.elapsed_ms(task.run.started);
            of(task, Event::Ended { outcome, took_ms, detail: beginning(outcome, detail) })
        }
        Change::Retrieved { task, .. } => (*task, 0, Event::Retrieved),
        Change::LaunchUndone { task, run } => (*task, *run, Event::LaunchUndone),
        Change::Asked { task, run, question } => {
            let subject = line(&question.subject);
            (*task, *run, Event::Asked { question: QuestionView { subject, ..question.clone() } })
        }
        Change::Answered { task, run, question, how } => {
            let subject = cut(&question.subject, 80);
            (*task, *run, Event::Answered { subject, how: short(how) })
        }
        Change::Forgotten { task, why } => {
            (*task, 0, Event::Forgotten { with_parent: *why == Forget::ParentDeleted })
        }
        Change::Cleared { tasks } => {
            let forgotten = |task: &TaskId| (*task, 0, Event::Forgotten { with_parent: false });
            return tasks.iter().map(forgotten).collect();
        }
        Change::Enqueued(enqueued) => notice(&enqueued.id, NoticeStep::Queued),
        Change::Withdrawn(id) => notice(id, NoticeStep::NotNeeded),
        Change::DeliveryCreated(Delivery { notices, .. }) => {
            return notices.iter().map(|id| notice(id, NoticeStep::Sending)).collect();
        }
        Change::DeliveryWithdrawn { notices, .. } => {
            return notices.iter().map(|id| notice(id, NoticeStep::Held)).collect();
        }
        Change::DeliveryPulled { notices, .. } => {
            return notices.iter().map(|id| notice(id, NoticeStep::Pulled)).collect();
        }
        Change::DeliveryDone { notices, end, .. } => {
            return notices.iter().map(|id| done(id, *end)).collect();
        }
        Change::StopRequested(stop) => match stop.target {
            Target::Session(_) | Target::Opened(_) => (stop.task, 0, Event::Stopping),
            Target::Marked => (stop.task, 0, Event::Discarding),
        },
        Change::StopDone { task } => (*task, 0, Event::Stopped),
        Change::Used { .. }
        | Change::LedgerKept { .. }
        | Change::LedgerForgotten { .. }
        | Change::ParentKnown(_)
        | Change::ParentForgotten { .. } => return Vec::new(),
    };
    vec![entry]
}

/// A person's words may be of any length.
fn short(how: &Settled) -> Settled {
    let short = |reply: &Reply| match reply {
        Reply::Reject(words) => Reply::Reject(words.as_deref().map(line)),
        Reply::Words(words) => Reply::Words(line(words)),
        Reply::Once | Reply::Always => reply.clone(),
    };
    match how {
        Settled::ByPerson(reply) => Settled::ByPerson(short(reply)),
        Settled::InHost(reply) => Settled::InHost(reply.as_ref().map(short)),
        Settled::RunEnded | Settled::HostEnded => how.clone(),
    }
}

fn line(text: &str) -> String {
    plain(text, HOST_TEXT_MAX_CHARS)
}

/// An event for people: without ids of hosts.
pub fn sentence(event: &Event) -> String {
    match event {
        Event::Launched { description, agent, stage } => {
            let name = match description.as_str() {
                "" => String::new(),
                name => format!(" as \"{name}\""),
            };
            format!("launched{name} for {agent}, {}", reached(*stage))
        }
        Event::Resumed { by_person, stage } => {
            let by = if *by_person { " by a person" } else { "" };
            format!("resumed{by}, {}", reached(*stage))
        }
        Event::Moved { stage } => reached(*stage).to_owned(),
        Event::Requeued => "queued on another host".to_owned(),
        Event::Interrupted => "its host ended; queued to continue".to_owned(),
        Event::Ended { outcome, took_ms, detail } => {
            let ended = format!("{} after {}", Status::from(*outcome), duration(*took_ms));
            if detail.is_empty() { ended } else { format!("{ended}: {detail}") }
        }
        Event::Retrieved => "its result was read".to_owned(),
        Event::LaunchUndone => "its launch was undone; it works on".to_owned(),
        Event::Asked { question } => {
            format!("{}: {}", words::asks(question.kind), words::question(question))
        }
        Event::Answered { subject, how } => format!("{} ({subject})", settled(how)),
        Event::Notice { about, step } => format!("{}{}", notice(*about), became(*step)),
        Event::NoticeDone { about, end } => format!("{}: {}", notice(*about), done(*end)),
        Event::Stopping => "stopping its session".to_owned(),
        Event::Discarding => "deleting what was opened for it".to_owned(),
        Event::Stopped => "stopped".to_owned(),
        Event::Forgotten { with_parent: false } => "forgotten".to_owned(),
        Event::Forgotten { with_parent: true } => {
            "forgotten, because the session that launched it was deleted".to_owned()
        }
        Event::Sentence { text, .. } => text.clone(),
    }
}

fn reached(stage: StageName) -> &'static str {
    match stage {
        StageName::Queued => "queued",
        StageName::Opening => "opening its session",
        StageName::Prompting => "sending the prompt",
        StageName::Working => "prompt delivered",
        StageName::Completed | StageName::Failed | StageName::Cancelled => "finished",
    }
}

fn notice(about: About) -> &'static str {
    match about {
        About::End => "notice of its end",
        About::Question(_) => "notice of its question",
        About::Unread => "notice of its unread end",
    }
}

fn became(step: NoticeStep) -> &'static str {
    match step {
        NoticeStep::Queued => " queued",
        NoticeStep::NotNeeded => " not needed any more",
        NoticeStep::Sending => ": sending",
        NoticeStep::Pulled => ": waits for its reader",
        NoticeStep::Held => {
            ": not sent yet (an undo is pending there, its program does not run, or it is not \
             needed any more)"
        }
    }
}

fn done(end: DeliveryEnd) -> &'static str {
    match end {
        DeliveryEnd::Delivered => "delivered",
        DeliveryEnd::ParentGone => "its session is gone",
        DeliveryEnd::Refused => "the host refused it too often",
    }
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
        Reply::Reject(Some(words)) => format!("no, with the words: {words}"),
        Reply::Words(words) => words.clone(),
    }
}

/// The first line of a result, in short, or of why a task did not complete, with `…` where
/// something was cut.
fn beginning(outcome: Outcome, detail: &str) -> String {
    let most = if outcome == Outcome::Completed { 80 } else { HOST_TEXT_MAX_CHARS };
    let (first, rest) = detail.split_once('\n').unwrap_or((detail, ""));
    let first = cut(first.trim_end(), most);
    if rest.trim().is_empty() || first.ends_with('…') { first } else { format!("{first} …") }
}

/// A change for whoever looks for a fault: with ids of hosts.
pub fn trace(change: &Change) -> String {
    match change {
        Change::DeliveryCreated(delivery) => {
            let tasks = delivery.notices.iter().map(|id| id.task.to_string());
            let tasks: Vec<String> = tasks.collect();
            format!("{}: notifying {} in {}", tasks.join(", "), delivery.to, delivery.id)
        }
        Change::DeliveryDone { delivery, end, .. } => format!("{delivery}: {}", done(*end)),
        Change::DeliveryWithdrawn { delivery, .. } => {
            format!("{delivery}{}", became(NoticeStep::Held))
        }
        Change::DeliveryPulled { delivery, .. } => {
            format!("{delivery}{}", became(NoticeStep::Pulled))
        }
        Change::ParentKnown(parent) => match &parent.active_host {
            Some(host) => format!("{} is notified through {host} from now on", parent.session),
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
        Change::Cleared { tasks } => {
            let forgotten = sentence(&Event::Forgotten { with_parent: false });
            match tasks.as_slice() {
                [first, _] => format!("{first} and another: {forgotten}"),
                [first, others @ ..] => format!("{first} and {} others: {forgotten}", others.len()),
                [] => forgotten,
            }
        }
        Change::LedgerForgotten { root } => format!("{root}: its costs are forgotten"),
        Change::ParentForgotten { session } => format!("{session} is forgotten"),
        about_a_task => {
            let line = |(task, run, event): &Entry| {
                let run = if *run > 0 { format!(", resume {run}") } else { String::new() };
                format!("{task}{run}: {}{}", sentence(event), id_of_host(about_a_task))
            };
            events(about_a_task).iter().map(line).collect()
        }
    }
}

/// The id that belongs behind the sentence.
fn id_of_host(change: &Change) -> String {
    match change {
        Change::Launched { task, .. }
        | Change::Resumed { task, .. }
        | Change::Moved { task, .. } => match &task.stage {
            Stage::Prompting(message) => format!(" {message}"),
            _ => String::new(),
        },
        Change::Enqueued(notice) => format!(" for {}", notice.to),
        Change::StopRequested(stop) => match &stop.target {
            Target::Session(session) | Target::Opened(session) => format!(" {session}"),
            Target::Marked => String::new(),
        },
        _ => String::new(),
    }
}

fn used(usage: &Usage) -> String {
    let tokens = usage.tokens.map(|tokens| format!("{tokens} tokens"));
    let cost = usage.cost.map(|cost| cost.to_string());
    let model = usage.model.as_deref().map(str::to_owned);
    let known: Vec<String> = [tokens, cost, model].into_iter().flatten().collect();
    format!("used up so far: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v6_what_is_cut_of_an_end_is_marked() {
        let long = "x".repeat(100);
        let completed = Outcome::Completed;
        assert_eq!(beginning(completed, "All is well."), "All is well.");
        assert_eq!(beginning(completed, &long), format!("{}…", "x".repeat(79)));
        assert_eq!(beginning(completed, "# Found\n\nThree.\n"), "# Found …");
        assert_eq!(beginning(completed, "Found.\n\n"), "Found.");
        let more = format!("{long}\nmore");
        assert_eq!(beginning(completed, &more), beginning(completed, &long));
        assert_eq!(beginning(Outcome::Failed, &long), long, "a fault is found with all of it");
    }
}
