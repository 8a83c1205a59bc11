//! The clients that legwork can be installed in, and the files of theirs that start `legwork mcp`.
//! The clients are a table, and one editor changes the files of all.
//!
//! An entry is the absolute path of the program and `mcp`, in every version.

pub mod claude;
mod editor;
mod flow;
pub mod hooks;
mod install;
mod json;
mod ours;
mod part;
mod spec;
mod toml;
mod tree;
mod yaml;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use self::spec::ClientSpec;
use crate::fault::Fault;
use crate::plugin::{check_way, word};

pub use self::editor::{Format, Left, Settings};
pub use self::install::{Change, Installed, UP_TO_DATE, add, installed, program_of, remove};
pub use self::json::first_words;
pub use self::ours::{Entry, Item, Leaf};
pub use self::part::Part;
pub use self::spec::CLIENTS;

/// A row of the table.
pub type Client = &'static ClientSpec;

/// A client, for one project or for all.
#[derive(Clone)]
pub struct Target {
    pub client: Client,
    /// The folder of the project.
    pub project: Option<PathBuf>,
}

pub fn named(word: &str) -> Option<Client> {
    CLIENTS.iter().find(|client| client.word == word)
}

/// OpenCode has a plugin of its own in place of an entry.
pub fn opencode() -> Client {
    &CLIENTS[0]
}

/// Those that start `legwork mcp`.
pub fn over_mcp() -> impl Iterator<Item = Client> {
    CLIENTS.iter().filter(|client| !client.files.is_empty())
}

/// The names of several clients in a sentence.
pub fn one_of(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

/// Reads the word of a client in a command.
pub fn parser() -> impl TypedValueParser<Value = Client> {
    let words = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.word));
    words.try_map(|word| named(&word).ok_or("there is no such client"))
}

impl Target {
    /// The folder of the client that everything lies in.
    pub fn folder(&self) -> Result<PathBuf, Fault> {
        match (&self.project, self.client.project) {
            (None, _) => self.client.own_folder(),
            (Some(project), Some(folder)) => Ok(project.join(folder)),
            (Some(_), None) => Err(Fault::Usage(format!(
                "{} has no settings for a project. Leave --project out.",
                self.client.name
            ))),
        }
    }

    /// The command that installs it or takes it out.
    pub fn command(&self, verb: &str) -> String {
        let client = self.client.word;
        match &self.project {
            None => format!("legwork {verb} {client}"),
            Some(project) => format!("legwork {verb} {client} --project {}", word(project)),
        }
    }

    /// Its files, the one with the entry first.
    fn parts(&self) -> Result<Vec<Part>, Fault> {
        let folder = self.folder()?;
        let part = |spec: &spec::FileSpec| Part {
            file: folder.join(spec.path),
            settings: spec.settings(),
            own_folders: spec.own_folders,
        };
        let parts: Vec<Part> = self.client.files.iter().map(part).collect();
        if let Some(project) = &self.project {
            parts.iter().try_for_each(|part| check_way(project, &part.file))?;
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests;
