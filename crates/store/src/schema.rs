//! The versions of the file's format. A file says in `user_version` which one it has; each step
//! leads from one version to the next in a transaction of its own.
//!
//! A released step is never edited. For a new version add a step, and the file
//! `tests/schemas/v{N}.sql` with a store of that version.

use std::path::Path;

use rusqlite::Connection;

use crate::fault::Fault;
use crate::save::begin;

const STEPS: [&str; 6] = [
    include_str!("schema/v1.sql"),
    include_str!("schema/v2.sql"),
    include_str!("schema/v3.sql"),
    include_str!("schema/v4.sql"),
    include_str!("schema/v5.sql"),
    include_str!("schema/v6.sql"),
];

/// The version that this legwork writes.
pub const VERSION: u32 = STEPS.len() as u32;

/// Marks the file as ours, for `file(1)` and for ourselves.
pub const APPLICATION: i32 = i32::from_be_bytes(*b"legw");

/// The version of the file, 0 for one with nothing in it yet. Refuses one of another program and
/// one from the future.
pub fn identify(db: &Connection, path: &Path) -> Result<u32, Fault> {
    let tried = "read the store's version";
    let read = |sql| db.query_row(sql, (), |row| row.get::<_, i64>(0)).map_err(Fault::when(tried));
    let version = read("PRAGMA user_version")?;
    let application = read("PRAGMA application_id")?;
    let objects = read("SELECT count(*) FROM sqlite_schema")?;
    if objects == 0 && version == 0 {
        return Ok(0);
    }
    match u32::try_from(version) {
        Ok(found) if application == i64::from(APPLICATION) && found <= VERSION => Ok(found),
        Ok(found) if application == i64::from(APPLICATION) => {
            Err(Fault::TooNew { path: path.to_owned(), found, known: VERSION })
        }
        _ => Err(Fault::Foreign { path: path.to_owned() }),
    }
}

/// Brings a file from this version to the newest.
pub fn migrate(db: &mut Connection, from: u32) -> Result<(), Fault> {
    let tried = "bring the store to the newest format";
    for (number, step) in (1u32..).zip(STEPS).filter(|(number, _)| *number > from) {
        let tx = begin(db, tried)?;
        tx.execute_batch(step).map_err(Fault::when(tried))?;
        tx.pragma_update(None, "application_id", APPLICATION).map_err(Fault::when(tried))?;
        tx.pragma_update(None, "user_version", number).map_err(Fault::when(tried))?;
        tx.commit().map_err(Fault::when(tried))?;
    }
    Ok(())
}
