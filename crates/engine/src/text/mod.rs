//! Everything that a model reads, made in this folder and nowhere else: answers of values
//! (`answers.rs`), notices, and a task's timeline.
//!
//! Results are long and stay in the store until the shell hands a notice over ([`pages::Excerpt`]).
//! They are a helper's words, so they are fenced (`fence.rs`).

pub mod answers;
pub mod fence;
pub mod listing;
pub mod notices;
pub mod notification;
pub mod pages;
pub mod timeline;
pub mod toast;
pub mod words;
