//! A journal that passes everything on to the store and buffers the saved changes for observers
//! (the log, `legwork watch`) until they take them.

use legwork_engine::text::timeline;
use legwork_engine::{Change, Journal, Saved, Task};
use legwork_protocol::timeline::Event;
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
    let events = timeline::events(change).into_iter();
    events.map(move |(task, run, event)| told(at, task, run, &event))
}

/// An event of a task's timeline as news.
pub fn told(at: Time, task: TaskId, run: u32, event: &Event) -> News {
    News { at, task, run, line: timeline::sentence(event), detail: event.is_detail() }
}

/// A change as a line of the log, without a word of what a helper wrote or was told. What a task is
/// called is left out too: `legwork run` calls it after its prompt.
pub fn log_line(change: &Change) -> Option<String> {
    let silent = match change {
        // Every step of every helper; the records have it.
        Change::Used { .. } => return None,
        Change::Asked { task, .. } => return Some(format!("{task}: asks a person")),
        Change::Answered { task, .. } => return Some(format!("{task}: its question is settled")),
        Change::Launched { task, origin } => {
            let task = Task { description: "".into(), ..task.clone() };
            &Change::Launched { task, origin: origin.clone() }
        }
        Change::Ended { task, from, .. } => {
            &Change::Ended { task: task.clone(), from: *from, detail: String::new() }
        }
        other => other,
    };
    Some(timeline::trace(silent))
}
