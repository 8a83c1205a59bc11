//! The rules by which the page is for one person alone, each with the refusal that is its own.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use legwork_testkit::legwork::eventually;
use serde_json::json;

use crate::http::{Asked, connect, enter, exchange, token};
use crate::stage::Stage;

const STATIC: &str = "/";

#[test]
fn v3_only_this_machine_can_connect() {
    let stage = Stage::new();
    let port = stage.front().port;
    let listening = |table: &str| {
        let table = fs::read_to_string(table).unwrap_or_default();
        let wanted = format!(":{port:04X}");
        let local = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            let (local, _, state) = (words.next()?, words.next()?, words.next()?);
            (state == "0A" && local.ends_with(&wanted)).then(|| local.to_owned())
        };
        table.lines().filter_map(local).collect::<Vec<_>>()
    };
    // 127.0.0.1 in the order of the machine's bytes, and nothing for IPv6.
    assert_eq!(listening("/proc/net/tcp"), [format!("0100007F:{port:04X}")]);
    assert!(listening("/proc/net/tcp6").is_empty());
    assert!(TcpStream::connect(("::1", port)).is_err());
}

#[test]
fn v3_a_rebound_host_is_turned_away() {
    let stage = Stage::with_daemon();
    let front = stage.front();
    let token = token(front);
    for path in [STATIC, "/app.js", "/api/tasks", "/api/board"] {
        let asked = Asked::get(front, path).bearing(&token);
        for host in ["evil.test", &format!("evil.test:{}", front.port), "localhost", "127.0.0.1"] {
            let reply = asked.clone().with("host", host).send().with_status(421);
            assert!(reply.body.contains("legwork ui"), "{reply:?}");
        }
        assert_eq!(asked.clone().without("host").send().status, 421, "{path}");
    }
    Asked::get(front, "/api/tasks").bearing(&token).send().with_status(200);
}

#[test]
fn v3_a_request_of_another_origin_is_refused() {
    let stage = Stage::new();
    let (front, token) = (stage.front(), token(stage.front()));
    let task = stage.launch("ask to go on");
    let cancel = format!("/api/task/{task}/cancel");
    let post = Asked::post(front, &cancel, "{}").bearing(&token);
    let other = format!("http://127.0.0.1:{}", front.port ^ 1);
    for origin in ["null", "http://evil.test", other.as_str()] {
        post.clone().with("origin", origin).send().with_status(403);
        let get = Asked::get(front, "/api/tasks").bearing(&token);
        get.with("origin", origin).send().with_status(403);
    }
    post.clone().without("origin").send().with_status(403);
    for site in ["cross-site", "same-site"] {
        post.clone().with("sec-fetch-site", site).send().with_status(403);
        let get = Asked::get(front, "/app.js").with("sec-fetch-site", site);
        get.send().with_status(403);
    }
    assert_ne!(stage.task(&task)["status"], "cancelled");
    post.with("sec-fetch-site", "same-origin").send().with_status(200);
    stage.until(&task, "it is cancelled", |task| task["status"] == "cancelled");
}

