//! The daemon: it can be started and answers, is of this version, and is found where it listens.

use std::time::{Duration, Instant};

use legwork_client::{Client, Fault as ClientFault, Holder, Start, holder, is_newer};
use legwork_machine::{Fault as MachineFault, Folders, check_owner_of, check_private};
use legwork_protocol::api::Request;
use legwork_protocol::line::Role;
use legwork_protocol::view::DaemonView;

use super::check::DoctorContext;
use super::codes;
use super::finding::Finding;
use super::plugin::is_elsewhere;
use crate::asking::get;
use crate::fault::Fault;
use crate::plugin::word;
use crate::sentences;

pub fn daemon(context: &DoctorContext) -> Vec<Finding> {
    match ask(&context.folders) {
        Err(fault) => vec![unreached(&fault)],
        Ok((view, took)) => {
            let found = vec![version(&view, took), socket(&context.folders)];
            // Nobody else sets it.
            let _ = context.daemon.set(view);
            found
        }
    }
}

fn ask(folders: &Folders) -> Result<(DaemonView, Duration), Fault> {
    // The check itself shows that it waits.
    let mut client = Client::connect(folders, Role::Client, Start::IfNeeded)?;
    let asked = Instant::now();
    let view = get(&mut client, Request::Status)?;
    Ok((view, asked.elapsed()))
}

/// Why the daemon could not be asked.
fn unreached(fault: &Fault) -> Finding {
    use ClientFault as F;
    let says = fault.in_full();
    let Fault::Client(fault) = fault else { return codes::daemon_unreachable(says) };
    match fault {
        F::Suspended { pid } => codes::daemon_suspended(says, pid),
        F::Silent { .. } => codes::daemon_silent(says),
        F::TooSlow { .. } => codes::daemon_not_ready(says),
        F::Lost { .. } => codes::daemon_lost(says),
        F::TurnedAway { .. } => codes::daemon_other_version(says),
        F::Garbled(_) | F::Unfitting(_) => codes::daemon_garbled(says),
        F::Ended { .. } | F::NotStarted { .. } => codes::daemon_cannot_start(says),
        F::Elsewhere { .. } => codes::daemon_elsewhere(says),
        F::Machine(MachineFault::NotPrivate { folder, command, .. }) => {
            codes::daemon_socket_folder(says, command, word(folder))
        }
        _ => codes::daemon_unreachable(says),
    }
}

fn version(view: &DaemonView, took: Duration) -> Finding {
    let ours = env!("CARGO_PKG_VERSION");
    let took = took.as_micros() as f64 / 1000.0;
    let says = format!("legwork {}, process {}, answers in {took:.1} ms", view.build, view.pid);
    if view.build == ours {
        return Finding::good("daemon", says);
    }
    if is_newer(&view.build, ours) {
        return codes::daemon_newer(says, ours);
    }
    codes::daemon_older(says, ours)
}

/// The daemon was just asked, so it listens somewhere.
fn socket(folders: &Folders) -> Finding {
    let socket = match holder(&folders.store) {
        Ok(Holder::Daemon(Some(record))) => record.socket,
        Ok(_) => None,
        Err(fault) => return codes::socket_unreadable(Fault::from(fault).in_full()),
    };
    let Some(socket) = socket else { return codes::socket_unknown() };
    let folder = folders.socket.parent().unwrap_or(&folders.socket);
    let listens = socket.display();
    if let Err(fault) = check_owner_of(folder).and_then(|()| check_private(folder))
        && socket.parent() != Some(folder)
    {
        return codes::socket_moved(fault, listens);
    }
    if socket == folders.socket {
        return Finding::good("socket", listens.to_string());
    }
    // Everybody goes by the daemon's record, so a terminal with another TMPDIR, or a home whose
    // name is too long for a socket, finds it all the same.
    Finding::good("socket", format!("{listens} (not {}, and found)", folders.socket.display()))
}

pub fn hosts(context: &DoctorContext) -> Vec<Finding> {
    let Some(view) = context.daemon.get() else { return Vec::new() };
    if view.hosts.is_empty() && is_elsewhere() {
        return vec![Finding::good("hosts", "no OpenCode is connected, and none is needed")];
    }
    if view.hosts.is_empty() {
        return vec![codes::hosts_none()];
    }
    let names: Vec<String> = view.hosts.iter().map(sentences::host).collect();
    vec![Finding::good("hosts", format!("connected: {}", names.join(", ")))]
}
