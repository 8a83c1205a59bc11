//! The files in which conversations are kept.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use legwork_agents::rehearsal::memory::{Entry, FILES_MAX, Memory, Past};
use tempfile::TempDir;

fn asked(text: &str) -> Entry {
    Entry::Asked(text.to_owned())
}

fn answered(text: &str) -> Entry {
    Entry::Answered(text.to_owned())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_kept_is_found_by_another_process() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("a/b");
    let memory = Memory::new(Some(folder.clone()));
    let mut one = memory.begin("one").unwrap();
    for entry in [asked("a\nb"), answered("c"), asked("d")] {
        one.keep(entry).unwrap();
    }
    let found = Memory::new(Some(folder.clone())).find("one").unwrap().unwrap();
    assert_eq!(found.entries(), [asked("a\nb"), answered("c"), asked("d")]);
    let (first, last_answer) = (Some("a\nb".to_owned()), Some("c".to_owned()));
    assert_eq!(found.past(), Past { asked: 2, first, last_answer });
    assert_eq!((mode(&folder), mode(&folder.join("one.jsonl"))), (0o700, 0o600));
    assert!(memory.begin("one").is_err(), "a name is given once");
}

#[test]
fn a_name_that_leads_elsewhere_is_nobodys() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("secret.jsonl"), "{\"asked\":\"x\"}\n").unwrap();
    let memory = Memory::new(Some(home.path().join("in")));
    fs::create_dir(home.path().join("in")).unwrap();
    for id in ["../secret", "none", "", "a\0b"] {
        assert!(memory.find(id).unwrap().is_none(), "{id:?}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_skipped() {
    let home = TempDir::new().unwrap();
    let lines = b"{\"asked\":\"x\"}\nrubbish\n\xff\n{\"answered\":\"y\"}\n{\"asked\":";
    fs::write(home.path().join("one.jsonl"), lines).unwrap();
    let found = Memory::new(Some(home.path().into())).find("one").unwrap().unwrap();
    assert_eq!(found.entries(), [asked("x"), answered("y")]);
}

#[test]
fn the_oldest_of_too_many_is_forgotten() {
    let home = TempDir::new().unwrap();
    let file = |name: &str| home.path().join(format!("{name}.jsonl"));
    for number in 0..FILES_MAX {
        fs::write(file(&number.to_string()), "").unwrap();
    }
    let long_ago = SystemTime::UNIX_EPOCH;
    File::options().write(true).open(file("7")).unwrap().set_modified(long_ago).unwrap();
    fs::write(home.path().join("no conversation"), "").unwrap();
    let memory = Memory::new(Some(home.path().into()));
    let mut new = memory.begin("new").unwrap();
    new.keep(asked("x")).unwrap();
    let left = fs::read_dir(home.path()).unwrap().count();
    assert_eq!((left, file("7").exists(), file("new").exists()), (FILES_MAX + 1, false, true));
}