#[test]
fn v3_without_the_token_there_is_nothing_to_see_or_do() {
    let stage = Stage::with_daemon();
    let front = stage.front();
    let record = fs::read_to_string(stage.home.path("legwork/ui.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let key = record["key"].as_str().unwrap();
    let gets = ["board", "tasks", "task/bg_00000000", "task/bg_00000000/conversation", "nothing"];
    let posts = ["clear", "task/bg_00000000/cancel", "code", "nothing"];
    let gets = gets.map(|path| Asked::get(front, &format!("/api/{path}")));
    let posts = posts.map(|path| Asked::post(front, &format!("/api/{path}"), "{}"));
    for asked in gets.iter().chain(&posts) {
        asked.send().with_status(401);
        asked.clone().bearing("").send().with_status(401);
        asked.clone().bearing(&"0".repeat(64)).send().with_status(401);
    }
    // Each secret opens its own door.
    Asked::get(front, "/api/tasks").bearing(key).send().with_status(401);
    let token = token(front);
    Asked::post(front, "/api/code", "{}").bearing(&token).send().with_status(401);
    Asked::get(front, "/api/tasks").bearing(&token).send().with_status(200);
    assert_eq!(token.len(), 64);
}

#[test]
fn v3_a_code_is_good_once() {
    let stage = Stage::new();
    let front = stage.front();
    enter(front, &front.address).with_status(200);
    let again = enter(front, &front.address).with_status(401);
    assert!(
        again.json()["error"].as_str().unwrap().contains("Run `legwork ui` again"),
        "{again:?}"
    );
    enter(front, &stage.address()).with_status(200);
    enter(front, "#code=0000").with_status(401);
}

#[test]
fn v3_every_answer_keeps_the_page_to_itself() {
    let stage = Stage::new();
    let front = stage.front();
    let asked = [
        (Asked::get(front, "/"), 200),
        (Asked::get(front, "/app.js"), 200),
        (Asked::get(front, "/nothing"), 404),
        (Asked::get(front, "/api/tasks"), 401),
        (Asked::get(front, "/").with("host", "evil.test"), 421),
    ];
    for (asked, status) in asked {
        let reply = asked.send().with_status(status);
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
             connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "x-frame-options: deny",
            "cache-control: no-store",
        ] {
            assert!(reply.head.contains(&format!("\r\n{header}\r\n")), "{header}: {reply:?}");
        }
        assert!(!reply.head.contains("access-control"), "{reply:?}");
        assert!(!reply.head.contains("set-cookie"), "{reply:?}");
    }
}

#[test]
fn v3_what_is_too_long_is_not_read() {
    let stage = Stage::with_daemon();
    let (front, token) = (stage.front(), token(stage.front()));
    let body = |bytes: usize| json!({ "tasks": [], "more": "x".repeat(bytes) }).to_string();
    let clear = |bytes| Asked::post(front, "/api/clear", &body(bytes)).bearing(&token).send();
    clear(60 << 10).with_status(200);
    let refused = clear(65 << 10).with_status(413);
    assert!(refused.json()["error"].as_str().unwrap().contains("too long"), "{refused:?}");
    let head = |bytes| Asked::get(front, "/").with("x-long", &"x".repeat(bytes)).send();
    head(8 << 10).with_status(200);
    head(32 << 10).with_status(431);
    // One that never says how long it is, and never ends.
    let chunked = Asked::post(front, "/api/clear", "").bearing(&token).without("content-length");
    let mut bytes = chunked.with("transfer-encoding", "chunked").bytes();
    for _ in 0..20 {
        bytes.extend(format!("2000\r\n{}\r\n", " ".repeat(0x2000)).into_bytes());
    }
    assert_eq!(exchange(front.port, &bytes).status, 413);
}

#[test]
fn v3_only_so_many_streams_are_open_at_once() {
    let stage = Stage::new();
    let (front, token) = (stage.front(), token(stage.front()));
    let board = Asked::get(front, "/api/board").bearing(&token);
    let mut open: Vec<_> = (0..8).map(|_| board.stream()).collect();
    open.iter_mut().for_each(|stream| stream.until("event: board"));
    let refused = board.send().with_status(503);
    assert!(refused.json()["error"].as_str().unwrap().contains("tabs"), "{refused:?}");
    // What is no stream is answered all the same.
    Asked::get(front, "/api/tasks").bearing(&token).send().with_status(200);
    drop(open.pop());
    let mut freed = eventually("a place is free", || {
        let mut stream = board.stream();
        let mut head = [0; 12];
        std::io::Read::read_exact(&mut stream.stream, &mut head).unwrap();
        (&head == b"HTTP/1.1 200").then_some(stream)
    });
    freed.until("event: board");
}

#[test]
fn v3_connections_that_say_nothing_keep_nobody_out() {
    let stage = Stage::new();
    let (front, token) = (stage.front(), token(stage.front()));
    let mut board = Asked::get(front, "/api/board").bearing(&token).stream();
    board.until("event: board");
    let mut idle: Vec<TcpStream> = (0..400).map(|_| connect(front.port)).collect();
    // The oldest of them may be gone already.
    idle.iter_mut().for_each(|stream| drop(stream.write_all(b"GET / HT")));
    Asked::get(front, "/api/tasks").bearing(&token).send().with_status(200);
    // Whoever was in stays in.
    let task = stage.launch("say hello");
    board.until(&task);
}

#[test]
fn v3_the_files_are_the_users_alone_and_so_is_their_folder() {
    let stage = Stage::new();
    let mode =
        |path: &str| fs::metadata(stage.home.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("legwork/ui.json"), 0o600);
    assert_eq!(mode("legwork") & 0o022, 0);
    // A folder that others could change is not used.
    let mut stage = stage;
    stage.kill_front();
    fs::remove_file(stage.home.path("legwork/ui.json")).unwrap();
    let folder = stage.home.path("legwork");
    fs::write(folder.join("letter.txt"), "").unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = stage.home.command(["ui", "--no-open", "--port", "0"]);
    let mut child = command.spawn().unwrap();
    let ended = eventually("it ends or listens", || {
        let listens = fs::read_to_string(folder.join("ui.json")).is_ok_and(|it| it.len() > 9);
        child.try_wait().unwrap().map(Some).or_else(|| listens.then_some(None))
    });
    let _ = child.kill();
    let refused = legwork_testkit::output_of(child);
    assert!(ended.is_some_and(|how| !how.success()), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("chmod go-w"), "{refused:?}");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}
