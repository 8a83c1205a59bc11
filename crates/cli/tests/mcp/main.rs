//! `legwork mcp` as a client drives it: the real binary and the real daemon, and the agent that is
//! built in, which follows the script in its prompt. What the real clients do with it is played by
//! `cargo xtask clients`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test reports by panicking and printing"
)]

mod client;
mod elsewhere;
mod eras;
mod first_use;
#[expect(dead_code, reason = "other suites use more of it")]
#[path = "../cli/home.rs"]
mod home;
mod library;
mod mail;
#[path = "../acp/shell.rs"]
mod shell;
mod tasks;
mod wake;
