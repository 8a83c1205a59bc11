//! Whose files legwork's are. A process of one user that writes into the folders of another (`sudo
//! -E` keeps HOME) leaves files that lock that one out; so it does not begin.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::folders::{Folders, STORE_LOCK};

/// Whether everything of legwork's that is there belongs to this user, and what is not there yet
/// would come to lie in a folder of theirs.
pub fn check_owner(folders: &Folders) -> Result<(), Fault> {
    check(folders, rustix::process::geteuid().as_raw())
}

/// The same for one file or folder.
pub fn check_owner_of(path: &Path) -> Result<(), Fault> {
    check_one(path, rustix::process::geteuid().as_raw())
}

fn check(folders: &Folders, user: u32) -> Result<(), Fault> {
    all(folders).iter().try_for_each(|path| check_one(path, user))
}

fn check_one(path: &Path, user: u32) -> Result<(), Fault> {
    let Some((found, owner)) = nearest(path) else { return Ok(()) };
    // Root may make folders everywhere; others are told by the system where they may not.
    let matters = found == path || user == 0 || is_closed(path);
    if owner != user && matters {
        return Err(Fault::Foreign { path: found.to_owned(), owner, user });
    }
    Ok(())
}

/// All that the daemon opens, folders before what is in them.
fn all(folders: &Folders) -> Vec<PathBuf> {
    let Folders { store, sessions, log, .. } = folders;
    let above = [store.parent(), log.parent()].into_iter().flatten();
    let own = [store, sessions, log].map(PathBuf::as_path);
    let records = [STORE_LOCK, "legwork.db", "legwork.db-wal", "legwork.db-shm"];
    let below = records.map(|name| store.join(name));
    above.chain(own).map(Path::to_owned).chain(below).collect()
}

/// The path, or the lowest folder above it that can be looked at, and whose it is.
fn nearest(path: &Path) -> Option<(&Path, u32)> {
    path.ancestors().find_map(|above| Some((above, fs::metadata(above).ok()?.uid())))
}

/// Whether somebody keeps us from looking at it.
fn is_closed(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g1_files_of_another_user_are_not_used_and_the_remedy_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let home = outer.path().join("home");
        let ours = rustix::process::geteuid().as_raw();
        let theirs = ours + 1;
        // Nothing is there, and it would be made in a folder of ours.
        check(&Folders::in_home(&home), ours).unwrap();
        fs::create_dir(&home).unwrap();
        check(&Folders::in_home(&home), ours).unwrap();
        let fault = check(&Folders::in_home(&home), theirs).unwrap_err().to_string();
        let remedy = format!("sudo chown -R {theirs} {}", home.display());
        assert!(fault.contains(&remedy), "{fault}");
    }

    #[test]
    fn g1_root_makes_nothing_in_a_folder_of_somebody_else() {
        let outer = tempfile::tempdir().unwrap();
        // Only root can make a folder somebody else's.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        std::os::unix::fs::chown(outer.path(), Some(65_534), None).unwrap();
        let fault = check(&Folders::in_home(&outer.path().join("a/b")), 0).unwrap_err().to_string();
        assert!(fault.contains("without sudo"), "{fault}");
    }
}
