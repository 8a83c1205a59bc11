//! A folder with a daemon in it.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use legwork_acp::AgentSettings;
use legwork_daemon::{Hosts, Options, run};
use legwork_opencode::OpenCode;
use legwork_protocol::Settings;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::bell::Bell;
use crate::connection::Connection;

/// Set for the process that is the daemon.
pub const AS_DAEMON: &str = "LEGWORK_TEST_DAEMON";
/// Set, to the socket, for the process that is another user's.
pub const AS_STRANGER: &str = "LEGWORK_TEST_STRANGER";
/// A file in the home: what whoever starts the daemon found wrong with its settings.
pub const COMPLAINTS: &str = "complaints";
/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub struct LocalHost(TempDir);

impl LocalHost {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::DirBuilder::new().mode(0o700).create(dir.path().join("home")).unwrap();
        Self(dir)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("home").join(name)
    }

    pub fn socket(&self) -> PathBuf {
        self.path("legwork.sock")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("daemon.log")).unwrap_or_default()
    }

    /// A daemon that stays.
    pub fn start(&self) -> Daemon<'_> {
        self.start_lingering(Duration::from_secs(600))
    }

    /// A daemon that leaves when it has been alone for this long.
    pub fn start_lingering(&self, linger: Duration) -> Daemon<'_> {
        let daemon = self.start_unseen(linger);
        eventually("the daemon listens", || UnixStream::connect(self.socket()).ok());
        daemon
    }

    /// The same, which may not listen yet.
    pub fn start_unseen(&self, linger: Duration) -> Daemon<'_> {
        Daemon { child: self.spawn(linger), home: self }
    }

    pub fn spawn(&self, linger: Duration) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_daemon_itself"])
            .env(AS_DAEMON, "1")
            .env("LEGWORK_HOME", self.path(""))
            .env("LEGWORK_LINGER_MS", linger.as_millis().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// What a process of another user hears on the socket, though the files let it in; nothing if
    /// this process may not become another user, or another user may not run it.
    pub fn heard_by_a_stranger(&self) -> Option<Vec<u8>> {
        for (path, mode) in [(self.0.path(), 0o711), (&self.path(""), 0o711)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(self.socket(), PermissionsExt::from_mode(0o666)).unwrap();
        let stranger = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_stranger_itself", "--nocapture"])
            .env(AS_STRANGER, self.socket())
            .current_dir("/")
            .uid(65_534)
            .stderr(Stdio::null())
            .output();
        let said = String::from_utf8(stranger.ok()?.stdout).unwrap();
        let (_, heard) = said.split_once("heard<").expect("it was let in to the socket");
        Some(heard.split_once('>').unwrap().0.as_bytes().to_vec())
    }
}

pub fn be_the_daemon() {
    let folders = legwork_machine::Folders::from_env().unwrap();
    let complaints = std::fs::read_to_string(folders.config.with_file_name(COMPLAINTS));
    let complaints = complaints.unwrap_or_default().lines().map(str::to_owned).collect();
    let agents = || AgentSettings { agents: Vec::new(), keep: Vec::new() };
    let hosts = Hosts {
        kinds: vec![Box::new(OpenCode::default()), Box::new(Bell)],
        built_in: vec![legwork_acp::opening(&folders, agents)],
    };
    let settings = Settings::default();
    let notify = std::sync::Arc::new(legwork_protocol::notify::Notify::default);
    let (only_if_kept, log_to_stderr) = (false, false);
    run(Options { folders, settings, complaints, hosts, notify, only_if_kept, log_to_stderr })
        .unwrap();
}

pub fn be_a_stranger(socket: &Path) {
    let mut stream = UnixStream::connect(socket).unwrap();
    let mut heard = Vec::new();
    // A connection that is closed on us may be an error.
    let _ = stream.read_to_end(&mut heard);
    let heard = format!("heard<{}>", String::from_utf8_lossy(&heard));
    std::io::stdout().write_all(heard.as_bytes()).unwrap();
}

pub struct Daemon<'a> {
    child: Child,
    home: &'a LocalHost,
}

impl Daemon<'_> {
    pub fn client(&self) -> Connection {
        let mut peer = Connection::connect(&self.home.socket());
        peer.hello_as_client();
        peer
    }

    pub fn peer(&self) -> Connection {
        Connection::connect(&self.home.socket())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn ended(mut self) -> ExitStatus {
        eventually("the daemon ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let _ = std::io::stderr().write_all(self.home.log().as_bytes());
        }
    }
}

/// Waits until something is so.
pub fn eventually<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(so) = is_so() {
            return so;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        // Only so as not to keep the processor from what is waited for.
        std::thread::sleep(Duration::from_millis(2));
    }
}
