//! `legwork ui`.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::config::Config;
use clap::Args;
use legwork_machine::{Folders, program, var};
use legwork_views::page::{Found, Front, Place, limits};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use super::{Exit, Fault, Screen};
use crate::screen::{DIM, paint, remark};

/// See all helpers in the browser
///
/// Opens a live page with all tasks: who asks you something, who is at work on what, and what came
/// of the others. On it you read along, answer, launch, cancel, have tasks go on and clear them.
///
/// The page is for you alone: it is served to this machine only, and only to a browser that came
/// in with a code from this command. A code works once; run `legwork ui` again for another
/// browser. The page is there until Ctrl-C, or with --detach until a minute after its last tab was
/// closed.
///
/// From another machine: run `legwork ui --no-open` here, `ssh -L 5975:127.0.0.1:5975 HOST` there,
/// with the same port number twice, and open the address there.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork ui
  legwork ui --detach               and have the terminal back
  legwork ui --no-open              print the address with its code
  legwork ui --port 8123            elsewhere; `ui.port` in config.toml does so for good")]
pub struct Ui {
    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,
    /// Listen on this port [default: 5975, or any that is free]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Leave it running until a minute after its last tab was closed
    #[arg(long)]
    detach: bool,
    /// Be the one that is left running
    #[arg(long, hide = true)]
    left_running: bool,
}

/// Where the page is, for programs.
#[derive(Debug, Serialize, Deserialize)]
struct Whereabouts {
    /// With a code that works once.
    address: String,
    port: u16,
    /// The process that serves it.
    #[serde(default)]
    pid: Option<u32>,
}

impl super::Command for Ui {
    const ACTS: bool = true;

    fn is_for_people(&self) -> bool {
        !self.left_running
    }

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let folders = Folders::from_env()?;
        match legwork_views::page::find(&folders)? {
            Found::Running { pid, port, address } => {
                let there = Whereabouts { address, port, pid };
                self.show(&folders, there, screen)?;
            }
            Found::Nobody(place) if self.detach => {
                drop(place);
                let there = self.leave_running()?;
                self.show(&folders, there, screen)?;
            }
            Found::Nobody(place) => self.serve(&folders, place, screen)?,
        }
        Ok(Exit::Done)
    }
}

impl Ui {
    fn serve(&self, folders: &Folders, mut place: Place, screen: &Screen) -> Result<(), Fault> {
        let front = self.bind(folders)?;
        place.take(&front)?;
        let there = Whereabouts {
            address: front.address()?,
            port: front.port(),
            pid: Some(std::process::id()),
        };
        if self.left_running {
            // Ctrl-C in the terminal that it was started from is not meant for it.
            let _ = rustix::process::setsid();
            screen.value_line(&there)?;
        } else {
            self.show(folders, there, screen)?;
            remark(paint(DIM, "Ctrl-C closes the page."));
        }
        let served = front.serve(self.left_running.then(linger), asked_to_end());
        legwork_views::page::remove_all(folders);
        Ok(served?)
    }

    /// The wanted port, or any if it was not asked for in so many words.
    fn bind(&self, folders: &Folders) -> Result<Front, Fault> {
        if let Some(port) = self.port {
            return Ok(Front::bind(folders, port)?);
        }
        let (config, _) = Config::read(&folders.config);
        let usual = Front::bind(folders, config.ui_port);
        Ok(usual.or_else(|_| Front::bind(folders, 0))?)
    }

    /// Starts one that stays.
    fn leave_running(&self) -> Result<Whereabouts, Fault> {
        let program = program().map_err(Fault::file("find", "legwork".as_ref()))?;
        let mut command = Command::new(&program);
        command.args(["ui", "--left-running", "--json"]);
        if let Some(port) = self.port {
            command.args(["--port", &port.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        legwork_machine::inherited::close_for_children();
        let mut child = command.spawn().map_err(Fault::file("start", &program))?;
        let told = first_line(&mut child).and_then(|line| serde_json::from_str(&line).ok());
        told.ok_or_else(|| Fault::Refused(last_words(&mut child)))
    }

    /// Opens the browser, and says where the page is.
    fn show(&self, folders: &Folders, there: Whereabouts, screen: &Screen) -> Result<(), Fault> {
        if screen.is_json() {
            return screen.value_line(&there);
        }
        let minutes = limits::CODE_MAX.as_secs() / 60;
        if self.no_open || !legwork_views::page::open(folders, &there.address)? {
            screen.line(&there.address)?;
            remark(paint(
                DIM,
                format!("Open it within {minutes} minutes; the code in it works once."),
            ));
            if var("SSH_CONNECTION").is_some() {
                let port = there.port;
                remark(paint(
                    DIM,
                    format!("From your own machine first: ssh -L {port}:127.0.0.1:{port} HOST"),
                ));
            }
            return Ok(());
        }
        screen.line(format!("The page opens in your browser: http://127.0.0.1:{}/", there.port))?;
        remark(paint(DIM, "If it does not, `legwork ui --no-open` prints an address to open."));
        Ok(())
    }
}

fn linger() -> Duration {
    let given = var("LEGWORK_UI_LINGER_MS").and_then(|ms| ms.to_str()?.parse().ok());
    given.map_or(limits::LINGER, Duration::from_millis)
}

fn first_line(child: &mut Child) -> Option<String> {
    let mut line = String::new();
    let stdout = child.stdout.take()?.take(limits::RECORD_MAX_BYTES);
    BufReader::new(stdout).read_line(&mut line).ok()?;
    Some(line).filter(|line| !line.is_empty())
}

fn last_words(child: &mut Child) -> String {
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        // What cannot be read was not said.
        let _ = stderr.take(limits::RECORD_MAX_BYTES).read_to_string(&mut said);
    }
    let _ = child.wait();
    let said = legwork_views::model::text::harmless(said.trim());
    said.strip_prefix("legwork: ").unwrap_or(&said).to_owned()
}

/// Waits for Ctrl-C, a SIGTERM or the end of the terminal.
async fn asked_to_end() {
    let all = || -> io::Result<_> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok((interrupt?, terminate?, hangup?))
    };
    match all() {
        Ok((mut interrupt, mut terminate, mut hangup)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        }
        // Then they end the process themselves.
        Err(_) => std::future::pending().await,
    }
}
