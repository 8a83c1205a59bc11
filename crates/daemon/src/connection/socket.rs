//! The socket: a file in a folder that is the user's alone, and a look at who comes in.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream as Plain;
use std::path::{Path, PathBuf};

use legwork_machine::{check_owner_of, check_private, create_folder, make_private, protect};
use tokio::net::{UnixListener, UnixStream};

use crate::fault::Fault;

/// A socket that this process listens on, and which file it is: its name may be lost, or come to
/// mean another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    pub path: PathBuf,
    pub inode: u64,
}

impl Bound {
    /// Whether whoever looks for it under its name finds it.
    pub fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode)
    }

    /// Removes it, if its name still means it.
    pub fn remove(&self) {
        if self.is_in_place() {
            // What stays behind is replaced by the next daemon.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens under the first of these names that can be had. If none can, the first says why.
pub fn bind_one(names: &[PathBuf]) -> Result<(UnixListener, Bound), Fault> {
    let mut first = None;
    for name in names {
        match bind(name) {
            Ok(bound) => return Ok(bound),
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    let none = || Fault::system("find a name for its socket")(io::ErrorKind::NotFound.into());
    Err(first.unwrap_or_else(none))
}

/// Listens on a socket of this name. Whoever calls holds the store's lock, so a socket that is
/// there and does not answer is left over.
pub fn bind(path: &Path) -> Result<(UnixListener, Bound), Fault> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    if Plain::connect(path).is_ok() {
        return Err(Fault::SocketTaken { socket: path.to_owned() });
    }
    // Nobody can connect before the mode is right, because nobody looks under this name.
    let new = with_end(path, ".new");
    remove(&new).map_err(Fault::file("remove", &new))?;
    let listener = UnixListener::bind(&new).map_err(Fault::file("listen on", &new))?;
    let named = give_name(&new, path);
    if named.is_err() {
        // The fault is the one to tell of.
        let _ = remove(&new);
    }
    Ok((listener, named?))
}

fn give_name(new: &Path, path: &Path) -> Result<Bound, Fault> {
    protect(new).map_err(Fault::file("protect", new))?;
    let found = fs::symlink_metadata(new).map_err(Fault::file("look at", new))?;
    fs::rename(new, path).map_err(Fault::file("listen on", path))?;
    Ok(Bound { path: path.to_owned(), inode: found.ino() })
}

fn make_folder(folder: &Path) -> Result<(), Fault> {
    if !make_private(folder)? {
        check_owner_of(folder)?;
        create_folder(folder).map_err(Fault::file("create the folder", folder))?;
        check_private(folder)?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether the other side is a process of our user; else who it is.
pub fn check_peer(stream: &UnixStream) -> Result<(), String> {
    match stream.peer_cred() {
        Ok(peer) => check_user(peer.uid(), rustix::process::getuid().as_raw()),
        Err(error) => Err(format!("nobody knows whose it is: {error}")),
    }
}

fn check_user(theirs: u32, ours: u32) -> Result<(), String> {
    if theirs == ours { Ok(()) } else { Err(format!("it is of user {theirs}, not of {ours}")) }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn g1_a_process_of_another_user_is_refused() {
        assert_eq!(check_user(7, 7), Ok(()));
        // The superuser has no business here either.
        assert!(check_user(0, 7).is_err());
    }

    #[tokio::test]
    async fn g1_a_folder_that_others_can_change_is_refused() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("delivery.txt"), "").unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(0o770)).unwrap();
        let fault = bind(&home.path().join("legwork.sock")).unwrap_err();
        assert!(matches!(fault, Fault::Folder(_)), "{fault}");
    }

    #[tokio::test]
    async fn a_socket_that_was_left_over_is_replaced_and_one_in_use_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run/legwork.sock");
        drop(bind(&path).unwrap());
        // A process that another test starts has it too, until it has become another program.
        let deadline = Instant::now() + Duration::from_secs(180);
        while Plain::connect(&path).is_ok() {
            assert!(Instant::now() < deadline, "somebody listens there");
        }
        let (listener, bound) = bind(&path).unwrap();
        assert!(matches!(bind(&path), Err(Fault::SocketTaken { .. })));
        assert!(bound.is_in_place());
        drop(listener);
        bound.remove();
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn p9_a_daemon_with_other_records_keeps_its_socket_and_the_next_takes_another_name() {
        let home = tempfile::tempdir().unwrap();
        let names = ["run/a.sock", "run/b.sock"].map(|name| home.path().join(name));
        let (_first, bound) = bind_one(&names).unwrap();
        let (_second, other) = bind_one(&names).unwrap();
        assert_eq!([bound.path.clone(), other.path], names);
        // Its name was lost to somebody, who keeps it.
        fs::remove_file(&names[0]).unwrap();
        let (_third, _) = bind_one(&names).unwrap();
        assert!(!bound.is_in_place());
        bound.remove();
        assert!(names[0].exists());
        assert!(matches!(bind_one(&names), Err(Fault::SocketTaken { .. })));
    }

    #[tokio::test]
    async fn a_name_that_cannot_be_had_leaves_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run/legwork.sock");
        fs::create_dir_all(path.join("full")).unwrap();
        assert!(matches!(bind(&path), Err(Fault::File { .. })));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
