//! Our own executable.

use std::path::PathBuf;
use std::{env, io};

use crate::folders::var;

/// The program that is legwork, for whoever has to start it.
pub fn program() -> io::Result<PathBuf> {
    if let Some(named) = var("LEGWORK_BIN") {
        return std::path::absolute(named);
    }
    let running = env::current_exe()?;
    // Linux says so of a program that was replaced while it ran; the new one is what we want.
    let replaced = running.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    Ok(replaced.map_or_else(|| running.clone(), PathBuf::from))
}
