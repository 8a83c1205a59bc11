//! The copy of the workspace that the defects are planted in; the original is never touched.

use crate::{Fault, tree};
use std::fs;
use std::path::Path;

/// Makes `copy` the same as `root`. What is the same already stays as it is, so that a second run
/// does not build everything anew, and what a run that was cut off left behind goes.
pub fn refresh(root: &Path, copy: &Path) -> Result<(), Fault> {
    make_folder(copy)?;
    let wanted = tree::files(root)?;
    for path in tree::files(copy)? {
        if wanted.binary_search(&path).is_err() {
            let failed = |cause| Fault::trying(format!("removing the copy of {path}"), cause);
            fs::remove_file(copy.join(&path)).map_err(failed)?;
        }
    }
    for path in &wanted {
        let failed = |cause| Fault::trying(format!("copying {path}"), cause);
        let (from, to) = (root.join(path), copy.join(path));
        let text = fs::read(&from).map_err(failed)?;
        if fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = to.parent() {
            make_folder(folder)?;
        }
        fs::write(&to, text).map_err(failed)?;
    }
    Ok(())
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<(), Fault> {
    fs::create_dir_all(path)
        .map_err(|cause| Fault::trying(format!("making {}", path.display()), cause))
}
