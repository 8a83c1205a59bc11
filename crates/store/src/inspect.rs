//! Looking at a store from outside, beside a daemon that has it open or cannot open it. Changes
//! nothing in it. A start reads only what it needs, so damage in a result goes unnoticed until
//! somebody asks for that result; this reads every page.
//!
//! Whoever finds damage can ask for the same at the next start, which then sets the file aside and
//! takes over what can be read.

use std::path::Path;
use std::time::Duration;

use legwork_machine::private_file;
use rusqlite::{Connection, OpenFlags};

use crate::fault::Fault;
use crate::{files, schema};

/// A daemon that writes does not keep readers waiting; one that checks its log does for a moment.
const BUSY_MS: u64 = 1_000;
const TRIED: &str = "check the store";

/// What is wrong with the store in this folder, if it is there and something is.
pub fn inspect(dir: &Path) -> Result<Option<String>, Fault> {
    if files::is_orphaned(dir)? {
        return Ok(Some("its changes lie there without it".to_owned()));
    }
    let path = files::database(dir);
    if !files::there(&path)? {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = if files::has_log(dir)? {
        Connection::open_with_flags(&path, flags)
    } else {
        // Nobody has it open, and looking must leave no log beside it.
        let uri = format!("file:{}?immutable=1", escaped(&path));
        Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
    };
    let db = db.map_err(Fault::when(TRIED))?;
    db.busy_timeout(Duration::from_millis(BUSY_MS)).map_err(Fault::when(TRIED))?;
    match schema::identify(&db, &path).and_then(|_| check(&db)) {
        Err(Fault::Damaged { source, .. }) => Ok(Some(source.to_string())),
        Err(Fault::Foreign { .. }) => Ok(Some("it is not a store of legwork".to_owned())),
        found => found,
    }
}

/// Reads every page. Says what is wrong first.
pub fn check(db: &Connection) -> Result<Option<String>, Fault> {
    let found: String =
        db.query_row("PRAGMA quick_check(1)", (), |row| row.get(0)).map_err(Fault::when(TRIED))?;
    Ok((found != "ok").then(|| found.lines().last().unwrap_or_default().to_owned()))
}

/// Has the next start read every page before it trusts the store.
pub fn ask_for_check(dir: &Path) -> Result<(), Fault> {
    let path = files::check_wanted(dir);
    let made = private_file().write(true).create(true).truncate(false).open(&path);
    made.map(drop).map_err(Fault::file("create", path))
}

/// A path as part of a URI.
fn escaped(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let escape = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    bytes.map(escape).collect()
}
