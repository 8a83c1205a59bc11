//! The socket: a file in a folder that is the user's alone, and a look at who comes in.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream as Plain;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use crate::fault::Fault;

/// Listens on a socket of this name. Whoever calls holds the store's lock, so a socket that is
/// there and does not answer is left over.
pub fn bind(path: &Path) -> Result<UnixListener, Fault> {
    if let Some(folder) = path.parent()
        && !legwork_client::check_private(folder)?
    {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(Fault::file("create the folder", folder))?;
        legwork_client::check_private(folder)?;
    }
    if Plain::connect(path).is_ok() {
        return Err(Fault::SocketTaken { socket: path.to_owned() });
    }
    // Nobody can connect before the mode is right, because nobody looks under this name.
    let new = with_end(path, ".new");
    remove(&new).map_err(Fault::file("remove", &new))?;
    let listener = UnixListener::bind(&new).map_err(Fault::file("listen on", &new))?;
    let private = Permissions::from_mode(0o600);
    fs::set_permissions(&new, private).map_err(Fault::file("protect", &new))?;
    fs::rename(&new, path).map_err(Fault::file("listen on", path))?;
    Ok(listener)
}

/// Removes the socket, if it is there.
pub fn remove(path: &Path) -> io::Result<()> {
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
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn g1_the_socket_and_its_folder_are_the_users_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run/legwork.sock");
        let listener = bind(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let (_near, far) = tokio::join!(UnixStream::connect(&path), listener.accept());
        assert_eq!(check_peer(&far.unwrap().0), Ok(()));
    }

    #[test]
    fn g1_a_process_of_another_user_is_refused() {
        assert_eq!(check_user(7, 7), Ok(()));
        // The superuser has no business here either.
        assert!(check_user(0, 7).is_err());
    }

    #[tokio::test]
    async fn g1_a_folder_that_others_can_enter_is_refused() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(0o750)).unwrap();
        let fault = bind(&home.path().join("legwork.sock")).unwrap_err();
        assert!(matches!(fault, Fault::Folder(_)), "{fault}");
    }

    #[tokio::test]
    async fn a_socket_that_was_left_over_is_replaced_and_one_in_use_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run/legwork.sock");
        drop(bind(&path).unwrap());
        let listener = bind(&path).unwrap();
        assert!(matches!(bind(&path), Err(Fault::SocketTaken { .. })));
        drop(listener);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
    }
}
