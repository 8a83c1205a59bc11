//! A task's history for people: its events in JSON, saved with the changes that made them. Bounded,
//! and deleted with its task. No decision reads it.

use legwork_engine::record::Change;
use legwork_engine::text::timeline;
use legwork_protocol::timeline::Event;
use legwork_protocol::{TaskId, Time};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::columns::all;
use crate::fault::Fault;
use crate::save::{TRIED, run};
use crate::words;

/// Events kept of one task: many more than an ordinary task has, so that only one that goes round
/// in circles loses its oldest.
pub const TIMELINE_MAX_EVENTS: u32 = 500;

/// When, in which run, what.
pub type Entry = (Time, u32, Event);

pub fn append(tx: &Transaction<'_>, at: Time, change: &Change) -> Result<(), Fault> {
    if matches!(change, Change::Forgotten { .. } | Change::Cleared { .. }) {
        // Their histories went with them.
        return Ok(());
    }
    // A helper may ask the same thing twice, and be answered twice.
    let again = matches!(change, Change::Asked { .. } | Change::Answered { .. });
    timeline::events(change).into_iter().try_for_each(|entry| append_event(tx, at, entry, again))
}

fn append_event(
    tx: &Transaction<'_>,
    at: Time,
    entry: timeline::Entry,
    again: bool,
) -> Result<(), Fault> {
    let (task, run_number, event) = entry;
    let id = words::id(task);
    let event = words::event(&event)?;
    // A stop may outlive its task, which then has no history any more. What goes round in circles
    // (a notice held back by an undo is tried every few seconds) is told once.
    let number: Option<i64> = tx
        .prepare_cached(
            "INSERT INTO timeline (task, number, at, run, event)
             SELECT ?1, coalesce((SELECT max(number) FROM timeline WHERE task = ?1), 0) + 1,
                 ?2, ?3, ?4
             WHERE EXISTS (SELECT 1 FROM tasks WHERE id = ?1)
                 AND (?5 OR ?4 NOT IN (SELECT event FROM timeline WHERE task = ?1 AND run = ?3
                     ORDER BY number DESC LIMIT 2))
             RETURNING number",
        )
        .and_then(|mut insert| {
            let values = (&id, words::int(at.0), run_number, event, again);
            insert.query_row(values, |row| row.get(0)).optional()
        })
        .map_err(Fault::when(TRIED))?;
    let too_old = number.unwrap_or(0) - i64::from(TIMELINE_MAX_EVENTS);
    if too_old > 0 {
        run(tx, "DELETE FROM timeline WHERE task = ?1 AND number <= ?2", (&id, too_old))?;
    }
    Ok(())
}

pub fn read(db: &Connection, task: TaskId) -> Result<Vec<Entry>, Fault> {
    let sql = "SELECT at, run, event FROM timeline WHERE task = ?1 ORDER BY number";
    all(db, "read a task's history", sql, [words::id(task)], |row| {
        Ok((row.time()?, row.plain()?, words::to_event(row.text()?)?))
    })
}
