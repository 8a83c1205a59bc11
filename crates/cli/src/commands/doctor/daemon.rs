//! The daemon: it can be started and answers, is of this version, and is found where it listens.

use std::time::{Duration, Instant};

use legwork_client::{Fault as ClientFault, Holder, Start, holder, is_newer};
use legwork_machine::{Fault as MachineFault, Folders, check_owner_of, check_private};
use legwork_protocol::api::Request;
use legwork_protocol::view::DaemonView;

use super::check::{Check, Ground, Look};
use super::finding::{Finding, Remedy, word};
use super::plugin::is_elsewhere;
use crate::asking::{connect_soon, get};
use crate::fault::Fault;
use crate::sentences;

pub const DAEMON: Check = Check {
    name: "daemon",
    doing: "waiting for the daemon",
    at_most: Duration::from_secs(20),
    look: Look::In(daemon),
};

pub const HOSTS: Check = Check {
    name: "hosts",
    doing: "counting the connected hosts",
    at_most: Duration::from_secs(2),
    look: Look::In(hosts),
};

const STOP: &str = "legwork daemon stop";

fn daemon(ground: &Ground) -> Vec<Finding> {
    match ask(&ground.folders) {
        Err(fault) => vec![unreached(&fault)],
        Ok((view, took)) => {
            let found = vec![version(&view, took), socket(&ground.folders)];
            // Nobody else sets it.
            let _ = ground.daemon.set(view);
            found
        }
    }
}

fn ask(folders: &Folders) -> Result<(DaemonView, Duration), Fault> {
    let mut client = connect_soon(folders, Start::IfNeeded)?;
    let asked = Instant::now();
    let view = get(&mut client, Request::Status)?;
    Ok((view, asked.elapsed()))
}

/// Why the daemon could not be asked. The fault says what to do in words; where a command does it,
/// that is named too.
fn unreached(fault: &Fault) -> Finding {
    use ClientFault as F;
    let stop = || Some(Remedy::run(STOP, "ends it; the next command starts another"));
    let (code, remedy) = match fault {
        Fault::Client(F::Suspended { pid }) => {
            let command = format!("kill -CONT {pid}");
            ("daemon.suspended", Some(Remedy::run(command, "lets it go on")))
        }
        Fault::Client(F::Silent { .. }) => ("daemon.silent", stop()),
        Fault::Client(F::TooSlow { .. }) => ("daemon.not-ready", stop()),
        Fault::Client(F::Lost { .. }) => ("daemon.lost", stop()),
        Fault::Client(F::TurnedAway { .. }) => ("daemon.other-version", stop()),
        Fault::Client(F::Garbled(_) | F::Unfitting(_)) => ("daemon.garbled", stop()),
        Fault::Client(F::Ended { .. } | F::NotStarted { .. }) => ("daemon.cannot-start", None),
        Fault::Client(F::Elsewhere { .. }) => ("daemon.elsewhere", None),
        Fault::Client(F::Machine(MachineFault::NotPrivate { folder, command, .. })) => {
            let command = format!("{command} {}", word(folder));
            ("daemon.socket-folder", Some(Remedy::run(command, "makes it yours alone")))
        }
        _ => ("daemon.unreachable", None),
    };
    Finding { remedy, ..Finding::of_fault("daemon", code, fault) }
}

fn version(view: &DaemonView, took: Duration) -> Finding {
    let ours = env!("CARGO_PKG_VERSION");
    let took = took.as_micros() as f64 / 1000.0;
    let says = format!("legwork {}, process {}, answers in {took:.1} ms", view.build, view.pid);
    if view.build == ours {
        return Finding::good("daemon", says);
    }
    if is_newer(&view.build, ours) {
        let says = format!("{says}; this is legwork {ours}, and both work together");
        let remedy = Remedy::run("legwork update", "says how to update this one");
        return Finding::mind("daemon", "daemon.newer", says, remedy);
    }
    let why = format!(
        "lets this one start, which is legwork {ours}; by itself it makes way when nothing is \
         unfinished"
    );
    Finding::mind("daemon", "daemon.older", says, Remedy::run(STOP, why))
}

/// The daemon was just asked, so it listens somewhere.
fn socket(folders: &Folders) -> Finding {
    let socket = match holder(&folders.store) {
        Ok(Holder::Daemon(Some(record))) => record.socket,
        Ok(_) => None,
        Err(fault) => return Finding::of_fault("socket", "socket.unknown", &fault.into()),
    };
    let Some(socket) = socket else {
        let remedy = Remedy::run(STOP, "if its disk has room: it may be an older legwork");
        let says = "the daemon has not written down where it listens";
        return Finding::mind("socket", "socket.unknown", says, remedy);
    };
    let folder = folders.socket.parent().unwrap_or(&folders.socket);
    let listens = socket.display();
    if let Err(fault) = check_owner_of(folder).and_then(|()| check_private(folder))
        && socket.parent() != Some(folder)
    {
        let says = format!("{fault} The daemon listens on {listens} instead");
        let remedy = "That does no harm. If XDG_RUNTIME_DIR is another user's, unset it.";
        return Finding::mind("socket", "socket.moved", says, Remedy::words(remedy));
    }
    if socket == folders.socket {
        return Finding::good("socket", listens.to_string());
    }
    // Everybody goes by the daemon's record, so a terminal with another TMPDIR, or a home whose
    // name is too long for a socket, finds it all the same.
    Finding::good("socket", format!("{listens} (not {}, and found)", folders.socket.display()))
}

fn hosts(ground: &Ground) -> Vec<Finding> {
    let Some(view) = ground.daemon.get() else { return Vec::new() };
    if view.hosts.is_empty() && is_elsewhere() {
        return vec![Finding::good("hosts", "no OpenCode is connected, and none is needed")];
    }
    if view.hosts.is_empty() {
        return vec![Finding::mind(
            "hosts",
            "hosts.none",
            "no OpenCode is connected",
            Remedy::words(
                "Start OpenCode, or restart one that was open before `legwork install opencode`.",
            ),
        )];
    }
    let names: Vec<String> = view.hosts.iter().map(sentences::host).collect();
    vec![Finding::good("hosts", format!("connected: {}", names.join(", ")))]
}
