//! How the model answers: the request is noted, its step is played line by line into the stream,
//! and the end is noted, whoever brought it about. Which step that is, `chat.rs` knows; here is
//! only what takes time.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::chat::{self, Offered, Plan, Said};
use super::dialect::Dialect;
use super::voice::Voice;
use super::{End, Request, Shared};
use crate::kit;
use crate::script::{self, Line};

/// A very long time; nobody waits for its end.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// Notes the end of an answer, the host's closing too: hyper drops the answer then.
struct Watched {
    shared: Arc<Shared>,
    number: usize,
    end: End,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let at = self.shared.started.elapsed();
        self.shared.change(|state| state.requests[self.number].end = Some((self.end, at)));
    }
}

/// A piece of the stream, or the cut.
type Piece = Option<String>;

/// The body of an answer.
pub(super) struct Stream {
    pieces: Receiver<Piece>,
    watched: Watched,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match ready!(self.pieces.poll_recv(context)) {
            Some(Some(piece)) => Poll::Ready(Some(Ok(Frame::data(piece.into())))),
            Some(None) => {
                self.watched.end = End::Cut;
                Poll::Ready(Some(Err(std::io::Error::other("cut by the script"))))
            }
            None => {
                self.watched.end = End::Finished;
                Poll::Ready(None)
            }
        }
    }
}

pub(super) async fn answer(
    shared: Arc<Shared>,
    request: hyper::Request<Incoming>,
) -> Result<Response<Stream>, Infallible> {
    let path = request.uri().path().to_owned();
    let is_post = request.method() == Method::POST;
    let header = request.headers().get("x-session-affinity");
    let session = header.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let raw: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let known = Dialect::of(&path, &raw).filter(|_| is_post);
    let (dialect, streams) = known.unwrap_or((Dialect::Chat, false));
    let messages = dialect.messages(&raw);
    let tools = dialect.offered(&raw);
    let number = note(&shared, session.clone(), &messages, &tools, &raw);
    let mut watched = Watched { shared: shared.clone(), number, end: End::Closed };
    if known.is_none() {
        return Ok(beside(watched, &path));
    }
    let begun = |script: &str, step: usize| {
        let place = (session.clone(), script.to_owned(), step);
        shared.state().begun.contains_key(&place)
    };
    let (read, title) = shared.learned(&messages);
    // Who wants a title or a summary offers no tools. OpenCode says so in words.
    let plan = match dialect {
        Dialect::Chat => chat::plan(&read, begun),
        _ if tools.is_empty() => Plan::Title,
        _ => chat::plan(&read, begun),
    };
    let lines = match plan {
        Plan::Title => vec![Line::Say(title)],
        Plan::Noted => vec![Line::Say("noted".to_owned())],
        Plan::Wrong(why) => return Ok(refuse(watched, 400, &why)),
        Plan::Step { script, step, lines } => {
            let place = (session, script, step);
            let before = shared.change(|state| {
                let begun = state.begun.entry(place).or_default();
                *begun += 1;
                *begun - 1
            });
            match prepare(lines, before, &messages) {
                Ok(lines) => lines,
                Err(why) => return Ok(refuse(watched, 400, &why)),
            }
        }
    };
    let mut lines = lines.into_iter().peekable();
    // A refusal is a status, so what comes before it happens before the first byte.
    if lines.clone().any(|line| matches!(line, Line::Fail(..))) {
        for line in lines.by_ref() {
            if let Line::Fail(code, text) = line {
                return Ok(refuse(watched, code, &text));
            }
            pause(&shared, &line).await;
        }
    }
    watched.end = End::Closed;
    let (sender, pieces) = channel(64);
    let voice = Voice::new(dialect, streams, raw["model"].clone(), number);
    let mut player = Player::new(shared, sender, &messages, tools, voice);
    kit::spawn(async move { player.play(lines.collect()).await });
    let kind = if streams { "text/event-stream" } else { "application/json" };
    Ok(respond(200, kind, Stream { pieces, watched }))
}

/// What clients ask beside a conversation: whether anybody is there, which models there are, how
/// many tokens a text has.
fn beside(watched: Watched, path: &str) -> Response<Stream> {
    let body = match path.rsplit(['/', ':']).next().unwrap_or_default() {
        "count_tokens" | "countTokens" => json!({ "input_tokens": 100, "totalTokens": 100 }),
        "models" => json!({ "object": "list", "data": [], "models": [] }),
        _ => return refuse(watched, 404, &format!("no dialect has {path}")),
    };
    respond(200, "application/json", whole(watched, &body))
}

fn whole(watched: Watched, body: &Value) -> Stream {
    let (sender, pieces) = channel(1);
    // There is room for one, so it is taken at once.
    sender.try_send(Some(body.to_string())).expect("room for one piece");
    Stream { pieces, watched }
}

fn respond(code: u16, kind: &'static str, stream: Stream) -> Response<Stream> {
    let mut response = Response::new(stream);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
    let kind = hyper::header::HeaderValue::from_static(kind);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    response
}

fn note(
    shared: &Shared,
    session: Option<String>,
    messages: &[Said],
    tools: &[Offered],
    raw: &Value,
) -> usize {
    let at = shared.started.elapsed();
    shared.change(|state| {
        let number = state.requests.len();
        state.requests.push(Request {
            number,
            at,
            session,
            model: raw["model"].as_str().unwrap_or_default().to_owned(),
            messages: messages.to_vec(),
            tools: tools.to_vec(),
            raw: raw.clone(),
            end: None,
        });
        number
    })
}

