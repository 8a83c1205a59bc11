//! A task's history for people, one line for each change, saved with the change. Bounded, and
//! deleted with its task. No decision reads it.

use legwork_engine::record::Change;
use legwork_engine::text::story;
use legwork_protocol::{TaskId, Time};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::columns::all;
use crate::fault::Fault;
use crate::save::{TRIED, run};
use crate::words;

/// Lines kept of one task: many more than an ordinary task has, so that only one that goes round
/// in circles loses its oldest.
pub const TIMELINE_MAX_LINES: u32 = 500;

/// When, in which run, what.
pub type Entry = (Time, u32, String);

pub fn append(tx: &Transaction<'_>, at: Time, change: &Change) -> Result<(), Fault> {
    if matches!(change, Change::Forgotten { .. } | Change::Cleared { .. }) {
        // Their histories went with them.
        return Ok(());
    }
    // A helper may ask the same thing twice, and be answered twice.
    let again = matches!(change, Change::Asked { .. } | Change::Answered { .. });
    story::lines(change).into_iter().try_for_each(|line| append_line(tx, at, line, again))
}

fn append_line(
    tx: &Transaction<'_>,
    at: Time,
    line: story::Line,
    again: bool,
) -> Result<(), Fault> {
    let (task, run_number, line) = line;
    let id = words::id(task);
    // A stop may outlive its task, which then has no history any more. What goes round in circles
    // (a notice held back by an undo is tried every few seconds) is told once.
    let number: Option<i64> = tx
        .prepare_cached(
            "INSERT INTO timeline (task, number, at, run, line)
             SELECT ?1, coalesce((SELECT max(number) FROM timeline WHERE task = ?1), 0) + 1,
                 ?2, ?3, ?4
             WHERE EXISTS (SELECT 1 FROM tasks WHERE id = ?1)
                 AND (?5 OR ?4 NOT IN (SELECT line FROM timeline WHERE task = ?1 AND run = ?3
                     ORDER BY number DESC LIMIT 2))
             RETURNING number",
        )
        .and_then(|mut insert| {
            let values = (&id, words::int(at.0), run_number, line, again);
            insert.query_row(values, |row| row.get(0)).optional()
        })
        .map_err(Fault::when(TRIED))?;
    let too_old = number.unwrap_or(0) - i64::from(TIMELINE_MAX_LINES);
    if too_old > 0 {
        run(tx, "DELETE FROM timeline WHERE task = ?1 AND number <= ?2", (&id, too_old))?;
    }
    Ok(())
}

pub fn read(db: &Connection, task: TaskId) -> Result<Vec<Entry>, Fault> {
    let sql = "SELECT at, run, line FROM timeline WHERE task = ?1 ORDER BY number";
    all(db, "read a task's history", sql, [words::id(task)], |row| {
        Ok((row.time()?, row.plain()?, row.plain()?))
    })
}
