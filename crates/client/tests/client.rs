//! The client against a daemon that a test plays itself, line by line.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use legwork_client::{Answered, Client, Daemon, Fault, Habits, Record, Start, Trouble};
use legwork_machine::{Folders, lock};
use legwork_protocol::api::board::Glance;
use legwork_protocol::api::{Answer, Refusal, Request};
use legwork_protocol::line::{FromDaemon, LINE_VERSION, Role, ToDaemon, decode_to_daemon, encode};
use legwork_protocol::tools::tools;
use legwork_protocol::view::News;
use legwork_protocol::{CallKey, TaskId, Time};
use serde_json::{Value, json};
use tempfile::TempDir;

fn home() -> TempDir {
    let private = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().unwrap()
}

fn folders(home: &TempDir) -> Folders {
    let at = |name: &str| home.path().join(name);
    Folders {
        config: at("config.toml"),
        store: at("store"),
        sessions: at("sessions"),
        socket: at("s.sock"),
        log: at("daemon.log"),
    }
}

/// A daemon that plays one part for each connection, one after the other, and is gone then.
fn daemon(folders: &Folders, parts: Vec<fn(&mut Peer)>) -> JoinHandle<()> {
    let listener = UnixListener::bind(&folders.socket).unwrap();
    let socket = folders.socket.clone();
    let lock = locked(folders, Some(&socket));
    thread::spawn(move || {
        for part in parts {
            part(&mut Peer(BufReader::new(listener.accept().unwrap().0)));
        }
        // First, so that nobody takes this process for a daemon that has lost its socket.
        drop(lock);
        drop(listener);
        fs::remove_file(socket).unwrap();
    })
}

/// The lock of a daemon that listens there, in another container by its record: a client that comes
/// too late finds nobody on the socket, and the signal that it sends then would end this process.
fn locked(folders: &Folders, socket: Option<&Path>) -> File {
    fs::create_dir_all(&folders.store).unwrap();
    let mut lock = File::create(folders.store.join("legwork.lock")).unwrap();
    lock.lock().unwrap();
    let mut record = Record::of_this_process("9.9.9", 1);
    record.socket = socket.map(Path::to_owned);
    record.mark = "1-1-00000000".to_owned();
    lock.write_all(record.text().as_bytes()).unwrap();
    lock
}

struct Peer(BufReader<UnixStream>);

impl Peer {
    fn hear(&mut self) -> ToDaemon {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).unwrap();
        decode_to_daemon(&line).unwrap()
    }

    fn say(&mut self, line: &FromDaemon) {
        self.0.get_mut().write_all(&encode(line)).unwrap();
    }

    fn greet(&mut self) {
        assert!(matches!(self.hear(), ToDaemon::Hello { role: Role::Client, .. }));
        self.say(&hello());
    }

    fn hear_call(&mut self) -> (u64, CallKey) {
        match self.hear() {
            ToDaemon::Call { id, key, context: None, .. } => (id, key),
            other => panic!("{other:?}"),
        }
    }

    fn hear_keyed(&mut self) -> (u64, CallKey) {
        match self.hear() {
            ToDaemon::Request { id, key, .. } => (id, key),
            other => panic!("{other:?}"),
        }
    }

    fn hear_request(&mut self) -> (u64, Request) {
        match self.hear() {
            ToDaemon::Request { id, request, .. } => (id, request),
            other => panic!("{other:?}"),
        }
    }
}

fn no() -> Refusal {
    Refusal::BadRequest("no".to_owned())
}

fn hello() -> FromDaemon {
    FromDaemon::Hello { version: LINE_VERSION, build: "9.9.9".to_owned(), tools: tools() }
}

fn connect(folders: &Folders) -> Result<Client, Fault> {
    Client::connect(folders, Role::Client, Start::Never)
}

