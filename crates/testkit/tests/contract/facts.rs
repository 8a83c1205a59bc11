//! What only the real host can show, or shows otherwise than a client of the virtual one could ask
//! for: the order of single events, early aborts, undo, what a password does, what a plugin can
//! reach.

use legwork_testkit::{
    Client, DEADLINE, Event, Events, Home, Model, Request, block_on, poll, script,
};
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::subject::{Subject, host};

/// A session of its own, and the events from now on.
fn opened(host: &mut Subject) -> (String, Client, Events) {
    let session = host.open().to_string();
    let events = block_on(host.client.events());
    (session, host.client.clone(), events)
}

fn kinds(events: &Events, session: &str) -> Vec<String> {
    let mine = events.all().into_iter().filter(|event| event.session() == Some(session));
    mine.map(|event| event.kind).collect()
}

fn idles(events: &[Event], session: &str) -> usize {
    events.iter().filter(|event| event.is("session.idle", session)).count()
}

/// Waits until the answer is completed, which may be after the session was idle.
fn until_completed(host: &mut Subject, session: &str) {
    host.until(|host| {
        let messages = block_on(host.client.messages(session)).ok();
        messages[1]["info"]["time"]["completed"].is_u64()
    });
}

async fn done(client: &Client, events: &Events, session: &str, text: &str) {
    let mark = events.len();
    client.say(session, text).await;
    events.until_event(mark, "session.idle", session).await;
}

#[test]
fn an_error_is_announced_then_idle_then_the_message_then_idle() {
    let mut host = host();
    let (session, client, events) = opened(&mut host);
    block_on(async {
        client.say(&session, &script(&["fail 401 no"])).await;
        let two = |all: &[Event]| (idles(all, &session) == 2).then_some(());
        events.until_all("two idles", two).await;
    });
    let step = |event: Event| match &*event.kind {
        _ if event.session() != Some(&*session) => None,
        "message.updated" => event.properties["info"].get("error").map(|_| "message"),
        "session.error" => Some("error"),
        "session.idle" => Some("idle"),
        _ => None,
    };
    let steps: Vec<&str> = events.all().into_iter().filter_map(step).collect();
    assert_eq!(steps, ["error", "idle", "message", "idle"]);
}

#[test]
fn a_prompt_between_the_two_idles_of_an_error_starts_no_turn() {
    let mut host = host();
    // It is a matter of some 100 ms, so one that came too late tells nothing; if all ten do, the
    // virtual host's word has to do.
    for _ in 0..10 {
        let (session, client, events) = opened(&mut host);
        let swallowed = block_on(async {
            client.say(&session, &script(&["fail 401 no"])).await;
            events.until_event(0, "session.idle", &session).await;
            client.say(&session, &script(&["say swallowed"])).await;
            let two = |all: &[Event]| (idles(all, &session) > 1).then(|| all.to_vec());
            let all = events.until_all("two idles", two).await;
            let part = |event: &Event| {
                let text = event.properties["part"]["text"].as_str().unwrap_or_default();
                event.session() == Some(&*session) && text.contains("say swallowed")
            };
            all.iter().any(part)
        });
        if !swallowed {
            continue;
        }
        host.wait(1_000);
        let messages = block_on(client.texts(&session));
        assert_eq!(messages.last().unwrap().0, "user");
        assert_eq!(block_on(client.status()).get(&*session), None);
        let all = block_on(client.messages(&session)).ok();
        let last = &all.as_array().unwrap().last().unwrap()["info"]["id"];
        block_on(async {
            let mark = events.len();
            client.prompt(&session, json!({ "messageID": last, "parts": [] })).await.ok();
            events.until_event(mark, "session.idle", &session).await;
        });
        assert_eq!(block_on(client.texts(&session)).last().unwrap().1, "swallowed");
        block_on(done(&client, &events, &session, &script(&["count"])));
        assert_eq!(block_on(client.texts(&session)).last().unwrap().1, "3");
        return;
    }
}

#[test]
fn a_turn_aborted_in_a_retry_is_completed_with_neither_finish_nor_error() {
    let mut host = host();
    let (session, client, events) = opened(&mut host);
    block_on(async {
        client.say(&session, &script(&["fail 500 no"])).await;
        let retries = |event: &Event| {
            event.is("session.status", &session) && event.properties["status"]["type"] == "retry"
        };
        let retry = events.until("a retry", retries).await;
        assert_eq!(retry.properties["status"]["attempt"], 1);
        assert!(retry.properties["status"]["next"].as_u64().is_some());
        client.abort(&session).await.ok();
        events.until_event(0, "session.idle", &session).await;
    });
    until_completed(&mut host, &session);
    host.wait(1_000);
    let info = &block_on(client.messages(&session)).ok()[1]["info"];
    assert!(info["time"]["completed"].as_u64().is_some());
    assert_eq!((&info["finish"], &info["error"]), (&Value::Null, &Value::Null));
    assert!(!kinds(&events, &session).contains(&"session.error".to_owned()));
    assert_eq!(idles(&events.all(), &session), 1);
}

