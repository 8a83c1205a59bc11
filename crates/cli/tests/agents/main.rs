//! `legwork run`, `legwork agents` and the mail of terminals, as a person and a script use them:
//! the real binary, the real daemon, and the agent that is built in, which follows the script in
//! its prompt.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod agents;
mod cleared;
mod demo;
mod first_use;
mod leaving;
mod mail;
mod notify;
mod resume;
mod run;
mod running;
mod terminal;
mod transcript;
