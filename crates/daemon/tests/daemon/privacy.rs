//! Nobody else gets in.

use std::os::unix::fs::PermissionsExt;

use crate::local_host::LocalHost;
use crate::opencode::{Host, OpenCode};

#[test]
fn g1_everything_is_the_users_alone() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    Host::connect(&daemon, "opencode-1", &mut opencode).launched(1, "call-1");
    let mut folders = vec![home.path("")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 4, "the socket, the log, the store and its lock");
}

#[test]
fn g1_a_process_of_another_user_hears_nothing() {
    let home = LocalHost::new();
    let daemon = home.start();
    // Only the superuser can play another user; where the tests run without it, the check itself is
    // shown in `socket.rs`.
    if rustix::process::getuid().is_root()
        && let Some(heard) = home.heard_by_a_stranger()
    {
        assert!(heard.is_empty(), "{heard:?}");
        assert!(home.log().contains("a connection was refused: it is of user 65534, not of 0"));
    }
    assert_eq!(daemon.client().view()["healthy"], true);
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