#[test]
fn a_turn_aborted_before_its_request_has_an_error_and_announces_it_or_not() {
    let mut host = host();
    let (session, client, events) = opened(&mut host);
    block_on(async {
        client.say(&session, &script(&["hang"])).await;
        let answer = |event: &Event| {
            event.is("message.updated", &session) && event.properties["info"]["role"] == "assistant"
        };
        events.until("the open answer", answer).await;
        client.abort(&session).await.ok();
        events.until_event(0, "session.idle", &session).await;
    });
    until_completed(&mut host, &session);
    host.wait(1_000);
    let info = &block_on(client.messages(&session)).ok()[1]["info"];
    assert_eq!(info["error"]["name"], "MessageAbortedError");
    assert!(info["time"]["completed"].as_u64().is_some());
    // With a request under way it is announced, with two idles; without one mostly not.
    let announced = kinds(&events, &session).contains(&"session.error".to_owned());
    assert!(idles(&events.all(), &session) <= 1 + usize::from(announced));
}

/// The providers are read in an instance's first turn. Here that waits for a file.
const WAITS: &str = r#"
import fs from "node:fs";
const loader = async () => {
  fs.writeFileSync("begun", "");
  while (!fs.existsSync("go")) await new Promise((done) => setTimeout(done, 15));
  return {};
};
export const waits = async () => ({ auth: { provider: "fake", methods: [], loader } });
"#;

#[test]
fn an_abort_in_the_very_first_turn_spoils_the_instance_until_it_is_disposed() {
    let model = Model::start();
    let key = json!({ "fake": { "type": "api", "key": "none" } }).to_string();
    let home = Home::build(&model).without_catalogue().plugin("waits.js", WAITS);
    let home = home.env("OPENCODE_AUTH_CONTENT", &key).make();
    block_on(async {
        let serve = home.serve().await;
        let client = serve.client();
        let events = client.events().await;
        let session = client.create(json!({ "title": "t" })).await;
        client.say(&session, &script(&["say never"])).await;
        let begun = || home.project().join("begun").exists().then_some(());
        poll(DEADLINE, begun).await.unwrap();
        client.abort(&session).await.ok();
        events.until_event(0, "session.idle", &session).await;
        std::fs::write(home.project().join("go"), "").unwrap();
        let answers = async || {
            let events = client.events().await;
            let session = client.create(json!({ "title": "t" })).await;
            done(&client, &events, &session, &script(&["say fine"])).await;
            client.texts(&session).await.len() > 1
        };
        assert!(!answers().await, "an abort in the first turn is harmless now");
        client.call("POST", "/instance/dispose", Some(json!({}))).await.ok();
        assert!(answers().await);
    });
}

#[test]
fn a_connection_that_is_cut_is_tried_again() {
    let mut host = host();
    let (session, client, events) = opened(&mut host);
    block_on(async {
        client.say(&session, &script(&["drop"])).await;
        let retries = |event: &Event| {
            event.is("session.status", &session) && event.properties["status"]["type"] == "retry"
        };
        events.until("a retry", retries).await;
        client.abort(&session).await.ok();
    });
}

#[test]
fn a_message_sent_again_keeps_its_place_and_gets_a_new_time() {
    let mut host = host();
    let (session, client, events) = opened(&mut host);
    let ids = ["msg_000000000001aaaaaaaaaaaaaa", "msg_000000000002aaaaaaaaaaaaaa"];
    block_on(async {
        for id in [ids[0], ids[1], ids[0]] {
            let part = json!({ "type": "text", "id": id.replace("msg", "prt"), "text": "words" });
            let mark = events.len();
            client.prompt(&session, json!({ "messageID": id, "parts": [part] })).await.ok();
            events.until_event(mark, "session.idle", &session).await;
        }
    });
    let messages = block_on(client.messages(&session)).ok();
    let messages = messages.as_array().unwrap();
    assert_eq!(messages.len(), 5);
    assert_eq!(messages[0]["info"]["id"], ids[0]);
    assert_eq!(messages[4]["info"]["parentID"], ids[0]);
    let created = |place: usize| messages[place]["info"]["time"]["created"].as_u64().unwrap();
    assert!(created(0) > created(3));
}

