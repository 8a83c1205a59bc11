//! Whether a config file may name programs: only if nobody but the user (or root) could have
//! written them there.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;

/// Why not, and what to do about it.
pub fn distrust(path: &Path, file: &File) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    let folder = path.parent().unwrap_or(path);
    let named = [(path, file.metadata()), (folder, fs::metadata(folder))];
    named.into_iter().find_map(|(name, found)| {
        let shown = name.display();
        match found {
            Err(error) => Some(format!("nobody knows whose {shown} is ({error})")),
            Ok(found) => wrong(&found, user).map(|(why, remedy)| {
                format!(
                    "its agents and its notify.command are not used, because {shown} {why}, and \
                     these are programs to run: `{remedy} {shown}`"
                )
            }),
        }
    })
}

fn wrong(found: &Metadata, user: u32) -> Option<(String, String)> {
    let owner = found.uid();
    if owner != user && owner != 0 {
        let remedy = format!("sudo chown {user}");
        return Some((format!("belongs to user {owner}"), remedy));
    }
    // Where every user has a group of their own with the same number, new files are the group's to
    // write, and nobody else is in it.
    let is_own_group = found.gid() == user && owner == user;
    let is_open = found.mode() & ALL_WRITE != 0;
    if is_open || (found.mode() & GROUP_WRITES != 0 && !is_own_group) {
        return Some(("can be written by others".to_owned(), "chmod go-w".to_owned()));
    }
    None
}
