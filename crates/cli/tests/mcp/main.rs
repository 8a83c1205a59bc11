//! `legwork mcp` as a client drives it: the real binary and the real daemon, and the agent that is
//! built in, which follows the script in its prompt. What the real clients do with it is played by
//! `cargo xtask clients`.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod client;
mod elsewhere;
mod eras;
mod first_use;
mod library;
mod mail;
mod tasks;
mod wake;
