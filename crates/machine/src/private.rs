//! Folders and files that are the user's alone.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::fault::Fault;

/// In a folder that others can only read nobody can put a socket of their own, and ours lets nobody
/// else in.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS: u32 = 0o077;
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Creates a folder, and those above it, for the user alone. One that is there stays as it is.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)
}

/// Options that create a file for the user alone.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Makes a file or folder that is there the user's alone.
pub fn protect(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    let mode = if found.is_dir() { FOLDER_MODE } else { FILE_MODE };
    if found.permissions().mode() & 0o7777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Whether only the user can change what is in a folder. One that is not there is `Ok(false)`; one
/// that somebody else could have put a socket into is a fault.
pub fn check_private(folder: &Path) -> Result<bool, Fault> {
    let refuse = |why, remedy, command| {
        Err(Fault::NotPrivate { folder: folder.to_owned(), why, remedy, command })
    };
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(Fault::Folder { folder: folder.to_owned(), source }),
    };
    let user = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        refuse("is not a folder", "Move it away", "rm")
    } else if found.uid() != user {
        Err(Fault::Foreign { path: folder.to_owned(), owner: found.uid(), user })
    } else if found.mode() & OTHERS_WRITE != 0 {
        refuse("can be changed by other users", "Make it yours alone", "chmod go-w")
    } else {
        Ok(true)
    }
}

/// Makes a folder that is legwork's own the user's alone. One that holds other things too is left
/// as it is, and refused if others could change what is in it. Gives back whether it is there.
pub fn make_private(folder: &Path) -> Result<bool, Fault> {
    let fault = |source| Fault::Folder { folder: folder.to_owned(), source };
    let is_open = fs::symlink_metadata(folder).is_ok_and(|found| {
        let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        is_ours && found.mode() & OTHERS != 0
    });
    if is_open && holds_only_ours(folder).map_err(fault)? {
        fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE)).map_err(fault)?;
    }
    check_private(folder)
}

fn holds_only_ours(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let is_ours = matches!(&*name, "config.toml" | "store" | "sessions" | "ui.json")
            || name.starts_with("daemon.log")
            || name.starts_with("ui-") && name.ends_with(".html")
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
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn g1_a_folder_that_others_can_change_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("run");
        assert!(!check_private(&folder).unwrap());
        DirBuilder::new().mode(0o755).create(&folder).unwrap();
        assert!(check_private(&folder).unwrap());

        let link = outer.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(check_private(&link).is_err());

        fs::set_permissions(&folder, Permissions::from_mode(0o770)).unwrap();
        let fault = check_private(&folder).unwrap_err().to_string();
        assert!(fault.contains("chmod go-w"), "{fault}");
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

        fs::write(folder.join("letter.txt"), "").unwrap();
        open(0o755);
        assert!(make_private(&folder).unwrap());
        assert_eq!(mode(), 0o755);
        open(0o775);
        let fault = make_private(&folder).unwrap_err().to_string();
        assert!(fault.contains("chmod go-w"), "{fault}");
    }
}
