//! How an entry of ours is written into a file of a client: one for each kind of file. A notation
//! works on texts alone and touches no file.

/// A file of a client, and how our entry stands in it.
pub trait Notation {
    /// What the file has the client start, if it has it start legwork. A file of hooks has none.
    fn entry(&self, text: &str) -> Result<Option<Entry>, Unclear>;

    /// The text with our entry in it, which starts this program; the same text if it does so
    /// already. What somebody else has put in its place is replaced only if `force` says so.
    fn add(&self, text: Option<&str>, program: &str, force: bool) -> Result<String, Unclear>;

    /// What is left without our entry; nothing if the file has none.
    fn remove(&self, text: &str) -> Result<Option<Left>, Unclear>;

    /// What a person has to add by hand where this cannot.
    fn by_hand(&self, program: &str) -> String;
}

/// What a client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub command: String,
    pub args: Vec<String>,
}

/// What a file is without our entry.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    Text(String),
    /// We have made it, and nothing else is in it.
    Nothing,
}

/// Why a file is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    NotUnderstood,
    /// There is something of this name that is not ours.
    Foreign,
}

/// The arguments of every entry. Claude Code binds its tasks to command and arguments, so these
/// are the same for ever.
pub const ARGS: [&str; 1] = ["mcp"];

impl Entry {
    pub fn is_ours(&self) -> bool {
        self.args == ARGS
    }
}
