//! Everything that a model reads, made in this folder and nowhere else: answers of values
//! (`answers.rs`), notices, and a task's timeline.
//!
//! Results are long and stay in the store; a notice has holes for them, which the shell fills when
//! it hands the notice over. They are a helper's words, so they are fenced there (`fence.rs`).

pub mod answers;
pub mod fence;
pub mod listing;
pub mod notices;
pub mod pages;
pub mod story;
pub mod toast;
pub mod words;

use legwork_protocol::TaskId;

use fence::Fence;

/// A text with holes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(pub Vec<Piece>);

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words.
    Plain(String),
    /// The result or reason of a run, as kept.
    Detail {
        /// Of which task.
        task: TaskId,
        /// Of which run.
        run: u32,
        /// How much of it.
        view: View,
        /// What sets it apart from our own words.
        fence: Fence,
    },
}

/// How much of a result is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// A page of it, from this character on.
    Page {
        /// Characters to skip.
        offset: u64,
    },
    /// Its beginning, with the call that reads the rest.
    Start {
        /// Characters at the most.
        max_chars: u32,
    },
}

impl Text {
    /// The whole text; `detail` reads a result from the store.
    pub fn fill<F>(
        &self,
        mut detail: impl FnMut(TaskId, u32) -> Result<Option<String>, F>,
    ) -> Result<String, F> {
        let mut all = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Plain(words) => all.push_str(words),
                Piece::Detail { task, run, view, fence } => {
                    let kept = detail(*task, *run)?.unwrap_or_default();
                    all.push_str(&pages::show(*task, &kept, *view, *fence));
                }
            }
        }
        Ok(all)
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self(vec![Piece::Plain(words)])
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}
