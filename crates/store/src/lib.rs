//! The store: a [`Journal`] on a SQLite file, and the only SQL of the project.
//!
//! [`Store`] saves the changes of one reaction in one transaction. It refuses a change that does
//! not follow from what is there: a move from another stage, a second notice of the same kind, a
//! delivery that nobody created. It reads back what a restart needs.
//!
//! The crate makes no decisions and has no clock. It never repairs a file that it cannot read: it
//! sets such a file aside under another name.

mod clear;
mod columns;
mod compact;
mod fault;
mod files;
mod inspect;
mod load;
mod mail;
mod open;
mod outbox;
mod removals;
mod rescue;
mod save;
mod schema;
mod tasks;
mod timeline;
mod tombstones;
mod usage;
mod words;

#[cfg(test)]
extern crate self as legwork_store;
#[cfg(test)]
#[path = "../tests/store/common.rs"]
#[expect(dead_code, reason = "shared with the tests from outside, which use all of it")]
mod common;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use legwork_engine::record::{Change, Journal, Saved};
use legwork_protocol::api::CostBy;
use legwork_protocol::view::{CostsView, RunView};
use legwork_protocol::{SessionId, TaskId, Time};
use rusqlite::Connection;

pub use fault::Fault;
pub use inspect::{ask_for_check, inspect};
pub use mail::OldMail;
pub use open::{Claim, Opened, SetAside};
pub use schema::VERSION as SCHEMA_VERSION;
pub use timeline::{Entry, TIMELINE_MAX_EVENTS};
pub use tombstones::Tombstone;
pub use usage::Prompts;

/// The records of one user, on disk. A lock keeps every other process out.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    path: PathBuf,
    /// What opening read, kept for the first `load`, so that a start reads everything once.
    fresh: Option<Saved>,
    /// Stores that could not be read, beside this one.
    set_aside: Vec<PathBuf>,
    dir: PathBuf,
    files: files::Opened,
    /// Locked as long as it is open.
    lock: File,
}

impl Store {
    /// Opens the store in this folder, and makes both if they are not there.
    pub fn open(dir: &Path) -> Result<Opened, Fault> {
        Self::claim(dir)?.open()
    }

    /// Takes the lock of the store in this folder, and makes both if they are not there.
    pub fn claim(dir: &Path) -> Result<Claim, Fault> {
        Claim::new(dir)
    }

    /// The same if there is one: [`Fault::Removed`] if not, and nothing is made.
    pub fn claim_again(dir: &Path) -> Result<Claim, Fault> {
        Claim::again(dir)
    }

    /// Leaves a text in the lock, for whoever finds it held.
    pub fn note(&self, text: &str) -> Result<(), Fault> {
        files::note(&self.lock, &self.dir, text)
    }

