//! The server: one listener on loopback, who may come in, and where each request goes.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use legwork_client::{Daemon, new_key};
use legwork_machine::Folders;
use legwork_protocol::TaskId;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::page::api::{self, Failure, read_as};
use crate::page::crowd::{Crowd, Known};
use crate::page::door::Door;
use crate::page::fault::Fault;
use crate::page::guard::{API, Asker, CODE_PATH, ENTER_PATH, Guard};
use crate::page::limits::{
    ASKED_AT_ONCE, BODY_MAX_BYTES, HABITS, HEAD_MAX_BYTES, REQUEST_MAX, STREAMS_MAX, THREADS_MAX,
};
use crate::page::patient::Patient;
use crate::page::query::Query;
use crate::page::secret::Secret;
use crate::page::stream::{Events, stream};
use crate::page::{files, headers, launch, live};

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What all connections share.
#[derive(Debug)]
struct Shared {
    daemon: Daemon,
    guard: Guard,
    door: Door,
    seats: Arc<Semaphore>,
    asking: Semaphore,
    /// How many streams are open; marked as changed also when somebody is let in.
    tabs: watch::Sender<usize>,
}

/// A front that listens.
#[derive(Debug)]
pub struct Front {
    listener: TcpListener,
    port: u16,
    shared: Arc<Shared>,
}

/// The place of a stream among those that may be open at once.
#[derive(Debug)]
pub struct Seat {
    _permit: OwnedSemaphorePermit,
    shared: Arc<Shared>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.tabs.send_modify(|open| *open -= 1);
    }
}

impl Front {
    /// Listens on this port, for this machine alone; 0 for any that is free.
    pub fn bind(folders: &Folders, port: u16) -> Result<Self, Fault> {
        Self::try_bind(folders, port).map_err(|source| Fault::Port { port, source })
    }

    fn try_bind(folders: &Folders, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let shared = Shared {
            daemon: Daemon::new(folders.clone(), HABITS),
            guard: Guard::new(port, Secret::new()?, Secret::new()?),
            door: Door::default(),
            seats: Arc::new(Semaphore::new(STREAMS_MAX)),
            asking: Semaphore::new(ASKED_AT_ONCE),
            tabs: watch::Sender::new(0),
        };
        Ok(Self { listener, port, shared: Arc::new(shared) })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What other fronts of the same user ask for a code with.
    pub fn key(&self) -> &Secret {
        &self.shared.guard.key
    }

    /// The address of the page with a code that works once.
    pub fn address(&self) -> Result<String, Fault> {
        let code = self.shared.door.new_code().map_err(Fault::Serve)?;
        Ok(address(self.port, code.reveal()))
    }

    /// Serves until it is told to end; with a time, until the page has been closed for so long.
    pub fn serve(
        self,
        linger: Option<Duration>,
        end: impl Future<Output = ()>,
    ) -> Result<(), Fault> {
        self.try_serve(linger, end).map_err(Fault::Serve)
    }

    fn try_serve(self, linger: Option<Duration>, end: impl Future<Output = ()>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS_MAX)
            .build()?;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = end => {}
                () = idle(&self.shared.tabs, linger) => {}
                () = accept(listener, &self.shared) => {}
            }
            Ok(())
        });
        // What looks for the daemon has bounds of its own, and nobody waits for it.
        runtime.shutdown_background();
        served
    }
}

/// Where a browser goes with a code. What is behind the `#` stays in the browser.
pub fn address(port: u16, code: &str) -> String {
    format!("http://127.0.0.1:{port}/#code={code}")
}

/// Waits until no tab has been open for so long.
async fn idle(tabs: &watch::Sender<usize>, linger: Option<Duration>) {
    let Some(linger) = linger else { return std::future::pending().await };
    let mut tabs = tabs.subscribe();
    loop {
        // The sender lives as long as we do.
        let _ = tabs.wait_for(|open| *open == 0).await;
        if timeout(linger, tabs.changed()).await.is_err() {
            return;
        }
    }
}

async fn accept(listener: tokio::net::TcpListener, shared: &Arc<Shared>) {
    let mut crowd = Crowd::default();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let known = Known::default();
                let serving = tokio::spawn(serve_one(stream, shared.clone(), known.clone()));
                crowd.add(serving.abort_handle(), known);
            }
            // Too many files are open, or the other side has gone: both pass.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve_one(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Shared>, known: Known) {
    let service = service_fn(move |request| {
        let (shared, known) = (shared.clone(), known.clone());
        async move { Ok::<_, Infallible>(answer(request, shared, known).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_MAX)
        .max_buf_size(HEAD_MAX_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream)), service);
    // A browser that goes away in the middle is no fault.
    let _ = served.await;
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>, known: Known) -> Answer {
    let answered = timeout(REQUEST_MAX, route(request, shared, known)).await.unwrap_or_else(|_| {
        let late = "This took too long. Try again; `legwork doctor` may say why.";
        Err(Failure::new(StatusCode::GATEWAY_TIMEOUT, late))
    });
    let mut answer = answered.unwrap_or_else(|Failure { status, error }| {
        let mut answer = of_value(&json!({ "error": error }));
        *answer.status_mut() = status;
        answer
    });
    headers::protect(answer.headers_mut());
    answer
}

