//! Opening a store: who may read it, who has it, and what happens to a file that cannot be read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{NOW, finish, id, launched, open, task};
use legwork_engine::record::{Journal, Saved};
use legwork_store::{Fault, SCHEMA_VERSION, Store, ask_for_check, inspect};
use rusqlite::Connection;
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn with_rows(dir: &Path, tasks: u64) {
    let mut store = open(dir);
    for number in 0..tasks {
        store.save(NOW, &finish(&mut task(number), &"result ".repeat(200))).unwrap();
    }
}

/// Overwrites the page that holds the root of a table.
fn damage(path: &Path, table: &str) {
    let db = Connection::open(path).unwrap();
    let root: u32 = db
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))
        .unwrap();
    drop(db);
    let end = root as usize * 4096;
    let mut bytes = fs::read(path).unwrap();
    bytes[end - 4096..end].fill(0xff);
    fs::write(path, bytes).unwrap();
}

#[test]
fn g1_folder_and_files_are_the_users_alone() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("state/legwork");
    let mut store = open(&dir);
    store.save(NOW, &[launched(&task(1))]).unwrap();
    assert_eq!(mode(&dir), 0o700);
    let mut seen = Vec::new();
    for entry in fs::read_dir(&dir).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        seen.push(entry.file_name().into_string().unwrap());
    }
    seen.sort();
    assert_eq!(seen, ["legwork.db", "legwork.db-shm", "legwork.db-wal", "legwork.lock"]);
}

#[test]
fn g1_modes_that_are_too_wide_are_narrowed() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 1);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["legwork.db", "legwork.lock"] {
        let path = home.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let _store = open(home.path());
    assert_eq!(mode(home.path()), 0o700);
    assert_eq!(mode(&home.path().join("legwork.db")), 0o600);
    assert_eq!(mode(&home.path().join("legwork.db-wal")), 0o600);
    assert_eq!(mode(&home.path().join("legwork.lock")), 0o600);
}

#[test]
fn k5_a_second_daemon_is_refused_until_the_first_has_gone() {
    let home = TempDir::new().unwrap();
    let first = open(home.path());
    let fault = Store::open(home.path()).unwrap_err();
    assert!(matches!(fault, Fault::Locked { .. }), "{fault}");
    assert!(fault.to_string().contains("stop that one first"), "{fault}");
    drop(first);
    open(home.path());
}

#[test]
fn k4_a_file_that_is_no_database_is_set_aside() {
    let home = TempDir::new().unwrap();
    let rubbish = "this is not a database ".repeat(100);
    fs::write(home.path().join("legwork.db"), &rubbish).unwrap();
    let mut opened = Store::open(home.path()).unwrap();
    let aside = opened.set_aside.unwrap();
    assert_eq!(aside.path, home.path().join("legwork.db.unreadable-1"));
    assert!(aside.to_string().contains("legwork.db.unreadable-1"), "{aside}");
    assert_eq!(fs::read_to_string(&aside.path).unwrap(), rubbish);
    let empty = Saved { incomplete: true, ..Saved::default() };
    assert_eq!(opened.store.load().unwrap(), empty);
    opened.store.save(NOW, &[launched(&task(1))]).unwrap();
    drop(opened.store);

    // As long as it lies there, what is missing may be in it.
    let mut later = open(home.path());
    assert!(later.load().unwrap().incomplete);
    assert_eq!(later.set_aside(), [aside.path.as_path()]);
    drop(later);
    fs::remove_file(&aside.path).unwrap();
    assert!(!open(home.path()).load().unwrap().incomplete);
}

#[test]
fn k4_what_was_set_aside_before_is_never_overwritten() {
    let home = TempDir::new().unwrap();
    for (number, taken) in [(1, "legwork.db.unreadable-1"), (2, "legwork.db.unreadable-2-wal")] {
        fs::write(home.path().join(taken), format!("old {number}")).unwrap();
    }
    fs::write(home.path().join("legwork.db"), "rubbish ".repeat(100)).unwrap();
    let aside = Store::open(home.path()).unwrap().set_aside.unwrap();
    assert_eq!(aside.path, home.path().join("legwork.db.unreadable-3"));
    let old = fs::read_to_string(home.path().join("legwork.db.unreadable-1")).unwrap();
    assert_eq!(old, "old 1");
}

