//! Folders as a whole: copied with their modes, and listed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault::{Done, Fault};

/// Copies a folder and the files in it, with their modes. Sockets and the like are left out.
///
/// # Errors
/// When something cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Done<()> {
    let fault = |why| Fault::trying(format!("copying {}", from.display()), why);
    fs::create_dir_all(to).map_err(fault)?;
    let mode = fs::metadata(from).map_err(fault)?.permissions();
    fs::set_permissions(to, mode).map_err(fault)?;
    for entry in fs::read_dir(from).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if path.is_file() {
            fs::copy(&path, to.join(name)).map_err(fault)?;
        }
    }
    Ok(())
}

/// All files below a folder, in order.
pub fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(all(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    found
}
