//! Programs: our own executable, and those that a shell would find.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, io};

use rustix::fs::{Access, access};

use crate::folders::var;

/// The program that is legwork, for whoever has to start it.
pub fn program() -> io::Result<PathBuf> {
    if let Some(named) = var("LEGWORK_BIN") {
        return std::path::absolute(named);
    }
    let running = env::current_exe()?;
    // Linux says so of a program that was replaced while it ran; the new one is what we want.
    let replaced = running.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    Ok(replaced.map_or_else(|| running.clone(), PathBuf::from))
}

/// Whether this is a file that we may start.
pub fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Every program of this name on a PATH, the one that a shell takes first.
pub fn on_path(name: &str, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let candidates = env::split_paths(path).map(move |folder| folder.join(name));
    candidates.filter(|path| is_program(path))
}
