//! Removes forgotten data for good: from the pages that it stood in, from the write-ahead log and,
//! where much became free, from the size of the file.

use std::time::Duration;

use rusqlite::Connection;

use crate::clear;
use crate::fault::Fault;
use crate::open::BUSY;

const TRIED: &str = "remove what was forgotten";
/// Less than this is not worth writing the file anew: it is used for what comes next.
const FREE_MIN_BYTES: i64 = 1 << 20;
/// A file is written anew if this part of it is free, so that clearing in steps costs no more than
/// clearing at once.
const FREE_MIN_PART: i64 = 4;
/// Writing the file anew keeps all others waiting, and what is in it goes through memory once: half
/// a second at the most.
const LIVE_MAX_BYTES: i64 = 64 << 20;
/// A file with no more than this in it is written anew in any case: that takes milliseconds, and
/// leaves nothing of what an older version deleted without overwriting it.
const LIVE_SMALL_BYTES: i64 = 4 << 20;

/// From now on what is deleted is overwritten, and so is the old place of a record that moves.
pub fn overwrite_deleted(db: &Connection) -> Result<(), Fault> {
    number(db, "PRAGMA secure_delete = ON").map(|_| ())
}

/// Gives back what is free, if that is much, and empties the write-ahead log, which still holds
/// what was deleted.
pub fn compact(db: &Connection) -> Result<(), Fault> {
    let page = number(db, "PRAGMA page_size")?;
    let all = number(db, "PRAGMA page_count")? * page;
    let free = number(db, "PRAGMA freelist_count")? * page;
    let live = all - free;
    let much = free >= FREE_MIN_BYTES && free >= all / FREE_MIN_PART;
    // What was emptied as a whole still stands in the free pages.
    let emptied = || Ok(number(db, "SELECT count(*) FROM removals")? >= clear::GO_MIN as i64);
    if live <= LIVE_SMALL_BYTES || live <= LIVE_MAX_BYTES && (much || emptied()?) {
        db.execute_batch("VACUUM").map_err(Fault::when(TRIED))?;
    }
    // Whoever reads the file is not waited for: everybody else would wait too.
    db.busy_timeout(Duration::ZERO).map_err(Fault::when(TRIED))?;
    let done = number(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    db.busy_timeout(BUSY).map_err(Fault::when(TRIED))?;
    match done? {
        0 => Ok(()),
        _ => Err(Fault::Reading),
    }
}

fn number(db: &Connection, pragma: &str) -> Result<i64, Fault> {
    db.query_row(pragma, (), |row| row.get(0)).map_err(Fault::when(TRIED))
}
