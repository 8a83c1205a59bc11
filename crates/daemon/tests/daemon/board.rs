//! The board, as a view reads it.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::local_host::{Daemon, LocalHost, PATIENCE};
use crate::opencode::{Host, OpenCode};

/// Long enough for a step. A page comes as soon as there is something to tell.
const LONG_MS: u64 = 2_000;

/// A view of the board that is kept up to date, page by page.
struct View {
    peer: Connection,
    page: Value,
    rows: BTreeMap<String, Value>,
}

impl View {
    fn open(daemon: &Daemon<'_>) -> Self {
        let mut peer = daemon.client();
        let page = peer.data(json!({ "what": "board", "finished": 100 }));
        assert_eq!(page["whole"], true, "{page}");
        let mut view = Self { peer, page: Value::Null, rows: BTreeMap::new() };
        view.take_in(page);
        view
    }

    fn take_in(&mut self, page: Value) {
        if page["whole"] == true {
            self.rows.clear();
        }
        for row in page["tasks"].as_array().unwrap() {
            self.rows.insert(row["id"].as_str().unwrap().to_owned(), row.clone());
        }
        for gone in page["gone"].as_array().into_iter().flatten() {
            self.rows.remove(gone.as_str().unwrap());
        }
        self.page = page;
    }

    /// Asks for what follows, without waiting for the answer.
    fn look_on(&mut self, wait_ms: u64) {
        let after = &self.page["next"];
        let request =
            json!({ "what": "board", "finished": 100, "after": after, "wait_ms": wait_ms });
        self.peer.send(json!({ "type": "request", "id": 5, "key": "k", "request": request }));
    }

    fn hear(&mut self) {
        let line = self.peer.next();
        assert_eq!((&line["type"], &line["id"]), (&json!("data"), &json!(5)), "{line}");
        self.take_in(line["data"]["of"].clone());
    }

    fn until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "it is not so: {:?}", self.rows);
            self.look_on(LONG_MS);
            self.hear();
            assert_eq!(self.page["whole"], false, "{}", self.page);
        }
    }

    fn until_row(&mut self, task: &str, key: &str, value: &str) {
        self.until(|view| view.rows.get(task).is_some_and(|row| row[key] == value));
    }
}

fn finish(host: &mut Host<'_>, session: &str, text: &str) {
    host.until(|opencode| opencode.said(session).len() % 2 == 1);
    host.opencode.finish(session, text);
    host.event("session.idle", session);
}

#[test]
fn v1_the_board_is_told_whole_and_then_as_it_changes() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut view = View::open(&daemon);
    assert!(view.rows.is_empty());
    assert_eq!(view.page["counts"]["slots"], 16);

    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let (one, two) = (host.launched(1, "call-1"), host.launched(2, "call-2"));
    host.until(|opencode| !opencode.said("ses_2").is_empty());
    view.until_row(&one, "stage", "working");
    view.until_row(&two, "stage", "working");
    assert_eq!(view.page["counts"]["working"], 2);

    finish(&mut host, "ses_1", "42 files");
    host.until(|opencode| !opencode.said("ses_p").is_empty());
    view.until_row(&one, "status", "completed");
    assert_eq!(view.page["tasks"].as_array().unwrap().len(), 1, "nothing happened to the other");
    assert_eq!(view.page["counts"]["completed"], 1);
    let runs = &view.rows[&one]["runs"];
    assert_eq!((&runs[0]["run"], &runs[0]["outcome"]), (&json!(0), &json!("completed")));

    let whole = View::open(&daemon).page;
    let ids: Vec<&Value> =
        whole["tasks"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!(one), &json!(two)], "in the order of launches");
}