/// A newer program that starts none would end the daemon of others for nothing.
#[test]
fn i3_whoever_would_start_no_daemon_says_so() {
    let home = home();
    let folders = folders(&home);
    for start in [Start::Never, Start::IfNeeded] {
        let daemon = daemon(
            &folders,
            vec![|peer| {
                let ToDaemon::Hello { starts, .. } = peer.hear() else { panic!() };
                peer.say(&hello());
                let (id, _) = peer.hear_request();
                let data = if starts { Answer::Done } else { Answer::Mail(Vec::new()) };
                peer.say(&FromDaemon::Data { id, data });
            }],
        );
        let mut client = Client::connect(&folders, Role::Client, start).unwrap();
        let answered: Answer = client.request(Request::Mail).unwrap().unwrap();
        assert_eq!(matches!(answered, Answer::Done), start == Start::IfNeeded);
        daemon.join().unwrap();
    }
}

#[test]
fn a_call_gives_signs_of_life_and_then_its_answer() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![|peer| {
            peer.greet();
            let (id, _) = peer.hear_call();
            peer.say(&FromDaemon::Progress { id, left: 1, waited_ms: 0, text: "still".into() });
            peer.say(&FromDaemon::Answer { id: id + 7, text: "not yours".into(), task: None });
            peer.say(&FromDaemon::refused(id, no()));
        }],
    );
    let mut client = connect(&folders).unwrap();
    let mut signs = Vec::new();
    let answered =
        client.call(None, "background_list", Value::Null, &mut |sign| signs.push(sign.to_owned()));
    assert_eq!(answered.unwrap(), Answered { refused: true, text: "no".into() });
    assert_eq!(signs, ["still"]);
    daemon.join().unwrap();
}

#[test]
fn l6_a_call_whose_link_breaks_is_sent_again_under_the_same_key() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![
            |peer| {
                peer.greet();
                let (id, key) = peer.hear_call();
                peer.say(&FromDaemon::Progress {
                    id,
                    left: 1,
                    waited_ms: 0,
                    text: key.to_string(),
                });
                peer.0.get_mut().write_all(b"{\"type\":\"ans").unwrap();
            },
            |peer| {
                peer.greet();
                for _ in 0..2 {
                    let (id, key) = peer.hear_call();
                    peer.say(&FromDaemon::Answer { id, text: key.to_string(), task: None });
                }
            },
        ],
    );
    let mut client = connect(&folders).unwrap();
    let mut before = String::new();
    let first =
        client.call(None, "background_list", Value::Null, &mut |key| before = key.to_owned());
    assert_eq!(first.unwrap().text, before);
    let second = client.call(None, "background_list", Value::Null, &mut |_| {}).unwrap();
    assert_ne!(second.text, before);
    daemon.join().unwrap();
}

#[test]
fn l6_a_call_that_persists_outlives_links_and_daemons_under_one_key() {
    let home = home();
    let folders = folders(&home);
    let breaks: fn(&mut Peer) = |peer| {
        peer.greet();
        let (id, key) = peer.hear_call();
        peer.say(&FromDaemon::Progress { id, left: 1, waited_ms: 0, text: key.to_string() });
    };
    let first = daemon(&folders, vec![breaks, breaks]);
    let client = connect(&folders).unwrap().persist(Duration::from_secs(60));
    let calling = thread::spawn(move || {
        let (mut client, mut keys) = (client, Vec::new());
        let answered =
            client.call(None, "background_list", Value::Null, &mut |key| keys.push(key.to_owned()));
        (answered.unwrap().text, keys)
    });
    // For a while nobody listens.
    first.join().unwrap();
    let answers: fn(&mut Peer) = |peer| {
        peer.greet();
        let (id, key) = peer.hear_call();
        peer.say(&FromDaemon::Answer { id, text: key.to_string(), task: None });
    };
    let second = daemon(&folders, vec![answers]);
    let (last, keys) = calling.join().unwrap();
    assert_eq!(keys, [last.clone(), last]);
    second.join().unwrap();
}

