//! `legwork doctor`.

use std::env;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use legwork_acp::agents::REHEARSAL;
use legwork_client::{Client, Holder, Start, holder};
use legwork_config::Config;
use legwork_machine::{Folders, check_owner, check_owner_of, check_private};
use legwork_protocol::api::Request;
use legwork_protocol::line::Role;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::DaemonView;
use serde::Serialize;

use crate::agents::Agents;
use crate::asking::get;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plugin::{
    Found, binary_of, file_in, global_file, is_in_build_folder, look, this_binary,
};
use crate::screen::{BAD, DIM, GOOD, MIND, Screen, paint};
use crate::words::counted;

/// The first OpenCode with everything that the plugin uses.
const OPENCODE_LEAST: (u64, u64) = (1, 18);
/// What others may do with a folder that is not the user's alone.
const OTHERS_WRITE: u32 = 0o022;
/// Connections, and three pipes for each of a few hundred agents.
const OPEN_FILES_LEAST: u64 = 1_024;
const OPENCODE_PATIENCE: Duration = Duration::from_secs(10);

/// Check that everything works, and say what to do if not
///
/// Checks one thing after the other: the program, the settings, the folders, the daemon, its socket
/// and records, the agents, the plugin, OpenCode. Each problem comes with what to do. Starts the
/// daemon if it does not run. The exit code is 1 if there is a problem.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork doctor
  legwork doctor --json | jq '.[] | select(.state != \"good\")'")]
pub struct Doctor {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    Mind,
    Problem,
}

#[derive(Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Finding {
    fn good(check: &'static str, says: impl Into<String>) -> Self {
        Self { check, state: State::Good, says: says.into(), remedy: None }
    }

    fn mind(check: &'static str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, state: State::Mind, says: says.into(), remedy: Some(remedy.into()) }
    }

    fn problem(check: &'static str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, state: State::Problem, says: says.into(), remedy: Some(remedy.into()) }
    }

    fn of_fault(check: &'static str, fault: &Fault) -> Self {
        Self { check, state: State::Problem, says: fault.in_full(), remedy: None }
    }
}

impl Doctor {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut all = Vec::new();
        let mut add = |finding: Finding| {
            let shown = if screen.is_json() { Ok(()) } else { show(&finding, screen) };
            all.push(finding);
            shown
        };
        add(program())?;
        match Folders::from_env() {
            Err(fault) => add(Finding::of_fault("folders", &fault.into()))?,
            Ok(folders) => look_into(&folders, &mut add)?,
        }
        add(open_files())?;
        add(plugin())?;
        add(opencode())?;
        let problems = all.iter().filter(|finding| finding.state == State::Problem).count();
        let verdict = match problems {
            0 => paint(GOOD, "All is well."),
            some => paint(BAD, format!("{}.", counted(some, "problem"))),
        };
        if screen.is_json() {
            screen.value(&all)?;
        } else {
            screen.lines(["", &verdict])?;
        }
        Ok(if problems > 0 { Exit::Refused } else { Exit::Done })
    }
}

fn look_into(
    folders: &Folders,
    add: &mut dyn FnMut(Finding) -> Result<(), Fault>,
) -> Result<(), Fault> {
    add(settings(&folders.config))?;
    add(owner(folders))?;
    match daemon(folders) {
        Err(fault) => add(Finding::of_fault("daemon", &fault))?,
        Ok((view, took)) => {
            add(daemon_version(&view, took))?;
            add(socket(folders))?;
            add(records(&view))?;
            add(hosts(&view))?;
        }
    }
    add(agents(folders))
}

fn show(finding: &Finding, screen: &Screen) -> Result<(), Fault> {
    let mark = match finding.state {
        State::Good => paint(GOOD, "✓"),
        State::Mind => paint(MIND, "!"),
        State::Problem => paint(BAD, "✗"),
    };
    let mut says = finding.says.lines();
    let first = says.next().unwrap_or_default();
    screen.line(format!("{mark} {:<10} {first}", finding.check))?;
    for more in says {
        screen.line(format!("  {:<10} {more}", ""))?;
    }
    match &finding.remedy {
        Some(remedy) => screen.line(format!("  {:<10} {} {remedy}", "", paint(DIM, "→"))),
        None => Ok(()),
    }
}

