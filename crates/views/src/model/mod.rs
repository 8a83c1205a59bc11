//! What the page and the terminal view have in common: the tasks as they change, and their words.
//!
//! Plain values in, plain values out: nothing here asks the daemon, draws, or knows what time it
//! is. A view makes elements or lines of what it gets; the commands take their words from here too.

pub mod again;
pub mod answering;
pub mod ask;
mod board;
pub mod entry;
pub mod grouping;
pub mod limits;
pub mod markdown;
pub mod project;
mod row;
pub mod sentences;
pub mod text;
mod why;
pub mod words;

pub use board::{Applied, Board, Item};
pub use row::{Group, Row, State, line, money, row};
pub use why::{Why, why};

#[cfg(any(test, feature = "example"))]
#[expect(clippy::unwrap_used, reason = "examples for tests")]
pub mod example;
