//! Rescues what can be read of a damaged store: row by row, from both ends of every table, into a
//! new and empty one. Then references to lost rows are mended, so that what is left is a store like
//! any other.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Transaction, params_from_iter};

use crate::columns::all;
use crate::fault::Fault;
use crate::load;
use crate::save::begin;

const TRIED: &str = "take over what can be read of the old store";

/// What is worth taking over, and how each is read backwards. Tasks first: the rest refers to them.
const TABLES: [(&str, &str); 10] = [
    ("tasks", "rowid"),
    ("origins", "task"),
    ("runs", "rowid"),
    ("deliveries", "id"),
    ("notices", "task, run, question"),
    ("stops", "task"),
    ("parents", "session"),
    ("timeline", "task, number"),
    ("usage", "task, run"),
    ("ledgers", "root, currency"),
];

/// Tables and columns that had another name in an earlier version.
const RENAMED: [(&str, &str); 4] = [
    ("letters", "deliveries"),
    ("letter", "delivery"),
    ("voice", "active_host"),
    ("line", "event"),
];

/// What earlier versions called otherwise, or did not keep.
const EARLIER: &str = "
    UPDATE notices SET state = 'pending' WHERE state = 'owed';
    UPDATE notices SET state = 'delivered' WHERE state = 'told';
    UPDATE tasks SET realm = place, directory = coalesce(
        (SELECT directory FROM origins WHERE origins.task = tasks.id), ''
    ) WHERE realm = '';
    INSERT OR IGNORE INTO usage (task, run, started) SELECT task, run, started
        FROM runs WHERE ended IS NOT NULL;
    UPDATE timeline SET event = json_object('code', 'sentence', 'text', event, 'detail', json('false'))
        WHERE NOT json_valid(event);";

/// Mends what refers to a row that could not be read.
const MEND: &str = "
    -- A run that is to go on needs its prompt.
    DELETE FROM tasks WHERE stage IN ('queued', 'opening', 'prompting', 'working')
        AND NOT EXISTS (
            SELECT 1 FROM runs WHERE task = tasks.id AND run = tasks.run AND prompt IS NOT NULL
        );
    -- Whoever asked is to be told.
    INSERT OR IGNORE INTO parents (session, place) SELECT parent, realm FROM tasks;
    INSERT OR IGNORE INTO parents (session, place) SELECT asker, realm FROM tasks;
    -- A delivery that was lost is written anew.
    UPDATE notices SET delivery = NULL, spot = NULL
        WHERE state = 'pending' AND delivery NOT IN (SELECT id FROM deliveries);
    DELETE FROM deliveries WHERE NOT EXISTS (
        SELECT 1 FROM notices WHERE delivery = deliveries.id AND state = 'pending'
    );
    -- What is no ledger.
    DELETE FROM ledgers WHERE root = '' OR currency NOT GLOB '[A-Z][A-Z][A-Z]';
    -- The order of launches, without gaps and doubles.
    UPDATE tasks SET seq = ranked.seq FROM (
        SELECT id, row_number() OVER (ORDER BY seq, created, id) AS seq FROM tasks
    ) AS ranked WHERE tasks.id = ranked.id;";

/// What is done without, one after the other, while what is left cannot be read.
const LESS: [&str; 5] =
    ["", "DELETE FROM ledgers", "DELETE FROM stops", "DELETE FROM parents", "DELETE FROM notices"];

/// Takes over what can be read; says how many tasks that is. If what comes of it is no store, it is
/// nothing.
pub fn rescue(db: &mut Connection, old: &Path) -> Result<usize, Fault> {
    let Some(source) = open_old(old) else { return Ok(0) };
    let tx = begin(db, TRIED)?;
    for (table, order) in TABLES {
        let earlier = RENAMED.iter().find(|(_, now)| *now == table).map(|(was, _)| *was);
        for from in earlier.into_iter().chain([table]) {
            for direction in ["ASC", "DESC"] {
                let sql = format!("SELECT * FROM {from} ORDER BY {order} {direction}");
                copy(&source, &tx, table, &sql);
            }
        }
    }
    tx.execute_batch(EARLIER).map_err(Fault::when(TRIED))?;
    drop_unreadable(&tx)?;
    for less in LESS {
        tx.execute_batch(less).map_err(Fault::when(TRIED))?;
        tx.execute_batch(MEND).map_err(Fault::when(TRIED))?;
        if load::load(&tx).is_ok() {
            break;
        }
    }
    if load::load(&tx).is_err() {
        return Ok(0);
    }
    let tasks: u32 = tx
        .query_row("SELECT count(*) FROM tasks", (), |row| row.get(0))
        .map_err(Fault::when(TRIED))?;
    tx.commit().map_err(Fault::when(TRIED))?;
    Ok(tasks as usize)
}

/// Nothing in it is changed, and nothing in it is believed.
fn open_old(path: &Path) -> Option<Connection> {
    let source = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    for pragma in ["trusted_schema = OFF", "cell_size_check = ON"] {
        source.execute_batch(&format!("PRAGMA {pragma}")).ok()?;
    }
    Some(source)
}

/// Copies rows up to the first that cannot be read. One that does not fit is left out.
fn copy(source: &Connection, tx: &Transaction<'_>, table: &str, sql: &str) {
    let Ok(mut read) = source.prepare(sql) else { return };
    let names: Vec<String> = read.column_names().map(|name| current(name).to_owned()).collect();
    let holes = vec!["?"; names.len()].join(", ");
    let insert = format!("INSERT OR IGNORE INTO {table} ({}) VALUES ({holes})", names.join(", "));
    let Ok(mut insert) = tx.prepare(&insert) else { return };
    let Ok(mut rows) = read.query(()) else { return };
    while let Ok(Some(row)) = rows.next() {
        let values: Result<Vec<Value>, _> = (0..names.len()).map(|at| row.get(at)).collect();
        if let Ok(values) = values {
            let _ = insert.execute(params_from_iter(values));
        }
    }
}

fn current(name: &str) -> &str {
    RENAMED.iter().find(|(was, _)| *was == name).map_or(name, |(_, now)| now)
}

/// A task whose row is there, but holds something that is no task, is left out.
fn drop_unreadable(tx: &Transaction<'_>) -> Result<(), Fault> {
    for id in all(tx, TRIED, "SELECT rowid FROM tasks", (), |row| row.plain::<i64>())? {
        if load::reads_task(tx, id).is_err() {
            tx.execute("DELETE FROM tasks WHERE rowid = ?1", [id]).map_err(Fault::when(TRIED))?;
        }
    }
    Ok(())
}
