//! The clients that start `legwork mcp`: which files of theirs name it, and what stands there. The
//! clients are a table, and one editor changes the files of all.
//!
//! An entry is the absolute path of the program and `mcp`, in every version.

pub mod claude;
mod editor;
mod flow;
mod install;
mod json;
mod ours;
mod part;
mod spec;
mod toml;
mod tree;
mod yaml;

use std::path::PathBuf;

use self::spec::ClientSpec;
use crate::fault::Fault;
use crate::plugin::{Host, check_way, word};

pub use self::editor::{Format, Left, Settings};
pub use self::install::{Change, Installed, UP_TO_DATE, add, installed, program_of, remove};
pub use self::json::first_words;
pub use self::ours::{Entry, Item, Leaf};
pub use self::part::Part;
/// A row of the table.
pub type Client = &'static ClientSpec;

pub static CLIENTS: [ClientSpec; 6] = spec::CLIENTS;

/// A client, for one project or for all.
#[derive(Clone)]
pub struct Target {
    pub client: Client,
    /// The folder of the project.
    pub project: Option<PathBuf>,
}

/// Nothing for OpenCode, which has a plugin of its own.
pub fn of(host: Host) -> Option<Client> {
    CLIENTS.iter().find(|client| client.host == host)
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