fn program() -> Finding {
    match this_binary() {
        Err(fault) => Finding::of_fault("program", &fault),
        Ok(binary) => {
            let says = format!("legwork {} at {}", env!("CARGO_PKG_VERSION"), binary.display());
            if is_in_build_folder(&binary) {
                let remedy = "It is in a build folder. `cargo install --path crates/cli` keeps it.";
                return Finding::mind("program", says, remedy);
            }
            Finding::good("program", says)
        }
    }
}

fn settings(config: &Path) -> Finding {
    let (_, mistakes) = Config::read(config);
    if !mistakes.is_empty() {
        let remedy = "Until that is put right, the defaults are used for these settings.";
        return Finding::problem("settings", mistakes.join("\n"), remedy);
    }
    let file = config.display();
    let says = if config.exists() {
        file.to_string()
    } else {
        format!("the defaults ({file} is not there)")
    };
    Finding::good("settings", says)
}

/// Everything of legwork's is this user's, and in folders that nobody else can change.
fn owner(folders: &Folders) -> Finding {
    if let Err(fault) = check_owner(folders) {
        return Finding::of_fault("folders", &fault.into());
    }
    let above = [folders.store.parent(), folders.log.parent()];
    for folder in above.into_iter().flatten() {
        let mode = folder.metadata().map_or(0, |found| found.permissions().mode());
        if mode & OTHERS_WRITE != 0 {
            let says = format!("{} can be changed by other users", folder.display());
            let remedy = format!("`chmod go-w {}`.", folder.display());
            return Finding::problem("folders", says, remedy);
        }
    }
    let home = folders.store.parent().unwrap_or(&folders.store);
    Finding::good("folders", format!("what is in {} is yours", home.display()))
}

/// The daemon was just asked, so it listens somewhere.
fn socket(folders: &Folders) -> Finding {
    let socket = match holder(&folders.store) {
        Ok(Holder::Daemon(Some(record))) => record.socket,
        Ok(_) => None,
        Err(fault) => return Finding::of_fault("socket", &fault.into()),
    };
    let Some(socket) = socket else {
        let remedy = "Its disk may be full, or it is an older legwork: `legwork daemon stop`.";
        return Finding::mind("socket", "the daemon has not written down where it listens", remedy);
    };
    let folder = folders.socket.parent().unwrap_or(&folders.socket);
    match check_owner_of(folder).and_then(|()| check_private(folder)) {
        Err(fault) if socket.parent() != Some(folder) => {
            let says = format!("{fault} The daemon listens on {} instead", socket.display());
            let remedy = "That does no harm. If XDG_RUNTIME_DIR is another user's, unset it.";
            Finding::mind("socket", says, remedy)
        }
        _ => Finding::good("socket", socket.display().to_string()),
    }
}

fn open_files() -> Finding {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    match most {
        Some(most) if most < OPEN_FILES_LEAST => Finding::mind(
            "files",
            format!("processes here may have {most} files open, too few for many helpers"),
            format!("Raise the hard limit (`ulimit -Hn {OPEN_FILES_LEAST}` as root)."),
        ),
        Some(most) => Finding::good("files", format!("up to {most} may be open at once")),
        None => Finding::good("files", "any number may be open at once"),
    }
}

fn daemon(folders: &Folders) -> Result<(DaemonView, Duration), Fault> {
    let mut client = Client::connect(folders, Role::Client, Start::IfNeeded)?;
    let asked = Instant::now();
    let view = get(&mut client, Request::Status)?;
    Ok((view, asked.elapsed()))
}

fn daemon_version(view: &DaemonView, took: Duration) -> Finding {
    let ours = env!("CARGO_PKG_VERSION");
    let took = took.as_micros() as f64 / 1000.0;
    let says = format!("legwork {}, process {}, answers in {took:.1} ms", view.build, view.pid);
    if view.build == ours {
        return Finding::good("daemon", says);
    }
    let remedy =
        format!("This program is legwork {ours}. `legwork daemon stop` lets the new start.");
    Finding::mind("daemon", says, remedy)
}

