//! Answers and events that make no sense never panic.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use legwork_engine::Action;
use legwork_engine::record::Target;
use legwork_engine::work::{Part, Scope, Shown, Tried, Wake};
use legwork_host::{Request, Unreachable};
use legwork_opencode::{Event, Transport, hints, perform, project, wanted};
use legwork_protocol::TaskId;
use legwork_protocol::api::Reply;
use legwork_protocol::line::HostReply;
use legwork_protocol::view::QuestionKind;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The words of OpenCode, so that rubbish gets past the first check.
const KEYS: [&str; 24] = [
    "id",
    "info",
    "parts",
    "role",
    "time",
    "created",
    "completed",
    "finish",
    "error",
    "name",
    "data",
    "message",
    "metadata",
    "legwork",
    "task",
    "permission",
    "questions",
    "options",
    "label",
    "sessionID",
    "parentID",
    "tokens",
    "status",
    "type",
];
const WORDS: [&str; 12] = [
    "assistant",
    "user",
    "msg_1",
    "ses_a",
    "stop",
    "text",
    "tool",
    "retry",
    "pending",
    "que_1",
    "bg_00000007",
    "",
];

fn rubbish() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        proptest::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = proptest::sample::select(&KEYS[..]);
        let object = proptest::collection::vec((key, inner.clone()), 0..6);
        let object = object.prop_map(|pairs| {
            pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Value>()
        });
        prop_oneof![proptest::collection::vec(inner, 0..6).prop_map(Value::from), object]
    })
}

/// Answers every call with the next of these, again and again.
struct Mad {
    replies: Vec<HostReply>,
    next: Mutex<usize>,
}

impl Transport for Mad {
    async fn send(&self, _: Request) -> Result<HostReply, Unreachable> {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        Ok(self.replies[*next % self.replies.len()].clone())
    }
}

fn actions() -> Vec<Action> {
    let session = || "ses_a".parse().unwrap();
    let message = || "msg_1".parse().unwrap();
    let part = Part {
        id: "prt_1".parse().unwrap(),
        shown: Shown::ToModel,
        text: "x".into(),
        result: None,
    };
    let task = TaskId::from_number(7);
    let answer = |reply| Action::Answer {
        session: session(),
        question: "que_1".parse().unwrap(),
        kind: QuestionKind::Question,
        reply,
    };
    vec![
        Action::CheckAgent { agent: "build".to_owned() },
        Action::Probe { session: session() },
        Action::FindMissing { sessions: vec![session()] },
        Action::Open {
            tried: Tried::Perhaps,
            task,
            parent: session(),
            directory: "/project".to_owned(),
            title: "t".to_owned(),
            agent: "build".to_owned(),
            nested: false,
            fork_before: None,
        },
        Action::Prompt {
            tried: Tried::Perhaps,
            session: session(),
            message: message(),
            part: "prt_1".parse().unwrap(),
            agent: "build".to_owned(),
            text: "go".to_owned(),
        },
        Action::Observe { session: session(), message: message() },
        Action::Poll { scope: Scope::Questions },
        Action::Deliver {
            tried: Tried::Perhaps,
            session: session(),
            message: message(),
            notices: Vec::new(),
            parts: vec![part],
            wake: Wake::StartTurn,
        },
        Action::Stop { task, target: Target::Marked },
        Action::Stop { task, target: Target::Opened(session()) },
        answer(Reply::Words("1".to_owned())),
        answer(Reply::Reject(None)),
    ]
}

fn reply() -> impl Strategy<Value = HostReply> {
    let status = prop_oneof![8 => Just(200), 1 => Just(404), 1 => any::<u16>()];
    let listed = proptest::collection::vec(rubbish(), 0..6).prop_map(Value::from);
    (status, prop_oneof![rubbish(), listed]).prop_map(|(status, body)| HostReply { status, body })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn g2_no_answer_makes_a_deed_panic(replies in proptest::collection::vec(reply(), 1..5)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let host = Mad { replies, next: Mutex::new(0) };
        for action in actions() {
            drop(runtime.block_on(perform(&host, &action)));
        }
    }

    #[test]
    fn g2_no_event_panics(properties in rubbish(), number in 0..13_usize) {
        let wanted = wanted();
        let name = &wanted[number].name;
        let kept = project(&wanted, name, &properties).unwrap();
        let host = "opencode-1".parse().unwrap();
        drop(hints(&host, &Event::read(name, &properties)));
        drop(hints(&host, &Event::read(name, &kept)));
    }
}

#[test]
fn paths_that_are_not_there_are_left_out_and_the_others_keep_their_place() {
    let mut wanted = wanted();
    wanted[0].keep = ["a.b", "a.c", "x.y", "d", "d.e"].map(str::to_owned).into();
    let properties = json!({ "a": { "b": 1, "c": null, "z": 2 }, "x": [1], "d": "text" });
    let kept = project(&wanted, "session.idle", &properties);
    assert_eq!(kept, Some(json!({ "a": { "b": 1, "c": null }, "d": "text" })));
}
