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
#[path = "../cli/home.rs"]
mod home;
#[path = "../cli/host.rs"]
#[expect(dead_code, reason = "a part of it is for other tests")]
mod host;
mod http;
mod launching;
mod look;
mod rules;
mod stage;
mod task;
mod texts;
mod trouble;