#[test]
fn v1_what_a_helper_does_is_on_the_board_and_a_silent_board_says_nothing() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    host.until(|opencode| !opencode.said("ses_1").is_empty());
    let mut view = View::open(&daemon);
    let running = json!({ "status": "running", "input": { "filePath": "src/lib.rs" } });
    host.peer.send(json!({ "type": "event", "name": "message.part.updated", "properties": {
        "sessionID": "ses_1", "part": { "type": "tool", "tool": "read", "state": running },
    }}));
    view.until_row(&task, "doing", "read src/lib.rs");
    view.until_row(&task, "stage", "working");

    let before = view.page["next"].clone();
    view.look_on(1);
    view.hear();
    assert_eq!((&view.page["tasks"], &view.page["next"]), (&json!([]), &before));
}

#[test]
fn v1_a_resumed_task_is_on_the_board_with_all_its_runs() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    finish(&mut host, "ses_1", "42 files");
    host.until(|opencode| !opencode.said("ses_p").is_empty());
    let mut view = View::open(&daemon);
    assert_eq!(view.rows[&task]["status"], "completed");
    host.call(2, "call-2", "background_task", json!({ "resume": task, "prompt": "again" }));
    host.answer(2);
    view.until_row(&task, "status", "resumed");
    let runs = view.rows[&task]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_eq!((&runs[0]["outcome"], &runs[1]["outcome"]), (&json!("completed"), &Value::Null));
}

#[test]
fn v1_a_forgotten_task_is_gone_from_the_board() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    let mut view = View::open(&daemon);
    assert_eq!(view.rows.len(), 1);
    let forgotten = daemon.client().data(json!({ "what": "forget", "tasks": [task] }));
    assert_eq!(forgotten["tasks"], 1);
    view.until(|view| view.rows.is_empty());
    assert_eq!((&view.page["gone"], &view.page["counts"]["working"]), (&json!([task]), &json!(0)));
}

#[test]
fn v1_who_comes_with_a_position_of_another_daemon_gets_the_whole_board() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let task = Host::connect(&daemon, "opencode-1", &mut opencode).launched(1, "call-1");
    let mut view = View::open(&daemon);
    daemon.kill();
    let daemon = home.start();
    view.peer = daemon.client();
    view.look_on(LONG_MS);
    view.hear();
    assert_eq!(view.page["whole"], true);
    assert!(view.rows.contains_key(&task));
}

#[test]
fn v1_a_view_that_stops_asking_is_not_answered() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut view = View::open(&daemon);
    view.look_on(PATIENCE.as_millis() as u64);
    view.peer.send(json!({ "type": "cancel", "id": 5 }));
    let mut opencode = OpenCode::new();
    Host::connect(&daemon, "opencode-1", &mut opencode).launched(1, "call-1");
    view.peer
        .send(json!({ "type": "request", "id": 9, "key": "k", "request": { "what": "status" } }));
    let next = view.peer.next();
    assert_eq!((&next["id"], &next["data"]["of"]["unfinished"]), (&json!(9), &json!(1)));
}

#[test]
fn v1_clearing_what_a_board_shows_as_finished_leaves_what_ended_since() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let (one, two) = (host.launched(1, "call-1"), host.launched(2, "call-2"));
    finish(&mut host, "ses_1", "42 files");
    host.until(|opencode| !opencode.said("ses_p").is_empty());
    let mut view = View::open(&daemon);
    view.until_row(&one, "status", "completed");
    // A moment later, by the daemon's clock.
    let ended = view.rows[&one]["ended"].as_u64().unwrap();
    view.until(|view| view.page["now"].as_u64().unwrap() > ended);
    let seen = view.page["now"].clone();
    finish(&mut host, "ses_2", "7 files");
    host.until(|opencode| opencode.said("ses_p").len() > 1);
    let cleared = daemon.client().data(json!({ "what": "forget-finished", "by": seen }));
    assert_eq!(cleared, json!({ "tasks": 1, "unfinished": 0 }));
    view.until(|view| !view.rows.contains_key(&one));
    view.until_row(&two, "status", "completed");
}
