//! The store's folder and files: permissions, the lock, and setting aside a file that cannot be
//! read. Nothing here looks into them.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use legwork_machine::{STORE_LOCK as LOCK, create_folder, if_there, private_file};

use crate::fault::Fault;

const DATABASE: &str = "legwork.db";
/// Wanted by whoever has found damage, and gone after a start that has read every page.
const CHECK: &str = "legwork.check";
/// What a database is called that could not be read, with a number behind it.
const UNREADABLE: &str = "legwork.db.unreadable-";
const LOCK_TRIES: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// What SQLite keeps beside the database, as it names them.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

pub fn claim(dir: &Path) -> Result<File, Fault> {
    create_folder(dir).map_err(Fault::file("create the folder", dir))?;
    protect(dir)?;
    lock(private(&dir.join(LOCK))?, dir)
}

/// The same where somebody has claimed it before; nothing is made.
pub fn claim_again(dir: &Path) -> Result<File, Fault> {
    let gone = || Fault::Removed { dir: dir.to_owned() };
    let path = dir.join(LOCK);
    let file = File::options().read(true).write(true).open(&path);
    let file = if_there(file).map_err(Fault::file("open", &path))?.ok_or_else(gone)?;
    let claimed = lock(file, dir)?;
    // Whoever had it may have removed it.
    let named = if_there(fs::metadata(&path)).map_err(Fault::file("look at", &path))?;
    let open = claimed.metadata().map_err(Fault::file("look at", &path))?;
    let is_it = |named: Metadata| (named.dev(), named.ino()) == (open.dev(), open.ino());
    if named.is_some_and(is_it) { Ok(claimed) } else { Err(gone()) }
}

fn lock(lock: File, dir: &Path) -> Result<File, Fault> {
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            // A process that was just started by the one before holds its files for a moment,
            // until it has become another program.
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(why)) => return Err(Fault::file("lock", dir.join(LOCK))(why)),
        }
    }
    Err(Fault::Locked { dir: dir.to_owned() })
}

/// Writes what whoever finds the lock held may read: from the beginning, in one piece, so that a
/// shorter text is followed by the rest of a longer one for a moment only.
pub fn note(lock: &File, dir: &Path, text: &str) -> Result<(), Fault> {
    lock.write_all_at(text.as_bytes(), 0)
        .and_then(|()| lock.set_len(text.len() as u64))
        .map_err(Fault::file("write into", dir.join(LOCK)))
}

/// The very files that are open, by their names.
#[derive(Debug)]
pub struct Opened(Vec<(PathBuf, u64, u64)>);

impl Opened {
    /// Remembers the lock and the database of this folder.
    pub fn in_folder(dir: &Path) -> Result<Self, Fault> {
        let mut files = Vec::new();
        for path in [dir.join(LOCK), dir.join(DATABASE)] {
            let found = fs::metadata(&path).map_err(Fault::file("look at", &path))?;
            files.push((path, found.dev(), found.ino()));
        }
        Ok(Self(files))
    }

    /// The first file whose name is gone or means another file. A disk that cannot be asked for a
    /// moment proves nothing.
    pub fn replaced(&self) -> Option<&Path> {
        let is_replaced = |(path, dev, ino): &&(PathBuf, u64, u64)| match fs::metadata(path) {
            Ok(found) => (found.dev(), found.ino()) != (*dev, *ino),
            Err(why) => {
                matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
        };
        self.0.iter().find(is_replaced).map(|(path, ..)| path.as_path())
    }
}

/// Sees to it that the database is there and that it and its companions are the user's alone.
/// SQLite gives the companions that it makes the mode of the database.
pub fn prepare(dir: &Path) -> Result<PathBuf, Fault> {
    let path = dir.join(DATABASE);
    private(&path)?;
    for end in BESIDE {
        let beside = with_end(&path, end);
        if there(&beside)? {
            protect(&beside)?;
        }
    }
    Ok(path)
}

/// Whether changes lie there without their database: a setting aside that was cut short. SQLite
/// would delete them.
pub fn is_orphaned(dir: &Path) -> Result<bool, Fault> {
    let path = dir.join(DATABASE);
    Ok(!there(&path)? && there(&with_end(&path, BESIDE[0]))?)
}

pub fn database(dir: &Path) -> PathBuf {
    dir.join(DATABASE)
}

/// Whether somebody has the database open, or left it without closing it.
pub fn has_log(dir: &Path) -> Result<bool, Fault> {
    there(&with_end(&database(dir), BESIDE[0]))
}

/// The file that asks for a start that reads every page.
pub fn check_wanted(dir: &Path) -> PathBuf {
    dir.join(CHECK)
}

pub fn was_claimed(dir: &Path) -> Result<bool, Fault> {
    there(&dir.join(LOCK))
}

/// Whether the database is there with nothing in it, as somebody else left it: ours never is, but
/// for a moment of its very first start. SQLite would delete the changes beside it.
pub fn is_emptied(dir: &Path) -> Result<bool, Fault> {
    let path = dir.join(DATABASE);
    match fs::metadata(&path) {
        Ok(found) => Ok(found.len() == 0),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(why) => Err(Fault::file("look at", path)(why)),
    }
}

/// Removes a database that was just made and could not be begun, on a full disk say.
pub fn remove_empty(dir: &Path) {
    let path = database(dir);
    if fs::metadata(&path).is_ok_and(|found| found.len() == 0) {
        for end in [BESIDE[0], BESIDE[1], ""] {
            // One that is not there need not be removed.
            let _ = fs::remove_file(with_end(&path, end));
        }
    }
}

/// Gives the database and its companions the first name that none of them would take from another
/// file; says which.
pub fn set_aside(dir: &Path) -> Result<PathBuf, Fault> {
    let path = dir.join(DATABASE);
    let mut number = 1u64;
    let target = loop {
        let target = dir.join(format!("{UNREADABLE}{number}"));
        let mut taken = there(&target)?;
        for end in BESIDE {
            taken |= there(&with_end(&target, end))?;
        }
        if !taken {
            break target;
        }
        number += 1;
    };
    // The database first: left alone, its changes are noticed at the next start. The other way
    // round a database without its newest changes would pass for a good one.
    for end in ["", BESIDE[0], BESIDE[1]] {
        let from = with_end(&path, end);
        if there(&from)? {
            fs::rename(&from, with_end(&target, end)).map_err(Fault::file("set aside", &from))?;
        }
    }
    Ok(target)
}

/// The databases that were set aside and that nobody has taken away since, the oldest first.
pub fn all_set_aside(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(Fault::file("look into", dir))? {
        let name = entry.map_err(Fault::file("look into", dir))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(UNREADABLE));
        if let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) {
            found.push((number, dir.join(&name)));
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn private(path: &Path) -> Result<File, Fault> {
    let mut options = private_file();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).map_err(Fault::file("open", path))?;
    protect(path)?;
    Ok(file)
}

fn protect(path: &Path) -> Result<(), Fault> {
    legwork_machine::protect(path).map_err(Fault::file("protect", path))
}

pub fn there(path: &Path) -> Result<bool, Fault> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(why) => Err(Fault::file("look at", path)(why)),
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
