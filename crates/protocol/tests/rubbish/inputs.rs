//! Where the rubbish comes from: bytes, JSON, harmed lines, arguments.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use legwork_protocol::TaskId;
use legwork_protocol::api::transcript::Reading;
use legwork_protocol::api::{Answer, Ask, List, Refusal, Request};
use legwork_protocol::line::{
    Context, Environment, FromDaemon, HostLifetime, HostReply, HostResult, LINE_VERSION, Method,
    Role, Startup, ToDaemon, Wanted, encode,
};
use legwork_protocol::tools::tools;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

pub fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Words that mean something somewhere, so that inputs get past the first check.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "hello", "call", "cancel", "result", "event", "bye", "answer", "progress", "host-call", "drop",
    "want", "host", "client", "get", "running", "bg_00000001", "", " ", "\u{0}", "\n",
];

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "type", "id", "version", "build", "role", "is", "key", "tool", "arguments", "context", "status",
    "body", "error", "name", "properties", "tools", "why", "refused", "text", "method", "path",
    "query", "events", "prompt", "description", "agent", "resume", "task_id", "task_ids", "offset",
    "block", "timeout", "all", "session", "message", "directory", "place", "kind",
];

fn key() -> impl Strategy<Value = String> {
    prop_oneof![4 => select(KEYS).prop_map(str::to_owned), 1 => any::<String>()]
}

/// A good line with anything in a field or two.
pub fn nearly_a_line() -> impl Strategy<Value = Value> {
    let good: Vec<Value> =
        good_lines().iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let harmed = vec((any::<usize>(), json_value()), 0..3);
    let added = vec((key(), json_value()), 0..2);
    (select(good), harmed, added).prop_map(|(mut line, harmed, added)| {
        let own: Vec<String> = line.as_object().unwrap().keys().cloned().collect();
        for (at, value) in harmed {
            line[&own[at % own.len()]] = value;
        }
        for (key, value) in added {
            line[key] = value;
        }
        line
    })
}

/// One good line of each kind, written.
pub fn good_lines() -> &'static [Vec<u8>] {
    static LINES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    LINES.get_or_init(|| {
        let mut lines: Vec<Vec<u8>> = good_to_daemon().iter().map(encode).collect();
        lines.extend(good_from_daemon().iter().map(encode));
        lines
    })
}

fn good_to_daemon() -> Vec<ToDaemon> {
    let role = Role::Host {
        host: "host".parse().unwrap(),
        place: "place".parse().unwrap(),
        kind: "opencode".into(),
        lifetime: HostLifetime::OneShot,
        startup: Some(Box::new(Startup {
            command: vec!["/bin/opencode".into()],
            directory: "/a".into(),
            environment: Environment::default(),
        })),
        plugin: Some("0.1.0".into()),
    };
    let context = Context {
        session: "ses_1".parse().unwrap(),
        message: "msg_1".parse().unwrap(),
        agent: "build".into(),
        directory: "/a".into(),
        environment: None,
        model: Some("p/m".into()),
        client: None,
    };
    vec![
        ToDaemon::Hello { version: LINE_VERSION, build: "0.1.0".into(), role, starts: false },
        ToDaemon::Call {
            id: 1,
            key: "key".parse().unwrap(),
            tool: "background_task".into(),
            arguments: json!({ "prompt": "näh\n\"", "n": [1, -2, 3.5, null, true] }),
            context: Some(context),
        },
        request(Request::Show { task: "bg_00000001".into() }),
        request(Request::Follow),
        request(Request::Transcript { task: "bg_00000001".into(), reading: Reading::default() }),
        request(Request::Ask(Ask::List(List { limit: Some(3), ..List::default() }))),
        ToDaemon::Cancel { id: 1 },
        ToDaemon::Result(HostResult {
            id: 3,
            reply: Ok(HostReply { status: 200, body: json!([{ "id": "ses_1" }]) }),
        }),
        ToDaemon::Result(HostResult { id: 4, reply: Err("fetch failed".into()) }),
        ToDaemon::Event { name: "session.idle".into(), properties: json!({ "a": { "b": [] } }) },
    ]
}

fn request(request: Request) -> ToDaemon {
    ToDaemon::Request { id: 2, key: "key".parse().unwrap(), request, context: None }
}

