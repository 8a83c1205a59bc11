//! Which ACP agents there are at this moment. Read anew each time, so that an agent that was just
//! installed or written into the settings can be used at once.

use std::path::{Path, PathBuf};

use legwork_acp::agents::{Agent, known as all};

use crate::config::read_config;

/// The agents of these settings, those on our PATH, and the one that is built in.
pub fn known(config: &Path, sessions: &Path) -> Vec<Agent> {
    // What is wrong with the settings is said where they are read for the first time.
    let configured = read_config(config).unwrap_or_else(|fault| *fault.config).agents;
    let path = std::env::var_os("PATH");
    let legwork = legwork_client::program().unwrap_or_else(|_| PathBuf::from("legwork"));
    all(configured, path.as_deref(), &legwork, &sessions.join("rehearsal"))
}