#[test]
fn data_is_read_and_a_refusal_is_told_apart() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![|peer| {
            peer.greet();
            let (id, request) = peer.hear_request();
            assert_eq!(request, Request::Log { task: "bg_1".into() });
            peer.say(&FromDaemon::Data { id, data: Answer::Log(Vec::new()) });
            let (id, _) = peer.hear_request();
            peer.say(&FromDaemon::refused(id, no()));
            let (id, _) = peer.hear_request();
            peer.say(&FromDaemon::Data { id, data: Answer::Done });
        }],
    );
    let mut client = connect(&folders).unwrap();
    let mut log = || client.request::<Vec<News>>(Request::Log { task: "bg_1".into() });
    assert_eq!(log().unwrap(), Ok(Vec::new()));
    assert_eq!(log().unwrap(), Err(no()));
    assert!(matches!(log(), Err(Fault::Unfitting(_))));
    daemon.join().unwrap();
}

#[test]
fn news_come_one_by_one_until_the_daemon_says_bye() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![|peer| {
            peer.greet();
            let (id, _) = peer.hear_request();
            let task = TaskId::from_number(1);
            let line = "completed".into();
            let news = News { at: Time(5), task, run: 0, line, detail: false };
            peer.say(&FromDaemon::News { id, news });
            peer.say(&FromDaemon::Bye { why: "it is told to".into(), leaving: true });
        }],
    );
    let mut watch = connect(&folders).unwrap().follow().unwrap();
    assert_eq!(watch.next().unwrap().unwrap().line, "completed");
    assert!(matches!(watch.next(), Some(Err(Fault::Leaving))));
    daemon.join().unwrap();
}

#[test]
fn a_leaving_daemon_is_waited_for_until_it_is_gone() {
    let home = home();
    let folders = folders(&home);
    let first = daemon(
        &folders,
        vec![|peer| {
            peer.hear();
            peer.say(&FromDaemon::Bye { why: "leaving".into(), leaving: true });
        }],
    );
    let fault = connect(&folders).unwrap_err();
    assert!(matches!(fault, Fault::NotRunning), "{fault}");
    first.join().unwrap();
}

#[test]
fn being_turned_away_and_another_version_are_said_in_words() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![
            |peer| {
                peer.hear();
                peer.say(&FromDaemon::Bye { why: "too many".into(), leaving: false });
            },
            |peer| {
                peer.0.get_mut().write_all(b"{\"type\":\"hello\",\"version\":99}\n").unwrap();
            },
            |peer| {
                peer.0.get_mut().write_all(b"SSH-2.0\r\n").unwrap();
            },
        ],
    );
    let why = connect(&folders).unwrap_err().to_string();
    assert_eq!(why, "The legwork daemon said: too many");
    let why = connect(&folders).unwrap_err().to_string();
    assert!(why.contains("version 99"), "{why}");
    assert!(matches!(connect(&folders), Err(Fault::Garbled(_))));
    daemon.join().unwrap();
}

#[test]
fn the_raw_parts_begin_with_the_hello_and_lose_nothing() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![|peer| {
            peer.hear();
            let mut bytes = encode(&hello());
            bytes.extend_from_slice(b"{\"type\":\"want\",\"events\":[]}\n{\"type\"");
            peer.0.get_mut().write_all(&bytes).unwrap();
            peer.0.get_mut().write_all(b":\"rest\"}\n").unwrap();
        }],
    );
    let (mut stream, mut read) = connect(&folders).unwrap().into_parts();
    stream.read_to_end(&mut read).unwrap();
    let mut expected = encode(&hello());
    expected.extend_from_slice(b"{\"type\":\"want\",\"events\":[]}\n{\"type\":\"rest\"}\n");
    assert_eq!(read, expected);
    daemon.join().unwrap();
}

#[test]
fn nobody_listening_is_said_with_what_to_do() {
    let home = home();
    let folders = folders(&home);
    assert!(matches!(connect(&folders), Err(Fault::NotRunning)));
    drop(UnixListener::bind(&folders.socket).unwrap());
    let fault = connect(&folders).unwrap_err().to_string();
    assert!(fault.contains("legwork daemon start"), "{fault}");
}

