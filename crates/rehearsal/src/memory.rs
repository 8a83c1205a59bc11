//! What was asked and answered, one conversation a file. With a folder it outlives the process: an
//! entry is in its file before anybody hears of it, so a kill at any moment loses nothing that was
//! answered. Without a folder it is kept for as long as the process lives.
//!
//! A line that cannot be read is skipped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use legwork_host::{append_line, read_lines};
use legwork_machine::{create_folder, private_file};
use serde::{Deserialize, Serialize};

/// So that years of rehearsing do not fill a disk.
const FILES_MAX: usize = 1_000;
/// Ours are shorter; the name becomes a path.
const ID_MAX_BYTES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    Asked(String),
    /// What was said to it, if anything was.
    Answered(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Past {
    pub asked: usize,
    pub first: Option<String>,
    /// The last answer that was not empty.
    pub last_answer: Option<String>,
}

#[derive(Debug)]
pub struct Memory {
    folder: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Conversation {
    entries: Vec<Entry>,
    file: Option<PathBuf>,
}

impl Memory {
    /// Nothing is made before there is something to keep.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Whether conversations can be found again.
    pub fn lasts(&self) -> bool {
        self.folder.is_some()
    }

    /// Begins a conversation under a new name, and forgets the oldest if there are too many.
    pub fn begin(&self, id: &str) -> io::Result<Conversation> {
        let Some(folder) = &self.folder else {
            return Ok(Conversation { entries: Vec::new(), file: None });
        };
        create_folder(folder)?;
        forget_oldest(folder)?;
        let file = folder.join(format!("{id}.jsonl"));
        private_file().write(true).create_new(true).open(&file)?;
        Ok(Conversation { entries: Vec::new(), file: Some(file) })
    }

    /// Finds a conversation of an earlier process.
    pub fn find(&self, id: &str) -> io::Result<Option<Conversation>> {
        let is_name = id.len() <= ID_MAX_BYTES
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let Some(folder) = self.folder.as_ref().filter(|_| is_name) else { return Ok(None) };
        let file = folder.join(format!("{id}.jsonl"));
        let entries = read_lines(&file)?;
        Ok(entries.map(|entries| Conversation { entries, file: Some(file) }))
    }
}

impl Conversation {
    /// Keeps an entry.
    pub fn keep(&mut self, entry: Entry) -> io::Result<()> {
        if let Some(path) = &self.file {
            // Made anew if it was forgotten meanwhile, because others were begun.
            append_line(path, &entry)?;
        }
        self.entries.push(entry);
        Ok(())
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// All of it, in short.
    pub fn past(&self) -> Past {
        let mut past = Past::default();
        for entry in &self.entries {
            match entry {
                Entry::Asked(prompt) => {
                    past.asked += 1;
                    past.first.get_or_insert_with(|| prompt.clone());
                }
                Entry::Answered(answer) => past.last_answer = Some(answer.clone()),
            }
        }
        past
    }
}

fn forget_oldest(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for found in fs::read_dir(folder)? {
        let found = found?;
        let is_ours = found.path().extension().is_some_and(|ending| ending == "jsonl");
        // Another process may forget the same ones.
        if let (true, Ok(about)) = (is_ours, found.metadata()) {
            files.push((about.modified()?, found.path()));
        }
    }
    files.sort();
    let too_many = (files.len() + 1).saturating_sub(FILES_MAX);
    for (_, path) in files.into_iter().take(too_many) {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;
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
}
