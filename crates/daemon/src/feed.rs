//! What was just saved, for those who watch: a journal that passes everything on to the store and
//! remembers the changes until they are taken.

use legwork_engine::text::story;
use legwork_engine::{Change, Journal, Saved};
use legwork_protocol::view::News;
use legwork_protocol::{TaskId, Time};

/// A journal, and what was saved in it since somebody last looked.
#[derive(Debug)]
pub struct Feed<J> {
    journal: J,
    fresh: Vec<Change>,
}

impl<J> Feed<J> {
    pub fn new(journal: J) -> Self {
        Self { journal, fresh: Vec::new() }
    }

    /// The changes since the last time.
    pub fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.fresh)
    }

    /// The journal itself.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// The same, for what changes no record.
    pub fn journal_mut(&mut self) -> &mut J {
        &mut self.journal
    }
}

impl<J: Journal> Journal for Feed<J> {
    type Fault = J::Fault;

    fn save(&mut self, at: Time, changes: &[Change]) -> Result<(), J::Fault> {
        self.journal.save(at, changes)?;
        self.fresh.extend_from_slice(changes);
        Ok(())
    }

    fn detail(&mut self, task: TaskId, run: u32) -> Result<Option<String>, J::Fault> {
        self.journal.detail(task, run)
    }

    fn load(&mut self) -> Result<Saved, J::Fault> {
        self.journal.load()
    }

    fn probe(&mut self) -> Result<(), J::Fault> {
        self.journal.probe()
    }
}

/// What a change means for tasks, as news.
pub fn news(at: Time, change: &Change) -> impl Iterator<Item = News> {
    story::lines(change).into_iter().map(move |(task, run, line)| News { at, task, run, line })
}

/// A change as a line of the log, without a word of what a helper wrote or was told. What a task is
/// called is left out too: `legwork run` calls it after its prompt.
pub fn log_line(change: &Change) -> String {
    if let Change::Launched { task, .. } = change {
        let called = format!(" as \"{}\"", task.description);
        return story::sentence(change).replacen(&called, "", 1);
    }
    if let Change::Ended { task, from, .. } = change {
        let silent = Change::Ended { task: task.clone(), from: *from, detail: String::new() };
        return story::sentence(&silent).trim_end_matches([':', ' ']).to_owned();
    }
    story::sentence(change)
}
