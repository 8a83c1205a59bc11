//! `legwork bridge`: between a host's plugin and the daemon. A dumb pipe: it greets the daemon on
//! the plugin's behalf, then copies bytes both ways and looks at none of them. It ends when either
//! side ends; the plugin starts it again.
//!
//! Nobody sees its stderr, so what goes wrong before the link stands is told to the plugin as a
//! `bye`.

use std::io::{self, BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use legwork_client::{Client, Start, own_environment};
use legwork_machine::Folders;
use legwork_machine::process::process_mark;
use legwork_opencode::KIND;
use legwork_protocol::limits::{COMMAND_MAX_WORDS, DIRECTORY_MAX_BYTES, WORD_MAX_BYTES};
use legwork_protocol::line::{FromDaemon, HostLifetime, Role, Startup, encode};
use serde::Deserialize;

use super::{Exit, Fault, Screen};
use crate::identity::{self, Database};
use crate::{board_lines, front, headless};

/// The plugin says who it is as soon as it has started us.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// Room for the longest directory, escaped.
const FIRST_LINE_MAX_BYTES: u64 = 64 << 10;

/// Connect a host to the daemon (started by the host's plugin)
///
/// Speaks JSON lines on stdin and stdout. With --url a person starts it, for a server without the
/// plugin: the daemon reaches the server's sessions then, but they have no tools of legwork's.
#[derive(Args)]
pub struct Bridge {
    /// The host
    #[arg(value_name = "HOST")]
    end: End,
    /// Reach the host at this address instead of through its plugin; a password is taken from
    /// OPENCODE_SERVER_PASSWORD
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The project, if the server was started elsewhere
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// The server has the database open that OpenCode has here: it takes part in what this
    /// project's windows began. Without this its sessions are its own
    #[arg(long, requires = "url")]
    same_data: bool,
    /// Start the host without a window, and end when it has connected (the daemon does this)
    #[arg(long, hide = true, requires = "directory", conflicts_with = "url")]
    headless: bool,
    /// The host's program, and the script if it is an interpreter
    #[arg(long, hide = true, requires = "headless", allow_hyphen_values = true)]
    program: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum End {
    Opencode,
    /// A view inside of a host, which reads the board and says nothing
    #[value(hide = true)]
    Board,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum First {
    Init {
        pid: u32,
        directory: String,
        #[serde(default)]
        project: Option<String>,
        #[serde(default)]
        lifetime: HostLifetime,
        /// The program that the plugin runs in, and its script.
        #[serde(default)]
        program: Vec<String>,
        /// The plugin's own.
        #[serde(default)]
        version: Option<String>,
    },
}

/// Where the rest of stdin goes, and who is told when the plugin ends.
struct Target {
    daemon: UnixStream,
    tell: Sender<Exit>,
}

impl super::Command for Bridge {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, _: &Screen) -> Result<Exit, Fault> {
        if self.end == End::Board {
            return board_lines::run();
        }
        if let Some(url) = &self.url {
            let data = if self.same_data { front::Data::ThisUsers } else { front::Data::ItsOwn };
            return front::run(url, self.directory.as_deref(), data).map(|()| Exit::Done);
        }
        if self.headless {
            let directory = self.directory.unwrap_or_default();
            return headless::start(&self.program, &directory);
        }
        let (plugin, link) = listen();
        let role = match plugin.recv_timeout(FIRST_LINE) {
            Ok(line) => read_first(&line),
            Err(_) => Err("the plugin did not say who it is in time".to_owned()),
        };
        let role = match role {
            Ok(role) => role,
            Err(why) => return bye(&why).map(|()| Exit::Usage),
        };
        match Self::connect(role) {
            Ok((stream, read)) => Self::copy(stream, &read, &link),
            Err(fault) => bye(&fault.in_full()).map(|()| fault.exit()),
        }
    }
}

impl Bridge {
    fn connect(role: Role) -> Result<(UnixStream, Vec<u8>), Fault> {
        let client = Client::connect(&Folders::from_env()?, role, Start::IfNeeded)?;
        let (stream, read) = client.into_parts();
        // From now on silence is nobody's fault.
        stream.set_read_timeout(None).map_err(Fault::Input)?;
        Ok((stream, read))
    }

    fn copy(mut stream: UnixStream, read: &[u8], link: &Sender<Target>) -> Result<Exit, Fault> {
        let mut out = io::stdout();
        out.write_all(read).and_then(|()| out.flush()).map_err(Fault::Output)?;
        let (tell, ended) = mpsc::channel();
        let daemon = stream.try_clone().map_err(Fault::Input)?;
        // The listener waits for it.
        let _ = link.send(Target { daemon, tell: tell.clone() });
        thread::spawn(move || {
            let copied = io::copy(&mut stream, &mut io::stdout());
            let deaf = copied.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
            // Nobody listens any more if the other side was first.
            let _ = tell.send(if deaf { Exit::Done } else { Exit::NoDaemon });
        });
        Ok(ended.recv().unwrap_or(Exit::NoDaemon))
    }
}

/// Reads the plugin's first line on a thread of its own, which can be given up, and copies the
/// rest to the daemon as soon as it is told where that is.
fn listen() -> (Receiver<Vec<u8>>, Sender<Target>) {
    let (say, plugin) = mpsc::channel();
    let (link, linked) = mpsc::channel::<Target>();
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        // What cannot be read is an empty line, which is refused.
        let _ = stdin.by_ref().take(FIRST_LINE_MAX_BYTES).read_until(b'\n', &mut line);
        let _ = say.send(line);
        let Ok(Target { mut daemon, tell }) = linked.recv() else { return };
        // If the daemon went, whoever reads from it says so, after its last words.
        if io::copy(&mut stdin, &mut daemon).is_ok() {
            let _ = tell.send(Exit::Done);
        }
    });
    (plugin, link)
}

