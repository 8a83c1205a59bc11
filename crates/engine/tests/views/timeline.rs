//! The timeline: each kind of change as a sentence.

use legwork_engine::Usage;
use legwork_engine::record::{
    About, Change, Delivery, DeliveryEnd, Forget, Ledger, Notice, NoticeId, Origin, Parent,
    Settled, Stop, Target,
};
use legwork_engine::task::{Asked, Outcome, ResumedBy, Run, Stage, StageName, Task};
use legwork_engine::text::timeline;
use legwork_protocol::api::Reply;
use legwork_protocol::view::{QuestionKind, QuestionOption, QuestionView};
use legwork_protocol::{Cost, Currency, MessageId, TaskId, Time};

use crate::desk::{DAWN, host_id, session_id, task_id};

const LATER: Time = Time(DAWN.0 + 64_000);

fn message(text: &str) -> MessageId {
    text.parse().unwrap()
}

fn task(stage: Stage, number: u32) -> Task {
    Task {
        id: task_id(1),
        seq: 1,
        place: "project".parse().unwrap(),
        realm: "project".parse().unwrap(),
        directory: "/p".into(),
        root: session_id("ses_parent"),
        parent: session_id("ses_parent"),
        depth: 1,
        agent: "explore".into(),
        description: "Explore the codebase".into(),
        created: DAWN,
        fork_before: None,
        session: Some(session_id("ses_one")),
        run: Run {
            number,
            asker: session_id("ses_parent"),
            key: "call_1".parse().unwrap(),
            host: host_id("host_1"),
            order: 1,
            prompt: None,
            continued: 0,
            started: DAWN,
            paused_ms: 0,
            ended: matches!(stage, Stage::Finished(_)).then_some(LATER),
            tool_calls: 2,
            usage: Usage::default(),
            used_before: Usage::default(),
            asked: Asked::default(),
        },
        stage,
        retrieved: None,
    }
}

fn moved(stage: Stage, from: StageName) -> Change {
    Change::Moved { task: task(stage, 1), from }
}

fn ended(outcome: Outcome, detail: &str) -> Change {
    let task = task(Stage::Finished(outcome), 0);
    Change::Ended { task, from: StageName::Working, detail: detail.to_owned() }
}

fn notice(about: About) -> Notice {
    let id = NoticeId { task: task_id(1), run: 0, about };
    let (to, headline) = (session_id("ses_parent"), "[BACKGROUND TASK COMPLETED]".to_owned());
    Notice { id, to, headline, made: DAWN, delivery: None }
}

fn stop(target: Target) -> Change {
    let (place, host) = ("project".parse().unwrap(), host_id("host_1"));
    Change::StopRequested(Stop { task: task_id(1), place, host, target })
}

fn notices() -> Vec<Change> {
    let (end, question) = (notice(About::End), notice(About::Question(0)));
    let delivery = |notices| Delivery {
        id: message("msg_delivery"),
        to: session_id("ses_parent"),
        notices,
        counts: String::new(),
    };
    let (end_id, question_id) = (end.id, question.id);
    let done = |end| Change::DeliveryDone {
        delivery: message("msg_delivery"),
        notices: vec![end_id, question_id],
        end,
    };
    vec![
        Change::Enqueued(end.clone()),
        Change::Enqueued(question.clone()),
        Change::Withdrawn(end.id),
        Change::Withdrawn(question.id),
        Change::DeliveryCreated(delivery(vec![end.id, question.id])),
        Change::DeliveryCreated(delivery(vec![question.id])),
        Change::DeliveryWithdrawn { delivery: message("msg_delivery"), notices: vec![end.id] },
        Change::DeliveryPulled { delivery: message("msg_delivery"), notices: vec![end.id] },
        done(DeliveryEnd::Delivered),
        done(DeliveryEnd::ParentGone),
        done(DeliveryEnd::Refused),
    ]
}

fn question(kind: QuestionKind) -> QuestionView {
    let option = |id: &str| QuestionOption { id: id.to_owned(), label: format!("Answer {id}") };
    QuestionView {
        number: 1,
        id: "per_1".parse().unwrap(),
        kind,
        subject: "bash: cargo test".to_owned(),
        options: ["1", "2"].map(option).to_vec(),
        takes_words: true,
        since: DAWN,
    }
}

fn answers() -> [Settled; 7] {
    [
        Settled::ByPerson(Reply::Once),
        Settled::ByPerson(Reply::Always),
        Settled::ByPerson(Reply::Reject(Some("not\nhere".to_owned()))),
        Settled::InHost(Some(Reply::Words("the second".to_owned()))),
        Settled::InHost(None),
        Settled::RunEnded,
        Settled::HostEnded,
    ]
}

