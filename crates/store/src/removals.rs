//! Session files of forgotten tasks that are still to be removed. A task is listed here in the same
//! transaction that forgets it: a file is removed because somebody asked for it, never because
//! nothing is known of it.

use legwork_protocol::TaskId;
use rusqlite::Connection;

use crate::columns::all;
use crate::fault::Fault;
use crate::save::begin;
use crate::words;

const TRIED: &str = "note that files were removed";

/// A task that is still being stopped writes to its file.
const DUE: &str = "SELECT task FROM removals WHERE task NOT IN (SELECT task FROM stops)";

pub fn due(db: &Connection) -> Result<Vec<TaskId>, Fault> {
    all(db, "read the store", DUE, (), |row| row.parsed())
}

pub fn done(db: &mut Connection, tasks: &[TaskId]) -> Result<(), Fault> {
    let tx = begin(db, TRIED)?;
    for task in tasks {
        tx.prepare_cached("DELETE FROM removals WHERE task = ?1")
            .and_then(|mut delete| delete.execute([words::id(*task)]))
            .map_err(Fault::when(TRIED))?;
    }
    tx.commit().map_err(Fault::when(TRIED))
}
