//! `legwork top` and `legwork watch` on a real terminal: the real binary, the real daemon, the agent
//! that follows its prompt, and a tmux server of each test's own.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test reports by panicking and printing"
)]

#[path = "../cli/home.rs"]
mod home;
mod leaving;
mod live;
mod terminal;
mod watching;
