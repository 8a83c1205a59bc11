//! Records for the suite, in its words.

use legwork_engine::Usage;
use legwork_engine::record::{
    About, Change, Delivery, DeliveryEnd, Journal, Notice, NoticeId, Origin, Parent, Saved, Stop,
    Target,
};
use legwork_engine::task::{Asked, Outcome, Run, Stage, StageName, Task};
use legwork_protocol::{MessageId, TaskId, Time};

pub const NOW: Time = Time(1_700_000_000_000);

pub fn id(number: u64) -> TaskId {
    TaskId::from_number(number)
}

pub fn msg(name: &str) -> MessageId {
    name.parse().unwrap()
}

/// A task at launch.
pub fn task(number: u64) -> Task {
    Task {
        id: id(number),
        seq: number,
        place: "project".parse().unwrap(),
        realm: "elsewhere".parse().unwrap(),
        directory: "/p".into(),
        root: "ses_root".parse().unwrap(),
        parent: "ses_parent".parse().unwrap(),
        depth: 1,
        agent: "explore".into(),
        description: format!("part {number}").into(),
        created: NOW,
        fork_before: number.is_multiple_of(2).then(|| "msg_parent".into()),
        session: None,
        stage: Stage::Opening,
        run: Run {
            number: 0,
            asker: "ses_parent".parse().unwrap(),
            key: format!("call-{number}").parse().unwrap(),
            host: "host-1".parse().unwrap(),
            order: number,
            prompt: Some("look at it".into()),
            continued: 0,
            started: NOW,
            paused_ms: 0,
            ended: None,
            tool_calls: 0,
            usage: Usage::default(),
            used_before: Usage::default(),
            asked: Asked::default(),
        },
        retrieved: None,
    }
}

pub fn stage(name: StageName) -> Stage {
    match name {
        StageName::Queued => Stage::Queued,
        StageName::Opening => Stage::Opening,
        StageName::Prompting => Stage::Prompting(msg("msg_prompt")),
        StageName::Working => Stage::Working(msg("msg_prompt")),
        StageName::Completed => Stage::Finished(Outcome::Completed),
        StageName::Failed => Stage::Finished(Outcome::Failed),
        StageName::Cancelled => Stage::Finished(Outcome::Cancelled),
    }
}

pub fn at(mut task: Task, name: StageName) -> Task {
    task.stage = stage(name);
    task
}

pub fn in_run(mut task: Task, number: u32) -> Task {
    task.run.number = number;
    task
}

pub fn launched(task: &Task) -> Change {
    Change::Launched { task: task.clone(), origin: Origin::default() }
}

pub fn moved(task: &Task, from: StageName) -> Change {
    Change::Moved { task: task.clone(), from }
}

pub fn ended(task: &Task, from: StageName, detail: &str) -> Change {
    Change::Ended { task: task.clone(), from, detail: detail.into() }
}

/// Launched, and brought to this stage.
pub fn brought_to(number: u64, name: StageName) -> Vec<Change> {
    use StageName::{Completed, Opening, Prompting, Working};
    let at = |name| at(task(number), name);
    let end = |from| ended(&at(name), from, "result");
    let mut changes = vec![launched(&at(Opening))];
    match name {
        Opening => {}
        StageName::Queued | Prompting => changes.push(moved(&at(name), Opening)),
        StageName::Failed | StageName::Cancelled => changes.push(end(Opening)),
        Working | Completed => {
            changes.push(moved(&at(Prompting), Opening));
            changes.push(if name == Working {
                moved(&at(name), Prompting)
            } else {
                end(Prompting)
            });
        }
    }
    changes
}

pub fn end_of(number: u64) -> NoticeId {
    NoticeId { task: id(number), run: 0, about: About::End }
}

pub fn notice(id: NoticeId) -> Notice {
    let to = "ses_parent".parse().unwrap();
    Notice { id, to, headline: "news".into(), made: NOW, delivery: None }
}

pub fn pending(id: NoticeId) -> Change {
    Change::Enqueued(notice(id))
}

pub fn delivery(name: &str, notices: &[NoticeId]) -> Delivery {
    let to = "ses_parent".parse().unwrap();
    Delivery { id: msg(name), to, notices: notices.to_vec(), counts: "1 finished".into() }
}

pub fn made(name: &str, notices: &[NoticeId]) -> Change {
    Change::DeliveryCreated(delivery(name, notices))
}

pub fn done(name: &str) -> Change {
    Change::DeliveryDone { delivery: msg(name), notices: Vec::new(), end: DeliveryEnd::Delivered }
}

pub fn dissolved(delivery: MessageId) -> Change {
    Change::DeliveryWithdrawn { delivery, notices: Vec::new() }
}

pub fn stop(number: u64) -> Stop {
    let (place, host) = ("project".parse().unwrap(), "host-1".parse().unwrap());
    Stop { task: id(number), place, host, target: Target::Marked }
}

pub fn parent(session: &str, active_host: Option<&str>) -> Parent {
    Parent {
        session: session.parse().unwrap(),
        place: "project".parse().unwrap(),
        active_host: active_host.map(|host| host.parse().unwrap()),
    }
}

pub fn takes(journal: &mut impl Journal, changes: &[Change]) {
    journal.save(NOW, changes).unwrap_or_else(|fault| panic!("{changes:#?}: {fault}"));
}

pub fn refuses(journal: &mut impl Journal, change: Change) {
    let before = load(journal);
    assert!(journal.save(NOW, std::slice::from_ref(&change)).is_err(), "{change:#?}");
    assert_eq!(load(journal), before, "{change:#?}");
}

pub fn load(journal: &mut impl Journal) -> Saved {
    journal.load().unwrap_or_else(|fault| panic!("{fault}"))
}

pub fn detail(journal: &mut impl Journal, number: u64, run: u32) -> Option<String> {
    journal.detail(id(number), run).unwrap_or_else(|fault| panic!("{fault}"))
}