fn refuse(watched: Watched, code: u16, text: &str) -> Response<Stream> {
    let error = json!({ "message": text, "type": "scripted", "code": code });
    let body = json!({ "type": "error", "error": error });
    respond(code, "application/json", whole(watched, &body))
}

/// Puts in the task ids, and leaves one `fail-once` as a refusal or none.
fn prepare(lines: Vec<Line>, before: usize, messages: &[Said]) -> Result<Vec<Line>, String> {
    let mut tasks = Vec::new();
    messages.iter().for_each(|said| script::tasks_in(&said.text, &mut tasks));
    let mut refusals = 0;
    let mut out = Vec::new();
    for line in lines {
        out.push(match line {
            Line::Say(text) => Line::Say(script::fill(&text, &tasks)?),
            Line::Call(tool, json) => Line::Call(tool, script::fill(&json, &tasks)?),
            Line::CallAs(id, tool, json) => Line::CallAs(id, tool, script::fill(&json, &tasks)?),
            Line::FailOnce(code, text) => {
                refusals += 1;
                if refusals <= before {
                    continue;
                }
                Line::Fail(code, text)
            }
            Line::DropOnce if before > 0 => continue,
            Line::DropOnce => Line::Drop,
            line => line,
        });
    }
    Ok(out)
}

async fn pause(shared: &Shared, line: &Line) {
    match line {
        Line::Wait(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        Line::Gate(gate) => {
            let open = || shared.state().open.contains(gate).then_some(());
            shared.news.until(FOR_EVER, open).await;
        }
        Line::Hang => tokio::time::sleep(FOR_EVER).await,
        _ => {}
    }
}

struct Player {
    shared: Arc<Shared>,
    sender: Sender<Piece>,
    voice: Voice,
    tools: Vec<Offered>,
    history: String,
    prompts: usize,
}

impl Player {
    fn new(
        shared: Arc<Shared>,
        sender: Sender<Piece>,
        messages: &[Said],
        tools: Vec<Offered>,
        voice: Voice,
    ) -> Self {
        Self {
            shared,
            sender,
            voice,
            tools,
            history: chat::digest(messages),
            prompts: messages.iter().filter(|said| said.role == "user").count(),
        }
    }

    async fn play(&mut self, lines: Vec<Line>) {
        self.send(self.voice.begin()).await;
        for line in lines {
            // Nobody listens any more; the stream has noted it.
            if self.sender.is_closed() {
                return;
            }
            if line == Line::Drop {
                if self.voice.written() == 0 {
                    self.write("half").await;
                }
                // What is written goes out before the cut, which would take it along.
                tokio::time::sleep(Duration::from_millis(50)).await;
                let _ = self.sender.send(None).await;
                return;
            }
            if line == Line::BreakOff {
                return;
            }
            self.line(line).await;
        }
        self.send(self.voice.end()).await;
    }

    async fn line(&mut self, line: Line) {
        match line {
            Line::Say(text) => self.say(&text).await,
            Line::Repeat(bytes, text) => {
                let text: String = text.chars().cycle().take(bytes).collect();
                self.say(&text[..text.floor_char_boundary(bytes)]).await;
            }
            Line::Stream(count, ms, word) => {
                for number in 0..count {
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                        () = self.sender.closed() => return,
                    }
                    if number == 0 {
                        self.say(&word).await;
                    } else {
                        self.write(&format!(" {word}")).await;
                    }
                }
            }
            Line::Speak(ms, text) => {
                for word in text.split_inclusive(' ') {
                    self.write(word).await;
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                        () = self.sender.closed() => return,
                    }
                }
            }
            Line::StreamUntil(gate, ms, word) => {
                while !self.shared.state().open.contains(&gate) {
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                        () = self.sender.closed() => return,
                    }
                    self.write(&format!("{word} ")).await;
                }
            }
            Line::Call(tool, json) => {
                let id = self.new_id();
                self.call(&id, &tool, &json).await;
            }
            Line::CallAs(id, tool, json) => self.call(&id, &tool, &json).await,
            Line::EchoHistory => self.say(&self.history.clone()).await,
            Line::Count => self.say(&self.prompts.to_string()).await,
            Line::Wait(_) | Line::Gate(_) | Line::Hang => {
                tokio::select! {
                    () = pause(&self.shared, &line) => {}
                    () = self.sender.closed() => {}
                }
            }
            Line::Fail(..) | Line::FailOnce(..) | Line::Drop | Line::DropOnce | Line::BreakOff => {}
        }
    }

    /// A text of its own: what was written before is another line.
    async fn say(&mut self, text: &str) {
        if self.voice.written() > 0 {
            self.write("\n").await;
        }
        self.write(text).await;
    }

    async fn write(&mut self, text: &str) {
        let piece = self.voice.text(text);
        self.send(piece).await;
    }

    fn new_id(&self) -> String {
        self.shared.change(|state| {
            state.calls += 1;
            format!("call_{:06}", state.calls)
        })
    }

    async fn call(&mut self, id: &str, tool: &str, arguments: &str) {
        let tool = chat::tool(&self.tools, tool);
        let piece = self.voice.call(id, &tool, arguments);
        self.send(piece).await;
    }

    async fn send(&self, piece: String) {
        if !piece.is_empty() {
            let _ = self.sender.send(Some(piece)).await;
        }
    }
}
