//! One suite for whatever keeps the records: the simulation's memory and the real store take and
//! refuse the same changes, and read back the same. What holds in a simulated history then holds
//! on a disk.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod agree;
mod guards;
mod records;

use legwork_store::Store;
use tempfile::TempDir;

fn store() -> (TempDir, Store) {
    let home = TempDir::new().unwrap();
    let opened = Store::open(home.path()).unwrap();
    (home, opened.store)
}
