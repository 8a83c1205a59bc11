//! Whose files legwork's are. A process of one user that writes into the folders of another (`sudo
//! -E` keeps HOME) leaves files that lock that one out; so it does not begin.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::folders::{Folders, check_private};

/// What others may do with a file or folder.
const OTHERS: u32 = 0o077;

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
    let Some((found, metadata)) = nearest(path) else { return Ok(()) };
    let owner = metadata.uid();
    let is_foreign = if found == path {
        owner != user
    } else {
        // Root may make folders everywhere; others are told by the system where they may not.
        owner != user && (user == 0 || is_closed(path))
    };
    let refuse = || Fault::Foreign { path: found.to_owned(), owner, user };
    if is_foreign { Err(refuse()) } else { Ok(()) }
}

/// All that the daemon opens, folders before what is in them.
fn all(folders: &Folders) -> Vec<PathBuf> {
    let Folders { store, sessions, log, .. } = folders;
    let above = [store.parent(), log.parent()].into_iter().flatten().map(Path::to_owned);
    let records = ["legwork.lock", "legwork.db", "legwork.db-wal", "legwork.db-shm"];
    let below = records.map(|name| store.join(name));
    let mut all: Vec<PathBuf> = above.collect();
    all.extend([store.clone(), sessions.clone(), log.clone()]);
    all.extend(below);
    all
}

/// The path, or the lowest folder above it that can be looked at.
fn nearest(path: &Path) -> Option<(&Path, Metadata)> {
    path.ancestors().find_map(|above| Some((above, fs::metadata(above).ok()?)))
}

/// Whether somebody keeps us from looking at it.
fn is_closed(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Makes a folder that is legwork's own the user's alone. One that holds other things too is left
/// as it is, and refused if others could change what is in it. Gives back whether it is there.
pub fn make_private(folder: &Path) -> Result<bool, Fault> {
    let fault = |source| Fault::Folder { folder: folder.to_owned(), source };
    let found = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found.map_err(fault)?,
    };
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.mode() & OTHERS != 0 && holds_only_ours(folder).map_err(fault)? {
        fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(fault)?;
    }
    check_private(folder)
}

fn holds_only_ours(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let is_ours = matches!(&*name, "config.toml" | "store" | "sessions")
            || name.starts_with("daemon.log")
            || name.ends_with(".sock")
            || name.ends_with(".sock.new");
        if !is_ours {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(home: &Path) -> Folders {
        Folders {
            config: home.join("config.toml"),
            store: home.join("store"),
            sessions: home.join("sessions"),
            socket: home.join("legwork.sock"),
            log: home.join("daemon.log"),
        }
    }

    #[test]
    fn g1_files_of_another_user_are_not_used_and_the_remedy_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let home = outer.path().join("home");
        let ours = rustix::process::geteuid().as_raw();
        let theirs = ours + 1;
        // Nothing is there, and it would be made in a folder of ours.
        check(&folders(&home), ours).unwrap();
        fs::create_dir(&home).unwrap();
        check(&folders(&home), ours).unwrap();
        let fault = check(&folders(&home), theirs).unwrap_err().to_string();
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
        let fault = check(&folders(&outer.path().join("a/b")), 0).unwrap_err().to_string();
        assert!(fault.contains("without sudo"), "{fault}");
    }

    #[test]
    fn g1_a_folder_of_ours_is_made_private_and_one_with_other_things_is_left_alone() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("legwork");
        assert!(!make_private(&folder).unwrap());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("config.toml"), "").unwrap();
        let mode = || fs::metadata(&folder).unwrap().mode() & 0o777;
        let open = |mode| fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        open(0o777);
        assert!(make_private(&folder).unwrap());
        assert_eq!(mode(), 0o700);

        fs::write(folder.join("delivery.txt"), "").unwrap();
        open(0o755);
        assert!(make_private(&folder).unwrap());
        assert_eq!(mode(), 0o755);
        open(0o775);
        let fault = make_private(&folder).unwrap_err().to_string();
        assert!(fault.contains("chmod go-w"), "{fault}");
    }
}