fn records(view: &DaemonView) -> Finding {
    let says = format!("{} in {}", counted(view.tasks, "task"), view.store);
    if let Some(last) = view.set_aside.last() {
        let remedy = format!(
            "What could be read of them was taken over, and nothing of them is deleted: results \
             that are missing here may be in that file, and the conversations of helpers are kept. \
             If nothing is missing, remove {last}."
        );
        let says = format!("{says}; earlier records could not be read as a whole: {last}");
        return Finding::problem("records", says, remedy);
    }
    if view.healthy {
        return Finding::good("records", says);
    }
    let remedy = "Make room on that disk; it goes on by itself. `legwork daemon log` says more.";
    Finding::problem("records", format!("{says}, which cannot be written"), remedy)
}

fn hosts(view: &DaemonView) -> Finding {
    if view.hosts.is_empty() {
        return Finding::mind(
            "hosts",
            "no OpenCode is connected",
            "Start OpenCode, or restart one that was open before `legwork install opencode`.",
        );
    }
    let names: Vec<&str> = view.hosts.iter().map(|host| host.host.as_str()).collect();
    Finding::good("hosts", format!("connected: {}", names.join(", ")))
}

fn agents(folders: &Folders) -> Finding {
    let agents = Agents::find(folders);
    let known = counted(agents.known.len(), "agent");
    match agents.default() {
        Some(name) if !agents.known.iter().any(|agent| agent.name == name) => Finding::problem(
            "agents",
            format!("{known} for `legwork run`, and none is called {name}, the default"),
            "Name another one as run.agent in the settings; `legwork agents` shows them.",
        ),
        Some(name) => {
            Finding::good("agents", format!("{known} for `legwork run`; the default is {name}"))
        }
        None => Finding::good(
            "agents",
            format!("none for `legwork run` but {REHEARSAL}, to try it; `legwork agents`"),
        ),
    }
}

/// Looks where `legwork install opencode` would have put it, for everybody and for this folder.
fn plugin() -> Finding {
    let project = env::current_dir().map(|here| file_in(&here.join(".opencode")));
    let places: Vec<PathBuf> = global_file().into_iter().chain(project).collect();
    let mut installed = Vec::new();
    for file in places {
        match look(&file) {
            Err(fault) => return Finding::of_fault("plugin", &fault),
            Ok(Found::Ours(text)) => installed.push((file, binary_of(&text))),
            Ok(Found::Nothing | Found::Foreign) => {}
        }
    }
    let Some((file, binary)) = installed.first() else {
        let remedy = "`legwork install opencode`, then restart OpenCode.";
        return Finding::problem("plugin", "it is not installed in OpenCode", remedy);
    };
    let again = "`legwork install opencode` again, then restart OpenCode.";
    match (binary, this_binary()) {
        (None, _) => {
            Finding::problem("plugin", format!("{} names no program", file.display()), again)
        }
        (Some(binary), _) if !binary.exists() => {
            let says = format!("{} starts {}, which is gone", file.display(), binary.display());
            Finding::problem("plugin", says, again)
        }
        (Some(binary), Ok(this)) if *binary != this => {
            let says = format!("{} starts {}, not this one", file.display(), binary.display());
            Finding::mind("plugin", says, format!("If that is not meant: {again}"))
        }
        (Some(_), _) => Finding::good("plugin", file.display().to_string()),
    }
}

fn opencode() -> Finding {
    let remedy = "Install it from opencode.ai, version 1.18 or later.";
    let version = match opencode_version() {
        Ok(version) => version,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Finding::mind("opencode", "it is not on the PATH", remedy);
        }
        Err(error) => {
            let says = format!("`opencode --version` does not work ({error})");
            return Finding::mind("opencode", says, remedy);
        }
    };
    let mut numbers = version.split('.').map_while(|number| number.parse::<u64>().ok());
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < OPENCODE_LEAST {
        return Finding::problem("opencode", format!("version {version} is too old"), remedy);
    }
    Finding::good("opencode", format!("version {version}"))
}

fn opencode_version() -> io::Result<String> {
    let mut child = Command::new("opencode")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + OPENCODE_PATIENCE;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    let said = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&said.stdout);
    Ok(plain(text.trim().trim_start_matches('v'), 40))
}
