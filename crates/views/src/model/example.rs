//! A task to say something about, for tests.

use legwork_protocol::view::{QuestionKind, QuestionOption, QuestionView, TaskView};
use legwork_protocol::{Outcome, Stage, Status, TaskId, Time, Usage};

pub fn task(number: u64) -> TaskView {
    TaskView {
        id: TaskId::from_number(number),
        seq: number,
        status: Status::Running,
        stage: Stage::Working,
        description: "Review the error handling".to_owned(),
        agent: "reviewer".to_owned(),
        directory: "/nowhere/kestrel".to_owned(),
        parent: "ses_1".parse().unwrap(),
        session: None,
        place: "place".parse().unwrap(),
        host: "acp-1".parse().unwrap(),
        resumes: 0,
        created: Time(1_000),
        started: Time(1_000),
        ended: None,
        elapsed_ms: 133_000,
        reason: None,
        tool_calls: 2,
        last_tools: vec!["grep".to_owned(), "read".to_owned()],
        doing: None,
        activity: None,
        quiet_ms: Some(40),
        usage: Usage::default(),
        budget: None,
        runs: vec![],
        waiting: vec![],
        questions: vec![],
        retrieved: None,
        notice_pending: false,
    }
}

pub fn permission(subject: &str) -> QuestionView {
    let option = |id: &str| QuestionOption { id: id.to_owned(), label: id.to_owned() };
    QuestionView {
        number: 1,
        id: "per_1".parse().unwrap(),
        kind: QuestionKind::Permission,
        subject: subject.to_owned(),
        options: ["once", "always", "reject"].map(option).to_vec(),
        takes_words: true,
        since: Time(5_000),
    }
}

pub fn finished(number: u64, outcome: Outcome) -> TaskView {
    TaskView {
        status: outcome.into(),
        stage: outcome.stage(),
        ended: Some(Time(9_000)),
        ..task(number)
    }
}
