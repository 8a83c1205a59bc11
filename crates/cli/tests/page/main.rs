//! `legwork ui` as a person has it: the real program, the real daemon, the agent that is built in,
//! and a real browser.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test reports by panicking and printing"
)]

#[path = "../cli/home.rs"]
mod home;
mod stage;
mod trouble;
