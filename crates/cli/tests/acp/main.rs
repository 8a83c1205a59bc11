//! Any agent, no host: the real binary, the real daemon and real subprocesses, asked by a terminal.
//! The agent is the one that is built in, which follows the script in its prompt. Tests are named
//! after the requirement that they show.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test reports by panicking and printing"
)]

mod aside;
mod bad;
mod budgets;
mod elsewhere;
mod environment;
mod family;
mod hostile;
mod inside;
mod kills;
mod many;
mod native;
mod opencode;
mod stage;
mod tools;
mod words;
