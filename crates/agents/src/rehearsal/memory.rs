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
pub const FILES_MAX: usize = 1_000;
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
