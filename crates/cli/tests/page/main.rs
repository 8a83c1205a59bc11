//! `legwork ui` as a person has it: the real program, the real daemon, the agent that is built in,
//! and a real browser.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test reports by panicking and printing"
)]

mod access;
mod answering;
mod attacks;
mod board;
mod command;
mod http;
mod launching;
mod look;
mod rules;
mod stage;
mod task;
mod texts;
mod trouble;
mod typed;