#[test]
fn k4_a_truncated_file_is_set_aside_with_its_log() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 200);
    let path = home.path().join("legwork.db");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    fs::write(home.path().join("legwork.db-wal"), "left over").unwrap();
    let mut opened = Store::open(home.path()).unwrap();
    let aside = opened.set_aside.unwrap();
    assert!(aside.why.contains("malformed"), "{aside}");
    assert_eq!(fs::read(&aside.path).unwrap(), whole[..whole.len() / 2]);
    let log = home.path().join("legwork.db.unreadable-1-wal");
    assert_eq!(fs::read_to_string(log).unwrap(), "left over");
    assert!(opened.store.load().unwrap().tasks.is_empty());
}

#[test]
fn k4_damage_among_the_live_rows_is_noticed_at_the_start() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 300);
    damage(&home.path().join("legwork.db"), "tasks");
    assert!(Store::open(home.path()).unwrap().set_aside.is_some());
}

#[test]
fn k4_damage_to_a_result_costs_that_result_only() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 300);
    damage(&home.path().join("legwork.db"), "runs");
    let mut store = open(home.path());
    assert_eq!(store.load().unwrap().tasks.len(), 300);
    assert!(matches!(store.detail(id(1), 0), Err(Fault::Damaged { .. })));
}

#[test]
fn k4_a_database_of_another_program_is_set_aside() {
    let home = TempDir::new().unwrap();
    let db = Connection::open(home.path().join("legwork.db")).unwrap();
    db.execute_batch("CREATE TABLE tasks (id TEXT)").unwrap();
    drop(db);
    let aside = Store::open(home.path()).unwrap().set_aside.unwrap();
    assert!(aside.why.contains("not a store of legwork"), "{aside}");
}

#[test]
fn k4_a_setting_aside_that_was_cut_short_loses_no_log() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("legwork.db-wal"), "the only copy").unwrap();
    let aside = Store::open(home.path()).unwrap().set_aside.unwrap();
    let log = home.path().join("legwork.db.unreadable-1-wal");
    assert_eq!(aside.path, home.path().join("legwork.db.unreadable-1"));
    assert_eq!(fs::read_to_string(log).unwrap(), "the only copy");
}

#[test]
fn k4_what_passes_is_a_fault_and_sets_nothing_aside() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("legwork.db")).unwrap();
    let fault = Store::open(home.path()).unwrap_err();
    assert!(matches!(fault, Fault::File { .. }), "{fault}");
    assert!(home.path().join("legwork.db").is_dir());

    let home = TempDir::new().unwrap();
    with_rows(home.path(), 1);
    let other = Connection::open(home.path().join("legwork.db")).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let fault = Store::open(home.path()).unwrap_err();
    assert!(matches!(fault, Fault::Busy { .. }), "{fault}");
    drop(other);
    assert_eq!(open(home.path()).load().unwrap().tasks.len(), 1);
}

#[test]
fn k4_a_file_from_the_future_is_left_alone() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 1);
    let path = home.path().join("legwork.db");
    let db = Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(db);
    let before = fs::read(&path).unwrap();
    let fault = Store::open(home.path()).unwrap_err();
    assert!(matches!(fault, Fault::TooNew { found, .. } if found == SCHEMA_VERSION + 1), "{fault}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!home.path().join("legwork.db.unreadable-1").exists());
}

#[test]
fn k4_words_that_nobody_knows_are_set_aside_and_cost_only_what_they_stand_in() {
    for sql in [
        "UPDATE tasks SET stage = 'sleeping'",
        "UPDATE tasks SET stage = 'working', message = NULL",
        "UPDATE tasks SET id = 'no task'",
        "UPDATE tasks SET place = ''",
        "UPDATE tasks SET session = char(7)",
        "UPDATE tasks SET depth = -1",
        "UPDATE tasks SET asked = ' ' || char(10) || char(10) || 'x'",
        "UPDATE tasks SET agent = CAST(x'ff' AS TEXT)",
        "INSERT INTO stops VALUES ('bg_0000000!', 'p', 'h', NULL, 0)",
        "INSERT INTO parents VALUES ('s', 'p', '')",
    ] {
        let home = TempDir::new().unwrap();
        with_rows(home.path(), 3);
        let db = Connection::open(home.path().join("legwork.db")).unwrap();
        db.pragma_update(None, "foreign_keys", "OFF").unwrap();
        let first = "(SELECT id FROM tasks ORDER BY seq LIMIT 1)";
        let of_tasks = sql.contains("UPDATE tasks");
        let one = if of_tasks { format!("{sql} WHERE id = {first}") } else { sql.to_owned() };
        assert_eq!(db.execute(&one, ()).unwrap(), 1);
        drop(db);
        let mut opened = Store::open(home.path()).unwrap();
        let aside = opened.set_aside.unwrap();
        assert!(aside.path.exists() && !aside.why.is_empty(), "{sql}: {aside}");
        let left = if of_tasks { 2 } else { 3 };
        assert_eq!(aside.rescued, left, "{sql}: {aside}");
        assert_eq!(opened.store.load().unwrap().tasks.len(), left, "{sql}");
    }
}

