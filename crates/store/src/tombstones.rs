//! Tombstones: what is left of tasks whose parent session was deleted. The person may not have
//! meant to delete the results too, and we may have been wrong about the deletion, so they can be
//! read for a while.

use legwork_protocol::{TaskId, Time};
use rusqlite::{Connection, Transaction};

use crate::columns::all;
use crate::fault::Fault;
use crate::save::run;
use crate::words;

/// A week: long enough to notice, and short enough that what was deleted is deleted.
const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

const TRIED: &str = "read what is left of a forgotten task";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    pub task: TaskId,
    pub forgotten: Time,
    pub until: Time,
    pub agent: String,
    pub description: String,
    pub created: Time,
    pub stage: String,
    /// The result, or the reason why there is none, of the last run that had one.
    pub detail: Option<String>,
}

/// Removes those that are too old.
pub fn expire(db: &Connection, now: Time) -> Result<(), Fault> {
    remove_before(db, words::int(now.0.saturating_sub(KEPT_MS)))
}

pub fn remove_all(db: &Connection) -> Result<(), Fault> {
    remove_before(db, i64::MAX)
}

fn remove_before(db: &Connection, oldest: i64) -> Result<(), Fault> {
    let tried = "remove what is left of forgotten tasks";
    let sql = "DELETE FROM tombstones WHERE forgotten < ?1";
    db.execute(sql, [oldest]).map(drop).map_err(Fault::when(tried))
}

/// Keeps what a person may want of a task that is about to be forgotten.
pub fn put(tx: &Transaction<'_>, at: Time, task: TaskId) -> Result<(), Fault> {
    run(
        tx,
        "INSERT OR REPLACE INTO tombstones
            (task, forgotten, agent, description, created, stage, detail)
         SELECT id, ?2, agent, description, created, stage, (
            SELECT detail FROM runs WHERE task = id AND detail IS NOT NULL ORDER BY run DESC LIMIT 1
         ) FROM tasks WHERE id = ?1",
        (words::id(task), words::int(at.0)),
    )?;
    Ok(())
}

/// What is left of a task, if that is not too long ago.
pub fn find(db: &Connection, task: TaskId, now: Time) -> Result<Option<Tombstone>, Fault> {
    let sql = "SELECT forgotten, agent, description, created, stage, detail FROM tombstones
         WHERE task = ?1 AND forgotten >= ?2";
    let oldest = words::int(now.0.saturating_sub(KEPT_MS));
    let mut found = all(db, TRIED, sql, (words::id(task), oldest), |row| {
        let forgotten = row.time()?;
        Ok(Tombstone {
            task,
            forgotten,
            until: forgotten.plus(KEPT_MS),
            agent: row.plain()?,
            description: row.plain()?,
            created: row.time()?,
            stage: row.plain()?,
            detail: row.plain()?,
        })
    })?;
    Ok(found.pop())
}
