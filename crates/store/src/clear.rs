//! Clearing nearly everything at once. Row by row a hundred thousand tasks take many seconds, most
//! of them for overwriting pages that are then given back. Where few tasks stay, their rows are put
//! aside, the tables are emptied as a whole, and the rows are put back.
//!
//! Emptied pages are free and still hold what stood in them. The next [`crate::Store::compact`]
//! writes the file anew, because so many tasks are in `removals` and little is left; they are there
//! until that is done, and a start begins with it.

use std::collections::HashSet;

use legwork_engine::record::Change;
use legwork_protocol::TaskId;
use rusqlite::{Connection, Transaction};

use crate::columns::all;
use crate::compact::overwrite_deleted;
use crate::fault::Fault;
use crate::save::{TRIED, run};
use crate::words;

/// Fewer go row by row in a tenth of a second.
pub const GO_MIN: usize = 500;
/// More than these are not put aside.
const STAY_MAX_TASKS: usize = 500;
/// What is put aside is in memory meanwhile. With the tombstones, which stay too, it is below the
/// size up to which a file is written anew, though a character may take four bytes.
const STAY_MAX_CHARS: i64 = 8 << 20;
/// The tables of a task, each with the column that names it.
const TABLES: [(&str, &str); 6] = [
    ("tasks", "id"),
    ("origins", "task"),
    ("runs", "task"),
    ("notices", "task"),
    ("usage", "task"),
    ("timeline", "task"),
];

/// The tasks that stay, if these changes clear so many and leave so few that emptying the tables is
/// worth it.
pub fn staying(db: &Connection, changes: &[Change]) -> Result<Option<Vec<TaskId>>, Fault> {
    let cleared = changes.iter().find_map(|change| match change {
        Change::Cleared { tasks } if tasks.len() >= GO_MIN => Some(tasks),
        _ => None,
    });
    let Some(tasks) = cleared else { return Ok(None) };
    if changes.iter().any(|change| matches!(change, Change::Launched { .. })) {
        return Ok(None);
    }
    let there: Vec<TaskId> = all(db, TRIED, "SELECT id FROM tasks", (), |row| row.parsed())?;
    let going: HashSet<TaskId> = tasks.iter().copied().collect();
    let count = there.len();
    let staying: Vec<TaskId> = there.into_iter().filter(|id| !going.contains(id)).collect();
    // Row by row it is found out which of them is not there.
    if count - staying.len() != tasks.len() || staying.len() > STAY_MAX_TASKS {
        return Ok(None);
    }
    let deleted = "SELECT coalesce(sum(length(detail)), 0) FROM tombstones";
    let mut chars: i64 = db.query_row(deleted, (), |row| row.get(0)).map_err(Fault::when(TRIED))?;
    let texts = "SELECT coalesce(length(prompt), 0) + coalesce(length(detail), 0) FROM runs
         WHERE task = ?1
         UNION ALL SELECT length(event) FROM timeline WHERE task = ?1";
    for id in &staying {
        chars += all(db, TRIED, texts, [words::id(*id)], |row| row.plain::<i64>())?
            .into_iter()
            .sum::<i64>();
    }
    Ok((chars <= STAY_MAX_CHARS).then_some(staying))
}

/// Does something while references are not followed and free pages not overwritten.
pub fn unguarded<T>(
    db: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let off = "PRAGMA foreign_keys = OFF; PRAGMA secure_delete = FAST";
    let done = db.execute_batch(off).map_err(Fault::when(TRIED)).and_then(|()| work(db));
    db.execute_batch("PRAGMA foreign_keys = ON").map_err(Fault::when(TRIED))?;
    overwrite_deleted(db)?;
    done
}

/// Forgets these tasks, which are all but those that stay.
pub fn all_but(tx: &Transaction<'_>, going: &[TaskId], staying: &[TaskId]) -> Result<(), Fault> {
    for task in going {
        run(tx, "INSERT OR IGNORE INTO removals (task) VALUES (?1)", [words::id(*task)])?;
    }
    let batch = |sql: &str| tx.execute_batch(sql).map_err(Fault::when(TRIED));
    batch("CREATE TEMP TABLE staying (task TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID")?;
    for task in staying {
        run(tx, "INSERT INTO temp.staying (task) VALUES (?1)", [words::id(*task)])?;
    }
    for (table, column) in TABLES {
        batch(&format!(
            "CREATE TEMP TABLE aside AS
                 SELECT * FROM {table} WHERE {column} IN (SELECT task FROM temp.staying);
             DELETE FROM {table};
             INSERT INTO {table} SELECT * FROM temp.aside;
             DROP TABLE temp.aside"
        ))?;
    }
    batch(
        "DROP TABLE temp.staying;
         DELETE FROM deliveries WHERE id NOT IN (
             SELECT delivery FROM notices WHERE state = 'pending' AND delivery IS NOT NULL
         )",
    )
}
