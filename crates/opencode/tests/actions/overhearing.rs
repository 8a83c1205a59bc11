//! What events tell of a conversation need not be read, and is believed only while it is right.

use std::sync::Arc;

use legwork_engine::Finding;
use legwork_engine::work::{RunState, Tried, Wake};
use legwork_opencode::{Event, EventCache, MISSED, project, wanted};
use serde_json::{Value, json};

use crate::fake::{Fake, fixture, messages};
use crate::looking::{PROMPT, observe_at};
use crate::opening::{open, prompt};
use crate::telling::tell;

/// Hears what the plugin would pass on.
fn hear(event_cache: &EventCache, name: &str, properties: &Value) {
    event_cache.hear(&Event::read(name, &project(&wanted(), name, properties).unwrap()));
}

fn session(event_cache: &EventCache, info: &Value) {
    hear(event_cache, "session.updated", &json!({ "sessionID": info["id"], "info": info }));
}

fn message(event_cache: &EventCache, told: &Value) {
    let session = &told["info"]["sessionID"];
    hear(event_cache, "message.updated", &json!({ "sessionID": session, "info": told["info"] }));
    for part in told["parts"].as_array().unwrap() {
        hear(event_cache, "message.part.updated", &json!({ "sessionID": session, "part": part }));
    }
}

/// A person's message to another agent than the recorded one.
fn later(change: impl FnOnce(&mut Value)) -> Value {
    let mut told = messages("parents_messages")[0].clone();
    told["info"]["id"] = json!("msg_2df5a6e5a001WonwIiyhqfqoD7");
    told["info"]["agent"] = json!("build");
    told["parts"][0]["messageID"] = told["info"]["id"].clone();
    change(&mut told);
    told
}

/// All events of the recorded parent, then these.
fn host(then: impl FnOnce(&EventCache)) -> Fake {
    let event_cache = EventCache::default();
    session(&event_cache, &fixture("parent"));
    for told in &messages("parents_messages") {
        message(&event_cache, told);
    }
    then(&event_cache);
    let made = Fake::recorded().on("POST /session", 200, json!({ "id": "ses_new" }));
    made.hearing(Arc::new(event_cache))
}

/// The agent that the delivery speaks to, and how much was read for that.
fn told(host: &Fake) -> (Value, usize) {
    let delivery = tell(Tried::Never, "ses_parent", "msg_new", Wake::StartTurn);
    assert_eq!(host.perform(&delivery), Ok(Finding::Done));
    (host.write().1["agent"].clone(), host.reads().len())
}

#[test]
fn n4_a_delivery_is_one_request() {
    assert_eq!(told(&host(|_| {})), (json!("plan"), 0));
}

#[test]
fn l5_a_session_is_opened_as_if_its_parent_had_been_read() {
    let body = |host: &Fake| {
        host.perform(&open(Tried::Never, "explore", false)).unwrap();
        host.write().1
    };
    let (heard, read) = (host(|_| {}), host(EventCache::forget));
    assert_eq!(body(&heard), body(&read));
    assert_eq!(heard.reads(), ["GET /agent"]);
    assert_eq!(read.reads().len(), 3);
}

#[test]
fn n4_the_last_message_of_a_person_counts_and_nobody_elses() {
    assert_eq!(told(&host(|heard| message(heard, &later(|_| {})))), (json!("build"), 0));
    let synthetic = later(|told| told["parts"][0]["synthetic"] = json!(true));
    let by_part = later(|told| told["parts"][0]["metadata"] = json!({ "legwork": true }));
    let by_id = later(|told| {
        told["info"]["id"] = json!("msg_2df5a6e5a000e0000000000007");
        told["parts"][0]["messageID"] = told["info"]["id"].clone();
    });
    for others in [synthetic, by_part, by_id] {
        assert_eq!(told(&host(|heard| message(heard, &others))), (json!("plan"), 0), "{others}");
    }
    let again = host(|heard| {
        message(heard, &later(|_| {}));
        message(heard, &messages("parents_messages")[0]);
    });
    assert_eq!(told(&again), (json!("build"), 0), "an old message is told of again");
}

#[test]
fn n6_an_undo_is_overheard_and_so_is_its_end() {
    let delivery = tell(Tried::Never, "ses_parent", "msg_new", Wake::StartTurn);
    let undone = host(|heard| session(heard, &fixture("undoing")));
    assert_eq!(undone.perform(&delivery), Ok(Finding::UndoPending));
    assert!(undone.wrote_nothing() && undone.reads().is_empty());
    let over = host(|heard| {
        session(heard, &fixture("undoing"));
        session(heard, &fixture("parent"));
    });
    assert_eq!(told(&over), (json!("plan"), 0));
}

#[test]
fn what_is_not_certain_any_more_is_read() {
    let removed = json!({
        "sessionID": "ses_parent", "messageID": messages("parents_messages")[0]["info"]["id"],
    });
    let taken_back = host(|heard| hear(heard, "message.removed", &removed));
    let deleted = json!({ "sessionID": "ses_parent", "info": { "id": "ses_parent" } });
    let deleted = host(|heard| hear(heard, "session.deleted", &deleted));
    let missed = host(|heard| drop(heard.hear(&Event::read(MISSED, &Value::Null))));
    for host in [taken_back, deleted, missed, host(EventCache::forget)] {
        assert_eq!(told(&host), (json!("plan"), 2));
    }
}

