//! What goes away and comes back: the daemon, the front, the machine. A stream tells what is so,
//! and goes on by itself.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use legwork_client::Record;
use legwork_protocol::api::Refusal;
use legwork_protocol::line::{FromDaemon, LINE_VERSION, encode};
use legwork_testkit::legwork::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::http::{Asked, Events, token};
use crate::stage::{LIVE, Stage, own_port};

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn board(stage: &Stage) -> Events {
    Asked::get(stage.front(), "/api/board").bearing(&token(stage.front())).stream()
}

#[test]
fn v8_a_killed_daemon_is_told_and_the_next_one_gives_the_whole_board() {
    let stage = Stage::new();
    let task = stage.launch("say hello");
    let mut board = board(&stage);
    board.until("event: board\ndata: {\"whole\":true");
    board.until(&task);
    // A sign of life: nothing is on its way, and somebody waits for the next page.
    board.until("\n:\n");
    signal(stage.daemon(), Signal::KILL);
    board.until("event: trouble\ndata: {\"error\":");
    board.until("\"since\":");
    board.until("event: board\ndata: {\"whole\":true");
    board.until(&task);
    let next = stage.launch("say again");
    board.until(&next);
}

#[test]
fn v8_a_daemon_that_hangs_is_told_and_goes_on() {
    let stage = Stage::new();
    let mut board = board(&stage);
    board.until("event: board");
    let daemon = stage.daemon();
    signal(daemon, Signal::STOP);
    board.until("event: trouble");
    board.until("suspended");
    board.until(&format!("kill -CONT {daemon}"));
    signal(daemon, Signal::CONT);
    board.until("event: board\ndata: {\"whole\":true");
}

#[test]
fn v8_a_machine_that_slept_shows_what_is_so_now() {
    let stage = Stage::new();
    let mut board = board(&stage);
    board.until("event: board");
    let (front, daemon) = (stage.front().pid(), stage.daemon());
    [front, daemon].into_iter().for_each(|pid| signal(pid, Signal::STOP));
    [daemon, front].into_iter().for_each(|pid| signal(pid, Signal::CONT));
    let task = stage.launch("say hello");
    board.until(&task);
    signal(front, Signal::STOP);
    let second = stage.launch("say more");
    let done = stage.until(&second, "it is done", |task| task["status"] == "completed");
    assert_eq!(done["id"], second.as_str());
    signal(front, Signal::CONT);
    board.until(&second);
    board.until("\"status\":\"completed\"");
}

#[test]
fn v8_a_request_outlives_a_daemon_that_was_killed() {
    let stage = Stage::new();
    let task = stage.launch("ask to go on");
    stage.until(&task, "it asks", |task| task["questions"][0].is_object());
    let token = token(stage.front());
    signal(stage.daemon(), Signal::KILL);
    let cancel = Asked::post(stage.front(), &format!("/api/task/{task}/cancel"), "{}");
    let cancel = cancel.bearing(&token);
    // Who asks is told of a daemon that takes seconds to start, and asks again.
    let reply = eventually("it is answered", || {
        let reply = cancel.send();
        let says = |words: &&str| reply.status == 503 && reply.body.contains(words);
        let is_slow = ["was not ready within", "has said nothing for"].iter().any(says);
        (!is_slow).then_some(reply)
    });
    assert!([200, 409].contains(&reply.status), "{reply:?}");
    stage.until(&task, "it is over", |task| task["ended"].is_u64());
}

/// True when this text can be read on the page.
fn reads(text: &str) -> String {
    format!("document.body.innerText.includes({})", json!(text))
}

#[test]
fn v8_two_tabs_see_the_same() {
    let stage = Stage::new();
    let (one, other) = (stage.open(), stage.open());
    stage.launch("say for both");
    [&one, &other].into_iter().for_each(|page| drop(page.wait_for(&reads("say for both"))));
    one.close();
    stage.launch("say for one");
    other.wait_for(&reads("say for one"));
    other.wait_for(LIVE);
}

#[test]
fn v8_the_page_says_what_it_shows_while_the_daemon_is_away_and_goes_on_by_itself() {
    let stage = Stage::new();
    stage.launch("say before");
    let page = stage.open();
    page.wait_for(&reads("say before"));
    let daemon = stage.daemon();
    signal(daemon, Signal::STOP);
    page.wait_for(&reads("was suspended"));
    page.wait_for("/Last updated at \\d/.test(document.body.innerText)");
    page.wait_for(&format!("!({LIVE})"));
    page.wait_for(&reads("say before"));
    signal(daemon, Signal::CONT);
    page.wait_for(LIVE);
    signal(stage.daemon(), Signal::KILL);
    stage.launch("say after");
    page.wait_for(&reads("say after"));
    page.wait_for(&format!("{LIVE} && !/Last updated/.test(document.body.innerText)"));
    page.wait_for(&reads("say before"));
}

#[test]
fn v8_the_page_outlives_its_front_and_goes_on_with_the_next_one() {
    let mut stage = Stage::new();
    stage.kill_front();
    stage.start_front(own_port());
    stage.launch("say before");
    let page = stage.open();
    page.wait_for(&reads("say before"));
    let port = stage.kill_front();
    page.wait_for("/Last updated at \\d/.test(document.body.innerText)");
    page.wait_for(&reads("legwork ui"));
    page.wait_for(&reads("say before"));
    stage.start_front(port);
    // Another front has another token, and this tab has none of it.
    page.wait_for("/Run .?legwork ui.? again/.test(document.body.innerText)");
    page.wait_for(&reads("say before"));
    let second = stage.open();
    stage.launch("say after");
    [&second, &page].into_iter().for_each(|page| drop(page.wait_for(&reads("say after"))));
    page.wait_for(LIVE);
}

