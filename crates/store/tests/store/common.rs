//! Records for tests, in the words of the tests.

use std::path::Path;

use legwork_engine::Usage;
use legwork_engine::record::{
    About, Change, Delivery, DeliveryEnd, Notice, NoticeId, Origin, Parent, Stop, Target,
};
use legwork_engine::task::{Asked, Outcome, ResumedBy, Run, Stage, StageName, Task};
use legwork_protocol::view::{QuestionKind, QuestionView};
use legwork_protocol::{MessageId, TaskId, Time};
use legwork_store::Store;

pub const NOW: Time = Time(1_700_000_000_000);

pub fn open(dir: &Path) -> Store {
    let opened = Store::open(dir).unwrap();
    assert!(opened.set_aside.is_none(), "{:?}", opened.set_aside);
    opened.store
}

pub fn id(number: u64) -> TaskId {
    TaskId::from_number(number)
}

pub fn msg(text: &str) -> MessageId {
    text.parse().unwrap()
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
        description: format!("Look at part {number}").into(),
        created: NOW,
        fork_before: None,
        session: None,
        stage: Stage::Opening,
        run: Run {
            number: 0,
            asker: "ses_parent".parse().unwrap(),
            key: format!("call-{number}-0").parse().unwrap(),
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

pub fn launched(task: &Task) -> Change {
    let origin = Origin { message: "msg_1".into(), agent: "build".into(), directory: "/p".into() };
    Change::Launched { task: task.clone(), origin }
}

pub fn moved(task: &mut Task, to: Stage) -> Change {
    let from = task.stage.name();
    task.stage = to;
    Change::Moved { task: task.clone(), from }
}

pub fn ended(task: &mut Task, outcome: Outcome, detail: &str) -> Change {
    let from = task.stage.name();
    task.stage = Stage::Finished(outcome);
    task.run.ended = Some(NOW.plus(1_000));
    task.run.prompt = None;
    task.run.asked.ids = Vec::new();
    Change::Ended { task: task.clone(), from, detail: detail.into() }
}

pub fn resumed(task: &mut Task) -> Change {
    task.run.number += 1;
    task.run.ended = None;
    task.run.prompt = Some("and now that".into());
    task.run.key = format!("call-{}-{}", task.seq, task.run.number).parse().unwrap();
    task.stage = Stage::Prompting(msg("msg_resume"));
    Change::Resumed { task: task.clone(), from: StageName::Completed, by: ResumedBy::Session }
}

pub fn end_of(task: &Task) -> NoticeId {
    NoticeId { task: task.id, run: task.run.number, about: About::End }
}

pub fn notice(id: NoticeId) -> Notice {
    Notice {
        id,
        to: "ses_parent".parse().unwrap(),
        headline: "[BACKGROUND TASK COMPLETED]".into(),
        made: NOW,
        delivery: None,
    }
}

pub fn pending(id: NoticeId) -> Change {
    Change::Enqueued(notice(id))
}

pub fn delivery(name: &str, notices: &[NoticeId]) -> Delivery {
    Delivery {
        id: msg(name),
        to: "ses_parent".parse().unwrap(),
        notices: notices.to_vec(),
        counts: "1 finished".into(),
    }
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

pub fn stop(number: u64, target: Target) -> Stop {
    Stop {
        task: id(number),
        place: "project".parse().unwrap(),
        host: "host-1".parse().unwrap(),
        target,
    }
}

pub fn parent(session: &str, active_host: Option<&str>) -> Parent {
    Parent {
        session: session.parse().unwrap(),
        place: "project".parse().unwrap(),
        active_host: active_host.map(|host| host.parse().unwrap()),
    }
}

/// Launched, worked on and answered.
pub fn finish(task: &mut Task, detail: &str) -> Vec<Change> {
    let launch = launched(task);
    task.session = Some(format!("ses_child_{}", task.seq).parse().unwrap());
    let prompting = moved(task, Stage::Prompting(msg("msg_prompt")));
    let working = moved(task, Stage::Working(msg("msg_prompt")));
    vec![launch, prompting, working, ended(task, Outcome::Completed, detail)]
}

/// A permission that a helper asks for.
pub fn asked(subject: &str) -> QuestionView {
    QuestionView {
        number: 1,
        id: "per_1".parse().unwrap(),
        kind: QuestionKind::Permission,
        subject: subject.to_owned(),
        options: Vec::new(),
        takes_words: true,
        since: NOW,
    }
}
