//! What only the inside of the store can bring about: a full disk, and a save that is cut off.

use std::fs;

use legwork_engine::record::Journal;
use legwork_engine::task::Outcome;
use rusqlite::TransactionBehavior;
use tempfile::TempDir;

use crate::common::{NOW, end_of, ended, finish, id, launched, made, open, pending, task};
use crate::{Fault, Store};

fn pages(store: &Store, pragma: &str) -> u32 {
    store.db.query_row(&format!("PRAGMA {pragma}"), (), |row| row.get(0)).unwrap()
}

/// The setting has an effect on macOS alone, where an ordinary sync does not reach the disk.
#[test]
fn i4_a_checkpoint_reaches_the_disk_itself() {
    let home = TempDir::new().unwrap();
    assert_eq!(pages(&open(home.path()), "checkpoint_fullfsync"), 1);
}

/// As if the disk had this much room beyond what is used.
fn leave_room(store: &Store, more: u32) {
    let most = pages(store, "page_count") + more;
    pages(store, &format!("max_page_count = {most}"));
}

#[test]
fn k4_a_full_disk_refuses_what_is_new_and_loses_nothing_of_the_old() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut old = task(1);
    store.save(NOW, &finish(&mut old, "the old result")).unwrap();
    let before = store.load().unwrap();

    leave_room(&store, 4);
    let mut new = task(2);
    let changes = finish(&mut new, &"long ".repeat(20_000));
    for _ in 0..3 {
        let fault = store.save(NOW, &changes).unwrap_err();
        assert!(matches!(fault, Fault::Full { .. }), "{fault:?}");
        assert!(fault.to_string().contains("disk is full"), "{fault}");
        assert_eq!(store.load().unwrap(), before);
        assert_eq!(store.detail(id(1), 0).unwrap().as_deref(), Some("the old result"));
        assert!(matches!(store.probe(), Err(Fault::Full { .. })));
    }
    // What is small still finds a place.
    store.save(NOW, &[pending(end_of(&old)), made("l", &[end_of(&old)])]).unwrap();

    leave_room(&store, 10_000);
    store.probe().unwrap();
    store.save(NOW, &changes).unwrap();
    drop(store);
    let saved = open(home.path()).load().unwrap();
    assert_eq!(saved.tasks, [old, new]);
    assert_eq!(saved.deliveries.len(), 1);
}

#[test]
fn k4_probing_leaves_nothing_behind() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    store.probe().unwrap();
    let used = pages(&store, "page_count");
    for _ in 0..50 {
        store.probe().unwrap();
    }
    assert_eq!(pages(&store, "page_count"), used);
}

/// The files as they are now, without a clean end.
fn copied(home: &TempDir) -> TempDir {
    let copy = TempDir::new().unwrap();
    for name in ["legwork.db", "legwork.db-wal"] {
        fs::copy(home.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[test]
fn n3_a_kill_in_the_middle_of_a_save_leaves_none_of_it() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut first = task(1);
    store.save(NOW, &[launched(&first)]).unwrap();
    let before = store.load().unwrap();

    let tx = store.db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    // With so small a cache the pages go to the log before the commit.
    tx.pragma_update(None, "cache_size", 1).unwrap();
    let end = ended(&mut first, Outcome::Failed, &"reason ".repeat(100_000));
    crate::save::apply(&tx, NOW, &end).unwrap();
    crate::save::apply(&tx, NOW, &pending(end_of(&first))).unwrap();
    let copy = copied(&home);
    let log = fs::metadata(copy.path().join("legwork.db-wal")).unwrap().len();
    assert!(log > 100_000, "the log holds the unfinished save: {log}");
    assert_eq!(open(copy.path()).load().unwrap(), before);

    drop(tx);
    assert_eq!(store.load().unwrap(), before);
    store.save(NOW, &[end, pending(end_of(&first))]).unwrap();
    let copy = copied(&home);
    let saved = open(copy.path()).load().unwrap();
    assert_eq!((saved.tasks.len(), saved.notices.len()), (1, 1));
    assert_eq!(saved.tasks, [first], "what was saved is there without a clean end");
}