#[test]
fn any_prompt_makes_an_undo_permanent() {
    let mut host = host();
    for extra in [json!({}), json!({ "noReply": true }), json!({ "agent": "nope" })] {
        let (session, client, events) = opened(&mut host);
        block_on(async {
            done(&client, &events, &session, &script(&["say one"])).await;
            done(&client, &events, &session, &script(&["say two"])).await;
            let messages = client.messages(&session).await.ok();
            let undone = messages[2]["info"]["id"].as_str().unwrap().to_owned();
            client.revert(&session, &undone).await.ok();
            assert_eq!(client.get(&session).await.ok()["revert"]["messageID"], *undone);
            assert_eq!(client.texts(&session).await.len(), 4);
            let mut body = json!({ "parts": [{ "type": "text", "text": "words" }] });
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            client.prompt(&session, body).await.ok();
            let removed = |event: &Event| {
                event.is("message.removed", &session) && event.properties["messageID"] == *undone
            };
            events.until("the message goes", removed).await;
        });
        host.until(|host| block_on(host.client.get(&session)).ok().get("revert").is_none());
    }
}

#[test]
fn an_undo_is_shown_taken_back_and_refused_while_busy() {
    let mut host = host();
    let (session, client, events) = opened(&mut host);
    block_on(async {
        done(&client, &events, &session, &script(&["say one"])).await;
        let messages = client.messages(&session).await.ok();
        let prompt = messages[0]["info"]["id"].as_str().unwrap();
        client.revert(&session, prompt).await.ok();
        client.unrevert(&session).await.ok();
        assert_eq!(client.get(&session).await.ok().get("revert"), None);
        assert_eq!(client.texts(&session).await.len(), 2);
        client.say(&session, &script(&["hang"])).await;
        let hangs =
            |one: &Request| one.session.as_deref() == Some(&*session) && one.said("user", "hang");
        host.running.model.wait_for("the hang", hangs).await;
        let busy = client.revert(&session, prompt).await;
        assert_eq!((busy.status, &busy.body["_tag"]), (409, &json!("SessionBusyError")));
        client.abort(&session).await.ok();
    });
}

#[test]
fn one_message_can_be_read_alone() {
    let mut host = host();
    let (session, client, events) = opened(&mut host);
    block_on(async {
        done(&client, &events, &session, &script(&["say one"])).await;
        let messages = client.messages(&session).await.ok();
        let id = messages[1]["info"]["id"].as_str().unwrap();
        let read = |session: &str, id: &str| {
            let path = format!("/session/{session}/message/{id}");
            let client = client.clone();
            async move { client.call("GET", &path, None).await }
        };
        assert_eq!(read(&session, id).await.ok(), messages[1]);
        assert_eq!(read(&session, "msg_unknown").await.status, 404);
        assert_eq!(read("ses_unknown", id).await.status, 404);
        assert_eq!(read(&session, "nope").await.status, 400);
    });
}

/// Calls the server from the inside when a turn has ended, and writes down what comes back.
const CALLS: &str = r#"
import fs from "node:fs";
export const calls = async ({ client }) => ({
  event: async ({ event }) => {
    if (event.type !== "session.idle") return;
    const status = await client._client.get({ url: "/session/status" });
    const toast = await client._client.post({
      url: "/tui/show-toast",
      body: { message: "m", variant: "info" },
      headers: { "content-type": "application/json" },
    });
    const said = { argv: process.argv, status: status.response.status, toast: toast.data };
    fs.renameSync((fs.writeFileSync("calls.tmp", JSON.stringify(said)), "calls.tmp"), "calls.json");
  },
});
"#;

#[test]
fn a_plugin_needs_no_password_and_a_client_does() {
    let model = Model::start();
    let home = Home::build(&model).without_catalogue().plugin("calls.js", CALLS).make();
    block_on(async {
        let serve = home.serve_with_password("secret").await;
        assert_eq!(Client::new(serve.url()).call("GET", "/session/status", None).await.status, 401);
        let client = serve.client();
        let session = client.create(json!({ "title": "t" })).await;
        client.ask(&session, &script(&["say hi"])).await;
        let file = home.project().join("calls.json");
        let read = || std::fs::read(&file).ok();
        let said = poll(DEADLINE, read).await.unwrap();
        let said: Value = serde_json::from_slice(&said).unwrap();
        assert_eq!((&said["status"], &said["toast"]), (&json!(200), &json!(true)));
        assert_eq!(said["argv"][2], "serve");
    });
}
