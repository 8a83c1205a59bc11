//! The agent that follows a script, spoken to over pipes in memory. Time is virtual: a script that
//! waits for an hour does so at once.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod cancel;
mod commands;
mod memory;
mod memory_files;
mod script;
mod sessions;
