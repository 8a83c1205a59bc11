//! Random values that nobody can guess.

use std::io;

/// Random bytes of the system, as hexadecimal digits.
pub fn random_hex<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
