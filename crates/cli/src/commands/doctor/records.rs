//! The records: whole, of a version that this program knows, and such that they can be saved.

use std::path::Path;
use std::time::Duration;

use legwork_store::{Fault as StoreFault, ask_for_check, inspect};

use super::check::{Check, Ground, Look};
use super::finding::{Finding, Remedy, word};
use crate::words::counted;

pub const RECORDS: Check = Check {
    name: "records",
    doing: "reading all records",
    at_most: Duration::from_secs(60),
    look: Look::In(records),
};

fn records(ground: &Ground) -> Vec<Finding> {
    let store = &ground.folders.store;
    match inspect(store) {
        Ok(None) => {}
        Ok(Some(what)) => return vec![damaged(store, &what)],
        Err(fault @ StoreFault::TooNew { .. }) => return vec![too_new(store, &fault)],
        // A file that cannot be opened keeps the daemon from starting, which has said so.
        Err(_) if ground.daemon.get().is_none() => return Vec::new(),
        Err(fault) => {
            let remedy = Remedy::words("`legwork daemon log` may say more.");
            let says = fault.to_string();
            return vec![Finding::problem("records", "records.unreadable", says, remedy)];
        }
    }
    let Some(view) = ground.daemon.get() else { return Vec::new() };
    let says = format!("{} in {}", counted(view.tasks, "task"), view.store);
    if !view.healthy {
        let remedy = Remedy::words(
            "Make room on that disk; it goes on by itself. `legwork daemon log` says more.",
        );
        let says = format!("{says}, which cannot be written");
        return vec![Finding::problem("records", "records.cannot-be-saved", says, remedy)];
    }
    if !view.set_aside.is_empty() {
        return vec![set_aside(&says, &view.set_aside)];
    }
    vec![Finding::good("records", says)]
}

/// The next start is asked to look as closely, else it would trust what it need not read.
fn damaged(store: &Path, what: &str) -> Finding {
    let says = format!("the records in {} are damaged ({what})", store.display());
    let remedy = match ask_for_check(store) {
        Ok(()) => Remedy::run(
            "legwork daemon stop",
            "the next start sets them aside and takes over what can be read; nothing is deleted",
        ),
        Err(fault) => Remedy::words(format!("Their folder cannot be written: {fault}.")),
    };
    Finding::problem("records", "records.damaged", says, remedy)
}

fn too_new(store: &Path, fault: &StoreFault) -> Finding {
    let remedy = Remedy::run(
        format!("mv {0} {0}.newer", word(store)),
        "or install the newer legwork again. This begins anew, and what is there stays for it",
    );
    Finding::problem("records", "records.newer", fault.to_string(), remedy)
}

fn set_aside(says: &str, files: &[String]) -> Finding {
    let names = files.iter().flat_map(|file| ["", "-wal", "-shm"].map(|end| file.clone() + end));
    let names: Vec<String> = names.map(|name| word(Path::new(&name))).collect();
    let remedy = Remedy::run(
        format!("rm -f {}", names.join(" ")),
        "if nothing is missing. What could be read of them was taken over, and nothing of them is \
         deleted: results that are missing here may be in that file, and the conversations of \
         helpers are kept",
    );
    let files = files.join(", ");
    let says = format!("{says}; earlier records could not be read as a whole: {files}");
    Finding::problem("records", "records.set-aside", says, remedy)
}