#[test]
fn g1_a_socket_in_a_folder_of_others_is_not_used() {
    let home = home();
    let folders = folders(&home);
    let _listener = UnixListener::bind(&folders.socket).unwrap();
    let _lock = locked(&folders, Some(&folders.socket));
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(connect(&folders), Err(Fault::Machine(_))));
}

#[test]
fn p9_the_daemon_is_found_by_its_record_wherever_it_listens() {
    let home = home();
    let real = folders(&home);
    let daemon = daemon(&real, vec![|peer| peer.greet()]);
    let other = Folders { socket: home.path().join("other/legwork.sock"), ..real };
    assert_eq!(connect(&other).unwrap().into_parts().1, encode(&hello()));
    daemon.join().unwrap();
}

#[test]
fn p9_a_socket_that_another_daemon_has_made_is_not_used() {
    let home = home();
    let folders = folders(&home);
    let _other = UnixListener::bind(&folders.socket).unwrap();
    // Left by a daemon that was killed: its lock is free.
    drop(locked(&folders, Some(&folders.socket)));
    assert!(matches!(connect(&folders), Err(Fault::NotRunning)));
}

#[test]
fn p9_who_holds_the_lock_and_cannot_be_reached_is_named_at_once() {
    let home = home();
    let folders = folders(&home);
    let nobody = home.path().join("gone.sock");
    let lock = locked(&folders, Some(&nobody));
    let fault = connect(&folders).unwrap_err().to_string();
    assert!(fault.contains("another container"), "{fault}");
    lock.set_len(0).unwrap();
    let fault = connect(&folders).unwrap_err().to_string();
    assert!(fault.contains("legwork.lock"), "{fault}");
}

#[test]
fn p9_a_daemon_in_another_container_has_ended_when_it_lets_go_of_the_store() {
    let home = home();
    let folders = folders(&home);
    let listener = UnixListener::bind(&folders.socket).unwrap();
    // Its number is that of another process here, which does not end.
    let lock = locked(&folders, Some(&folders.socket));
    let daemon = thread::spawn(move || {
        let mut peer = Peer(BufReader::new(listener.accept().unwrap().0));
        peer.greet();
        let (id, _) = peer.hear_request();
        let data = json!({
            "pid": std::process::id(), "build": "9.9.9", "started": 1, "store": "", "log": "",
            "healthy": true, "unfinished": 0, "tasks": 0, "at_work": 0, "pending": 0, "hosts": [],
        });
        let data = Answer::Status(serde_json::from_value(data).unwrap());
        peer.say(&FromDaemon::Data { id, data });
        assert_eq!(peer.hear_request().1, Request::Shutdown);
        drop(lock);
    });
    connect(&folders).unwrap().leave().unwrap();
    daemon.join().unwrap();
}

#[test]
fn what_the_daemon_would_not_read_is_not_sent() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![|peer| {
            peer.greet();
            let (id, _) = peer.hear_call();
            peer.say(&FromDaemon::Answer { id, text: "fine".into(), task: None });
        }],
    );
    let mut client = connect(&folders).unwrap();
    let huge = json!({ "task_id": "x".repeat(17 << 20) });
    let refused = client.call(None, "background_cancel", huge, &mut |_| {});
    assert!(matches!(refused, Err(Fault::TooLong(_))));
    assert_eq!(
        client.call(None, "background_list", Value::Null, &mut |_| {}).unwrap().text,
        "fine"
    );
    daemon.join().unwrap();
}

const HABITS: Habits = Habits { idle_max: Duration::from_secs(60), hears_soon: true };

/// What asks the daemon in a runtime.
fn in_a_runtime<T>(asks: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(asks)
}

/// Those that a broken link was asked with.
static KEYS: Mutex<Vec<CallKey>> = Mutex::new(Vec::new());

