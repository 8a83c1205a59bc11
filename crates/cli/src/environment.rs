//! Our own environment, for a process that somebody else starts.

use std::env;
use std::ffi::OsString;

use legwork_protocol::line::{BadEnvironment, Environment};

/// The variables and the mask of this process. A variable that is no text cannot be sent.
pub fn own() -> Result<Environment, BadEnvironment> {
    let texts = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let variables = env::vars_os().filter_map(texts).filter(|(name, _)| !name.is_empty());
    Environment::new(variables.collect(), umask())
}

/// The file mode mask of this process, where the system shows it; asking for it would change it.
fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(mask.trim(), 8).ok()
}
