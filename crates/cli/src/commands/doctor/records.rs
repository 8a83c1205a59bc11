//! The records: whole, of a version that this program knows, and such that they can be saved.

use std::path::Path;

use legwork_store::{Fault as StoreFault, ask_for_check, inspect};

use super::check::DoctorContext;
use super::codes;
use super::finding::Finding;
use crate::plugin::word;
use crate::words::counted;

pub fn records(context: &DoctorContext) -> Vec<Finding> {
    let store = &context.folders.store;
    match inspect(store) {
        Ok(None) => {}
        Ok(Some(what)) => return vec![damaged(store, &what)],
        Err(fault @ StoreFault::TooNew { .. }) => {
            return vec![codes::records_newer(fault, word(store))];
        }
        // A file that cannot be opened keeps the daemon from starting, which has said so.
        Err(_) if context.daemon.get().is_none() => return Vec::new(),
        Err(fault) => return vec![codes::records_unreadable(fault)],
    }
    let Some(view) = context.daemon.get() else { return Vec::new() };
    let says = format!("{} in {}", counted(view.tasks, "task"), view.store);
    if !view.healthy {
        return vec![codes::records_cannot_be_saved(says)];
    }
    if !view.set_aside.is_empty() {
        return vec![set_aside(&says, &view.set_aside)];
    }
    vec![Finding::good("records", says)]
}

/// The next start is asked to look as closely, else it would trust what it need not read.
fn damaged(store: &Path, what: &str) -> Finding {
    match ask_for_check(store) {
        Ok(()) => codes::records_damaged(store.display(), what),
        Err(fault) => codes::records_damaged_closed(store.display(), what, fault),
    }
}

fn set_aside(says: &str, files: &[String]) -> Finding {
    let names = files.iter().flat_map(|file| ["", "-wal", "-shm"].map(|end| file.clone() + end));
    let names: Vec<String> = names.map(|name| word(Path::new(&name))).collect();
    codes::records_set_aside(says, files.join(", "), names.join(" "))
}
