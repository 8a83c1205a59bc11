//! What the root manifest says of the whole project: its version, and where it lives.

use crate::{Fault, tree};
use std::path::Path;

/// What is the same in everything that is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub version: String,
    /// An address without a slash at the end.
    pub repository: String,
}

impl Project {
    /// # Errors
    /// When the root manifest cannot be read or does not say it.
    pub fn of(root: &Path) -> Result<Self, Fault> {
        let manifest = tree::read(root, "Cargo.toml")?;
        let package = manifest.split("\n[").find(|part| part.starts_with("workspace.package]"));
        let value = |name: &str| {
            let lines = package.unwrap_or_default().lines();
            let rest = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
            let found = rest.filter_map(|rest| rest.strip_suffix('"')).next();
            found.map(str::to_owned).ok_or_else(|| {
                Fault::new(format!("Cargo.toml has no {name} in [workspace.package]"))
            })
        };
        Ok(Self { version: value("version")?, repository: value("repository")? })
    }

    /// Fills the holes of a text.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("@LEGWORK_VERSION@", &self.version)
            .replace("@LEGWORK_REPOSITORY@", &self.repository)
    }
}