#[test]
fn l6_requests_that_share_a_link_outlive_it_under_their_keys() {
    let home = home();
    let folders = folders(&home);
    let breaks: fn(&mut Peer) = |peer| {
        peer.greet();
        let keys = [peer.hear_keyed().1, peer.hear_keyed().1];
        assert_ne!(keys[0], keys[1]);
        lock(&KEYS).extend(keys);
    };
    let daemon = daemon(
        &folders,
        vec![breaks, |peer| {
            peer.greet();
            let (first, first_key) = peer.hear_keyed();
            let (second, second_key) = peer.hear_keyed();
            assert_eq!(*lock(&KEYS), [first_key, second_key]);
            // The later one first: each is told apart by its number.
            peer.say(&FromDaemon::refused(second, no()));
            peer.say(&FromDaemon::Data { id: first, data: Answer::Done });
            assert_eq!(peer.0.read(&mut [0]).unwrap(), 0, "nothing else is said");
        }],
    );
    in_a_runtime(async {
        let daemon = Daemon::new(folders.clone(), HABITS);
        let (one, other) = tokio::join!(
            daemon.request::<Answer>(Request::Mail),
            daemon.request::<Answer>(Request::Agents)
        );
        assert_eq!(one.unwrap(), Answer::Done);
        assert!(matches!(other, Err(Trouble::Refused(refusal)) if refusal == no()));
        assert_eq!(daemon.build(), "9.9.9");
    });
    daemon.join().unwrap();
}

#[test]
fn v8_who_asks_once_hears_of_the_link_that_broke_and_then_reads_the_whole_board() {
    let home = home();
    let folders = folders(&home);
    let part: fn(&mut Peer) = |peer| {
        peer.greet();
        for is_first in [true, false] {
            let (id, request) = peer.hear_request();
            let Request::Board(Glance { after, .. }) = request else { panic!("{request:?}") };
            assert_eq!(after.is_none(), is_first);
            if is_first {
                peer.say(&FromDaemon::Data { id, data: board() });
            }
        }
    };
    let daemon = daemon(&folders, vec![part, part]);
    in_a_runtime(async {
        let (daemon, mut board) = (Daemon::new(folders.clone(), HABITS).once(), Glance::default());
        for _ in 0..2 {
            assert!(daemon.next(&mut board).await.unwrap().whole);
            let Err(Trouble::Away(fault)) = daemon.next(&mut board).await else { panic!() };
            assert!(matches!(*fault, Fault::Broken(_)), "{fault}");
        }
    });
    daemon.join().unwrap();
}

fn board() -> Answer {
    let counts = json!({
        "asking": 0, "working": 0, "queued": 0, "completed": 0, "failed": 0, "cancelled": 0,
        "slots": 0,
    });
    let next = json!({ "board": 1, "revision": 1 });
    let page = json!({
        "whole": true, "tasks": [], "counts": counts, "now": 1, "next": next, "healthy": true,
    });
    Answer::Board(serde_json::from_value(page).unwrap())
}

#[test]
fn a_request_that_is_dropped_is_called_off_and_a_link_without_any_is_closed() {
    let home = home();
    let folders = folders(&home);
    let daemon = daemon(
        &folders,
        vec![|peer| {
            peer.greet();
            let (dropped, _) = peer.hear_keyed();
            let (id, _) = peer.hear_keyed();
            peer.say(&FromDaemon::Data { id, data: Answer::Done });
            assert_eq!(peer.hear(), ToDaemon::Cancel { id: dropped });
            assert_eq!(peer.0.read(&mut [0]).unwrap(), 0, "the link is closed");
        }],
    );
    in_a_runtime(async {
        let habits = Habits { idle_max: Duration::ZERO, ..HABITS };
        let asks = Daemon::new(folders.clone(), habits);
        tokio::select! {
            biased;
            answered = asks.request::<Answer>(Request::Mail) => panic!("{answered:?}"),
            answered = asks.request::<Answer>(Request::Agents) => drop(answered.unwrap()),
        }
        tokio::task::spawn_blocking(|| daemon.join().unwrap()).await.unwrap();
    });
}