#[test]
fn k4_an_emptied_file_is_not_taken_for_a_new_one() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 2);
    fs::write(home.path().join("legwork.db"), "").unwrap();
    let aside = Store::open(home.path()).unwrap().set_aside.unwrap();
    assert!(aside.to_string().contains("it is empty"), "{aside}");
    let new = TempDir::new().unwrap();
    assert!(Store::open(new.path()).unwrap().set_aside.is_none());
}

#[test]
fn k4_what_can_be_read_of_a_damaged_file_is_taken_over_as_a_whole() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 40);
    let path = home.path().join("legwork.db");
    let db = Connection::open(&path).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).unwrap();
    drop(db);
    let mut bytes = fs::read(&path).unwrap();
    // A leaf of the table of tasks, with some of its rows; the rest is as it was.
    let (table_leaf, of_tasks) = (0x0d, b"ses_root");
    let leaf = bytes.chunks(4096).position(|page| {
        page[0] == table_leaf && page.windows(of_tasks.len()).any(|text| text == of_tasks)
    });
    let leaf = leaf.unwrap() * 4096;
    bytes[leaf..leaf + 4096].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let mut opened = Store::open(home.path()).unwrap();
    let aside = opened.set_aside.unwrap();
    let saved = opened.store.load().unwrap();
    assert_eq!(saved.tasks.len(), aside.rescued);
    assert!(saved.incomplete);
    let ids: Vec<_> = saved.tasks.iter().map(|task| task.id).collect();
    assert!(ids.len() > 5 && ids.len() < 40, "{aside}");
    let read = ids.iter().filter(|id| opened.store.detail(**id, 0).unwrap().is_some()).count();
    assert!(read > 5, "{read} results of {}", ids.len());
    let seqs: Vec<u64> = saved.tasks.iter().map(|task| task.seq).collect();
    assert_eq!(seqs, (1..=ids.len() as u64).collect::<Vec<u64>>());
    opened.store.save(NOW, &[launched(&task(9_999))]).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_a_fault_with_its_path() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let fault = Store::open(&file.join("store")).unwrap_err();
    assert!(fault.to_string().contains("file/store"), "{fault}");
}

#[test]
fn p7_damage_that_no_start_notices_is_found_from_outside_and_set_aside_when_asked_for() {
    let home = TempDir::new().unwrap();
    assert_eq!(inspect(home.path()).unwrap(), None, "nothing is there");
    with_rows(home.path(), 300);
    let names = || fs::read_dir(home.path()).unwrap().count();
    let before = names();
    assert_eq!(inspect(home.path()).unwrap(), None);
    assert_eq!(names(), before, "looking leaves nothing behind");
    damage(&home.path().join("legwork.db"), "runs");
    assert!(inspect(home.path()).unwrap().is_some());
    let store = open(home.path());
    assert!(inspect(home.path()).unwrap().is_some(), "beside one who has it open");
    drop(store);
    ask_for_check(home.path()).unwrap();
    let opened = Store::open(home.path()).unwrap();
    assert!(opened.set_aside.is_some());
    assert_eq!(inspect(home.path()).unwrap(), None);
    drop(opened);
    assert!(Store::open(home.path()).unwrap().set_aside.is_none(), "once");
}

#[test]
fn p7_a_whole_store_is_not_set_aside_because_somebody_asked() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 3);
    ask_for_check(home.path()).unwrap();
    let mut opened = Store::open(home.path()).unwrap();
    assert!(opened.set_aside.is_none());
    assert_eq!(opened.store.load().unwrap().tasks.len(), 3);
}

#[test]
fn p7_a_store_from_the_future_is_told_from_a_damaged_one() {
    let home = TempDir::new().unwrap();
    with_rows(home.path(), 1);
    let db = Connection::open(home.path().join("legwork.db")).unwrap();
    db.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(db);
    assert!(matches!(inspect(home.path()), Err(Fault::TooNew { .. })));
}