fn figures(task: TaskId) -> [Change; 3] {
    let cost = Some(Cost { micros: 1_234, currency: Currency::USD });
    let usage = Usage { tokens: Some(303), cost, model: Some("provider/model".into()) };
    let root = session_id("ses_parent");
    let (micros, currency, at) = (1_234, Currency::USD, DAWN);
    let ledger = Ledger { root: root.clone(), currency, micros, warned_micros: 0, at };
    [
        Change::Used { task, run: 0, tool_calls: 2, usage },
        Change::LedgerKept { ledger, warning: None },
        Change::LedgerForgotten { root },
    ]
}

fn changes() -> Vec<Change> {
    let id: TaskId = task_id(1);
    let prompt = message("msg_prompt");
    let known = |active_host| {
        let (session, place) = (session_id("ses_parent"), "project".parse().unwrap());
        Change::ParentKnown(Parent { session, place, active_host })
    };
    let launched = |stage| Change::Launched { task: task(stage, 0), origin: Origin::default() };
    let mut all = vec![
        launched(Stage::Opening),
        launched(Stage::Queued),
        Change::Resumed {
            task: task(Stage::Queued, 2),
            from: StageName::Completed,
            by: ResumedBy::Session,
        },
        Change::Resumed {
            task: task(Stage::Queued, 3),
            from: StageName::Failed,
            by: ResumedBy::Person,
        },
        moved(Stage::Opening, StageName::Queued),
        moved(Stage::Prompting(prompt.clone()), StageName::Opening),
        moved(Stage::Working(prompt.clone()), StageName::Prompting),
        moved(Stage::Working(prompt), StageName::Working),
        moved(Stage::Queued, StageName::Working),
        ended(Outcome::Completed, "Three callers:\n\n- a.rs:10"),
        ended(Outcome::Failed, &"The model is overloaded. ".repeat(8)),
        ended(Outcome::Cancelled, "Cancelled by a person."),
        ended(Outcome::Completed, ""),
        Change::Retrieved { task: id, at: DAWN },
        Change::LaunchUndone { task: id, run: 1 },
        Change::Asked { task: id, run: 1, question: question(QuestionKind::Permission) },
        Change::Asked { task: id, run: 1, question: question(QuestionKind::Question) },
        Change::Forgotten { task: id, why: Forget::Cleared },
        Change::Forgotten { task: id, why: Forget::ParentDeleted },
        Change::Cleared { tasks: vec![id, task_id(2)] },
    ];
    all.extend(notices());
    all.extend(answers().map(|how| Change::Answered {
        task: id,
        run: 1,
        question: question(QuestionKind::Permission),
        how,
    }));
    all.extend(figures(id));
    all.extend([
        stop(Target::Session(session_id("ses_one"))),
        stop(Target::Opened(session_id("ses_one"))),
        stop(Target::Marked),
        Change::StopDone { task: id },
        known(None),
        known(Some(host_id("host_1"))),
        Change::ParentForgotten { session: session_id("ses_parent") },
    ]);
    all
}

/// The name of a change, and which of them: so that one that is new here is seen to be missing.
fn name(change: &Change) -> &'static str {
    match change {
        Change::Launched { .. } => "launched",
        Change::Resumed { .. } => "resumed",
        Change::Moved { .. } => "moved",
        Change::Ended { .. } => "ended",
        Change::Used { .. } => "used",
        Change::Asked { .. } => "asked",
        Change::LaunchUndone { .. } => "launch undone",
        Change::Answered { .. } => "answered",
        Change::LedgerKept { .. } => "ledger kept",
        Change::LedgerForgotten { .. } => "ledger forgotten",
        Change::Retrieved { .. } => "retrieved",
        Change::Forgotten { .. } => "forgotten",
        Change::Cleared { .. } => "cleared",
        Change::Enqueued(_) => "pending",
        Change::Withdrawn(_) => "withdrawn",
        Change::DeliveryCreated(_) => "delivery made",
        Change::DeliveryWithdrawn { .. } => "delivery dissolved",
        Change::DeliveryPulled { .. } => "delivery pulled",
        Change::DeliveryDone { .. } => "delivery done",
        Change::StopRequested(_) => "stop pending",
        Change::StopDone { .. } => "stop done",
        Change::ParentKnown(_) => "parent known",
        Change::ParentForgotten { .. } => "parent forgotten",
    }
}

pub fn timeline() -> String {
    let lines = changes().into_iter().map(|change| {
        let kept = if !timeline::events(&change).is_empty() { "timeline" } else { "trace" };
        format!("{:<16}  {kept:<8}  {}", name(&change), timeline::trace(&change))
    });
    lines.collect::<Vec<_>>().join("\n")
}