fn read_first(line: &[u8]) -> Result<Role, String> {
    let First::Init { pid, directory, project, lifetime, program, version } =
        serde_json::from_slice(line)
            .map_err(|error| format!("the plugin's first line cannot be understood ({error})"))?;
    if directory.is_empty() || directory.len() > DIRECTORY_MAX_BYTES {
        return Err("the plugin names no directory that can be one".to_owned());
    }
    let mark = process_mark(pid).ok_or_else(|| format!("there is no process {pid}"))?;
    let host = identity::host(&mark, &directory).map_err(|bad| bad.to_string())?;
    let database = Database::of_process(pid, &mark);
    let place = identity::place(project.as_deref(), &directory, &database);
    let place = place.map_err(|bad| bad.to_string())?;
    let startup = startup(program, &directory).map(Box::new);
    // What is no version is not worth the link.
    let plugin = version.filter(|version| version.len() <= WORD_MAX_BYTES);
    Ok(Role::Host { host, place, kind: KIND.to_owned(), lifetime, startup, plugin })
}

/// How to start the host again: our environment is what it was started with. Without it helpers
/// do not outlive their window, and everything else works.
fn startup(command: Vec<String>, directory: &str) -> Option<Startup> {
    let fits = !command.is_empty() && command.len() <= COMMAND_MAX_WORDS;
    let environment = own_environment().ok().filter(|_| fits)?;
    Some(Startup { command, directory: directory.to_owned(), environment })
}

fn bye(why: &str) -> Result<(), Fault> {
    let bye = FromDaemon::Bye { why: why.to_owned(), leaving: false };
    let mut out = io::stdout();
    out.write_all(&encode(&bye)).and_then(|()| out.flush()).map_err(Fault::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(line: &str) -> Result<Role, String> {
        read_first(line.as_bytes())
    }

    #[test]
    fn the_first_line_says_which_host_it_is() {
        let pid = std::process::id();
        let line = format!(
            r#"{{"type":"init","pid":{pid},"directory":"/p","project":"abc","version":"0.1.0"}}"#
        );
        let Ok(Role::Host { host, place, kind, lifetime, startup, plugin }) = first(&line) else {
            panic!()
        };
        assert_eq!(startup, None, "it did not say which program it is");
        assert_eq!(plugin.as_deref(), Some("0.1.0"));
        let mark = process_mark(pid).unwrap();
        assert!(host.as_str().starts_with(&format!("opencode-{mark}-")), "{host}");
        assert!(place.as_str().starts_with("opencode/abc/"), "{place}");
        assert_eq!((kind.as_str(), lifetime), ("opencode", HostLifetime::Interactive));
    }

    #[test]
    fn rubbish_in_the_first_line_is_refused_in_words() {
        let pid = std::process::id();
        for line in [
            String::new(),
            "\u{0}".to_owned(),
            "[]".to_owned(),
            r#"{"type":"hello"}"#.to_owned(),
            r#"{"type":"init","pid":-1,"directory":"/p"}"#.to_owned(),
            r#"{"type":"init","pid":0,"directory":"/p"}"#.to_owned(),
            format!(r#"{{"type":"init","pid":{pid},"directory":""}}"#),
            format!(r#"{{"type":"init","pid":{pid},"directory":"/p","lifetime":"never"}}"#),
        ] {
            assert!(first(&line).is_err(), "{line}");
        }
    }
}