async fn route(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    known: Known,
) -> Result<Answer, Failure> {
    let (parts, body) = request.into_parts();
    let (method, path) = (&parts.method, parts.uri.path());
    let asker = Asker { method, path, headers: &parts.headers };
    let denied = shared.guard.check(asker).err();
    if let Some(denied) = denied {
        return Err(Failure::new(denied.status(), denied.to_string()));
    }
    if parts.headers.contains_key(AUTHORIZATION) && path.starts_with(API) {
        known.set();
    }
    let query = Query::of(parts.uri.query());
    match (method, path.strip_prefix(API)) {
        (&Method::GET, None) => page(path),
        (&Method::GET, Some("board")) => {
            let daemon = shared.daemon.once();
            Ok(of_events(stream(seat(shared)?, |tab| live::board(daemon, tab))))
        }
        (&Method::GET, Some(path)) => get(path, &query, shared).await,
        (&Method::POST, Some(path)) => {
            let body = read(body).await?;
            post(path, body, &shared).await.map(|value| of_value(&value))
        }
        (&Method::POST, None) => Err(nothing()),
        _ => Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "Only GET and POST are known here.")),
    }
}

fn page(path: &str) -> Result<Answer, Failure> {
    let page = files::page(path).ok_or_else(nothing)?;
    let mut answer = Response::new(Full::from(page.text).boxed());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(page.kind));
    Ok(answer)
}

async fn get(path: &str, query: &Query, shared: Arc<Shared>) -> Result<Answer, Failure> {
    if path == "tasks" {
        let _turn = turn(&shared).await;
        return Ok(of_value(&api::tasks(&shared.daemon, query).await?));
    }
    if path == "launch" {
        let _turn = turn(&shared).await;
        return Ok(of_value(&launch::choices(&shared.daemon).await?));
    }
    let (task, what) = task_in(path)?;
    if what == "conversation" {
        let daemon = shared.daemon.once();
        let events = stream(seat(shared)?, |tab| live::conversation(daemon, task, tab));
        return Ok(of_events(events));
    }
    let _turn = turn(&shared).await;
    let daemon = &shared.daemon;
    let value = match what {
        "" => api::task(daemon, task).await?,
        "result" => api::result(daemon, task, query).await?,
        "log" => api::log(daemon, task).await?,
        "entry" => api::entry(daemon, task, query).await?,
        _ => return Err(nothing()),
    };
    Ok(of_value(&value))
}

#[derive(Deserialize)]
struct Enter {
    code: String,
}

async fn post(path: &str, body: Value, shared: &Shared) -> Result<Value, Failure> {
    if path == &ENTER_PATH[API.len()..] {
        let Enter { code } = read_as(body, "a code")?;
        if !shared.door.takes(&code) {
            let used = "This code was used already, or is too old. Run `legwork ui` again.";
            return Err(Failure::new(StatusCode::UNAUTHORIZED, used));
        }
        shared.tabs.send_modify(|_| {});
        return Ok(json!({ "token": shared.guard.token.reveal() }));
    }
    if path == &CODE_PATH[API.len()..] {
        let no_dice = |error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}"));
        let code = shared.door.new_code().map_err(no_dice)?;
        shared.tabs.send_modify(|_| {});
        return Ok(json!({ "code": code.reveal() }));
    }
    let _turn = turn(shared).await;
    let daemon = &shared.daemon;
    if path == "clear" {
        return api::clear(daemon, body).await;
    }
    if path == "launch" {
        return launch::launch(daemon, body).await;
    }
    match task_in(path)? {
        (task, "retry") => launch::retry(daemon, task, new_key()).await,
        (task, "cancel") => api::cancel(daemon, task).await,
        (task, "resume") => api::resume(daemon, task, body).await,
        (task, "answer") => api::answer(daemon, task, body).await,
        _ => Err(nothing()),
    }
}

/// The task of `task/ID/WHAT`, and what of it.
fn task_in(path: &str) -> Result<(TaskId, &str), Failure> {
    let rest = path.strip_prefix("task/").ok_or_else(nothing)?;
    let (task, what) = rest.split_once('/').unwrap_or((rest, ""));
    let unknown = || Failure::new(StatusCode::NOT_FOUND, "There is no such task.");
    Ok((task.parse().map_err(|_| unknown())?, what))
}

async fn turn(shared: &Shared) -> Option<tokio::sync::SemaphorePermit<'_>> {
    shared.asking.acquire().await.ok()
}

fn seat(shared: Arc<Shared>) -> Result<Seat, Failure> {
    let full = "The page is open in too many tabs. Close some of them.";
    let permit = shared.seats.clone().try_acquire_owned();
    let permit = permit.map_err(|_| Failure::new(StatusCode::SERVICE_UNAVAILABLE, full))?;
    shared.tabs.send_modify(|open| *open += 1);
    Ok(Seat { _permit: permit, shared })
}

async fn read(body: Incoming) -> Result<Value, Failure> {
    let too_long = "This is too long to be sent. Say less, or put it into a file and name that.";
    let read = Limited::new(body, BODY_MAX_BYTES).collect().await;
    let read = read.map_err(|_| Failure::new(StatusCode::PAYLOAD_TOO_LARGE, too_long))?;
    known_json(&read.to_bytes())
}

fn known_json(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        let error = format!("This is no JSON: {error}. Reload the page.");
        Failure::new(StatusCode::BAD_REQUEST, error)
    })
}

fn nothing() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "There is nothing here. `legwork ui` opens the page.")
}

fn of_value(value: &Value) -> Answer {
    let mut answer = Response::new(Full::from(value.to_string()).boxed());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn of_events(events: Events) -> Answer {
    let mut answer = Response::new(events.boxed());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

#[cfg(test)]
mod tests;