#[test]
fn a_session_that_belongs_to_another_is_read() {
    let nested = host(|heard| {
        let mut info = fixture("parent");
        info["id"] = json!("ses_nested");
        info["parentID"] = json!("ses_parent");
        session(heard, &info);
        let told = later(|told| told["info"]["sessionID"] = json!("ses_nested"));
        message(heard, &told);
    });
    let nested = nested
        .on("GET /session/ses_nested", 200, fixture("parent"))
        .history("ses_nested", messages("parents_messages"))
        .on("POST /session/ses_nested/prompt_async", 204, Value::Null);
    let delivery = tell(Tried::Never, "ses_nested", "msg_new", Wake::StartTurn);
    assert_eq!(nested.perform(&delivery), Ok(Finding::Done));
    assert_eq!(nested.reads().len(), 2);
}

/// A helper is prompted, these events come, and it is looked at: the answer, and how much was read.
fn looked(events: impl FnOnce(&EventCache)) -> (String, usize) {
    let event_cache = Arc::new(EventCache::default());
    let host = Fake::recorded().hearing(event_cache.clone());
    assert_eq!(host.perform(&prompt(Tried::Never, PROMPT)), Ok(Finding::Done));
    let before = host.reads().len();
    events(&event_cache);
    match observe_at(&host, PROMPT).state {
        RunState::Answered { text } => (text, host.reads().len() - before),
        other => panic!("{other:?}"),
    }
}

/// The recorded answer, but for a change in the last message; each part is told of when it begins.
fn answered(change: impl FnOnce(&mut Value)) -> impl FnOnce(&EventCache) {
    let mut told = messages("answered");
    change(told.last_mut().unwrap());
    move |heard| {
        for one in &told {
            let (mut begun, mut info) = (one.clone(), one["info"].clone());
            info["time"]["completed"] = Value::Null;
            for part in begun["parts"].as_array_mut().unwrap() {
                part["text"] = json!("");
            }
            begun["info"] = info;
            message(heard, &begun);
            message(heard, one);
            let session = &one["info"]["sessionID"];
            let done = json!({ "sessionID": session, "info": one["info"] });
            hear(heard, "message.updated", &done);
        }
    }
}

#[test]
fn d2_an_answer_that_was_overheard_is_not_read() {
    assert_eq!(looked(answered(|_| {})), ("found it ".to_owned(), 0));
    let several = |told: &mut Value| {
        let mut more = told["parts"][1].clone();
        more["id"] = json!("prt_more");
        more["text"] = json!("and more");
        told["parts"].as_array_mut().unwrap().push(more);
    };
    assert_eq!(looked(answered(several)), ("found it \nand more".to_owned(), 0));
}

#[test]
fn d2_what_is_not_whole_or_no_answer_is_read() {
    let incomplete = answered(|told| told["info"]["time"]["completed"] = Value::Null);
    let calls = answered(|told| told["info"]["finish"] = json!("tool-calls"));
    let failed = answered(|told| told["info"]["error"] = json!({ "name": "APIError" }));
    let summary = answered(|told| told["info"]["mode"] = json!("compaction"));
    let to_another = answered(|told| told["info"]["parentID"] = json!("msg_other"));
    let long = answered(|told| told["parts"][1]["text"] = json!("x".repeat(300_000)));
    let removed = |heard: &EventCache| {
        answered(|_| {})(heard);
        let last = messages("answered").pop().unwrap();
        let gone = json!({ "sessionID": "ses_helper", "messageID": last["info"]["id"] });
        hear(heard, "message.removed", &gone);
    };
    let forgotten = |heard: &EventCache| {
        answered(|_| {})(heard);
        heard.forget();
    };
    let read = ("found it ".to_owned(), 1);
    for (what, seen) in [
        ("nothing was heard", looked(|_| {})),
        ("incomplete", looked(incomplete)),
        ("a call of a tool", looked(calls)),
        ("an error", looked(failed)),
        ("a summary", looked(summary)),
        ("to another prompt", looked(to_another)),
        ("too long", looked(long)),
        ("removed", looked(removed)),
        ("forgotten", looked(forgotten)),
    ] {
        assert_eq!(seen, read, "{what}");
    }
}

#[test]
fn rubbish_tells_nothing() {
    let rubbish = host(|heard| {
        let names =
            ["session.updated", "message.updated", "message.part.updated", "message.removed"];
        for name in names {
            heard.hear(&Event::read(name, &Value::Null));
            heard.hear(&Event::read(name, &json!({ "sessionID": 7, "info": [], "part": "x" })));
            heard.hear(&Event::read(
                name,
                &json!({ "sessionID": "ses_parent", "info": null, "part": [] }),
            ));
        }
    });
    assert_eq!(told(&rubbish).0, json!("plan"));
}

#[test]
fn the_memory_is_bounded() {
    let others = |count: u32| {
        host(|heard| {
            (0..count).for_each(|n| {
                session(heard, &json!({ "id": format!("ses_{n}"), "agent": "plan" }))
            });
        })
    };
    assert_eq!(told(&others(999)).1, 0);
    assert_eq!(told(&others(1_000)).1, 2, "all is forgotten and read again");
}
