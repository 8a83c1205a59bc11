//! Which ACP agents there are at this moment. Read anew each time, so that an agent that was just
//! installed or written into the settings can be used at once.

use std::path::{Path, PathBuf};

use legwork_acp::agents::{Agent, known as all};

/// The agents of these settings, those on our PATH, and the one that is built in.
pub fn known(_config: &Path, sessions: &Path) -> Vec<Agent> {
    let path = std::env::var_os("PATH");
    let legwork = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("legwork"));
    all(Vec::new(), path.as_deref(), &legwork, &sessions.join("rehearsal"))
}
