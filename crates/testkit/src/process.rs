//! OpenCode processes without a screen: the server, and a single run. Their output goes to files
//! of the home, so that a failing test can show it, and every one leads a process group that is
//! killed with it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::api::Client;
use crate::home::Home;
use crate::kit::{self, DEADLINE};

/// Ports that a server is started on, one after the other, until it listens.
const PORTS_TRIED: usize = 3;
/// How long a server may take to boot a project before it is asked again.
const BOOT_MAX: Duration = Duration::from_secs(20);

/// A process that leads a group.
#[derive(Debug)]
struct Leader {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Leader {
    fn start(home: &Home, mut command: Command, name: &str) -> Self {
        let (out, err) = (home.log(&format!("{name}.out")), home.log(&format!("{name}.err")));
        command.stdout(File::create(&out).expect("a log"));
        command.stderr(File::create(&err).expect("a log"));
        let child = command.process_group(0).spawn();
        let child = child.unwrap_or_else(|why| panic!("{name} does not start: {why}"));
        home.remember(child.id());
        Self { child, out, err }
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // It may have ended already.
        let _ = kill_process_group(group.expect("a process id"), signal);
    }

    fn end(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the state of a child")
    }

    fn told(&self) -> String {
        format!("{}{}", read(&self.out), read(&self.err))
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.end().is_none() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// A running `opencode serve`; it is killed with this value.
#[derive(Debug)]
pub struct Serve {
    leader: Leader,
    url: String,
    client: Client,
}

impl Serve {
    pub(crate) async fn start(home: &Home, password: Option<&str>) -> Self {
        let mut told = String::new();
        for _ in 0..PORTS_TRIED {
            // Not 0, which tries 4096 first: that is the port that OpenCode tells plugins of when
            // there is no server at all, and nobody should answer there.
            let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = free.local_addr().expect("its address").port();
            drop(free);
            match Self::on(home, port, password).await {
                Ok(serve) => {
                    serve.ready().await;
                    return serve;
                }
                // Another program may have taken the port in between.
                Err(why) => told = why,
            }
        }
        panic!("opencode serve did not come up:\n{told}");
    }

    /// The server on this port, or what it said when it ended instead.
    async fn on(home: &Home, port: u16, password: Option<&str>) -> Result<Self, String> {
        let port = port.to_string();
        let mut command = home.opencode(&["serve", "--hostname", "127.0.0.1", "--port", &port]);
        if let Some(password) = password {
            command.env("OPENCODE_SERVER_PASSWORD", password);
        }
        let mut leader = Leader::start(home, command, "serve");
        let url = format!("http://127.0.0.1:{port}");
        let line = format!("listening on {url}");
        let look = || {
            let up = leader.told().contains(&line);
            (up || leader.end().is_some()).then_some(up)
        };
        if kit::poll(DEADLINE, look).await != Some(true) {
            return Err(leader.told());
        }
        let mut client = Client::new(&url);
        if let Some(password) = password {
            client = client.with_password(password);
        }
        Ok(Self { leader, url, client })
    }

    /// Boots the project's instance. A request that comes too early can hang (seen in 1.18.33), so
    /// it is given up soon and made again.
    async fn ready(&self) {
        let mut why = String::new();
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            match self.client.try_call("GET", "/session/status", None, BOOT_MAX).await {
                Ok(answer) if answer.status == 200 => return,
                Ok(answer) => why = format!("{answer:?}"),
                Err(error) => why = error,
            }
        }
        panic!("opencode serve answers nothing: {why}\n{}", self.leader.told());
    }

    /// Where it is: `http://host:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client for it, with the password if there is one.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.leader.child.id()
    }

    /// What it has written so far.
    pub fn log(&self) -> String {
        self.leader.told()
    }

    /// Kills it without a warning, and waits for its end.
    pub fn kill9(&mut self) {
        self.leader.signal(Signal::KILL);
        let _ = self.leader.child.wait();
    }

    /// Asks it to end, and waits for that.
    pub async fn terminate(&mut self) {
        self.leader.signal(Signal::TERM);
        let ended = kit::poll(DEADLINE, || self.leader.end()).await;
        assert!(ended.is_some(), "opencode serve did not end:\n{}", self.leader.told());
    }
}

/// A program that was started, with what it writes.
#[derive(Debug)]
pub struct Run {
    leader: Leader,
}

/// What a program has left.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
}

impl Run {
    /// Starts a command made by [`Home::command`] or [`Home::opencode`].
    pub fn start(home: &Home, command: Command, name: &str) -> Self {
        Self { leader: Leader::start(home, command, name) }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.leader.child.id()
    }

    /// What it has written so far.
    pub fn stdout(&self) -> String {
        read(&self.leader.out)
    }

    /// What it has complained so far.
    pub fn stderr(&self) -> String {
        read(&self.leader.err)
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> Output {
        let status = kit::poll(DEADLINE, || self.leader.end()).await;
        let status = status.unwrap_or_else(|| panic!("it does not end:\n{}", self.leader.told()));
        Output { status, stdout: read(&self.leader.out), stderr: read(&self.leader.err) }
    }

    /// Kills it without a warning.
    pub fn kill9(&mut self) {
        self.leader.signal(Signal::KILL);
        let _ = self.leader.child.wait();
    }

    /// Sends it SIGTERM.
    pub fn terminate(&self) {
        self.leader.signal(Signal::TERM);
    }
}