#[test]
fn v8_the_page_says_what_to_do_with_an_old_daemon() {
    let stage = Stage::new();
    let old = OldDaemon::new(&stage);
    let page = stage.context.open(&stage.front().address);
    page.wait_for(&reads("legwork daemon stop"));
    old.leave();
    page.wait_for(LIVE);
}

/// A daemon of an earlier version, as clients know it: it holds the records, greets, and refuses
/// what it does not know in the words that all of them have.
struct OldDaemon {
    asked: Arc<AtomicUsize>,
    record: Record,
    lock: File,
}

impl OldDaemon {
    fn new(stage: &Stage) -> Self {
        let (folder, store) = (stage.home.path("legwork"), stage.home.path("legwork/store"));
        fs::create_dir_all(&store).unwrap();
        let socket = folder.join("legwork.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut record = Record::of_this_process("0.0.9", LINE_VERSION);
        record.inode = fs::metadata(&socket).unwrap().ino();
        record.socket = Some(socket);
        let mut lock = File::create(store.join(legwork_machine::STORE_LOCK)).unwrap();
        lock.lock().unwrap();
        lock.write_all(record.text().as_bytes()).unwrap();
        let asked: Arc<AtomicUsize> = Arc::default();
        let heard = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut writer = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let line: Value = serde_json::from_str(&line).unwrap();
                    let answer = if line["type"] == "hello" {
                        FromDaemon::Hello {
                            version: LINE_VERSION,
                            build: "0.0.9".to_owned(),
                            tools: Vec::new(),
                        }
                    } else {
                        heard.fetch_add(1, Ordering::Relaxed);
                        let why = "The call could not be understood: unknown variant `board`";
                        let id = line["id"].as_u64().unwrap();
                        FromDaemon::refused(id, Refusal::BadRequest(why.to_owned()))
                    };
                    let _ = writer.write_all(&encode(&answer));
                }
            }
        });
        Self { asked, record, lock }
    }

    /// Ends as daemons do, which say so first. This process would be taken for one that has lost
    /// its socket, and ended by a signal.
    fn leave(mut self) {
        self.record.leaving = true;
        self.lock.rewind().unwrap();
        self.lock.write_all(self.record.text().as_bytes()).unwrap();
        fs::remove_file(self.record.socket.unwrap()).unwrap();
    }
}

#[test]
fn v8_an_old_daemon_is_named_with_what_to_do_and_its_successor_heals_the_page() {
    let stage = Stage::new();
    let old = OldDaemon::new(&stage);
    let mut board = board(&stage);
    board.until("event: trouble");
    board.until("older version");
    board.until("legwork daemon stop");
    assert!(old.asked.load(Ordering::Relaxed) > 0);
    let token = board_token(&stage);
    let refused = Asked::get(stage.front(), "/api/tasks").bearing(&token).send().with_status(501);
    assert!(refused.body.contains("legwork daemon stop"), "{refused:?}");
    old.leave();
    board.until("event: board\ndata: {\"whole\":true");
}

/// Another token is none: every code leads to the same.
fn board_token(stage: &Stage) -> String {
    let told = crate::http::enter(stage.front(), &stage.address()).with_status(200).json();
    told["token"].as_str().unwrap().to_owned()
}

#[test]
fn v2_a_conversation_comes_as_it_goes_on_and_ends_with_its_run() {
    let stage = Stage::new();
    let task = stage.launch("say **first** of all\nask to go on\nsay last");
    let asks = stage.until(&task, "it asks", |task| task["questions"][0].is_object());
    let token = token(stage.front());
    let path = format!("/api/task/{task}/conversation");
    let mut conversation = Asked::get(stage.front(), &path).bearing(&token).stream();
    conversation.until("event: page");
    conversation.until("first");
    let question = asks["questions"][0]["id"].as_str().unwrap();
    let body = json!({ "question": question, "reply": "once" }).to_string();
    let answer = format!("/api/task/{task}/answer");
    Asked::post(stage.front(), &answer, &body).bearing(&token).send().with_status(200);
    conversation.until("last");
    conversation.until("\"over\":true");
    // A second answer has nobody to go to.
    Asked::post(stage.front(), &answer, &body).bearing(&token).send().with_status(404);
    let result = Asked::get(stage.front(), &format!("/api/task/{task}/result")).bearing(&token);
    let result = result.send().with_status(200).json();
    assert!(result["blocks"].to_string().contains("paragraph"), "{result}");
    let resume = Asked::post(
        stage.front(),
        &format!("/api/task/{task}/resume"),
        &json!({ "prompt": "say more" }).to_string(),
    );
    resume.bearing(&token).send().with_status(200);
    stage.until(&task, "it went on", |task| task["resumes"] == 1 && task["ended"].is_u64());
    let clear = Asked::post(stage.front(), "/api/clear", r#"{"finished_by":9000000000000000}"#)
        .bearing(&token);
    assert_eq!(clear.send().with_status(200).json()["tasks"], 1);
    eventually("it is gone", || {
        let gone = Asked::get(stage.front(), &format!("/api/task/{task}")).bearing(&token).send();
        (gone.status == 404).then_some(())
    });
}
