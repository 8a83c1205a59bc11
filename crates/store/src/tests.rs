//! What only the inside of the store can bring about: a full disk, and a save that is cut off.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use legwork_engine::record::{Change, Journal};
use legwork_engine::task::Outcome;
use rusqlite::TransactionBehavior;
use tempfile::TempDir;

use legwork_engine::task::Task;

use crate::common::{NOW, done, end_of, ended, finish, id, launched, made, open, pending, task};
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

/// Saves so many finished tasks, all of which were delivered. Gives them back.
fn fill(store: &mut Store, count: u64) -> Vec<Task> {
    let mut changes = Vec::new();
    let tasks = (1..=count).map(|number| {
        let mut task = task(number);
        changes.extend(finish(&mut task, &format!("secret of {number}: {}", "x".repeat(300))));
        let (end, delivery) = (end_of(&task), format!("msg_{number}"));
        changes.extend([pending(end), made(&delivery, &[end]), done(&delivery)]);
        task
    });
    let tasks = tasks.collect();
    store.save(NOW, &changes).unwrap();
    tasks
}

fn cleared(tasks: &[Task]) -> Change {
    Change::Cleared { tasks: tasks.iter().map(|task| task.id).collect() }
}

/// How many steps SQLite makes for something.
fn steps(store: &mut Store, work: impl FnOnce(&mut Store)) -> u64 {
    let steps = Arc::new(AtomicU64::new(0));
    let counted = steps.clone();
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    store.db.progress_handler(1, Some(count)).unwrap();
    work(store);
    store.db.progress_handler(0, None::<fn() -> bool>).unwrap();
    steps.load(Ordering::Relaxed)
}

#[test]
fn p8_clearing_takes_as_many_steps_for_each_task_however_many_there_are() {
    // Some of a few and some of many, then all of a few and all of many.
    for cases in [[(50, 100), (50, 500)], [(100, 100), (600, 600)]] {
        let each = cases.map(|(going, count)| {
            let home = TempDir::new().unwrap();
            let mut store = open(home.path());
            let tasks = fill(&mut store, count);
            let clear = |store: &mut Store| {
                store.save(NOW, &[cleared(&tasks[..going])]).unwrap();
            };
            steps(&mut store, clear) / going as u64
        });
        assert!(each[1] <= each[0] + each[0] / 10, "{each:?} steps for each of {cases:?}");
    }
}

#[test]
fn p8_clearing_nearly_all_leaves_the_others_whole_and_nothing_of_the_cleared() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    store.load().unwrap();
    let mut deleted = task(2_000);
    // What is left of a deleted session, so that little of the file becomes free.
    store.save(NOW, &finish(&mut deleted, &"long ".repeat(1 << 20))).unwrap();
    let why = legwork_engine::record::Forget::ParentDeleted;
    store.save(NOW, &[Change::Forgotten { task: deleted.id, why }]).unwrap();
    store.compact().unwrap();
    store.removed(&[deleted.id]).unwrap();
    let tasks = fill(&mut store, 520);
    let mut working = task(1_000);
    let (first, both) = (end_of(&tasks[0]), [end_of(&tasks[1]), end_of(&tasks[2])]);
    let notice = |mut id: legwork_engine::record::NoticeId| {
        id.about = legwork_engine::record::About::Question(1);
        id
    };
    let carried = [notice(first), notice(both[0]), notice(both[1])];
    store.save(NOW, &[launched(&working)]).unwrap();
    store.save(NOW, &carried.map(pending)).unwrap();
    store
        .save(NOW, &[made("gone", &carried[1..2]), made("left", &[carried[0], carried[2]])])
        .unwrap();
    let (stays, going) = (&tasks[..1], &tasks[1..]);
    let before = store.load().unwrap();
    let told = store.timeline(stays[0].id).unwrap();

    store.save(NOW, &[cleared(going)]).unwrap();
    assert_eq!(store.to_remove().unwrap().len(), going.len());
    store.compact().unwrap();
    let after = store.load().unwrap();
    assert_eq!(after.tasks, [stays[0].clone(), working.clone()]);
    assert_eq!(after.tasks[1], *before.tasks.last().unwrap());
    assert_eq!(after.notices, [before.notices[0].clone()]);
    assert_eq!(after.deliveries.len(), 1);
    assert_eq!(store.timeline(stays[0].id).unwrap(), told);
    assert!(store.detail(stays[0].id, 0).unwrap().is_some_and(|text| text.starts_with("secret")));
    for entry in fs::read_dir(home.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let left = going.iter().find(|task| text.contains(&format!("secret of {}:", task.seq)));
        assert_eq!(left.map(|task| task.id), None, "is still in the files");
    }
    let orphans = "SELECT count(*) FROM pragma_foreign_key_check";
    assert_eq!(store.db.query_row(orphans, (), |row| row.get::<_, u32>(0)).unwrap(), 0);
    // References are followed again.
    store.save(NOW, &[ended(&mut working, Outcome::Failed, "why")]).unwrap();
    store.save(NOW, &[cleared(&[working])]).unwrap();
    assert_eq!(pages(&store, "foreign_keys"), 1);
    let runs: u32 = store.db.query_row("SELECT count(*) FROM runs", (), |row| row.get(0)).unwrap();
    assert_eq!(runs, 1);
}

#[test]
fn p8_clearing_tasks_of_which_one_is_not_there_changes_nothing() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let tasks = fill(&mut store, 510);
    let before = store.load().unwrap();
    let unknown = task(9_999);
    let change = cleared(&[&tasks[..], &[unknown]].concat());
    assert!(store.save(NOW, &[change]).is_err());
    assert_eq!(store.load().unwrap(), before);
}
