//! The agent that follows a script, spoken to over pipes in memory. Time is virtual: a script that
//! waits for an hour does so at once.

mod cancel;
mod client;
mod commands;
mod memory;
mod misbehave;
mod sessions;
