//! Homes that something has happened to: a copy of legwork's folder is put in place of the real
//! one, a daemon is started on it, and what it knows is compared with what was there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault::{Done, Fault};
use crate::files;
use crate::terminal::Terminal;

/// A task as it was before.
#[derive(Debug, Clone)]
pub struct Known {
    pub task: String,
    /// What its result has in it.
    pub words: String,
}

/// Puts a copy of a folder in place of legwork's own. No daemon may run.
///
/// # Errors
/// When something cannot be written.
pub fn put(terminal: &Terminal, image: &Path) -> Done<()> {
    let own = terminal.own_folder();
    fs::remove_dir_all(&own).map_err(|why| Fault::trying("clearing legwork's folder", why))?;
    files::copy(image, &own)
}

/// Ends the daemon, if there is one.
///
/// # Errors
/// When it cannot be killed.
pub fn end(terminal: &Terminal) -> Done<()> {
    let daemons = crate::processes::in_home(terminal.home.root());
    for one in daemons.iter().filter(|one| one.is_daemon()) {
        terminal.kill(one.pid)?;
    }
    Ok(())
}

/// The session files in a folder of legwork, without what agents keep for themselves.
pub fn sessions(own: &Path) -> Vec<PathBuf> {
    let folder = own.join("sessions");
    let direct = |path: &PathBuf| path.parent() == Some(&folder) && path.extension().is_some();
    let found = files::all(&folder).into_iter().filter(direct);
    found.filter_map(|path| path.strip_prefix(own).ok().map(Path::to_owned)).collect()
}

/// Whether a session file of this folder has these words in it.
pub fn is_in_a_session(own: &Path, words: &str) -> bool {
    sessions(own).iter().any(|path| {
        let text = fs::read(own.join(path)).unwrap_or_default();
        String::from_utf8_lossy(&text).contains(words)
    })
}

/// What a person is told of the state of things: the listing and the doctor's words.
///
/// # Errors
/// When a command does not end.
pub fn told(terminal: &Terminal) -> Done<String> {
    let (list, doctor) = (terminal.run(&["list"])?, terminal.run(&["doctor"])?);
    Ok(format!("{}{}{}{}", list.out, list.err, doctor.out, doctor.err))
}

/// Whether a text says that records were set aside or could not be read.
pub fn says_so(text: &str) -> bool {
    let text = text.to_lowercase();
    ["set aside", "could not be read", "cannot be read", "damaged"]
        .iter()
        .any(|words| text.contains(words))
}
