//! legwork's folders: they are the user's, are what they should be, can be written, and nobody else
//! reads them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use legwork_machine::{Fault as MachineFault, Folders, STORE_LOCK, check_owner};
use rustix::fs::{Access, access};

use super::check::DoctorContext;
use super::codes;
use super::finding::Finding;
use crate::plugin::word;

/// What others may do with a folder that is not the user's alone.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS_READ: u32 = 0o044;
/// Files of one folder that are looked at: the modes of all are set alike.
const FILES_MAX: usize = 10_000;

pub fn folders(context: &DoctorContext) -> Vec<Finding> {
    let folders = &context.folders;
    let found = foreign(folders)
        .or_else(|| wrong_kind(folders))
        .or_else(|| closed(folders))
        .or_else(|| writable_by_others(folders))
        .or_else(|| readable_by_others(folders));
    let home = folders.store.parent().unwrap_or(&folders.store);
    let well = || Finding::good("folders", format!("what is in {} is yours alone", home.display()));
    vec![found.unwrap_or_else(well)]
}

fn foreign(folders: &Folders) -> Option<Finding> {
    let fault = check_owner(folders).err()?;
    Some(match &fault {
        MachineFault::Foreign { path, user, .. } if *user != 0 => {
            codes::folders_foreign(&fault, user, word(path))
        }
        _ => codes::folders_of_a_user(&fault),
    })
}

/// A folder where a file belongs, or the other way round, keeps the daemon from starting.
fn wrong_kind(folders: &Folders) -> Option<Finding> {
    let Folders { store, sessions, log, config, .. } = folders;
    let database = store.join("legwork.db");
    let lock = store.join(STORE_LOCK);
    let files = [log, config, &database, &lock].map(|path| (path.as_path(), false));
    let all = [store, sessions].map(|path| (path.as_path(), true)).into_iter().chain(files);
    let is_wrong = |(path, wants_folder): &(&Path, bool)| {
        fs::metadata(path).is_ok_and(|found| found.is_dir() != *wants_folder)
    };
    let (path, wants_folder) = all.into_iter().find(is_wrong)?;
    let wanted = if wants_folder { "a folder" } else { "a file" };
    Some(codes::folders_wrong_kind(path.display(), wanted, word(path)))
}

/// Whether we may write where the daemon must.
fn closed(folders: &Folders) -> Option<Finding> {
    let Folders { store, sessions, log, .. } = folders;
    let log_folder = log.parent().unwrap_or(log);
    let closed = [log_folder, store, sessions].into_iter().find_map(|folder| {
        let nearest = folder.ancestors().find(|above| above.exists())?;
        let wants = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        access(nearest, wants).is_err().then_some(nearest)
    });
    if let Some(folder) = closed {
        return Some(codes::folders_closed(folder.display(), "rwx", word(folder)));
    }
    let files = [log.clone(), store.join("legwork.db"), store.join(STORE_LOCK)];
    let closed = files.into_iter().find(|file| {
        file.exists() && access(file.as_path(), Access::READ_OK | Access::WRITE_OK).is_err()
    })?;
    Some(codes::folders_closed(closed.display(), "rw", word(&closed)))
}

fn writable_by_others(folders: &Folders) -> Option<Finding> {
    let above = [folders.store.parent(), folders.log.parent()];
    let open = above.into_iter().flatten().find(|folder| mode(folder) & OTHERS_WRITE != 0)?;
    Some(codes::folders_writable_by_others(open.display(), word(open)))
}

/// What is in a folder that nobody else can enter cannot be read, whatever its own mode.
fn readable_by_others(folders: &Folders) -> Option<Finding> {
    let Folders { store, sessions, log, .. } = folders;
    let is_open = |path: &Path| {
        let enterable = |folder: &Path| mode(folder) & 0o011 != 0;
        let ways = path.ancestors().skip(1).filter(|folder| folder.exists());
        mode(path) & OTHERS_READ != 0 && ways.into_iter().all(enterable)
    };
    let old_logs = (1..=9).map(|number| log.with_extension(format!("log.{number}")));
    let all = [store.clone(), sessions.clone(), log.clone()].into_iter().chain(old_logs);
    let open = all.chain(inside(store)).chain(inside(sessions)).find(|path| is_open(path))?;
    Some(codes::folders_readable_by_others(open.display(), word(&open)))
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.map(|entry| entry.path()).take(FILES_MAX).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).map_or(0, |found| found.permissions().mode())
}
