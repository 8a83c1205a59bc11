//! `legwork daemon`.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::config::Config;
use clap::{Args, Subcommand};
use legwork_client::{Fault as ClientFault, Holder, Record, Start, holder};
use legwork_daemon::{Hosts, Options, Outcome, ReadNotify};
use legwork_machine::Folders;
use legwork_opencode::OpenCode;
use legwork_protocol::Interrupted;
use legwork_protocol::api::Request;
use legwork_protocol::view::{DaemonView, HostView};
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::asking::{connect_soon, get, reach};
use crate::screen::{BAD, GOOD, agrees, paint, remark};
use crate::sentences;
use crate::table::{self, Cell};
use crate::words::{counted, moment};

const FOLLOW_EVERY: Duration = Duration::from_millis(300);
/// A log is rotated at 1 MB.
const LOG_TAIL_BYTES: u64 = 2 << 20;

/// Start, stop or look at the daemon
///
/// The daemon looks after all tasks of this user. It is started when it is needed and ends by
/// itself when it is not, so these commands are rarely needed. Without a command: status.
///
/// Ending it loses no task and no result. Helpers in OpenCode go on without it, and the next daemon
/// finds them again. Helpers on other agents are its processes and are cut off with it: `stop` asks
/// first, and the next daemon has them go on, or ends them if `recovery.interrupted` is "fail".
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork daemon status
  legwork daemon log --follow
  legwork daemon stop               after an update; the next command starts the new one")]
pub struct Daemon {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Show whether it runs, and what it looks after
    Status,
    /// Start it, if it does not run
    Start,
    /// End it; asks first if helpers are cut off with it
    Stop {
        /// Do not ask, even if helpers are cut off with it
        #[arg(long, short)]
        yes: bool,
    },
    /// Show the end of its log
    Log {
        /// How many lines
        #[arg(long, short = 'n', default_value_t = 50)]
        lines: usize,
        /// Go on as lines are added
        #[arg(long, short)]
        follow: bool,
    },
    /// Be the daemon (other commands do this when they need one)
    Run {
        /// Stay in the terminal and write the log to stderr too
        #[arg(long)]
        foreground: bool,
        /// Only if there are records already
        #[arg(long)]
        only_if_kept: bool,
    },
}

impl super::Command for Daemon {
    fn acts(&self) -> bool {
        matches!(self.action, Some(Action::Stop { .. }))
    }

    fn is_for_people(&self) -> bool {
        !matches!(self.action, Some(Action::Run { .. }))
    }

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let folders = Folders::from_env()?;
        match self.action.unwrap_or(Action::Status) {
            Action::Status => status(&folders, screen),
            Action::Start => start(&folders, screen),
            Action::Stop { yes } => stop(&folders, yes, screen),
            Action::Log { lines, follow } => log(&folders.log, lines, follow, screen),
            Action::Run { foreground, only_if_kept } => be(folders, foreground, only_if_kept),
        }
    }
}

fn be(folders: Folders, foreground: bool, only_if_kept: bool) -> Result<Exit, Fault> {
    let (config, complaints) = Config::read(&folders.config);
    let (settings, hosts) = (config.settings, hosts(&folders));
    let path = folders.config.clone();
    let notify: ReadNotify = Arc::new(move || Config::read(&path).0.notify);
    let log_to_stderr = foreground;
    let options =
        Options { folders, settings, complaints, hosts, notify, only_if_kept, log_to_stderr };
    match legwork_daemon::run(options)? {
        Outcome::AlreadyRunning if foreground => remark("Another daemon is running already."),
        Outcome::NothingKept if foreground => remark("There are no records."),
        Outcome::AlreadyRunning | Outcome::NothingKept | Outcome::Ended => {}
    }
    Ok(Exit::Done)
}

/// All that the daemon works with. A new kind of host is added here.
fn hosts(folders: &Folders) -> Hosts {
    let path = folders.config.clone();
    let agents = move || Config::read(&path).0.agent_settings();
    Hosts {
        kinds: vec![Box::new(OpenCode::default())],
        built_in: vec![legwork_acp::opening(folders, agents), legwork_clients::opening(folders)],
    }
}

