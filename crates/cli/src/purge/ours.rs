//! Which files in the folders that legwork keeps are legwork's own, by their names.

use std::fs;
use std::path::{Path, PathBuf};

use legwork_acp::agents::REHEARSAL;
use legwork_clients::KIND as CLIENTS;
use legwork_machine::STORE_LOCK;

/// A folder of ours, by what legwork keeps in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Records,
    Sessions,
    /// What the built-in agent remembers.
    Rehearsal,
    Clients,
}

/// What is in such a folder and below it.
#[derive(Debug, Default)]
pub struct Contents {
    /// Ours.
    pub files: Vec<PathBuf>,
    /// Ours, each after those in it.
    pub folders: Vec<PathBuf>,
    /// The person's links with a name of ours, and where they lead.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// The names of other things, by their folder.
    pub foreign: Vec<(PathBuf, Vec<String>)>,
}

impl Contents {
    pub fn of(folder: &Path, kind: Kind) -> Self {
        let mut contents = Self::default();
        contents.add(folder, kind);
        contents
    }

    fn add(&mut self, folder: &Path, kind: Kind) {
        let mut foreign = Vec::new();
        let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // One that vanishes meanwhile is nobody's.
            let Ok(found) = entry.file_type() else { continue };
            match (kind.below(&name), kind.has_file(&name)) {
                (None, false) => foreign.push(name.into_owned()),
                _ if found.is_symlink() => {
                    let target = fs::read_link(&path).unwrap_or_default();
                    self.links.push((path.clone(), fs::canonicalize(&path).unwrap_or(target)));
                }
                (Some(below), _) if found.is_dir() => self.add(&path, below),
                (None, true) if !found.is_dir() => self.files.push(path),
                _ => foreign.push(name.into_owned()),
            }
        }
        if !foreign.is_empty() {
            self.foreign.push((folder.to_owned(), foreign));
        }
        self.folders.push(folder.to_owned());
    }
}

impl Kind {
    /// What a folder in such a folder is, if it is ours.
    fn below(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Sessions, REHEARSAL) => Some(Self::Rehearsal),
            (Self::Sessions, CLIENTS) => Some(Self::Clients),
            _ => None,
        }
    }

    fn has_file(self, name: &str) -> bool {
        match self {
            Self::Records => is_record(name),
            Self::Sessions => {
                let begins = name.starts_with("acp_") || name.starts_with("term_");
                matches!(name, "mail" | "mail.new") || begins && name.ends_with(".jsonl")
            }
            Self::Rehearsal => name.starts_with("rehearsal-") && name.ends_with(".jsonl"),
            Self::Clients => {
                let stem = name.strip_suffix(".new").unwrap_or(name);
                matches!(stem, "sessions" | "mail" | "told")
            }
        }
    }
}

fn is_record(name: &str) -> bool {
    let is_draft_of = |file| {
        let rest = name.strip_prefix(file).and_then(|rest| rest.strip_prefix('.'));
        rest.is_some_and(is_number)
    };
    let is_note = |file| name == file || is_draft_of(file);
    matches!(name, STORE_LOCK | "legwork.check" | "legwork.sock" | "legwork.sock.new" | "ui.json")
        || name.starts_with("ui-") && name.ends_with(".html")
        || is_note("newest.json")
        || is_note("failed.json")
        || name.strip_prefix("legwork.db").is_some_and(is_of_database)
}

/// What SQLite keeps beside the database, and databases that were set aside, end like this.
fn is_of_database(end: &str) -> bool {
    let beside = ["-wal", "-shm", "-journal"];
    let end = beside.iter().find_map(|beside| end.strip_suffix(beside)).unwrap_or(end);
    end.is_empty() || end.strip_prefix(".unreadable-").is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p14_only_names_of_ours_are_ours() {
        for (kind, ours, foreign) in [
            (
                Kind::Records,
                "legwork.lock legwork.db legwork.db-wal legwork.db.unreadable-12-shm newest.json \
                 failed.json.4711 ui-0a.html legwork.sock",
                "legwork.db.bak legwork.db.unreadable-old notes.json ui.html failed.json.bak mail",
            ),
            (
                Kind::Sessions,
                "acp_4k2.jsonl term_1_2.jsonl mail mail.new",
                "notes.jsonl acp_4k2.txt legwork.db sessions rehearsal-1.jsonl",
            ),
            (Kind::Rehearsal, "rehearsal-1-2-3.jsonl", "notes.jsonl rehearsal.txt"),
            (Kind::Clients, "sessions mail told told.new", "told.txt notes"),
        ] {
            let not_ours: Vec<_> =
                ours.split_whitespace().filter(|name| !kind.has_file(name)).collect();
            let taken: Vec<_> =
                foreign.split_whitespace().filter(|name| kind.has_file(name)).collect();
            assert!(not_ours.is_empty() && taken.is_empty(), "{kind:?}: {not_ours:?} {taken:?}");
        }
    }
}
