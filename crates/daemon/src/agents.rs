//! Which ACP agents there are at this moment. Read anew each time, so that an agent that was just
//! installed or written into the settings can be used at once.

use std::ffi::OsStr;
use std::path::PathBuf;

use legwork_acp::agents::{Agent, REHEARSAL, known};
use legwork_client::Folders;

/// These agents of the settings, those on this PATH, and the one that is built in.
pub fn agents(configured: Vec<Agent>, folders: &Folders, path: Option<&OsStr>) -> Vec<Agent> {
    let legwork = legwork_client::program().unwrap_or_else(|_| PathBuf::from("legwork"));
    known(configured, path, &legwork, &folders.sessions.join(REHEARSAL))
}