fn running(folders: &Folders, start: Start) -> Result<Option<DaemonView>, Fault> {
    match reach(folders, start) {
        Ok(mut client) => get(&mut client, Request::Status).map(Some),
        Err(ClientFault::NotRunning) => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

fn status(folders: &Folders, screen: &Screen) -> Result<Exit, Fault> {
    let found = match running(folders, Start::Never) {
        Err(fault) => return unreached(folders, fault, screen),
        Ok(found) => found,
    };
    let record = record(folders);
    let value = || json!({ "running": found.is_some(), "daemon": found, "record": record });
    screen.report(value, || {
        let Some(daemon) = &found else {
            let says = "The daemon is not running. The next command that needs it starts it.";
            return vec![says.to_owned()];
        };
        let mut page = page(daemon);
        if let Some(socket) = record.as_ref().and_then(|record| record.socket.as_ref()) {
            page.push(("Socket", Cell::new(socket.display().to_string())));
        }
        table::facts(page)
    })?;
    Ok(if found.is_some() { Exit::Done } else { Exit::NoDaemon })
}

/// A daemon that does not answer is shown by its record.
fn unreached(folders: &Folders, fault: Fault, screen: &Screen) -> Result<Exit, Fault> {
    let Some(record) = record(folders) else { return Err(fault) };
    if screen.is_json() {
        let why = fault.in_full();
        return screen
            .value(&json!({ "running": true, "daemon": null, "record": record, "why": why }))
            .map(|()| Exit::NoDaemon);
    }
    let socket = record.socket.map(|socket| socket.display().to_string());
    let facts = vec![
        ("Process", Cell::new(format!("{} (legwork {})", record.pid, record.build))),
        ("Socket", Cell::new(socket.unwrap_or_else(|| "none yet".to_owned()))),
        ("Over ACP", Cell::new(format!("{} at work", counted(record.at_work, "helper")))),
    ];
    screen.lines(table::facts(facts))?;
    Err(fault)
}

/// The record of the daemon that holds the store's lock, if that is a process that we see.
fn record(folders: &Folders) -> Option<Record> {
    match holder(&folders.store) {
        Ok(Holder::Daemon(record)) => record.filter(Record::is_process_here),
        Ok(Holder::Nobody) | Err(_) => None,
    }
}

fn page(daemon: &DaemonView) -> Vec<(&'static str, Cell)> {
    let health = if daemon.healthy {
        Cell::new("can be saved").styled(GOOD)
    } else {
        Cell::new("cannot be saved; make room on the disk").styled(BAD)
    };
    let tasks = format!("{}, {} unfinished", counted(daemon.tasks, "task"), daemon.unfinished);
    let mut facts = vec![
        ("Process", Cell::new(format!("{} (legwork {})", daemon.pid, daemon.build))),
        ("Started", Cell::new(moment(daemon.started))),
        ("Tasks", Cell::new(tasks)),
        ("Over ACP", Cell::new(format!("{} at work", counted(daemon.at_work, "helper")))),
        ("Pending", Cell::new(counted(daemon.pending, "notice"))),
        ("Records", health),
        ("Store", Cell::new(&daemon.store)),
        ("Log", Cell::new(&daemon.log)),
    ];
    for host in &daemon.hosts {
        let asked = counted(usize::try_from(host.requests).unwrap_or(usize::MAX), "request");
        let parts = versions(host);
        let what = format!(
            "{}, {asked}, {parts} ({} in {})",
            sentences::host(host),
            host.host,
            host.place
        );
        facts.push(("Host", Cell::new(what)));
    }
    if daemon.hosts.is_empty() {
        facts.push(("Host", Cell::new("none is connected")));
    }
    facts
}

/// Of which legwork the parts are that a host is reached through. The daemon's own is elsewhere.
fn versions(host: &HostView) -> String {
    let plugin = host.plugin.as_ref().map(|version| format!("plugin {version}, "));
    let bridge = if host.bridge.is_empty() { "unknown" } else { &host.bridge };
    format!("{}bridge {bridge}", plugin.unwrap_or_default())
}

fn start(folders: &Folders, screen: &Screen) -> Result<Exit, Fault> {
    let before = running(folders, Start::Never)?;
    let daemon = running(folders, Start::IfNeeded)?;
    let done = if before.is_some() { "already running" } else { "started" };
    screen.report(
        || json!({ "done": done, "daemon": daemon }),
        || {
            let Some(daemon) = &daemon else { return Vec::new() };
            vec![
                format!("{}: process {}.", paint(GOOD, done), daemon.pid),
                "It ends by itself when nothing is connected and nothing is unfinished.".to_owned(),
            ]
        },
    )
}

fn stop(folders: &Folders, yes: bool, screen: &Screen) -> Result<Exit, Fault> {
    let interrupted = Config::read(&folders.config).0.settings.interrupted;
    let may_end = |helpers: usize| {
        let ends = what_ends(helpers, interrupted);
        Ok::<bool, Fault>(helpers == 0 || yes || agrees(&format!("{ends} End the daemon?"))?)
    };
    let done = match connect_soon(folders, Start::Never) {
        Ok(mut client) => {
            if !may_end(get::<DaemonView>(&mut client, Request::Status)?.at_work)? {
                return Ok(Exit::Refused);
            }
            client.leave().map(|()| "stopped")?
        }
        Err(ClientFault::NotRunning) => "not running",
        // It speaks another version of the line format, hangs, or lost its socket.
        Err(fault) => {
            let Some(record) = record(folders) else { return Err(fault.into()) };
            if !may_end(record.at_work)? {
                return Ok(Exit::Refused);
            }
            record.end(&folders.store).map(|()| "stopped")?
        }
    };
    screen.report(
        || json!({ "done": done }),
        || {
            let mut lines = vec![format!("The daemon: {done}.")];
            if done == "stopped" {
                lines.push("A host that is open starts it again at once.".to_owned());
            }
            lines
        },
    )
}

/// Which helpers end with the daemon, and what becomes of them.
fn what_ends(helpers: usize, interrupted: Interrupted) -> String {
    let (ends, then) = match (helpers, interrupted) {
        (1, Interrupted::Continue) => ("on an agent over ACP ends", "the next daemon has it go on"),
        (_, Interrupted::Continue) => ("on agents over ACP end", "the next daemon has them go on"),
        (1, Interrupted::Fail) => ("on an agent over ACP ends", "it fails (recovery.interrupted)"),
        (_, Interrupted::Fail) => ("on agents over ACP end", "they fail (recovery.interrupted)"),
    };
    format!("{} {ends} with the daemon, and {then}.", counted(helpers, "helper"))
}

fn log(path: &Path, lines: usize, follow: bool, screen: &Screen) -> Result<Exit, Fault> {
    let fault = &Fault::file("read the log", path);
    let mut file = BufReader::new(File::open(path).map_err(fault)?);
    let length = file.get_ref().metadata().map_err(fault)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL_BYTES))).map_err(fault)?;
    let all = rest(&mut file).map_err(fault)?;
    let shown = &all[all.len().saturating_sub(lines)..];
    if screen.is_json() && !follow {
        return screen.value(&json!({ "file": path, "lines": shown })).map(|()| Exit::Done);
    }
    shown.iter().try_for_each(|line| log_line(line, screen))?;
    if !follow {
        return Ok(Exit::Done);
    }
    loop {
        thread::sleep(FOLLOW_EVERY);
        let added = rest(&mut file).map_err(fault)?;
        added.iter().try_for_each(|line| log_line(line, screen))?;
        // A full log is put aside under another name, and a new one begins.
        let now = std::fs::metadata(path).map(|now| now.len()).unwrap_or_default();
        if now < file.stream_position().map_err(fault)? {
            file = BufReader::new(File::open(path).map_err(fault)?);
        }
    }
}

fn log_line(line: &str, screen: &Screen) -> Result<(), Fault> {
    if screen.is_json() { screen.value_line(&line) } else { screen.raw(line) }
}

/// The lines that are there and have not been read.
fn rest(file: &mut BufReader<File>) -> std::io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
    Ok(lines)
}
