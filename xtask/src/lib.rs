//! The chores of this workspace: the tidy rules, the planted defects that the simulation must
//! catch, and what is packed around the program.
//!
//! A library beside the command, so that the same checks run as ordinary tests. It knows files,
//! lines and words, but nothing of what the crates mean. It needs only the standard library, so
//! that it builds before anything else does.
#![expect(clippy::print_stderr, reason = "a chore tells its faults on the terminal")]

pub mod campaigns;
pub mod mutants;
pub mod packing;
pub mod release;
pub mod sim;
pub mod tidy;
pub mod tree;
pub mod upgrade;

use std::fmt;
use std::io::Write;

/// Prints a line; a reader that has seen enough, as `head` does, is no reason to fail.
pub fn say(words: impl fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{words}");
}

/// A chore that could not be done: what was tried, and why it did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    /// A fault in words for the person who started the chore.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// What was tried, with its cause.
    pub fn trying(what: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self(format!("{what}: {cause}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}
