//! Why a campaign could not be done. A figure that is bad is no fault: it is what was looked for.

use std::fmt;

/// What was tried, and why it did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(String);

/// What came of something that may not work.
pub type Done<T> = Result<T, Fault>;

impl Fault {
    /// A fault in words for the person who started the campaign.
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
