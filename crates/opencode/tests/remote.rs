//! The HTTP transport and the event stream against a tiny server that does what it is told.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::Duration;

use legwork_host::Request;
use legwork_opencode::{DEFAULT_USER, Events, Heard, Remote, Transport, wanted};
use legwork_protocol::line::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Server(TcpListener);

impl Server {
    async fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn remote(&self) -> Remote {
        Remote::at(&format!("http://{}", self.0.local_addr().unwrap())).unwrap()
    }

    /// Takes one connection, reads one request to its end, and sends these bytes.
    async fn serve(&self, answer: &str) -> (String, TcpStream) {
        let (mut socket, _) = self.0.accept().await.unwrap();
        let mut request = String::new();
        let mut bytes = [0; 4096];
        while !is_whole(&request) {
            let read = socket.read(&mut bytes).await.unwrap();
            assert_ne!(read, 0, "{request}");
            request.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        socket.write_all(answer.as_bytes()).await.unwrap();
        (request, socket)
    }
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() == length.map_or(0, |length| length.parse().unwrap())
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn request(method: Method, path: &str, body: Value) -> Request {
    Request { method, path: path.to_owned(), query: BTreeMap::new(), body }
}

#[tokio::test]
async fn g2_half_a_character_in_an_answer_does_not_lose_the_rest() {
    let server = Server::start().await;
    let remote = server.remote();
    let ok = answer("200 OK", r#"{"id":"ses_1","title":"half \ud83d"}"#);
    let (reply, _) = tokio::join!(
        remote.send(request(Method::Get, "/session/ses_1", Value::Null)),
        server.serve(&ok)
    );
    assert_eq!(reply.unwrap().body, json!({ "id": "ses_1", "title": "half \u{fffd}" }));
}

#[tokio::test]
async fn a_request_carries_everything_and_the_answer_comes_back() {
    let server = Server::start().await;
    let remote = server.remote().signed_in(DEFAULT_USER, "secret").in_directory("/a b/é");
    let mut request = request(Method::Post, "/session", json!({ "title": "t" }));
    request.query.insert("limit".to_owned(), "4&x".to_owned());
    let good = answer("200 OK", r#"{"id":"ses_a"}"#);
    let (reply, (sent, _)) = tokio::join!(remote.send(request), server.serve(&good));
    let reply = reply.unwrap();
    assert_eq!((reply.status, reply.body), (200, json!({ "id": "ses_a" })));
    let mut lines = sent.lines();
    let first = "POST /session?limit=4%26x&directory=%2Fa%20b%2F%C3%A9 HTTP/1.1";
    assert_eq!(lines.next(), Some(first));
    assert!(sent.contains("authorization: Basic b3BlbmNvZGU6c2VjcmV0\r\n"), "{sent}");
    assert!(sent.contains("content-type: application/json\r\n"), "{sent}");
    assert_eq!(lines.last(), Some(r#"{"title":"t"}"#));
    assert!(!format!("{remote:?}").contains("b3BlbmNvZGU6c2VjcmV0"), "a secret stays one");
}

#[tokio::test]
async fn every_answer_is_an_answer() {
    let server = Server::start().await;
    let remote = server.remote();
    for (status, body, read) in [
        ("204 No Content", "", Value::Null),
        ("404 Not Found", r#"{"name":"NotFoundError"}"#, json!({ "name": "NotFoundError" })),
        ("200 OK", "<html>", json!("<html>")),
    ] {
        let bytes = answer(status, body);
        let call = remote.send(request(Method::Get, "/x", Value::Null));
        let (reply, _) = tokio::join!(call, server.serve(&bytes));
        let reply = reply.unwrap();
        assert_eq!((&status[..3], reply.body), (&*reply.status.to_string(), read));
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_hangs_or_breaks_off_is_unreachable() {
    let server = Server::start().await;
    let (remote, hurried) = (server.remote(), server.remote().within(Duration::from_millis(200)));
    let get = || request(Method::Get, "/x", Value::Null);
    // Whether the request comes within that time does not matter: nobody reads it.
    let (hangs, socket) = tokio::join!(hurried.send(get()), server.0.accept());
    assert!(hangs.unwrap_err().why.contains("no answer within 200 ms"));
    drop(socket);
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{";
    let (broken, _) = tokio::join!(remote.send(get()), async { drop(server.serve(half).await) });
    broken.unwrap_err();
    drop(server);
    remote.send(get()).await.unwrap_err();
}

#[test]
fn only_addresses_that_can_be_spoken_to_are_taken() {
    Remote::at("http://[::1]:4096/prefix/").unwrap();
    for url in ["", "127.0.0.1:4096", "https://example.org", "/path", "http://"] {
        let fault = Remote::at(url).unwrap_err().to_string();
        assert!(fault.contains("http://"), "{fault}");
    }
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

fn frame(name: &str, properties: &Value) -> String {
    format!("data: {}\n\n", json!({ "id": "evt", "type": name, "properties": properties }))
}

fn idle() -> Heard {
    Heard::Event { name: "session.idle".to_owned(), properties: json!({ "sessionID": "ses_a" }) }
}

#[tokio::test]
async fn d6_a_stream_that_ends_is_opened_again() {
    let server = Server::start().await;
    let mut events = Events::new(server.remote(), wanted());
    let told = json!({ "sessionID": "ses_a", "more": "x" });
    let unwanted = frame("server.connected", &json!({}));
    let whole = frame("session.idle", &told);
    let (first, second) = whole.split_at(20);
    for _ in 0..2 {
        let begin = format!("{STREAM}{unwanted}{first}");
        let (opened, (_, mut socket)) = tokio::join!(events.next(), server.serve(&begin));
        assert_eq!(opened, Heard::Opened);
        socket.write_all(second.as_bytes()).await.unwrap();
        assert_eq!(events.next().await, idle());
        drop(socket);
        assert!(matches!(events.next().await, Heard::Closed { .. }));
    }
}

#[tokio::test]
async fn a_stream_that_is_refused_says_why_and_is_tried_again() {
    let server = Server::start().await;
    let mut events = Events::new(server.remote(), wanted());
    let refusal = answer("401 Unauthorized", "");
    let (refused, _) = tokio::join!(events.next(), server.serve(&refusal));
    let Heard::Closed { why } = refused else { panic!("{refused:?}") };
    assert!(why.contains("password"), "{why}");
    let (opened, _) = tokio::join!(events.next(), server.serve(STREAM));
    assert_eq!(opened, Heard::Opened);
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_dead() {
    let server = Server::start().await;
    let mut events = Events::new(server.remote(), wanted());
    let (opened, socket) = tokio::join!(events.next(), server.serve(STREAM));
    assert_eq!(opened, Heard::Opened);
    tokio::time::pause();
    let closed = Heard::Closed { why: "the event stream fell silent".to_owned() };
    assert_eq!(events.next().await, closed);
    drop(socket);
}

#[tokio::test]
async fn pieces_of_text_pass_once_a_second_for_each_session() {
    let server = Server::start().await;
    let mut events = Events::new(server.remote(), wanted());
    let delta = |session: &str| frame("message.part.delta", &json!({ "sessionID": session }));
    let pieces = [delta("ses_a"), delta("ses_a"), delta("ses_b"), delta("ses_a")].concat();
    let last = frame("session.idle", &json!({ "sessionID": "ses_a" }));
    let bytes = format!("{STREAM}{pieces}{last}");
    let (opened, _socket) = tokio::join!(events.next(), server.serve(&bytes));
    assert_eq!(opened, Heard::Opened);
    let piece = |session: &str| Heard::Event {
        name: "message.part.delta".to_owned(),
        properties: json!({ "sessionID": session }),
    };
    assert_eq!(events.next().await, piece("ses_a"));
    assert_eq!(events.next().await, piece("ses_b"));
    assert_eq!(events.next().await, idle());
}
