//! The files of the workspace, as relative paths with `/`, in a fixed order.
//!
//! What is built, fetched or kept by version control is never part of them.

use crate::Fault;
use std::fs;
use std::path::{Path, PathBuf};

const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// Where the workspace begins: one folder above this crate.
pub fn root() -> PathBuf {
    // Cargo says at run time where the crate lies; the place where it was built may have moved.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or(own.clone(), Path::to_path_buf)
}

/// All files below `root`.
///
/// # Errors
/// When a folder cannot be read.
pub fn files(root: &Path) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> Result<(), Fault> {
    let folder = root.join(below);
    let unreadable = |cause| Fault::trying(format!("reading {}", folder.display()), cause);
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(unreadable)?;
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            walk(root, &path, found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read or is no text.
pub fn read(root: &Path, path: &str) -> Result<String, Fault> {
    fs::read_to_string(root.join(path))
        .map_err(|cause| Fault::trying(format!("reading {path}"), cause))
}
