//! A server on loopback that has what was put on it, and remembers what it was asked for. On top of
//! it an npm registry, of which it has as much as npm and OpenCode ask when they install a package.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as Socket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::kit::{self, Accepting};

#[derive(Debug, Default)]
struct State {
    /// Path to content.
    pages: BTreeMap<String, Bytes>,
    asked: Vec<String>,
}

/// The server. It ends with its last copy.
#[derive(Debug, Clone)]
pub struct Shelf {
    state: Arc<Mutex<State>>,
    address: SocketAddr,
    _accepting: Arc<Accepting>,
}

impl Shelf {
    /// Starts an empty one on a free port.
    pub fn start() -> Self {
        let socket = Socket::bind("127.0.0.1:0").expect("a free port on loopback");
        socket.set_nonblocking(true).expect("a socket that does not block");
        let address = socket.local_addr().expect("its own address");
        let state = Arc::default();
        let task = kit::spawn(accept(socket, Arc::clone(&state)));
        Self { state, address, _accepting: Arc::new(Accepting(task.abort_handle())) }
    }

    /// Where it is: `http://host:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts something where a path leads, in place of what was there.
    pub fn put(&self, path: &str, content: impl Into<Bytes>) {
        self.state().pages.insert(path.to_owned(), content.into());
    }

    /// The paths that were asked for, in their order.
    pub fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no part of the shelf panics")
    }
}

async fn accept(socket: Socket, state: Arc<Mutex<State>>) {
    let listener = TcpListener::from_std(socket).expect("a listening socket");
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let state = Arc::clone(&state);
        let service = service_fn(move |request| {
            let answer = answer(&state, &request);
            async { Ok::<_, Infallible>(answer) }
        });
        kit::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

fn answer(state: &Mutex<State>, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let mut state = state.lock().expect("no part of the shelf panics");
    let found = state.pages.get(&path).cloned();
    state.asked.push(path);
    let status = if found.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let mut response = Response::new(Full::new(found.unwrap_or_else(|| "{}".into())));
    *response.status_mut() = status;
    response
}

/// A place where nobody listens.
pub fn nowhere() -> String {
    let socket = Socket::bind("127.0.0.1:0").expect("a free port on loopback");
    format!("http://{}", socket.local_addr().expect("its own address"))
}

/// An npm registry.
#[derive(Debug, Clone)]
pub struct Registry {
    shelf: Shelf,
    /// Name to version to manifest.
    packages: Arc<Mutex<BTreeMap<String, BTreeMap<String, Value>>>>,
}

impl Registry {
    /// Starts one without packages.
    pub fn start() -> Self {
        Self { shelf: Shelf::start(), packages: Arc::default() }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        self.shelf.url()
    }

    /// The paths that were asked for, in their order.
    pub fn asked(&self) -> Vec<String> {
        self.shelf.asked()
    }

    /// Publishes the package in a folder. npm takes seconds to pack a program, so it is packed
    /// here, and less densely.
    pub fn publish(&self, folder: &Path) {
        let manifest = std::fs::read(folder.join("package.json")).expect("a package");
        let mut manifest: Value = serde_json::from_slice(&manifest).expect("a manifest");
        let word = |name: &str| manifest[name].as_str().expect("a word").to_owned();
        let (name, version) = (word("name"), word("version"));
        let (file, sum) = packed(folder);
        let path = format!("/-/{name}-{version}.tgz");
        manifest["dist"] = json!({ "shasum": sum, "tarball": format!("{}{path}", self.url()) });
        self.shelf.put(&path, file);
        let mut packages = self.packages.lock().expect("not poisoned");
        let versions = packages.entry(name.clone()).or_default();
        versions.insert(version.clone(), manifest);
        let page = json!({
            "name": name,
            "dist-tags": { "latest": version },
            "versions": versions,
        });
        self.shelf.put(&format!("/{name}"), page.to_string());
    }
}

/// A package as a file, with its SHA-1, which npm checks.
fn packed(folder: &Path) -> (Vec<u8>, String) {
    let script = "tar -C \"$1\" --transform 's,^[.],package,' -cf - . | gzip -1";
    let tar = Command::new("sh").args(["-c", script, "sh"]).arg(folder).output().expect("a shell");
    assert!(tar.status.success(), "{}", String::from_utf8_lossy(&tar.stderr));
    let mut sum = Command::new("sha1sum");
    let mut sum = sum.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sha1sum");
    let mut input = sum.stdin.take().expect("its input");
    std::io::Write::write_all(&mut input, &tar.stdout).expect("it reads");
    drop(input);
    let printed = sum.wait_with_output().expect("a sum").stdout;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    (tar.stdout, printed.split(' ').next().expect("a sum").to_owned())
}
