//! Starts an OpenCode without a window: on loopback, behind a password that nobody is told, with
//! the environment of this process. Its plugin connects it with the daemon. Ends when that has
//! happened; then the daemon knows the new process, and ends it when nothing needs it.
//!
//! Whoever started us reads the number of the process, and then `started` or why not.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use legwork_client::{Client, Start};
use legwork_host::Request as HttpRequest;
use legwork_machine::process::process_mark;
use legwork_machine::{Folders, private_file, random_hex};
use legwork_opencode::{DEFAULT_USER, KIND, Remote, STARTED, Transport};
use legwork_protocol::api::Request;
use legwork_protocol::line::Role;
use legwork_protocol::view::DaemonView;
use legwork_protocol::{HostId, refusal};

use crate::asking::get;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::identity;

/// OpenCode listens after two seconds, on a busy machine after ten, and then loads its plugins.
const START_MAX: Duration = Duration::from_secs(50);
const PAUSE: Duration = Duration::from_millis(100);
/// OpenCode accepts connections 200 ms before it can answer, and a request that comes in between is
/// never answered: it is asked again. Asking twice loads the project once.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// How much of what OpenCode said is told if it ends at once.
const LAST_WORDS_MAX_CHARS: usize = 300;
/// The plugin takes this for itself and hides it from what OpenCode starts.
const HEADLESS: &str = "LEGWORK_HEADLESS";
/// The length of the password of a headless OpenCode, before it is written in hexadecimal digits.
const PASSWORD_BYTES: usize = 64;
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";
const USER: &str = "OPENCODE_SERVER_USERNAME";

pub fn start(program: &[String], directory: &str) -> Result<Exit, Fault> {
    let mut said = io::stdout();
    let why = match begin(program, directory, &mut said) {
        Ok(()) => STARTED.to_owned(),
        Err(fault) => fault.to_string(),
    };
    let exit = if why == STARTED { Exit::Done } else { Exit::Refused };
    writeln!(said, "{why}").and_then(|()| said.flush()).map_err(Fault::Output)?;
    Ok(exit)
}

fn begin(program: &[String], directory: &str, said: &mut impl Write) -> Result<(), Fault> {
    let mut server = Server::spawn(program, directory)?;
    let told = writeln!(said, "{}", server.child.id()).and_then(|()| said.flush());
    let attached = told.map_err(Fault::Output).and_then(|()| server.attach(directory));
    if attached.is_err() {
        // It leads a group of its own, but nothing of ours is in there yet.
        let _ = server.child.kill();
        let _ = server.child.wait();
    }
    attached
}

/// An OpenCode that is starting.
struct Server {
    child: Child,
    log: PathBuf,
    remote: Remote,
    deadline: Instant,
}

impl Server {
    fn spawn(program: &[String], directory: &str) -> Result<Self, Fault> {
        let password =
            random_hex::<PASSWORD_BYTES>().map_err(|error| cannot("get a password", &error))?;
        let port = free_port().map_err(|error| cannot("listen on loopback", &error))?;
        let (log, file) = log_file().map_err(|error| cannot("write its log", &error))?;
        let second = file.try_clone().map_err(|error| cannot("write its log", &error))?;
        let (first, rest) = match program {
            [first, rest @ ..] => (first.as_str(), rest),
            [] => (KIND, &[][..]),
        };
        let mut command = Command::new(first);
        command
            .args(rest)
            .args(["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()])
            .current_dir(directory)
            .env(PASSWORD, &password)
            .env_remove(USER)
            .env(HEADLESS, "1")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(second)
            .process_group(0);
        let child = command
            .spawn()
            .map_err(|error| Fault::Refused(format!("{first} cannot be started: {error}")))?;
        let url = format!("http://127.0.0.1:{port}");
        let remote = Remote::at(&url).map_err(|fault| Fault::Refused(fault.to_string()))?;
        let remote = remote.signed_in(DEFAULT_USER, &password).in_directory(directory);
        let remote = remote.within(ANSWER_MAX);
        Ok(Self { child, log, remote, deadline: Instant::now() + START_MAX })
    }

    /// Has OpenCode load the project, and with it the plugin, and waits until that has connected.
    fn attach(&mut self, directory: &str) -> Result<(), Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Fault::Input)?;
        let mark = process_mark(self.child.id()).ok_or_else(|| self.ended())?;
        let host = identity::host(&mark, directory);
        let host = host.map_err(|bad| Fault::Refused(bad.to_string()))?;
        let mut loaded = false;
        loop {
            if self.child.try_wait().map_err(Fault::Input)?.is_some() {
                return Err(self.ended());
            }
            if !loaded {
                let asked = self.remote.send(HttpRequest::get("/path"));
                loaded = runtime.block_on(asked).is_ok_and(|reply| reply.status == 200);
            } else if is_attached(&host)? {
                return Ok(());
            }
            if Instant::now() > self.deadline {
                return Err(Fault::Refused(match loaded {
                    true => "OpenCode is there, but the plugin in it did not connect".to_owned(),
                    false => format!("OpenCode does not answer{}", self.last_words()),
                }));
            }
            thread::sleep(PAUSE);
        }
    }

    fn ended(&self) -> Fault {
        Fault::Refused(format!("OpenCode ended at once{}", self.last_words()))
    }

    fn last_words(&self) -> String {
        let said = fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(String::new, |last| {
            format!(": {}", refusal::plain(last.trim(), LAST_WORDS_MAX_CHARS))
        })
    }
}

fn cannot(what: &str, error: &io::Error) -> Fault {
    Fault::Refused(format!("legwork cannot {what}: {error}"))
}

fn is_attached(host: &HostId) -> Result<bool, Fault> {
    let mut client = Client::connect(&Folders::from_env()?, Role::Client, Start::IfNeeded)?;
    let daemon: DaemonView = get(&mut client, Request::Status)?;
    Ok(daemon.hosts.iter().any(|here| here.host == *host))
}

/// One that nobody listens on. OpenCode's own choice would be the port that people use.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// What OpenCode says goes into a file beside the daemon's log, each time anew.
fn log_file() -> io::Result<(PathBuf, File)> {
    let path = Folders::from_env().map_err(io::Error::other)?.headless_log();
    let file = private_file().write(true).create(true).truncate(true).open(&path)?;
    Ok((path, file))
}