fn good_from_daemon() -> Vec<FromDaemon> {
    vec![
        FromDaemon::Hello {
            version: LINE_VERSION,
            build: "0.1.0".into(),
            tools: tools().into_iter().skip(4).collect(),
        },
        FromDaemon::Bye { why: "leaving".into(), leaving: true },
        FromDaemon::Data { id: 2, data: Answer::Cleared { tasks: 2, unfinished: 1 } },
        FromDaemon::Answer {
            id: 1,
            text: "Task ID: bg_00000001".into(),
            task: Some(TaskId::from_number(1)),
        },
        FromDaemon::refused(1, Refusal::NotFound("bg_1".into())),
        FromDaemon::Progress { id: 1, left: 1, waited_ms: 9, text: "…".into() },
        FromDaemon::HostCall {
            id: 5,
            method: Method::Post,
            path: "/session".into(),
            query: BTreeMap::from([("a".into(), "b".into())]),
            body: json!({ "parts": [] }),
        },
        FromDaemon::Drop { id: 5 },
        FromDaemon::Want {
            events: vec![Wanted {
                name: "session.idle".into(),
                keep: vec!["sessionID".into()],
                every_ms: 0,
                closely: None,
            }],
        },
    ]
}

/// One small harm done to a line.
#[derive(Debug, Clone)]
pub enum Harm {
    Flip(usize, u8),
    Insert(usize, u8),
    Delete(usize),
    Truncate(usize),
    Repeat(usize, usize),
}

pub fn harm() -> impl Strategy<Value = Harm> {
    let at = any::<usize>;
    let byte =
        || prop_oneof![1 => any::<u8>(), 6 => select(&b"{}[]\",:\\0123456789.-eEtfnul \n\r\0"[..])];
    prop_oneof![
        4 => (at(), byte()).prop_map(|(at, byte)| Harm::Flip(at, byte)),
        4 => (at(), byte()).prop_map(|(at, byte)| Harm::Insert(at, byte)),
        4 => at().prop_map(Harm::Delete),
        1 => at().prop_map(Harm::Truncate),
        1 => (at(), at()).prop_map(|(from, to)| Harm::Repeat(from, to)),
    ]
}

pub fn do_harm(line: &mut Vec<u8>, harm: &Harm) {
    let length = line.len();
    if length == 0 {
        return;
    }
    match *harm {
        Harm::Flip(at, byte) => line[at % length] = byte,
        Harm::Insert(at, byte) => line.insert(at % length, byte),
        Harm::Delete(at) => drop(line.remove(at % length)),
        Harm::Truncate(at) => line.truncate(at % length),
        Harm::Repeat(from, to) => {
            let (from, to) = (from % length, to % length);
            let piece = line[from.min(to)..from.max(to)].to_vec();
            line.splice(to..to, piece);
        }
    }
}

pub fn tool_name() -> impl Strategy<Value = String> {
    let known = select(tools()).prop_map(|tool| tool.name);
    prop_oneof![9 => known, 1 => any::<String>()]
}

/// A call that is often right: the tool's own arguments, most of them there and of their type.
pub fn likely_call() -> impl Strategy<Value = (String, Value)> {
    Union::new(tools().into_iter().map(|tool| {
        let shown = tool.schema.get("properties").and_then(Value::as_object);
        let fields: Vec<_> = shown
            .unwrap()
            .iter()
            .map(|(name, property)| (name.as_str(), property["type"].as_str()))
            .chain([("block", None), ("timeout", None)])
            .map(|(name, kind)| {
                let given = if kind.is_some() { 0.8 } else { 0.1 };
                (Just(name.to_owned()), weighted(given, likely_value(kind)))
            })
            .collect();
        (Just(tool.name), fields.prop_map(some_fields))
    }))
}

fn some_fields(fields: Vec<(String, Option<Value>)>) -> Value {
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn likely_value(kind: Option<&str>) -> impl Strategy<Value = Value> + use<> {
    let fitting = match kind {
        Some("integer") => prop_oneof![
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-10_i64..1_000_000).prop_map(Value::from),
        ]
        .boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("array") => vec(select(WORDS), 0..5).prop_map(Value::from).boxed(),
        _ => prop_oneof![
            select(WORDS).prop_map(Value::from),
            "[a-z_0-9]{0,12}".prop_map(Value::from)
        ]
        .boxed(),
    };
    prop_oneof![12 => fitting, 1 => Just(Value::Null), 1 => json_value()]
}