    /// A file of the store that was deleted or replaced by another while it was open. What is saved
    /// from then on nobody will find.
    pub fn replaced(&self) -> Option<&Path> {
        self.files.replaced()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Earlier stores that could not be read and lie beside this one, the oldest first.
    pub fn set_aside(&self) -> Vec<&Path> {
        // A person may have taken one away since.
        self.set_aside.iter().map(PathBuf::as_path).filter(|path| path.exists()).collect()
    }

    /// What is left of a task whose session was deleted lately.
    pub fn tombstone(&self, task: TaskId, now: Time) -> Result<Option<Tombstone>, Fault> {
        tombstones::find(&self.db, task, now)
    }

    /// Removes what is left of tasks whose sessions were deleted long ago.
    pub fn expire(&mut self, now: Time) -> Result<(), Fault> {
        tombstones::expire(&self.db, now)
    }

    /// Removes what is left of all tasks whose sessions were deleted, from the files too.
    pub fn remove_tombstones(&mut self) -> Result<(), Fault> {
        tombstones::remove_all(&self.db)?;
        self.compact()
    }

    /// Removes from the files what was forgotten. The records are the same before and after. While
    /// somebody else reads the file that cannot be done, which is a fault: try again.
    pub fn compact(&mut self) -> Result<(), Fault> {
        compact::compact(&self.db)
    }

    /// Tasks that were forgotten and whose files are to be removed.
    pub fn to_remove(&self) -> Result<Vec<TaskId>, Fault> {
        removals::due(&self.db)
    }

    /// Their files are removed.
    pub fn removed(&mut self, tasks: &[TaskId]) -> Result<(), Fault> {
        removals::done(&mut self.db, tasks)
    }

    /// What all kept runs used up, that began at this moment or later. `under_way` says how many
    /// calls of tools those have made that are not over.
    pub fn costs(
        &self,
        by: CostBy,
        since: Option<Time>,
        under_way: &BTreeMap<TaskId, u32>,
    ) -> Result<CostsView, Fault> {
        usage::costs(&self.db, by, since, under_way)
    }

    /// The runs of a task that are over or under way, the oldest first.
    pub fn runs(&self, task: TaskId, prompts: Prompts) -> Result<Vec<RunView>, Fault> {
        usage::runs(&self.db, task, prompts)
    }

    /// The session that was told the end of this run.
    pub fn told_end(&self, task: TaskId, run: u32) -> Result<Option<SessionId>, Fault> {
        outbox::told_end(&self.db, task, run)
    }

    /// Takes over what a build that kept mail in files had delivered into them.
    pub fn take_over(&mut self, mail: &OldMail) -> Result<(), Fault> {
        self.fresh = None;
        mail::take_over(&mut self.db, mail)
    }

    /// A task's history, the oldest event first.
    pub fn timeline(&self, task: TaskId) -> Result<Vec<Entry>, Fault> {
        timeline::read(&self.db, task)
    }
}

impl Journal for Store {
    type Fault = Fault;

    fn save(&mut self, at: Time, changes: &[Change]) -> Result<(), Fault> {
        if changes.is_empty() {
            return Ok(());
        }
        self.fresh = None;
        save::save(&mut self.db, at, changes)
    }

    fn detail(&mut self, task: TaskId, run: u32) -> Result<Option<String>, Fault> {
        let sql = "SELECT detail FROM runs WHERE task = ?1 AND run = ?2";
        let mut found =
            columns::all(&self.db, "read a result", sql, (words::id(task), run), |row| {
                row.plain()
            })?;
        Ok(found.pop().flatten())
    }

    fn excerpt(
        &mut self,
        task: TaskId,
        run: u32,
        max_chars: usize,
    ) -> Result<Option<String>, Fault> {
        let sql = "SELECT substr(detail, 1, ?3) FROM runs WHERE task = ?1 AND run = ?2";
        let most = i64::try_from(max_chars).unwrap_or(i64::MAX);
        let values = (words::id(task), run, most);
        let mut found = columns::all(&self.db, "read a result", sql, values, |row| row.plain())?;
        Ok(found.pop().flatten())
    }

    fn load(&mut self) -> Result<Saved, Fault> {
        let saved = match self.fresh.take() {
            Some(saved) => {
                // The first load is the beginning of every life.
                compact::overwrite_deleted(&self.db)?;
                saved
            }
            None => load::load(&self.db)?,
        };
        Ok(Saved { incomplete: !self.set_aside.is_empty(), ..saved })
    }

    fn probe(&mut self) -> Result<(), Fault> {
        // As much as an ordinary result, in two transactions: a row that is only changed in place
        // fits on the fullest disk, and one that is rolled back is never written.
        for sql in ["UPDATE probe SET room = randomblob(65536)", "UPDATE probe SET room = NULL"] {
            let tried = "write a trial record";
            let tx = save::begin(&mut self.db, tried)?;
            tx.execute(sql, ()).map_err(Fault::when(tried))?;
            tx.commit().map_err(Fault::when(tried))?;
        }
        Ok(())
    }
}
