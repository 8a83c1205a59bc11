//! A journal that passes everything on to the store and buffers the saved changes for observers
//! (the log, `legwork watch`) until they take them.

use legwork_engine::text::story;
use legwork_engine::{Change, Journal, Saved};
use legwork_protocol::view::News;
use legwork_protocol::{TaskId, Time};
use legwork_store::{Fault, Store};

/// The store, and what was saved in it since somebody last looked.
#[derive(Debug)]
pub struct Feed {
    pub store: Store,
    pub fresh: Vec<Change>,
}

impl Journal for Feed {
    type Fault = Fault;

    fn save(&mut self, at: Time, changes: &[Change]) -> Result<(), Fault> {
        self.store.save(at, changes)?;
        self.fresh.extend_from_slice(changes);
        Ok(())
    }

    fn detail(&mut self, task: TaskId, run: u32) -> Result<Option<String>, Fault> {
        self.store.detail(task, run)
    }

    fn excerpt(
        &mut self,
        task: TaskId,
        run: u32,
        max_chars: usize,
    ) -> Result<Option<String>, Fault> {
        self.store.excerpt(task, run, max_chars)
    }

    fn load(&mut self) -> Result<Saved, Fault> {
        self.store.load()
    }

    fn probe(&mut self) -> Result<(), Fault> {
        self.store.probe()
    }
}

/// What a change means for tasks, as news.
pub fn news(at: Time, change: &Change) -> impl Iterator<Item = News> {
    let lines = story::lines(change).into_iter();
    lines.map(move |(task, run, line)| told(at, task, run, line))
}

/// A line of a task's history as news.
pub fn told(at: Time, task: TaskId, run: u32, line: String) -> News {
    News { at, task, run, detail: story::is_detail(&line), line }
}

/// A change as a line of the log, without a word of what a helper wrote or was told. What a task is
/// called is left out too: `legwork run` calls it after its prompt.
pub fn log_line(change: &Change) -> Option<String> {
    if let Change::Used { .. } = change {
        // Every step of every helper; the records have it.
        return None;
    }
    if let Change::Asked { task, .. } | Change::Answered { task, .. } = change {
        let settled = matches!(change, Change::Answered { .. });
        let what = if settled { "its question is settled" } else { "asks a person" };
        return Some(format!("{task}: {what}"));
    }
    Some(said(change))
}

fn said(change: &Change) -> String {
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
