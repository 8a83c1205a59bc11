//! Opening: whose file it is, how it is kept, and what happens to one that cannot be read. Only
//! damage sets a file aside; a lock, a full disk or a missing permission is a fault, because it
//! passes and the records are still good.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_engine::record::Saved;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use crate::fault::Fault;
use crate::{Store, files, inspect, load, rescue, schema};

/// Others can only be a person with a database browser; they are given this long.
pub const BUSY: Duration = Duration::from_secs(2);
/// Page cache, as large as SQLite's own default. What is read often is in the engine; a larger one
/// fills up with results that nobody reads again.
const CACHE_KIB: i64 = 2 << 10;
/// What stays of the write-ahead log after a burst.
const LOG_MAX_BYTES: i64 = 16 << 20;
/// All statements of this crate, so that none is parsed twice.
const STATEMENTS: usize = 64;

#[derive(Debug)]
pub struct Opened {
    pub store: Store,
    /// Set if the file that was there could not be read and the store is a new one.
    pub set_aside: Option<SetAside>,
}

/// A file that could not be read. Displays as a message for the operator.
#[derive(Debug)]
pub struct SetAside {
    /// Where it is now, with its companions (`-wal`, `-shm`) beside it.
    pub path: PathBuf,
    pub why: String,
    /// How many tasks could be read all the same, and are in the new store.
    pub rescued: usize,
}

impl fmt::Display for SetAside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(
            out,
            "The records could not be read ({}). They were set aside as {path}, and nothing was \
             deleted. Tasks that could be read all the same: {}.",
            self.why, self.rescued
        )
    }
}

/// A store that nobody else can open, and that is not open yet.
#[derive(Debug)]
pub struct Claim {
    dir: PathBuf,
    lock: File,
    /// Somebody had claimed it before.
    known: bool,
}

impl Claim {
    pub(crate) fn new(dir: &Path) -> Result<Self, Fault> {
        let known = files::was_claimed(dir)?;
        Ok(Self { dir: dir.to_owned(), lock: files::claim(dir)?, known })
    }

    pub(crate) fn again(dir: &Path) -> Result<Self, Fault> {
        Ok(Self { dir: dir.to_owned(), lock: files::claim_again(dir)?, known: true })
    }

    /// Leaves a text in the lock, for whoever finds it held.
    pub fn note(&self, text: &str) -> Result<(), Fault> {
        files::note(&self.lock, &self.dir, text)
    }

    pub fn open(self) -> Result<Opened, Fault> {
        let Self { dir, lock, known } = self;
        let dir = dir.as_path();
        let is_new = !files::there(&files::database(dir))?;
        let why = if files::is_orphaned(dir)? {
            "its changes lie there without it".to_owned()
        } else if known && files::is_emptied(dir)? {
            "it is empty".to_owned()
        } else {
            match read(dir).and_then(|read| checked(read, dir)) {
                Ok(read) => return Ok(Opened { store: read.with(dir, lock)?, set_aside: None }),
                Err(Fault::Damaged { source, .. }) => source.to_string(),
                Err(Fault::Unknown { what }) => what,
                // Our statements are right, so the tables in it are not.
                Err(Fault::Database { source, .. })
                    if source.sqlite_error_code() == Some(ErrorCode::Unknown) =>
                {
                    source.to_string()
                }
                Err(Fault::Foreign { .. }) => "it is not a store of legwork".to_owned(),
                Err(fault) => {
                    if is_new {
                        // Else the next start would take it for one that somebody has emptied.
                        files::remove_empty(dir);
                    }
                    return Err(fault);
                }
            }
        };
        let path = files::set_aside(dir)?;
        let mut begun = read(dir)?;
        let rescued = rescue::rescue(&mut begun.db, &path)?;
        begun.saved = load::load(&begun.db)?;
        let set_aside = Some(SetAside { path, why, rescued });
        Ok(Opened { store: begun.with(dir, lock)?, set_aside })
    }
}

/// Reads every page too, if somebody asked for it who had found damage.
fn checked(read: Read, dir: &Path) -> Result<Read, Fault> {
    let wanted = files::check_wanted(dir);
    if !files::there(&wanted)? {
        return Ok(read);
    }
    let found = inspect::check(&read.db);
    // The check is over; if this cannot be removed, it is made again.
    let _ = std::fs::remove_file(&wanted);
    match found? {
        None => Ok(read),
        Some(what) => {
            // What is set aside stays as it was found.
            let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            read.db.set_db_config(keep_log, true).map_err(Fault::when("check the store"))?;
            Err(Fault::Unknown { what })
        }
    }
}

struct Read {
    db: Connection,
    path: PathBuf,
    saved: Saved,
}

impl Read {
    fn with(self, dir: &Path, lock: File) -> Result<Store, Fault> {
        let files = files::Opened::in_folder(dir)?;
        let set_aside = files::all_set_aside(dir)?;
        let Self { db, path, saved } = self;
        let dir = dir.to_owned();
        Ok(Store { db, path, fresh: Some(saved), dir, set_aside, files, lock })
    }
}

/// Opens the file and reads all that a start needs. That is also the test of the file: a full
/// check would read every result, and a start has a second. A result that cannot be read costs
/// that result, when somebody asks for it.
fn read(dir: &Path) -> Result<Read, Fault> {
    let path = files::prepare(dir)?;
    let tried = "open the store";
    let mut db = Connection::open(&path).map_err(Fault::when(tried))?;
    // Until the file is known to be ours to change, closing it must not write to it.
    let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    db.set_db_config(keep_log, true).map_err(Fault::when(tried))?;
    db.busy_timeout(BUSY).map_err(Fault::when(tried))?;
    let version = schema::identify(&db, &path)?;
    configure(&db, &path)?;
    schema::migrate(&mut db, version)?;
    let saved = load::load(&db)?;
    db.set_db_config(keep_log, false).map_err(Fault::when(tried))?;
    Ok(Read { db, path, saved })
}

fn configure(db: &Connection, path: &Path) -> Result<(), Fault> {
    let tried = "set up the store";
    let mode: String = db
        .query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0))
        .map_err(Fault::when(tried))?;
    if mode != "wal" {
        let why = io::Error::other(format!("its disk allows the journal mode {mode} only"));
        return Err(Fault::file("keep a write-ahead log beside", path)(why));
    }
    // NORMAL syncs at checkpoints only. A killed process loses nothing, because the kernel has
    // what was written. A power cut can take back the last reactions as a whole, never a part of
    // one: a notice of those seconds may then be told twice, and a session opened in them is found
    // again by its mark. FULL would prevent that for a sync in every reaction.
    for (name, value) in [
        ("synchronous", "NORMAL".to_owned()),
        ("foreign_keys", "ON".to_owned()),
        ("temp_store", "MEMORY".to_owned()),
        ("cache_size", format!("-{CACHE_KIB}")),
        ("journal_size_limit", LOG_MAX_BYTES.to_string()),
        // On macOS an ordinary sync reaches the disk's own memory only. At checkpoints the longer
        // way is worth it: the log is overwritten then. Elsewhere this changes nothing.
        ("checkpoint_fullfsync", "ON".to_owned()),
    ] {
        db.pragma_update(None, name, value).map_err(Fault::when(tried))?;
    }
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}
