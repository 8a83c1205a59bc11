//! What was put into which session. Neither an inbox nor a queue takes a message once only, so each
//! write is noted before and after: a message whose second note is missing may be there, and has to
//! be looked for. What a process only has in its memory is lost with it, and not told yet.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use legwork_host::{append_line, read_lines, rewrite_lines};
use legwork_protocol::{MessageId, TaskId};
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub struct Told {
    path: PathBuf,
    notes: BTreeMap<MessageId, Note>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    message: MessageId,
    state: State,
    /// What it tells of.
    runs: Vec<(TaskId, u32)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is about to be written, or it was and nobody could say so.
    Writing,
    /// The process with this mark has it, in its memory alone.
    Taken { by: String },
    /// It is in the session for good.
    Written,
}

impl Told {
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut told = Self { path: path.to_owned(), notes: BTreeMap::new() };
        let lines: Vec<Note> = read_lines(path)?.unwrap_or_default();
        let had = lines.len();
        told.notes.extend(lines.into_iter().map(|note| (note.message.clone(), note)));
        if had > told.notes.len() + 1_000 {
            told.rewrite()?;
        }
        Ok(told)
    }

    pub fn state(&self, message: &MessageId) -> Option<State> {
        self.notes.get(message).map(|note| note.state.clone())
    }

    pub fn note(
        &mut self,
        message: &MessageId,
        state: State,
        runs: &[(TaskId, u32)],
    ) -> io::Result<()> {
        if self.state(message).as_ref() == Some(&state) {
            return Ok(());
        }
        let note = Note { message: message.clone(), state, runs: runs.to_vec() };
        append_line(&self.path, &note)?;
        self.notes.insert(message.clone(), note);
        Ok(())
    }

    /// Removes these tasks, from the file too.
    pub fn forget(&mut self, tasks: &[TaskId]) -> io::Result<()> {
        let tasks: BTreeSet<TaskId> = tasks.iter().copied().collect();
        let before = self.notes.len();
        let mut changed = false;
        for note in self.notes.values_mut() {
            let had = note.runs.len();
            note.runs.retain(|(task, _)| !tasks.contains(task));
            changed |= note.runs.len() != had;
        }
        self.notes.retain(|_, note| !note.runs.is_empty());
        if changed || self.notes.len() != before { self.rewrite() } else { Ok(()) }
    }

    fn rewrite(&self) -> io::Result<()> {
        rewrite_lines(&self.path, self.notes.values())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn n1_what_was_written_is_known_after_a_crash_and_forgotten_with_its_task() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("told");
        let [one, two] = [1, 2].map(TaskId::from_number);
        let [a, b]: [MessageId; 2] = ["msg_a", "msg_b"].map(|id| id.parse().unwrap());
        let mut told = Told::open(&path).unwrap();
        told.note(&a, State::Writing, &[(one, 0)]).unwrap();
        told.note(&a, State::Written, &[(one, 0)]).unwrap();
        told.note(&b, State::Writing, &[(one, 1), (two, 0)]).unwrap();
        let mut told = Told::open(&path).unwrap();
        assert_eq!(told.state(&a), Some(State::Written));
        assert_eq!(told.state(&b), Some(State::Writing));
        told.forget(&[one]).unwrap();
        let told = Told::open(&path).unwrap();
        assert_eq!(told.state(&a), None);
        assert_eq!(told.state(&b), Some(State::Writing));
        assert!(!fs::read_to_string(&path).unwrap().contains(&one.to_string()));
    }
}
